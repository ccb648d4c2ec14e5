// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/approx/precision.hpp
/// @brief  The multiprecision numbers that approx/ turns to when double does not suffice.
#pragma once

#include <boost/multiprecision/cpp_bin_float.hpp>

#include <ebb/core/numeric.hpp>

namespace ebb::inline EBB_ABI {
namespace approx {

/// A binary floating-point number with at least `Digits` decimal digits; no expression templates,
/// so that `auto` and lambdas mean what they say.
template <unsigned Digits>
using multiprecision = boost::multiprecision::number<boost::multiprecision::cpp_bin_float<Digits>,
                                                     boost::multiprecision::et_off>;

}  // namespace approx
}  // namespace ebb::inline EBB_ABI
