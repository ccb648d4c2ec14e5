// SPDX-License-Identifier: Apache-2.0
// The gradients of what makes the decays, on the emulator: sums of the definition's cotangents of
// log a times derivatives in long double.
#include <doctest/doctest.h>

#include <cmath>
#include <complex>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <ebb/decay/irregular.hpp>
#include <ebb/decay/selective.hpp>
#include <ebb/decay/sigmoid_gate.hpp>

#include "support/emulated_vjp.hpp"

namespace {

using ebb::channel_major;
using ebb::direction;
using ebb::extents;
using ebb::index_t;
using ebb::strided_view;
using ebb::time_major;
using wide = long double;
using wide_complex = std::complex<long double>;
using backend = ebb::test::emulated_scan<ebb::test::small_tiles>;

/// A decay whose log a a kernel makes within Units u.
template <class Decay, int Units>
struct made : Decay {
  explicit made(const Decay& decay) : Decay(decay) {}
  static constexpr double log_error = Units;
};

/// Sums of terms, each with what it may be off.
template <class Wide>
struct sums {
  std::vector<Wide> value;
  std::vector<wide> allowed;
  explicit sums(index_t count)
      : value(static_cast<std::size_t>(count)), allowed(static_cast<std::size_t>(count)) {}

  void add(index_t i, const Wide& term, const wide& error) {
    value[static_cast<std::size_t>(i)] += term, allowed[static_cast<std::size_t>(i)] += error;
  }
};

/// Two batch entries of 140 steps, more than one chunk of a block, with all that happens at steps.
template <class State, class Axis>
struct problem {
  extents size;
  std::vector<index_t> offsets{1, 1, 60, 139}, first{3, 4, 5, 6, 7, 900}, kept{2, 100};
  std::vector<std::uint8_t> resets;
  ebb::array<State, Axis> in, given;
  ebb::array<State> start, last, at_kept;

  explicit problem(index_t channels, index_t steps = 140)
      : size{2, steps, channels},
        in(ebb::test::random_inputs<State, Axis>(size, 1)),
        given(ebb::test::random_inputs<State, Axis>(size, 2)),
        start(ebb::test::random_inputs<State, time_major>({2, 3, channels}, 3)),
        last(ebb::test::random_inputs<State, time_major>({2, 3, channels}, 4)),
        at_kept(ebb::test::random_inputs<State, time_major>({2, 2, channels}, 5)) {
    offsets[3] = steps - 1, kept[1] = steps - 40;
    offsets[2] = steps / 2;
    resets.assign(static_cast<std::size_t>(2 * steps), 0);
    resets[30] = resets[static_cast<std::size_t>(steps) + 90] = 1;
  }

