// SPDX-License-Identifier: Apache-2.0
// Gradients of the parameters behind a scan, against differences of the loss in long double.
#include <doctest/doctest.h>

#include <cmath>
#include <complex>
#include <vector>

#include <ebb/core/array.hpp>
#include <ebb/decay/constant.hpp>
#include <ebb/decay/post.hpp>
#include <ebb/recurrence/vjp.hpp>
#include <ebb/spectrum/ordered.hpp>

#include "support/scan_oracle.hpp"

namespace {

using ebb::direction;
using ebb::extents;
using ebb::index_t;
using ebb::scan_cotangents;
using ebb::scan_gradients;
using ebb::sequences;
using ebb::test::draws;
using wide = long double;

/// (8 (f(d) - f(-d)) - (f(2 d) - f(-2 d))) / (12 d): the slope of f at 0 up to d^4 max |f'''''| /
/// 30.
constexpr wide step = 0x1p-12L;
template <class Loss>
wide slope(const Loss& f) {
  return (8 * (f(step) - f(-step)) - (f(2 * step) - f(-2 * step))) / (12 * step);
}

/// One sequence of `size.steps` steps from position `first` on, and the loss
/// sum c_t h_t + sum d h_final of it.
template <class T>
struct problem {
  static constexpr index_t steps = 40, channels = 4, first = 3;
  ebb::array<T> in{steps, channels}, given{steps, channels};
  ebb::array<T> start{1, channels}, last{1, channels};
  std::vector<std::uint8_t> resets = std::vector<std::uint8_t>(steps);
  direction order;

  explicit problem(direction walk) : order(walk) {
    draws random(71);
    for (auto* values : {&in, &given, &start, &last})
      for (index_t i = 0; i < values->steps() * channels; ++i)
        values->data()[i] = static_cast<T>(random.uniform(-1, 1));
    resets[25] = 1;
  }

  index_t step_of(index_t i) const { return order == direction::forward ? i : steps - 1 - i; }

