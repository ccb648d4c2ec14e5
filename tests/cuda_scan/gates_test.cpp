// SPDX-License-Identifier: Apache-2.0
// Decays made in the kernels, within what they state of log a; and the way back through them.
#include <doctest/doctest.h>

#include <complex>
#include <vector>

#include <ebb/decay/average.hpp>
#include <ebb/recurrence/vjp.hpp>

#include "support/emulated_scan.hpp"

namespace {

using ebb::channel_major;
using ebb::index_t;
using ebb::time_major;
using backend = ebb::test::emulated_scan<ebb::test::small_tiles>;

/// A decay whose log a a kernel makes within Units u.
template <class Decay, int Units>
struct made : Decay {
  explicit made(const Decay& decay) : Decay(decay) {}
  static constexpr double log_error = Units;
};

template <class State, class Axis, class Decay>
void check(const Decay& decay, const ebb::extents& size, index_t first_position = 1,
           bool without_inputs = false) {
  auto in = ebb::test::random_inputs<State, Axis>(size, 3);
  if (without_inputs) in = ebb::array<State, Axis>(size);
  const auto initial =
      ebb::test::random_inputs<State, time_major>({size.batches, 1, size.channels}, 4);
  const std::vector<index_t> first(static_cast<std::size_t>(size.batches), first_position);
  using Wide = std::conditional_t<ebb::is_complex<State>, std::complex<long double>, long double>;
  for (const ebb::direction order : {ebb::direction::forward, ebb::direction::reverse}) {
    ebb::array<State, Axis> out(size);
    ebb::sequences<State> where{.first_positions = first, .initial_states = initial.view()};
    scan(decay, in, out, where, {order}, backend{});
    const auto truth = ebb::test::truth_of<Wide>(decay, std::as_const(in).view(), where, order);
    ebb::test::check_bound<backend, State>(std::as_const(out).view(), truth,
                                           ebb::step_kind_of<Decay, State>, State(0));
  }
}

TEST_CASE_TEMPLATE("tapers at every position", Axis, time_major, channel_major) {
  const auto rates = ebb::rates_of<double>(ebb::geometric_spectrum::timescales(0.5, 3e3), 6);
  const std::span<const double> bind(rates);
  for (const index_t position :
       {index_t{1}, index_t{50}, index_t{1} << 20, (index_t{1} << 31) - 7, index_t{1} << 61}) {
    INFO("position " << position);
    check<float, Axis>(ebb::post_taper::absolute().bind(bind), {1, 70, 6}, position);
    check<float, Axis>(ebb::post_taper::relative(1e6).with_offset(3).bind(bind), {2, 30, 6},
                       position);
  }
  check<double, Axis>(ebb::post_taper::relative(1e6).bind(bind), {1, 30, 6}, index_t{1} << 40);
}

// log a = -r 2^(-alpha l), l about 60, is about -20 for alpha = 1 or 3/4: of a single step without
// input 13 u and 10 u |log a| are allowed, and an error of l or its product by 2^-24 is up to
// 22 u |log a|.
TEST_CASE_TEMPLATE("tapers of large logarithms", Axis, time_major, channel_major) {
  for (const double rate : {0x1p65, 0x1p50}) {
    const std::vector<double> rates(5, rate);
    const auto taper = ebb::post_taper::absolute().bind(std::span<const double>(rates));
    for (index_t i = 0; i < 20; ++i)
      check<float, Axis>(taper, {1, 1, 5}, (index_t{1} << 60) + i * 0x01bcdef012345678, true);
  }
}

template <class Raw, class Axis>
ebb::array<Raw, Axis> raw_steps(const ebb::extents& size) {
  ebb::array<Raw, Axis> raw(size);
  ebb::test::draws random(5);
  for (index_t i = 0; i < size.batches * size.steps * size.channels; ++i)
    raw.data()[i] = static_cast<Raw>(random.uniform(-4, 4));
  return raw;
}

template <class Axis, class Policy>
void check_selective(const Policy& policy, const std::vector<double>& rates) {
  const auto decay = policy.bind(std::span<const double>(rates));
  // 11 + |raw| + |bias| + |x| <= 21, 7 for a taper, 11 for what `fill` gives.
  using Decay = std::remove_cv_t<decltype(decay)>;
  check<float, Axis>(made<Decay, 39>(decay), {2, 21, static_cast<index_t>(rates.size())}, 1000);
}

TEST_CASE_TEMPLATE("selective decays", Axis, time_major, channel_major) {
  const std::vector<double> rates{0.01, 0.1, 0.3, 1, 2, 3};
  const auto raw = raw_steps<float, Axis>({2, 21, 6});
  const ebb::selective_decay plain(raw);
  check_selective<Axis>(plain, rates);
  check_selective<Axis>(plain.with_bias(std::vector<double>{-1, 1, 0.5, 0, 0.25, 1}), rates);
  check_selective<Axis>(plain.with_bias(std::vector<double>{0.7}).negated().limited(0.1, 2), rates);
  check_selective<Axis>(plain.tapered(ebb::post_taper::relative(1e4)), rates);
  check_selective<Axis>(plain.without_softplus().limited(0, 3), rates);
  const auto few = raw_steps<ebb::bfloat16, time_major>({2, 21, 3});
  check_selective<Axis>(ebb::selective_decay(few).steps_for(2), rates);
  check_selective<Axis>(
      ebb::selective_decay(few).steps_for(2).with_bias(std::vector<double>{-1, 0, 1}), rates);
  const auto one = raw_steps<ebb::half, channel_major>({2, 21, 1});
  check_selective<Axis>(ebb::selective_decay(one).with_bias(std::vector<double>{0.5}), rates);
}

TEST_CASE_TEMPLATE("sigmoid gates", Axis, time_major, channel_major) {
  const auto raw = raw_steps<float, Axis>({2, 21, 6});
  const auto one = raw_steps<ebb::bfloat16, time_major>({2, 21, 1});
  const std::vector<double> logits{-3, -2, -1, 0, 1, 2};
  const auto policy = [&](const auto& gate) {
    const auto decay = gate.bind_logits(std::span<const double>(logits));
    // 12 + |w| + |raw| + |x| + 3 |y| <= 36, |y| <= log 10, and 7 for what `fill` gives.
    using Decay = std::remove_cv_t<decltype(decay)>;
    check<float, Axis>(made<Decay, 43>(decay), {2, 21, 6}, 1000);
  };
  policy(ebb::sigmoid_gate(raw));
  policy(ebb::sigmoid_gate(one));
  policy(ebb::sigmoid_gate(raw).tapered(ebb::post_taper::relative(1e4)));
}

TEST_CASE_TEMPLATE("averages", Axis, time_major, channel_major) {
  const std::vector<double> rates{0.001, 0.01, 0.1, 1};
  const auto averages = ebb::normalised(ebb::constant_decay());
  check<float, Axis>(averages.bind(std::span<const double>(rates)), {1, 30, 4});
}

TEST_CASE_TEMPLATE("irregular decays, as filled", Axis, time_major, channel_major) {
  auto dt = raw_steps<float, Axis>({2, 21, 6});
  for (index_t i = 0; i < 2 * 21 * 6; ++i) dt.data()[i] = std::abs(dt.data()[i]);
  const std::vector<double> rates{0.01, 0.1, 0.3, 1, 2, 3};
  check<float, Axis>(ebb::irregular_decay(dt).bind(std::span<const double>(rates)), {2, 21, 6});
  std::vector<std::complex<double>> turning;
  for (const double r : rates) turning.emplace_back(r, 2 - r);
  const auto one = dt.view().channels_from(2, 1);
  check<std::complex<double>, Axis>(
      ebb::irregular_decay(one).bind(std::span<const std::complex<double>>(turning)), {2, 21, 6});
}

TEST_CASE_TEMPLATE("parts of decays", Axis, time_major, channel_major) {
  const auto rates = ebb::rates_of<double>(ebb::geometric_spectrum::timescales(0.5, 300), 8);
  const auto taper = ebb::post_taper::absolute().bind(std::span<const double>(rates));
  check<float, Axis>(ebb::shifted_decay(taper, {0, 0, 2}, -1), {1, 21, 5}, 40);
  const auto constant = ebb::constant_decay().bind(std::span<const double>(rates));
  check<float, Axis>(ebb::shifted_decay(constant, {0, 0, 3}), {1, 21, 5});
  const auto logs = ebb::test::random_logs<float, Axis>({2, 30, 8}, 6);
  const auto stored = ebb::stored_logs(logs);
  check<float, Axis>(ebb::shifted_decay(stored, {1, 4, 2}), {1, 21, 5});
}

// Decays of 1 and -1 and whole numbers: exact in any order.
TEST_CASE("the way back is a scan by the same backend") {
  const ebb::extents size{2, 30, 5};
  ebb::array<float> factors(size), g(size), out(size);
  ebb::test::draws random(7);
  for (index_t i = 0; i < 2 * 30 * 5; ++i) {
    factors.data()[i] = random.bits() % 2 == 0 ? 1.0f : -1.0f;
    g.data()[i] = static_cast<float>(random.integer(-3, 3));
  }
  ebb::array<float> gradients[2] = {ebb::array<float>(size), ebb::array<float>(size)};
  ebb::array<float> initial[2] = {ebb::array<float>(ebb::extents{2, 1, 5}),
                                  ebb::array<float>(ebb::extents{2, 1, 5})};
  for (const int own : {0, 1}) {
    ebb::scan_cotangents<float> known;
    known.outputs = g.view();
    ebb::scan_gradients<float, ebb::no_gradients> asked;
    asked.inputs = gradients[own].view();
    asked.initial_states = initial[own].view();
    if (own == 1) {
      const index_t before = backend::shared_launcher().launches();
      scan_vjp(factors, out, out, known, asked, ebb::sequences<float>{}, {}, backend{});
      CHECK(backend::shared_launcher().launches() > before);
    } else {
      scan_vjp(factors, out, out, known, asked);
    }
  }
  CHECK(ebb::test::same_bits(gradients[0], gradients[1]));
  CHECK(ebb::test::same_bits(initial[0], initial[1]));
}

}  // namespace
