// SPDX-License-Identifier: Apache-2.0
/// @file   support/exact.hpp
/// @brief  The test oracle's number type and distances to it in units in the last place.
#pragma once

#include <cmath>
#include <limits>

#include <boost/multiprecision/cpp_bin_float.hpp>

namespace ebb::test {

/// 50 decimal digits: exact for every purpose of these tests.
using exact = boost::multiprecision::number<boost::multiprecision::cpp_bin_float<50>,
                                            boost::multiprecision::et_off>;

/// |value - truth| in units of epsilon(Real) |truth| / 2, that is in unit roundoffs of Real. One
/// unit in the last place is between one and two of them.
template <class Real>
double roundoffs(const Real& value, const exact& truth) {
  const exact u = exact(std::numeric_limits<Real>::epsilon()) / 2;
  const exact error = abs(exact(value) - truth);
  if (error == 0) return 0;
  const exact ratio = error / (u * abs(truth));
  return ratio <= 1e300 ? ratio.template convert_to<double>() : HUGE_VAL;
}

}  // namespace ebb::test
