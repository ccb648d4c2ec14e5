// SPDX-License-Identifier: Apache-2.0
// Mamba-2 and Mamba-1 against their published formulas: raw parameters to outputs.
#include <doctest/doctest.h>

#include <cmath>
#include <optional>
#include <vector>

#include <ebb/model/mamba2.hpp>
#include <ebb/spectrum/ordered.hpp>

#include "support/model_oracle.hpp"

namespace {

using ebb::index_t;
using ebb::mamba2_arrays;
using ebb::post_taper;
using ebb::raw_steps;
using namespace ebb::test;

constexpr index_t batches = 2, steps = 12, heads = 4, groups = 2, width = 3, states = 5;
constexpr double low = 0.001, high = 0.1, horizon = 2048;

// alpha of the general gaps, by its formula.
std::vector<wide> gap_exponents(const std::vector<wide>& log_rates, wide T) {
  const std::size_t n = log_rates.size();
  std::vector<wide> alpha;
  const wide last = static_cast<wide>(n - 1), G = (log_rates[n - 1] - log_rates[0]) / last;
  for (std::size_t k = 0; k < n; ++k) {
    const wide rank = static_cast<wide>(k), c = log_rates[k] - log_rates[0];
    alpha.push_back(
        std::min(wide(1), std::max(wide(0), (last - rank) / last + (c - rank * G) / std::log(T))));
  }
  return alpha;
}

template <class T>
struct mamba_case {
  std::mt19937_64 random{7};
  tensor<T> x{{batches, steps, heads, width}, random, -1, 1};
  tensor<T> B{{batches, steps, groups, states}, random, -1, 1};
  tensor<T> C{{batches, steps, groups, states}, random, -1, 1};
  tensor<T> z{{batches, steps, heads, width}, random, -4, 4};
  tensor<T> dt{{batches, steps, heads, 1}, random, -4, 3};
  std::vector<T> bias{T(-2.97), T(-4), T(-3), T(-7)}, A_log{T(2.5), T(0), T(1), T(0.5)};
  std::vector<T> ordered{T(-1), T(0.25), T(0.5), T(3)};  // with unequal gaps
  std::vector<T> D, D_head{T(1), T(-0.5), T(2), T(0.25)};
  bool gated = false;

