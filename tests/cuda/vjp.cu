// SPDX-License-Identifier: Apache-2.0
// Gradients of scans of one type of data, of one type of state and along one axis, from macros:
//   EBB_VALUE, EBB_STATE   float, double, std::complex of them, bfloat16, half
//   EBB_AXIS               time_major, channel_major
#include <string>

#include "families.hpp"
#include "vjp_check.hpp"

#if !defined(EBB_VALUE)
#define EBB_VALUE float
#define EBB_STATE float
#define EBB_AXIS time_major
#endif
#define EBB_TEXT_OF(x) #x
#define EBB_TEXT(x) EBB_TEXT_OF(x)

namespace ebb::test {
namespace {

const std::string name = "vjp " EBB_TEXT(EBB_VALUE) " " EBB_TEXT(EBB_STATE) " " EBB_TEXT(EBB_AXIS);

const registered gradients({name, [](report& results) {
                              check_gradients<EBB_VALUE, EBB_STATE, EBB_AXIS>(results, name);
                            }});

}  // namespace
}  // namespace ebb::test