  /// The loss, in long double, and the sum of the absolute values of its terms in one channel.
  template <class LogDecay>
  wide loss(const LogDecay& log_decay, wide* absolute = nullptr, index_t only = -1) const {
    wide sum = 0, size = 0;
    for (index_t k = 0; k < channels; ++k) {
      if (only >= 0 && k != only) continue;
      wide h = start(0, k), most = std::abs(h);
      for (index_t i = 0; i < steps; ++i) {
        const index_t t = step_of(i);
        if (resets[static_cast<std::size_t>(t)]) h = most = 0;
        h = std::exp(log_decay(t, k)) * h + in(t, k);
        most += std::abs(static_cast<wide>(in(t, k)));  // no decay: a bound for any parameters
        sum += h * given(t, k), size += most * std::abs(static_cast<wide>(given(t, k)));
      }
      sum += h * last(0, k), size += most * std::abs(static_cast<wide>(last(0, k)));
    }
    if (absolute) *absolute = size;
    return sum;
  }
};

/// What a difference may be off: the fifth derivative, and the roundings of the loss.
///
/// A term of the loss is a number times f = exp(-x), x = sum of r_k s_t over steps. With
/// x^j e^-x <= (j/e)^j, the fifth derivative of f in log r is at most 110, in delta (whose softplus
/// has derivatives up to 1) 400, in alpha 110 L^5 where |log(t / t_ref)| <= L.
wide difference_error(wide absolute, wide longest_log) {
  const wide fifth = 400 * std::pow(std::max<wide>(1, longest_log), 5) * absolute;
  // Each of the loss's operations, below 20 a step with those of the decay.
  const wide roundings = 20 * problem<double>::steps * std::numeric_limits<wide>::epsilon();
  return std::pow(step, 4) / 30 * fifth + 18 * roundings * absolute / (12 * step);
}

template <class T>
void check_chain(direction order) {
  using Problem = problem<T>;
  constexpr index_t channels = Problem::channels, steps = Problem::steps;
  const Problem data(order);
  const double theta = -3.5;
  const std::vector<double> delta{0.3, -0.8, 1.1};

  // Parameters to rates to decays to states, and all the way back.
  const ebb::ordered_spectrum<double> spectrum(theta, delta);
  std::vector<double> rates(channels);
  spectrum.fill(std::span<double>(rates));
  const auto decay = ebb::post_taper::absolute().bind(std::span<const double>(rates));
  const std::vector<index_t> first{Problem::first};
  const sequences<T> where{
      .first_positions = first, .initial_states = data.start.view(), .resets = data.resets};
  ebb::array<T> out(steps, channels);
  ebb::scan(decay, data.in, out, where, {order});
  std::vector<double> d_rates(channels), d_alpha(channels), d_delta(channels - 1);
  typename decltype(decay)::gradients sums{d_rates, d_alpha};
  ebb::scan_vjp(decay, data.in, out,
                scan_cotangents<T>{.outputs = data.given.view(), .final_states = data.last.view()},
                scan_gradients<T, decltype(sums)>{.decay = &sums}, where, {order});
  double d_theta = 0;
  spectrum.vjp(d_rates, d_theta, d_delta);

  // The same in long double, as a function of a change of one parameter.
  const auto alpha = [&](index_t k) { return wide(channels - 1 - k) / wide(channels - 1); };
  const auto loss = [&](wide at_theta, index_t i, wide at_delta, index_t k, wide at_alpha) {
    std::vector<wide> changed(delta.begin(), delta.end());
    if (i >= 0) changed[static_cast<std::size_t>(i)] += at_delta;
    const auto log_decay = [&](index_t t, index_t c) {
      wide log_rate = theta + at_theta;
      for (index_t j = 0; j < c; ++j)
        log_rate += std::log1p(std::exp(changed[static_cast<std::size_t>(j)]));
      const wide exponent = alpha(c) + (c == k ? at_alpha : 0);
      return -std::exp(log_rate - exponent * std::log(static_cast<wide>(t + Problem::first)));
    };
    return data.loss(log_decay);
  };

  // Roundings of the code (docs/accuracy.md), as multiples of the sums of absolute values: the scan
  // forward and back and the product, 5 T + 13 of the state's type; a log-decay rounded to it and
  // known to (4 + 5 L) u plus a rate's (8 + 4 k + |theta| + log r_k/r_0) u in double, times what a
  // product of T decays makes of that; 30 + 10 L more in double in the decay's and the spectrum's
  // own products, and their sums over steps and channels.
  const wide L = std::log(wide(steps + Problem::first));
  const wide largest = rates.back();
  const wide u = std::numeric_limits<T>::epsilon() / 2, fine = 0x1p-53L;
  const wide decay_error = u + (4 + 5 * L + 8 + 16 + 3.5L + std::log(largest / rates[0])) * fine;
  const wide relative = (5 * steps + 13) * u + steps * largest * decay_error +
                        (30 + 10 * L + steps + channels) * fine;

  // sum over t of s_t |d log a_t| in absolute values: nothing is larger than without decay.
  std::vector<wide> absolute(channels);
  for (index_t k = 0; k < channels; ++k)
    data.loss([](index_t, index_t) { return wide(0); }, &absolute[std::size_t(k)], k);
  const auto terms = [&](index_t k) {
    return steps * rates[std::size_t(k)] * absolute[std::size_t(k)];
  };

  wide all = 0, all_terms = 0;
  for (index_t k = 0; k < channels; ++k) all += absolute[std::size_t(k)], all_terms += terms(k);
  const wide right = slope([&](wide d) { return loss(d, -1, 0, -1, 0); });
  CHECK(std::abs(d_theta - right) <= relative * all_terms + difference_error(all, 1));
  CHECK(std::abs(right) > 0.1);
  for (index_t i = 0; i + 1 < channels; ++i) {
    const wide slope_i = slope([&](wide d) { return loss(0, i, d, -1, 0); });
    CHECK(std::abs(d_delta[std::size_t(i)] - slope_i) <=
          relative * all_terms + difference_error(all, 1));
    CHECK(std::abs(slope_i) > 0.01);
  }
  for (index_t k = 0; k < channels; ++k) {
    const wide slope_k = slope([&](wide d) { return loss(0, -1, 0, k, d); });
    CHECK(std::abs(d_alpha[std::size_t(k)] - slope_k) <=
          relative * L * terms(k) + difference_error(absolute[std::size_t(k)], L));
    CHECK(std::abs(slope_k) > 0.01);
  }
}

TEST_CASE("theta, delta and alpha behind a scan") {
  for (const direction order : {direction::forward, direction::reverse}) {
    check_chain<double>(order);
    check_chain<float>(order);
  }
}

// Complex rates: the gradient holds the slopes along both axes. Averages, too.
template <ebb::input_gain Gain, class Inner>
struct with_gain {
  static constexpr ebb::decay_kind kind = Inner::kind;
  static constexpr ebb::decay_form form = Inner::form;
  static constexpr ebb::input_gain gain = Gain;
  using gradients = typename Inner::gradients;
  Inner inner;