  mamba_case() {
    for (index_t i = 0; i < heads * width; ++i) D.push_back(T(0.125) * T(i) - T(1));
  }
  template <class Cut>
  mamba2_arrays<T> arrays(const Cut& cut, const ebb::head_view<T>& y) const {
    mamba2_arrays<T> result{
        .x = cut(x.view()), .B = cut(B.view()), .C = cut(C.view()), .y = y, .D = D};
    if (gated) result.z = cut(z.view());
    return result;
  }
  template <class Cut>
  raw_steps<T> raw(const Cut& cut) const {
    return {.raw = cut(dt.view()), .bias = bias, .lowest = low, .highest = high};
  }
  wide step_of(index_t b, index_t t, index_t h) const {
    const wide free = wide_softplus(dt(b, t, h, 0) + wide(bias[std::size_t(h)]));
    return std::min(wide(high), std::max(wide(low), free));
  }
  /// @param log_decay  log a of (b, t, h) for a step of size 1
  template <class LogDecay>
  void check(const tensor<T>& y, double error, const LogDecay& log_decay) const {
    for (index_t b = 0; b < batches; ++b)
      for (index_t h = 0; h < heads; ++h) {
        const index_t g = h / (heads / groups);
        auto truth =
            truth_of_head(steps, ebb::sequential::error_bound(steps, states), [&](index_t t) {
              const wide dt_t = step_of(b, t, h), log_a = log_decay(t, h) * dt_t;
              model_step s{
                  .k = scaled(B.row(b, t, g), dt_t), .v = x.row(b, t, h), .q = C.row(b, t, g)};
              set_transition(s, wide_row(std::size_t(states), std::exp(log_a)), {}, {});
              s.decay_error = -log_a * error;
              return s;
            });
        for (index_t t = 0; t < steps; ++t)
          for (index_t i = 0; i < width; ++i) {
            const wide skip = D.size() == std::size_t(heads) ? wide(D[std::size_t(h)])
                                                             : wide(D[std::size_t(h * width + i)]);
            const wide gate = gated ? z(b, t, h, i) * wide_sigma(z(b, t, h, i)) : 1;
            wide& value = truth.y[std::size_t(t)][std::size_t(i)];
            wide& limit = truth.limit[std::size_t(t)][std::size_t(i)];
            value = (value + skip * x(b, t, h, i)) * gate;
            limit = (limit + 100 * std::abs(skip * x(b, t, h, i))) * std::abs(gate);
          }
        check_head(y, truth, b, h);
      }
  }
};

template <class T>
void native(const mamba_case<T>& c) {
  const auto decay = [&](const auto& cut) { return ebb::mamba2_decay(c.A_log, c.raw(cut)); };
  each_way<T>(
      c.x.view().size(), heads * states * width, 1,
      [&](const auto& cut, const auto& y, const auto& where) {
        ebb::mamba2(decay(cut), c.arrays(cut, y), where);
      },
      [&](const auto& cut, const auto& y, index_t position, std::span<T> state) {
        ebb::step(decay(cut), position, c.arrays(cut, y), state);
      },
      [&](const tensor<T>& y) {
        c.check(y, filled_error<T>(20),
                [&](index_t, index_t h) { return -std::exp(wide(c.A_log[std::size_t(h)])); });
      });
}

TEST_CASE_TEMPLATE("Mamba-2, native: whole, in pieces, step by step", T, float, double) {
  mamba_case<T> c;
  native(c);
  c.gated = true;
  native(c);
  c.D = c.D_head;
  native(c);
}

TEST_CASE_TEMPLATE("Mamba-2, tapered as published and relatively, up to positions of 2^40", T,
                   float, double) {
  mamba_case<T> c;
  // A_log = ordered(A_log_base, A_log_deltas), as a file has them.
  std::vector<T> rates;
  for (const T log_rate : c.ordered) rates.push_back(std::exp(log_rate));
  const auto spectrum = ebb::ordered_spectrum<T>::from_rates(rates);
  std::vector<wide> log_rates{wide(spectrum.theta())};
  for (const T delta : spectrum.delta())
    log_rates.push_back(log_rates.back() + wide_softplus(wide(delta)));
  for (const bool published : {true, false})
    for (const index_t first : {index_t{1}, index_t{3000}, index_t{1} << 40}) {
      const auto taper = published ? post_taper::absolute_by_gaps(horizon)
                                   : post_taper::relative(horizon).with_offset(30);
      const auto decay = [&](const auto& cut) {
        return ebb::mamba2_post_decay(spectrum, taper, c.raw(cut));
      };
      const auto alpha = gap_exponents(log_rates, horizon);
      const auto log_decay = [&](index_t t, index_t h) {
        const wide exponent =
            published ? alpha[std::size_t(h)] : wide(heads - 1 - h) / wide(heads - 1);
        const wide time = published ? wide(first + t) : wide(first + t + 30) / wide(horizon);
        return -std::exp(log_rates[std::size_t(h)] - exponent * std::log(time));
      };
      // As selective_decay, L <= 40; and the rates themselves, summed in the file's type.
      const double error = 30 + 21 * 40 + 20;
      each_way<T>(
          c.x.view().size(), heads * states * width, first,
          [&](const auto& cut, const auto& y, const auto& where) {
            ebb::mamba2(decay(cut), c.arrays(cut, y), where);
          },
          [&](const auto& cut, const auto& y, index_t position, std::span<T> state) {
            ebb::step(decay(cut), position, c.arrays(cut, y), state);
          },
          [&](const tensor<T>& y) { c.check(y, filled_error<T>(error), log_decay); });
    }
}

TEST_CASE("a taper of exponent 0 is the native decay") {
  mamba_case<double> c;
  // Of heads with equal rates, the last: exponent 0 by rank. The first has exponent 1.
  std::vector<double> A_log(4, 0.5);
  const auto all = [](const auto& view) { return view; };
  const auto native = ebb::mamba2_decay(A_log, c.raw(all));
  const auto tapered = ebb::detail::head_policy("test", 4, c.raw(all), post_taper::relative(100))
                           .weighing()
                           .bind(std::span<const double>(std::vector<double>(4, std::exp(0.5))));
  ebb::array<double> a(steps, 1), b(steps, 1), first(steps, 1), slow(steps, 1);
  native.fill({0, 0, 3, 900}, a.view());
  tapered.fill({0, 0, 3, 900}, b.view());
  native.fill({0, 0, 0, 900}, first.view());
  tapered.fill({0, 0, 0, 900}, slow.view());
  for (index_t t = 0; t < steps; ++t) {
    CHECK(a(t, 0) == b(t, 0));
    CHECK(slow(t, 0) == doctest::Approx(first(t, 0) * 100 / double(900 + t)).epsilon(1e-13));
  }
}

TEST_CASE_TEMPLATE("decode reads the arrays of its step, without binding anew", T, float, double) {
  mamba_case<T> c;
  const auto all = [](const auto& view) { return view; };
  tensor<T> whole(c.x.view().size()), stepped(c.x.view().size());
  ebb::mamba2(ebb::mamba2_decay(c.A_log, c.raw(all)), c.arrays(all, whole.view()));
  auto decay = ebb::mamba2_decay(c.A_log, c.raw(all));
  std::vector<T> state(std::size_t(heads * states * width));
  for (index_t t = 0; t < steps; ++t) {
    const auto cut = [&](const auto& view) { return part(view, 1, t, 1); };
    decay.read_from(cut(c.dt.view()).channels());
    ebb::step(decay, t + 1, c.arrays(cut, cut(stepped.view())), std::span<T>(state));
  }
  for (index_t t = 0; t < steps; ++t)
    for (index_t h = 0; h < heads; ++h)
      for (index_t i = 0; i < width; ++i)
        CHECK(stepped(1, t, h, i) ==
              doctest::Approx(double(whole(1, t, h, i))).epsilon(sizeof(T) == 4 ? 1e-4 : 1e-12));
}

TEST_CASE("the gate leaves padding alone, and fits") {
  const index_t length = 5;
  std::mt19937_64 random(3);
  const tensor<float> x({1, length, 1, 2}, random, -1, 1), z({1, length, 1, 2}, random, -1, 1),
      B({1, length, 1, 2}, random, -1, 1), dt({1, length, 1, 1}, random, -1, 1);
  tensor<float> y({1, length, 1, 2}, random, -1, 1);
  const auto before = y.values();
  const std::vector<index_t> offsets{1, 2, 4};
  ebb::sequences<float> where;
  where.offsets = offsets;
  const auto decay = ebb::mamba2_decay(std::vector<float>{0}, raw_steps<float>{.raw = dt.view()});
  mamba2_arrays<float> arrays{
      .x = x.view(), .B = B.view(), .C = B.view(), .y = y.view(), .z = z.view()};
  ebb::mamba2(decay, arrays, where);
  for (const index_t t : {0, 4})
    for (index_t i = 0; i < 2; ++i) CHECK(y.view()(0, t, 0, i) == before[std::size_t(2 * t + i)]);
  for (index_t i = 0; i < 2; ++i) CHECK(y.view()(0, 1, 0, i) != before[std::size_t(2 + i)]);
}

// Mamba-1: channels of one value, a rate for each of N states.
template <class T>
void mamba1_case(bool tapered, index_t first) {
  constexpr index_t inputs = 6, N = 16;
  std::mt19937_64 random(11);
  const tensor<T> x({batches, steps, inputs, 1}, random, -1, 1),
      z({batches, steps, inputs, 1}, random, -3, 3), dt({batches, steps, inputs, 1}, random, -5, 1);
  const tensor<T> B({batches, steps, 1, N}, random, -1, 1),
      C({batches, steps, 1, N}, random, -1, 1);
  std::vector<T> A_log, bias, D;
  for (index_t c = 0; c < inputs * N; ++c)
    A_log.push_back(tapered ? T(0.03) * T(c) - T(3) : std::log(T(1 + c % N)));
  for (index_t d = 0; d < inputs; ++d) bias.push_back(T(d) / 8 - T(2)), D.push_back(T(d) - T(2));
  const auto decay = [&](const auto& cut) {
    std::optional<post_taper> taper;
    if (tapered) taper = post_taper::relative(500);
    return ebb::mamba1_decay(A_log, raw_steps<T>{.raw = cut(dt.view()), .bias = bias}, taper);
  };
  const auto arrays = [&](const auto& cut, const auto& y) {
    return mamba2_arrays<T>{.x = cut(x.view()),
                            .B = cut(B.view()),
                            .C = cut(C.view()),
                            .y = y,
                            .z = cut(z.view()),
                            .D = D};
  };
  each_way<T>(
      {batches, steps, inputs, 1}, inputs * N, first,
      [&](const auto& cut, const auto& y, const auto& where) {
        ebb::mamba1(decay(cut), arrays(cut, y), where);
      },
      [&](const auto& cut, const auto& y, index_t position, std::span<T> state) {
        ebb::mamba1_step(decay(cut), position, arrays(cut, y), state);
      },
      [&](const tensor<T>& y) {
        for (index_t b = 0; b < batches; ++b)
          for (index_t d = 0; d < inputs; ++d) {
            auto truth =
                truth_of_head(steps, ebb::key_lanes::error_bound(steps, N), [&](index_t t) {
                  const wide dt_t = wide_softplus(dt(b, t, d, 0) + wide(bias[std::size_t(d)]));
                  wide_row w;
                  wide most = 0;
                  for (index_t n = 0; n < N; ++n) {
                    const index_t c = d * N + n;
                    wide log_a = -std::exp(wide(A_log[std::size_t(c)])) * dt_t;
                    if (tapered)
                      log_a *= std::pow(wide(first + t) / 500,
                                        -wide(inputs * N - 1 - c) / wide(inputs * N - 1));
                    w.push_back(std::exp(log_a));
                    most = std::max(most, -log_a);
                  }
                  model_step s{
                      .k = scaled(B.row(b, t, 0), dt_t), .v = x.row(b, t, d), .q = C.row(b, t, 0)};
                  set_transition(s, w, {}, {});
                  s.decay_error = most * filled_error<T>(20 + 5 * 35);
                  return s;
                });
            for (index_t t = 0; t < steps; ++t) {
              const wide gate = z(b, t, d, 0) * wide_sigma(z(b, t, d, 0));
              const wide skip = wide(D[std::size_t(d)]) * x(b, t, d, 0);
              wide& value = truth.y[std::size_t(t)][0];
              wide& limit = truth.limit[std::size_t(t)][0];
              value = (value + skip) * gate;
              limit = (limit + 100 * std::abs(skip)) * std::abs(gate);
            }
            check_head(y, truth, b, d);
          }
      });
}

TEST_CASE_TEMPLATE("Mamba-1, native and tapered", T, float, double) {
  mamba1_case<T>(false, 1);
  mamba1_case<T>(true, 1);
  mamba1_case<T>(true, index_t{1} << 40);
}

TEST_CASE("Mamba-1 on (batch, channel, time) inputs and outputs") {
  constexpr index_t inputs = 3, N = 4, T = 7;
  std::mt19937_64 random(2);
  const tensor<float> dt({1, T, inputs, 1}, random, -1, 1), B({1, T, 1, N}, random, -1, 1),
      x({1, T, inputs, 1}, random, -1, 1);
  tensor<float> y({1, T, inputs, 1});
  std::vector<float> turned, out(std::size_t(T * inputs));
  for (index_t d = 0; d < inputs; ++d)
    for (index_t t = 0; t < T; ++t) turned.push_back(float(x(0, t, d, 0)));
  const auto decay =
      ebb::mamba1_decay(std::vector<float>(inputs * N, 0.5f), raw_steps<float>{.raw = dt.view()});
  const ebb::sequences<float> where;
  mamba2_arrays<float> arrays{.x = x.view(), .B = B.view(), .C = B.view(), .y = y.view()};
  ebb::mamba1(decay, arrays, where);
  const ebb::head_extents size{1, T, inputs, 1};
  const ebb::head_strides by{inputs * T, 1, T};
  arrays.x = {turned.data(), size, by};
  arrays.y = {out.data(), size, by};
  ebb::mamba1(decay, arrays, where);
  for (index_t d = 0; d < inputs; ++d)
    for (index_t t = 0; t < T; ++t) CHECK(out[std::size_t(d * T + t)] == y.view()(0, t, d, 0));
}

}  // namespace
