// SPDX-License-Identifier: Apache-2.0
// What polynomials in log-time leave out, without any rounding of their own: the tables of
// decay/log_time.hpp and docs/accuracy.md.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include <ebb/decay/log_time.hpp>

namespace {

using wide = long double;

struct remainders {
  wide kept = 0, fast = 0;  ///< of 1 - a, of log a, relatively
};

/// The largest remainders over 20 exponents, x from e^-14 to alpha (1 + x) / 2 = 1, and 41 times of
/// the longest part of an octave.
template <int Degree>
remainders worst_of(int split) {
  constexpr auto fold = ebb::detail::chebyshev_fold<Degree + 1>();
  const wide half = std::log1p(std::ldexp(wide(1), -split)) / 2;
  remainders worst;
  for (int i = 1; i <= 20; ++i) {
    const wide alpha = wide(i) / 20;
    for (wide log_x = -14; log_x <= std::log(2 / alpha - 1) + 1e-9L; log_x += 0.1L) {
      const wide x = std::exp(log_x - alpha * half);  // at the centre; log_x at the first step
      const bool kept = x * std::exp(alpha * half) <= 0.6931L;
      wide f[Degree + 2];
      f[0] = std::exp(-x);
      for (int n = 1; n <= Degree + 1; ++n) {
        wide power = 1, sum = 0;  // f_n n = sum of k g_k f_(n-k), g_k = -x (-alpha)^k / k!
        for (int k = 1; k <= n; ++k) {
          power *= -alpha / (k > 1 ? k - 1 : 1);
          sum -= x * power * f[n - k];
        }
        f[n] = sum / n;
      }
      if (kept) f[0] = std::expm1(-x);  // of a - 1, which has no digits to lose
      for (int d = 0; d <= Degree; ++d)
        f[d] += f[Degree + 1] * static_cast<wide>(fold[static_cast<std::size_t>(d)]) *
                std::pow(half, wide(Degree + 1 - d));
      for (int j = -20; j <= 20; ++j) {
        const wide y = half * j / 20, x_here = x * std::exp(-alpha * y);
        wide p = f[Degree];
        for (int d = Degree - 1; d >= 0; --d) p = p * y + f[d];
        const wide right = kept ? std::expm1(-x_here) : std::exp(-x_here);
        const wide error = std::abs(p / right - 1);
        if (kept)
          worst.kept = std::max(worst.kept, error);
        else
          worst.fast = std::max(worst.fast, error / x_here);
      }
    }
  }
  return worst;
}

/// The larger remainder in u of a type, against the table, which is rounded to two digits.
template <class Real, int Degree>
void check(int split, double stated) {
  const remainders worst = worst_of<Degree>(split);
  const double found = static_cast<double>(std::max(worst.kept, worst.fast)) /
                       (static_cast<double>(std::numeric_limits<Real>::epsilon()) / 2);
  CAPTURE(split);
  CAPTURE(Degree);
  CHECK(found <= 1.06 * stated);
  CHECK(found >= 0.94 * stated);
}

TEST_CASE("remainders of the polynomials are those of the tables") {
  check<float, 7>(0, 0.35);
  check<float, 5>(1, 0.99);
  check<float, 4>(2, 0.53);
  check<float, 3>(3, 1.4);
  check<float, 2>(6, 0.33);
  // Those of double want more than its 53 bits.
  if (std::numeric_limits<wide>::digits >= 64) {
    check<double, 12>(1, 2.8);
    check<double, 10>(2, 0.86);
    check<double, 8>(3, 0.87);
    CHECK(worst_of<6>(5).fast <= 0.2L * 0x1p-53L);
  }
}

}  // namespace