  template <class Block>
  void fill(const ebb::block_origin& where, const Block& block) const {
    inner.fill(where, block);
  }
  template <class Block>
  void vjp(const ebb::block_origin& where, const Block& block, const Block& cotangent,
           gradients& sums) const {
    inner.vjp(where, block, cotangent, sums);
  }
};

template <ebb::input_gain Gain>
void check_turning() {
  using complex = std::complex<double>;
  using wide_complex = std::complex<wide>;
  constexpr index_t steps = 6;
  constexpr bool average = Gain == ebb::input_gain::one_minus_decay;
  const std::vector<complex> rates{{0.2, 0.9}};
  const auto bound = ebb::constant_decay().bind(std::span<const complex>(rates));
  const with_gain<Gain, std::remove_cv_t<decltype(bound)>> decay{bound};
  ebb::array<complex> in(steps, 1), given(steps, 1), out(steps, 1);
  draws random(72);
  wide absolute = 0, inputs = 0;
  for (index_t t = 0; t < steps; ++t) {
    in(t, 0) = {random.uniform(-1, 1), random.uniform(-1, 1)};
    given(t, 0) = {random.uniform(-1, 1), random.uniform(-1, 1)};
    inputs += (average ? 3 : 1) * std::abs(in(t, 0));  // |1 - a| <= 2, and once more for changes
    absolute += inputs * std::abs(given(t, 0));
  }
  ebb::scan(decay, in, out);
  std::vector<complex> d_rates{{1, 2}};
  typename decltype(bound)::gradients sums{d_rates};
  ebb::scan_vjp(decay, in, out, scan_cotangents<complex>{.outputs = given.view()},
                scan_gradients<complex, decltype(sums)>{.decay = &sums});
  const auto loss = [&](wide_complex change) {
    const wide_complex a = std::exp(-(wide_complex(rates[0]) + change));
    wide_complex h = 0;
    wide sum = 0;
    for (index_t t = 0; t < steps; ++t) {
      h = a * h + (average ? wide_complex(1) - a : wide_complex(1)) * wide_complex(in(t, 0));
      sum += std::real(std::conj(wide_complex(given(t, 0))) * h);
    }
    return sum;
  };
  // Terms e^(-m r) with m <= T: fifth derivatives up to T^5. Roundings: 16 a step each way.
  const wide allowed = std::pow(step, 4) / 30 * std::pow(wide(steps), 5) * 2 * absolute +
                       40 * steps * std::numeric_limits<wide>::epsilon() * absolute / step +
                       steps * (32 * steps + 40) * 0x1p-53L * absolute;
  CHECK(std::abs(d_rates[0].real() - 1 - slope([&](wide d) { return loss({d, 0}); })) <= allowed);
  CHECK(std::abs(d_rates[0].imag() - 2 - slope([&](wide d) { return loss({0, d}); })) <= allowed);
  CHECK(std::abs(d_rates[0] - complex(1, 2)) > 0.1);
}

TEST_CASE("complex rates behind a scan") {
  check_turning<ebb::input_gain::one>();
  check_turning<ebb::input_gain::one_minus_decay>();
}

// Real rates of complex states: the slope along the real axis.
TEST_CASE("real rates of complex states") {
  using complex = std::complex<double>;
  const std::vector<double> rates{std::log(2.0)};
  const auto decay = ebb::constant_decay().bind(std::span<const double>(rates));
  ebb::array<complex> in(1, 1), given(1, 1), out(1, 1), start(1, 1);
  start(0, 0) = {4, 2}, given(0, 0) = {1, 2};
  const sequences<complex> where{.initial_states = start.view()};
  ebb::scan(decay, in, out, where);
  std::vector<double> d_rates{0};
  decltype(decay)::gradients sums{d_rates};
  ebb::scan_vjp(decay, in, out, scan_cotangents<complex>{.outputs = given.view()},
                scan_gradients<complex, decltype(sums)>{.decay = &sums}, where);
  // -Re(conj(g) a h_0) = -8 / 2; five roundings of log 2, exp and products, of a sum of two terms.
  CHECK(std::abs(d_rates[0] + 4) <= 30 * 0x1p-53 * 8);
}

TEST_CASE("gradients of rates that are left out are skipped") {
  const std::vector<double> rates{1, 2};
  const auto decay = ebb::constant_decay().bind(std::span<const double>(rates));
  ebb::array<double> in(3, 2), out(3, 2), given(3, 2), d_in(3, 2);
  given(2, 1) = 1;
  ebb::scan(decay, in, out);
  decltype(decay)::gradients none{};
  ebb::scan_vjp(decay, in, out, scan_cotangents<double>{.outputs = given.view()},
                scan_gradients<double, decltype(none)>{.inputs = d_in.view(), .decay = &none});
  CHECK(d_in(2, 1) == 1);
}

}  // namespace
