// SPDX-License-Identifier: Apache-2.0
// Scans of one type of data, of one type of state and along one axis, all from macros of the command line:
//   EBB_VALUE, EBB_STATE   float, double, std::complex of them, bfloat16, half
//   EBB_AXIS               time_major, channel_major
//   EBB_DECAYS             a sum of decay_bit (scan_check.hpp), all if left out
//   EBB_CALLS, EBB_BENCH   with the checks of calls, and the benchmark, which use the same kernels
#include <string>

#include "families.hpp"
#include "scan_check.hpp"
#if defined(EBB_CALLS)
#include "calls_check.hpp"
#endif
#if defined(EBB_BENCH)
#include "scan_bench.hpp"
#endif

#if !defined(EBB_VALUE)
#define EBB_VALUE float
#define EBB_STATE float
#define EBB_AXIS time_major
#endif
#if !defined(EBB_DECAYS)
#define EBB_DECAYS every_decay
#endif
#define EBB_TEXT_OF(x) #x
#define EBB_TEXT(x) EBB_TEXT_OF(x)

namespace ebb::test {
namespace {

const std::string name = "scan " EBB_TEXT(EBB_VALUE) " " EBB_TEXT(EBB_STATE) " " EBB_TEXT(EBB_AXIS);

const registered scans({
  name,
      [](report& results) {
        check_decays<EBB_VALUE, EBB_STATE, EBB_AXIS, EBB_DECAYS>(results, name);
      },
#if defined(EBB_BENCH)
      [](table& results) { bench_scans<EBB_AXIS>(results); }
#endif
});

#if defined(EBB_CALLS)
const registered calls({"calls", check_calls});
#endif

}  // namespace
}  // namespace ebb::test