  /// Adds the gradients of a decay's parameters to `sums`, and calls
  /// each(b, t, k, position, d, error of d) for the definition's cotangents of what is filled.
  template <class Decay, class Each>
  void run(const Decay& decay, typename Decay::gradients& sums, direction order, const Each& each) {
    using Wide = std::conditional_t<ebb::is_complex<State>, wide_complex, wide>;
    ebb::array<State> snapshots(at_kept.size());
    ebb::sequences<State> where{.offsets = offsets,
                                .first_positions = first,
                                .initial_states = start.view(),
                                .resets = resets,
                                .snapshot_steps = kept,
                                .snapshots = snapshots.view()};
    ebb::array<State, Axis> out(size);
    ebb::scan(decay, in, out, where, {order});
    const ebb::scan_cotangents<State, State, Axis> known{given.view(), last.view(), at_kept.view()};
    ebb::scan_gradients<State, typename Decay::gradients, State, Axis> asked;
    asked.decay = &sums;
    ebb::scan_vjp(decay, in, out, known, asked, where, {order}, backend{});
    const auto truth = ebb::test::vjp_truth_of<Wide, ebb::test::device_steps_back>(
        decay, std::as_const(in).view(), known, where, order);
    for (index_t b = 0; b < 2; ++b)
      for (index_t s = 0; s < where.count(); ++s)
        for (index_t t = where.begin(s); t < where.end(s, size.steps); ++t)
          for (index_t k = 0; k < size.channels; ++k)
            each(b, t, k, where.first_position(b, s) + t - where.begin(s),
                 truth.filled(b, t, k).value, truth.filled(b, t, k).allowed);
  }
};

/// u of the state, and of the sums over 280 steps in double.
template <class State>
constexpr wide units(double n) {
  return n * static_cast<double>(std::numeric_limits<ebb::real_of_t<State>>::epsilon()) / 2 +
         300 * 0x1p-53;
}
constexpr direction both_ways[] = {direction::forward, direction::reverse};

template <class Param, class Wide>
void check(const std::string& what, const std::vector<Param>& got, const sums<Wide>& right,
           const Param& before) {
  REQUIRE(got.size() == right.value.size());
  bool clear = false;
  for (std::size_t k = 0; k < got.size(); ++k) {
    INFO(what << " " << k);
    const Wide added = Wide(got[k]) - Wide(before);
    const wide rounding = 0x1p-52L * (std::abs(before) + std::abs(right.value[k]));
    CHECK(std::abs(added - right.value[k]) <= right.allowed[k] + rounding);
    clear = clear || std::abs(right.value[k]) > 2 * right.allowed[k];
  }
  CHECK(clear);  // the bound says something
}

TEST_CASE_TEMPLATE("constant rates", Axis, time_major, channel_major) {
  const std::vector<double> rates{0.001, 0.01, 0.03, 0.1, 0.5, 1, 1.5};
  const auto decay = ebb::constant_decay().bind(std::span<const double>(rates));
  problem<float, Axis> p(7);
  for (const direction order : both_ways) {
    std::vector<double> got(7, 5.0);
    typename decltype(decay)::gradients to{got};
    sums<wide> right(7);
    p.run(decay, to, order, [&](index_t, index_t, index_t k, index_t, wide d, wide error) {
      right.add(k, -d, error + units<float>(0) * std::abs(d));
    });
    check("rate", got, right, 5.0);
  }
}

TEST_CASE_TEMPLATE("complex constant rates, and averages", Axis, time_major, channel_major) {
  using complex = std::complex<double>;
  const std::vector<complex> rates{{0.01, 2}, {0.1, -1}, {0.5, 0.3}};
  problem<complex, Axis> p(3, 130);
  const auto go = [&](const auto& decay) {
    std::vector<complex> got(3, complex(1, 2));
    typename std::remove_cvref_t<decltype(decay)>::gradients to{got};
    sums<wide_complex> right(3);
    p.run(decay, to, direction::reverse,
          [&](index_t, index_t, index_t k, index_t, wide_complex d, wide error) {
            right.add(k, -d, error + units<double>(0) * std::abs(d));
          });
    check("rate", got, right, complex(1, 2));
  };
  go(ebb::constant_decay().bind(std::span<const complex>(rates)));
  go(ebb::normalised(ebb::constant_decay()).bind(std::span<const complex>(rates)));
}

TEST_CASE_TEMPLATE("rates and exponents of tapers", Axis, time_major, channel_major) {
  const std::vector<double> rates{0.003, 0.02, 0.1, 0.4, 1};
  const auto decay =
      ebb::post_taper::relative(50).with_offset(2).bind(std::span<const double>(rates));
  problem<float, Axis> p(5);
  for (const direction order : both_ways) {
    std::vector<double> got(5, 1.0), got_alpha(5, -2.0);
    typename decltype(decay)::gradients to{got, got_alpha};
    sums<wide> right(5), right_alpha(5);
    p.run(decay, to, order, [&](index_t, index_t, index_t k, index_t position, wide d, wide error) {
      const wide alpha = wide(4 - k) / 4, l = std::log(wide(position + 2) / 50);
      const wide s = std::exp(-alpha * l), r = wide(rates[std::size_t(k)]);
      // The factor within 6 u, the rate rounded; the logarithm within 2^-45.
      const wide off = error + units<float>(8) * std::abs(d);
      right.add(k, -s * d, s * off);
      right_alpha.add(k, r * s * l * d, r * s * (std::abs(l) * off + 0x1p-45L * std::abs(d)));
    });
    check("rate", got, right, 1.0);
    check("alpha", got_alpha, right_alpha, -2.0);
  }
}

template <class Raw, class Axis>
ebb::array<Raw, Axis> raw_steps(const extents& size) {
  ebb::array<Raw, Axis> raw(size);
  ebb::test::draws random(6);
  for (index_t i = 0; i < size.batches * size.steps * size.channels; ++i)
    raw.data()[i] = static_cast<Raw>(static_cast<float>(random.uniform(-4, 2)));
  return raw;
}

struct selective_case {
  index_t steps_for = 1;
  bool tapered = false, softplus = true, negated = false, one_bias = false;
  double lowest = 0, highest = 1e9;
};

template <class Axis, class Raw, class RawAxis>
void check_selective(const selective_case& how, index_t columns) {
  problem<float, Axis> p(6, 110);
  const auto raw = raw_steps<Raw, RawAxis>({2, 110, columns});
  const std::vector<double> rates{0.01, 0.1, 0.3, 0.5, 0.8, 1};
  const index_t per = columns == 1 ? 6 : how.steps_for;
  std::vector<double> bias{0.5};
  if (!how.one_bias) bias.resize(static_cast<std::size_t>(6 / how.steps_for), -0.25);
  auto policy = ebb::selective_decay(raw)
                    .with_bias(bias)
                    .limited(how.lowest, how.highest)
                    .steps_for(how.steps_for);
  if (how.tapered) policy = policy.tapered(ebb::post_taper::relative(50));
  if (!how.softplus) policy = policy.without_softplus();
  if (how.negated) policy = policy.negated();
  const auto inner = policy.bind(std::span<const double>(rates));
  // 11 + |raw| + |bias| + |x| <= 20, 7 for a taper, 11 for what `fill` gives.
  const made<std::remove_cv_t<decltype(inner)>, 38> decay(inner);
  std::vector<double> got(6, 1.0), got_bias(bias.size(), 2.0), got_alpha(how.tapered ? 6 : 0, 3.0);
  ebb::array<float, RawAxis> got_raw(raw.size());
  for (index_t i = 0; i < 2 * 110 * columns; ++i) got_raw.data()[i] = 0.5f;
  typename decltype(decay)::gradients to{
      .rates = got, .raw = got_raw.view(), .bias = got_bias, .alpha = got_alpha};
  sums<wide> right(6), right_bias(static_cast<index_t>(bias.size())), right_alpha(6);
  sums<wide> right_raw(2 * 110 * columns);
  p.run(decay, to, direction::forward,
        [&](index_t b, index_t t, index_t k, index_t position, wide d, wide error) {
          const index_t column = k / per, at = how.one_bias ? 0 : k / how.steps_for;
          const wide r = wide(rates[std::size_t(k)]);
          wide x = wide(static_cast<float>(raw(b, t, column))) + wide(bias[std::size_t(at)]);
          if (how.negated) x = -x;
          const wide free = how.softplus ? std::log1p(std::exp(x)) : x;
          const wide dt = std::clamp(free, wide(how.lowest), wide(how.highest));
          const bool acts = dt != free;
          const wide slope = acts ? 0 : how.softplus ? 1 / (1 + std::exp(-x)) : 1;
          const wide alpha = wide(5 - k) / 5, l = std::log(wide(position) / 50);
          const wide s = how.tapered ? std::exp(-alpha * l) : 1;
          // dt and its slope within (10 + |raw| + |bias| + |x|) u, a taper within 7 u.
          const wide off = error + units<float>(28) * std::abs(d);
          right.add(k, -dt * s * d, dt * s * off);
          right_alpha.add(k, r * dt * s * l * d,
                          r * dt * s * (std::abs(l) * off + 0x1p-45L * std::abs(d)));
          const wide part = (how.negated ? 1 : -1) * r * s * slope;
          right_bias.add(at, part * d, std::abs(part) * off);
          right_raw.add((b * 110 + t) * columns + column, part * d,
                        std::abs(part) * off + 0x1p-22L * (1 + std::abs(part * d)));
        });
  check("rate", got, right, 1.0);
  check("bias", got_bias, right_bias, 2.0);
  if (how.tapered) check("alpha", got_alpha, right_alpha, 3.0);
  bool all = true;
  for (index_t b = 0; b < 2; ++b)
    for (index_t t = 0; t < 110; ++t)
      for (index_t c = 0; c < columns; ++c) {
        const auto i = static_cast<std::size_t>((b * 110 + t) * columns + c);
        all = all &&
              std::abs(wide(got_raw(b, t, c)) - 0.5L - right_raw.value[i]) <= right_raw.allowed[i];
      }
  CHECK(all);
}

TEST_CASE_TEMPLATE("selective decays", Axis, time_major, channel_major) {
  check_selective<Axis, float, Axis>({}, 6);
  check_selective<Axis, float, time_major>({.tapered = true, .one_bias = true}, 6);
  check_selective<Axis, ebb::bfloat16, time_major>({.steps_for = 2, .negated = true}, 3);
  check_selective<Axis, float, channel_major>({.one_bias = true, .lowest = 0.1, .highest = 1}, 1);
  check_selective<Axis, float, Axis>({.softplus = false, .lowest = 0.01, .highest = 3}, 6);
}

TEST_CASE_TEMPLATE("irregular decays", Axis, time_major, channel_major) {
  const std::vector<double> rates{0.01, 0.1, 0.3, 1};
  const auto go = [&](index_t columns) {
    problem<double, Axis> p(4, 90);
    ebb::array<double, Axis> dt(extents{2, 90, columns}), got_dt(dt.size());
    ebb::test::draws random(8);
    for (index_t i = 0; i < 2 * 90 * columns; ++i) dt.data()[i] = random.uniform(0, 2);
    dt(0, 40, 0) = std::numeric_limits<double>::infinity();
    const auto decay = ebb::irregular_decay(dt).bind(std::span<const double>(rates));
    std::vector<double> got(4);
    typename decltype(decay)::gradients to{got, got_dt.view()};
    sums<wide> right(4), right_dt(2 * 90 * columns);
    p.run(decay, to, direction::reverse,
          [&](index_t b, index_t t, index_t k, index_t, wide d, wide error) {
            const index_t c = columns == 1 ? 0 : k;
            const wide step = dt(b, t, c), r = wide(rates[std::size_t(k)]);
            if (std::isinf(step)) return;
            const wide off = error + units<double>(2) * std::abs(d);
            right.add(k, -step * d, step * off);
            right_dt.add((b * 90 + t) * columns + c, -r * d, r * off);
          });
    check("rate", got, right, 0.0);
    bool all = true;
    for (index_t b = 0; b < 2; ++b)
      for (index_t t = 0; t < 90; ++t)
        for (index_t c = 0; c < columns; ++c) {
          const auto i = static_cast<std::size_t>((b * 90 + t) * columns + c);
          all = all && std::abs(wide(got_dt(b, t, c)) - right_dt.value[i]) <= right_dt.allowed[i];
        }
    CHECK(all);
  };
  go(4);
  go(1);
}

TEST_CASE_TEMPLATE("sigmoid gates", Axis, time_major, channel_major) {
  const std::vector<double> logits{-3, -2, -1, 0, 1};
  problem<float, Axis> p(5, 100);
  const auto raw = raw_steps<float, Axis>({2, 100, 5});
  const auto inner = ebb::sigmoid_gate(raw)
                         .tapered(ebb::post_taper::relative(50))
                         .bind_logits(std::span<const double>(logits));
  // 12 + |w| + |raw| + |x| + 3 |y|, |y| <= log 50, |x| <= 11, and 7 for what `fill` gives.
  const made<std::remove_cv_t<decltype(inner)>, 49> decay(inner);
  std::vector<double> got(5, 1.0), got_alpha(5);
  ebb::array<float, Axis> got_raw(raw.size());
  typename decltype(decay)::gradients to{got, got_raw.view(), got_alpha};
  sums<wide> right(5), right_alpha(5), right_raw(2 * 100 * 5);
  p.run(decay, to, direction::forward,
        [&](index_t b, index_t t, index_t k, index_t position, wide d, wide error) {
          const wide l = std::log(wide(position) / 50);
          const wide x = wide(logits[std::size_t(k)]) + wide(raw(b, t, k)) - wide(4 - k) / 4 * l;
          const wide e = std::exp(-std::abs(x));
          const wide part = -std::exp(wide(-0.5)) * e / ((1 + e) * (1 + e));
          const wide off = error + units<float>(16 + 37) * std::abs(d);
          right.add(k, part * d, -part * off);
          right_alpha.add(k, -l * part * d, -part * (std::abs(l) * off + 0x1p-45L * std::abs(d)));
          right_raw.add((b * 100 + t) * 5 + k, part * d, -part * off + 0x1p-24L * std::abs(d));
        });
  check("logit", got, right, 1.0);
  check("alpha", got_alpha, right_alpha, 0.0);
  bool all = true;
  for (index_t b = 0; b < 2; ++b)
    for (index_t t = 0; t < 100; ++t)
      for (index_t k = 0; k < 5; ++k) {
        const auto i = static_cast<std::size_t>((b * 100 + t) * 5 + k);
        all = all && std::abs(wide(got_raw(b, t, k)) - right_raw.value[i]) <= right_raw.allowed[i];
      }
  CHECK(all);
}

}  // namespace
