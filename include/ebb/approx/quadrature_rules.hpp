// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/approx/quadrature_rules.hpp
/// @brief  Classical exponential sums for tau^-beta: quadratures of its integral over rates.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include <Eigen/Eigenvalues>

#include <ebb/approx/exponential_sum.hpp>
#include <ebb/core/error.hpp>
#include <ebb/core/numeric.hpp>

namespace ebb::inline EBB_ABI {
namespace approx {

/// A sum with a bound of its relative error, |f - s| <= error_bound f, f = tau^-beta (of
/// lifted_rough_kernel tau^(H - 1/2) / Gamma(H + 1/2)).
struct [[nodiscard]] quadrature_rule {
  exponential_sum sum;
  double error_bound = 0;
};

namespace detail {

inline void require_rule(double beta, double first, double last, double tolerance,
                         const char* where) {
  ebb::detail::require_domain(beta > 0 && beta <= 4, where, "need 0 < beta <= 4", beta);
  // tau^-beta stays in double's range.
  ebb::detail::require_domain(first >= 1e-70 && first < last && last <= 1e70, where,
                              "need 1e-70 <= first < last <= 1e70", first, last);
  ebb::detail::require_domain(last / first <= 1e30, where, "need last / first <= 1e30",
                              last / first);
  ebb::detail::require_domain(tolerance >= 1e-12 && tolerance <= 0.1, where,
                              "need 1e-12 <= tolerance <= 0.1", tolerance);
}

/// A bound of Q(beta, y) = Gamma(beta, y) / Gamma(beta), y > beta:
///   Gamma(beta, y) <= y^(beta-1) e^-y / (1 - max(beta - 1, 0) / y)
/// by integrating (1 + s/y)^(beta-1) <= e^((beta-1) s / y) against e^-s.
inline double gamma_tail(double beta, double y) {
  return std::exp((beta - 1) * std::log(y) - y - std::lgamma(beta)) /
         (1 - std::max(beta - 1, 0.0) / y);
}

/// The smallest y >= 1.5 beta + 1, to 1 %, with gamma_tail(beta, y) <= wanted.
inline double gamma_tail_start(double beta, double wanted) {
  double y = 1.5 * beta + 1;
  while (gamma_tail(beta, y) > wanted) y *= 1.01;
  return y;
}

/// What rounding of rates e^x and of weights e^(beta x), |x| <= most, may add, relatively.
inline double rule_rounding(double beta, double most) {
  return (64 + 4 * (1 + beta) * most) * 0x1p-53;
}

/// Nodes and weights of the n-point Gauss rule on [0, 1] for the weight s^(beta-1), from the
/// eigenvalues of the Jacobi matrix of its orthogonal polynomials.
/// Accuracy: about n u absolutely.
/// Source: G. H. Golub and J. H. Welsch, Math. Comp. 23 (1969); recurrence: [DLMF] 18.9.2.
inline std::vector<std::pair<double, double>> gauss_jacobi(double beta, int n) {
  // P^(0, b) on [-1, 1], b = beta - 1.
  const double b = beta - 1;
  Eigen::VectorXd diagonal(n), beside(std::max(n - 1, 1));
  for (int k = 0; k < n; ++k) {
    const double m = 2 * k + b;
    diagonal(k) = k == 0 ? b / (b + 2) : b * b / (m * (m + 2));
    if (k > 0) beside(k - 1) = std::sqrt(4.0 * k * k * (k + b) * (k + b) / (m * m * (m * m - 1)));
  }
  Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver;
  solver.computeFromTridiagonal(diagonal, beside.head(n - 1));
  std::vector<std::pair<double, double>> rule;
  for (int k = 0; k < n; ++k) {
    const double start = solver.eigenvectors()(0, k);
    rule.emplace_back(0.5 * (1 + solver.eigenvalues()(k)), start * start / beta);
  }
  return rule;
}

}  // namespace detail

/// The trapezoid rule in log r, relative error at most `tolerance` on first <= tau <= last.
///
///   tau^-beta = 1/Gamma(beta) int exp(beta x - tau e^x) dx,   r_n = e^(nh),
///   c_n = h e^(beta n h) / Gamma(beta),   n = M .. N
///
/// The infinite sum errs by 2/Gamma(beta) sum_m |Gamma(beta + 2 pi i m / h)| at most (Poisson), and
/// |Gamma(beta + iy)| <= Gamma(beta) (cos 1)^-beta e^-|y|, so that
///
///   h = 2 pi / (log 3 + beta log(1 / cos 1) + log(1 / eps))   makes it eps,   eps <= 1
///
/// for all tau > 0: this is the published bound. The ends add (derived here) the geometric sum
/// h (last e^(Mh))^beta e^(-beta h) / ((1 - e^(-beta h)) Gamma(beta)) and Q(beta, first e^(Nh)).
/// Each of the three is a third of the tolerance.
///
/// @param beta  0 < beta <= 4;  first, last  1e-70 <= first < last <= 1e70, last <= 1e30 first
/// @param tolerance  1e-12 <= tolerance <= 0.1
/// @throws domain_error outside these domains.
/// Cost: N - M about (log(last / first) + log(1/tol)/beta + log log(1/tol)) log(1/tol) / (2 pi).
/// Accuracy: error_bound includes rounding, about 1e-14.
/// Source: G. Beylkin and L. Monzon, Approximation by exponential sums revisited, Applied and
/// Computational Harmonic Analysis 28 (2010).
inline quadrature_rule trapezoid_rule(double beta, double first, double last, double tolerance) {
  detail::require_rule(beta, first, last, tolerance, "trapezoid_rule");
  const double third = tolerance / 3;
  const double h =
      2 * 3.14159265358979324 / (std::log(3.0) - beta * std::log(std::cos(1.0)) - std::log(third));
  const double gamma = std::tgamma(beta);
  const auto low_end = [&](double m) {
    return h * std::exp(beta * (std::log(last) + (m - 1) * h)) / (-std::expm1(-beta * h) * gamma);
  };
  const double y = detail::gamma_tail_start(beta, third);
  const double high = std::ceil(std::log(y / first) / h);
  double low = std::min(high, std::ceil(-std::log(last) / h));
  while (low_end(low) > third) low -= 1;
  quadrature_rule rule;
  double most = 0;
  for (double n = low; n <= high; n += 1) {
    rule.sum.rates.push_back(std::exp(n * h));
    rule.sum.weights.push_back(h / gamma * std::exp(beta * n * h));
    most = std::max(most, std::abs(n * h));
  }
  rule.error_bound = third + low_end(low) + detail::gamma_tail(beta, first * std::exp(high * h)) +
                     detail::rule_rounding(beta, most);
  return rule;
}

/// Gauss rules on [0, a] and on dyadic intervals [a, 2a], [2a, 4a], .., of the integral over rates:
/// relative error at most `tolerance` on first <= tau <= last.
///
///   tau^-beta = 1/Gamma(beta) int_0^inf r^(beta-1) e^(-r tau) dr,   a = 1 / last
///
/// On [0, a] n-point Gauss-Jacobi for the weight r^(beta-1), beyond n-point Gauss-Legendre, up to
/// first R = y with Q(beta, y) small. The literature gives orders; these bounds are derived here,
/// relative to tau^-beta:
///
///  * [0, a]: (2n)-th derivative times the norm of the orthogonal polynomial,
///    n!^2 Gamma(n + beta)^2 / ((2n + beta) Gamma(2n + beta)^2 (2n)! Gamma(beta))
///  * dyadic intervals: |I - I_n| <= 64 M rho^-2n / (15 (1 - rho^-2)) on [-1, 1] for an integrand
///    bounded by M in the ellipse of rho [ATAP, Theorem 19.3]; here half axis A < 3,
///    rho = A + sqrt(A^2 - 1), k = (3 - A)/2, and with g(x) = x^beta e^(-k x) the sum over intervals
///    is at most (int g dx/x) / log 2 + max g:
///    32/15 max(k^(beta-1), (3 - k)^(beta-1)) (Gamma(beta) k^-beta / log 2 + (beta / (e k))^beta)
///    rho^-2n / ((1 - rho^-2) Gamma(beta)), the best of several A
///  * beyond R: Q(beta, first R)
///
/// @param beta  0 < beta <= 4;  first, last  1e-70 <= first < last <= 1e70, last <= 1e30 first
/// @param tolerance  1e-12 <= tolerance <= 0.1
/// @throws domain_error outside these domains.
/// Cost: n about log(1/tol) / 3, n (log2(last / first) + log2 log(1/tol)) channels; n^3 operations.
/// Accuracy: error_bound includes rounding, about 1e-14.
/// Source: construction: J.-R. Li, SIAM J. Sci. Comput. 31 (2010); S. Jiang, J. Zhang, Q. Zhang and
/// Z. Zhang, Commun. Comput. Phys. 21 (2017), for the Caputo derivative.
inline quadrature_rule gauss_jacobi_rule(double beta, double first, double last, double tolerance) {
  detail::require_rule(beta, first, last, tolerance, "gauss_jacobi_rule");
  const double third = tolerance / 3, log_gamma = std::lgamma(beta);
  const auto near_zero = [&](int n) {
    return std::exp(2 * (std::lgamma(n + 1.0) + std::lgamma(n + beta) - std::lgamma(2 * n + beta)) -
                    std::log(2 * n + beta) - std::lgamma(2 * n + 1.0) - log_gamma);
  };
  const auto dyadic = [&](int n) {
    double best = HUGE_VAL;
    for (double a = 1.1; a < 2.99; a += 0.05) {
      const double rho = a + std::sqrt(a * a - 1), k = 0.5 * (3 - a);
      const double power = std::max(std::pow(k, beta - 1), std::pow(3 - k, beta - 1));
      const double octaves = std::pow(k, -beta) / std::log(2.0) +
                             std::exp(beta * std::log(beta / k) - beta - log_gamma);
      best = std::min(
          best, 32.0 / 15 * power * octaves * std::pow(rho, -2.0 * n) / (1 - std::pow(rho, -2.0)));
    }
    return best;
  };
  int n = 1;
  while (near_zero(n) + dyadic(n) > 2 * third) ++n;
  const double end = detail::gamma_tail_start(beta, third) / first;
  quadrature_rule rule;
  const auto add = [&](double rate, double weight) {
    rule.sum.rates.push_back(rate);
    rule.sum.weights.push_back(weight * std::exp(-log_gamma));
  };
  double a = 1 / last;
  for (const auto& [s, w] : detail::gauss_jacobi(beta, n)) add(a * s, std::pow(a, beta) * w);
  const auto legendre = detail::gauss_jacobi(1, n);
  double most = std::abs(std::log(a));
  for (; a < end; a *= 2)
    for (const auto& [s, w] : legendre) {
      const double rate = a * (1 + s);
      most = std::max(most, std::abs(std::log(rate)));
      add(rate, a * w * std::pow(rate, beta - 1));
    }
  rule.error_bound = near_zero(n) + dyadic(n) + detail::gamma_tail(beta, first * a) +
                     detail::rule_rounding(beta, most + 16 * n);
  return rule;
}

/// The geometric partition of the lifted Heston model: n channels for tau^(H - 1/2) / Gamma(H + 1/2)
/// with a bound of its relative error on first <= tau <= last.
///
///   tau^(a-1) / Gamma(a) = int e^(-r tau) mu(dr),  mu(dr) = r^-a dr / (Gamma(a) Gamma(1-a)),
///   a = H + 1/2,  eta_i = R^(i - n/2) (1/time),  c_i = mu([eta_{i-1}, eta_i]),
///   r_i = 1/c_i int_{eta_{i-1}}^{eta_i} r mu(dr),  i = 1 .. n
///
/// Published is the rate of convergence in L^2, C n^(-4H/5) with uniform nodes, constants not given;
/// the bound returned is derived here. e^(-r tau) is convex in r, so that one node at the mean errs
/// by at most tau^2/2 e^(-eta_{i-1} tau) V eta_{i-1}^(3-a), V eta^(3-a) the variance integral of an
/// interval; summed over the geometric intervals as in gauss_jacobi_rule, with x^(3-a) e^-x:
///
///   Gamma(a)/2 V (Gamma(3-a) / log R + ((3-a)/e)^(3-a)) + (last eta_0)^(1-a) / Gamma(2-a)
///     + Q(1-a, first eta_n)
///
/// It is 1 at most: s lies between 0 and the kernel (Jensen).
///
/// @param hurst     H, 0 < H < 1/2
/// @param channels  n, 1 <= n <= 1000
/// @param ratio     R, 1 < R <= 1e3, and R^(n/2) <= 1e150
/// @param first, last  0 < first < last < inf: the lags that the bound holds on
/// @throws domain_error outside these domains.
/// Cost: n powers. Accuracy: error_bound includes rounding, about 1e-14.
/// Source: E. Abi Jaber, Lifting the Heston model, Quantitative Finance 19 (2019); E. Abi Jaber and
/// O. El Euch, Multifactor approximation of rough volatility models, SIAM J. Financial Math. 10
/// (2019); C. Bayer and S. Breneis, Quantitative Finance 23 (2023), for rules of higher order.
inline quadrature_rule lifted_rough_kernel(double hurst, index_t channels, double ratio,
                                           double first, double last) {
  constexpr const char* where = "lifted_rough_kernel";
  ebb::detail::require_domain(hurst > 0 && hurst < 0.5, where, "need 0 < hurst < 1/2", hurst);
  ebb::detail::require_domain(channels >= 1 && channels <= 1000, where,
                              "need 1 <= channels <= 1000", channels);
  const double half = 0.5 * static_cast<double>(channels);
  ebb::detail::require_domain(ratio > 1 + 1e-6 && ratio <= 1e3 && half * std::log(ratio) <= 345,
                              where, "need 1 < ratio <= 1e3, ratio^(channels / 2) <= 1e150", ratio);
  ebb::detail::require_domain(first > 0 && first < last && last < HUGE_VAL, where,
                              "need 0 < first < last < inf", first, last);
  const double a = hurst + 0.5, log_ratio = std::log(ratio);
  // int_1^R r^(p-1) dr
  const auto moment = [&](double p) { return std::expm1(p * log_ratio) / p; };
  const double mass = moment(1 - a), mean = moment(2 - a) / mass;
  const double scale = 1 / (std::tgamma(a) * std::tgamma(1 - a));
  quadrature_rule rule;
  for (index_t i = 1; i <= channels; ++i) {
    const double from = std::exp((static_cast<double>(i - 1) - half) * log_ratio);
    rule.sum.rates.push_back(from * mean);
    rule.sum.weights.push_back(scale * mass * std::pow(from, 1 - a));
  }
  // int (r - mean)^2 mu over [1, R], without cancellation: Simpson in log r of a smooth positive
  // function, and half as much again for its error.
  double variance = 0;
  const int steps = 200;
  for (int j = 0; j <= steps; ++j) {
    const double r = std::exp(log_ratio * j / steps);
    const double factor = j == 0 || j == steps ? 1 : (j % 2 == 1 ? 4 : 2);
    variance += factor * (r - mean) * (r - mean) * std::pow(r, 1 - a);
  }
  variance *= scale * log_ratio / (3.0 * steps);
  const double low = last * std::exp(-half * log_ratio), y = first * std::exp(half * log_ratio);
  const double curved = 0.5 * std::tgamma(a) * variance *
                        (std::tgamma(3 - a) / log_ratio + std::pow((3 - a) / std::exp(1), 3 - a));
  const double ends =
      std::pow(low, 1 - a) / std::tgamma(2 - a) + (y > 1 ? detail::gamma_tail(1 - a, y) : 1.0);
  rule.error_bound = std::min(1.0, curved + ends) + detail::rule_rounding(1 - a, half * log_ratio);
  return rule;
}

}  // namespace approx
}  // namespace ebb::inline EBB_ABI
