// SPDX-License-Identifier: Apache-2.0
// Gated linear attention and retention against their published formulas: raw parameters to outputs.
#include <doctest/doctest.h>

#include <cmath>
#include <optional>
#include <vector>

#include <ebb/model/retnet.hpp>
#include <ebb/spectrum/geometric.hpp>

#include "support/model_oracle.hpp"

namespace {

using ebb::index_t;
using ebb::post_taper;
using ebb::raw_steps;
using namespace ebb::test;

constexpr index_t batches = 2, heads = 3, keys = 5, width = 4, steps = 12;

template <class T>
struct attention_case {
  std::mt19937_64 random{13};
  ebb::head_extents by_key{batches, steps, heads, keys};
  tensor<T> q{by_key, random, -1, 1}, k{by_key, random, -1, 1}, gate{by_key, random, -6, 6},
      v{{batches, steps, heads, width}, random, -1, 1};
  std::vector<T> bias;
  std::optional<double> scale{};
  std::optional<ebb::decay_per> decays{};  // as the decay says

  attention_case() {
    for (index_t i = 0; i < heads * keys; ++i) bias.push_back(T(i % 7) / 8 - T(2));
  }
  template <class Cut>
  ebb::gla_arrays<T> arrays(const Cut& cut, const ebb::head_view<T>& o) const {
    return {.q = cut(q.view()),
            .k = cut(k.view()),
            .v = cut(v.view()),
            .o = o,
            .scale = scale,
            .decays = decays};
  }
  template <class Cut>
  raw_steps<T> raw(const Cut& cut) const {
    return {.raw = cut(gate.view()), .bias = bias};
  }
  /// @param log_w  of (b, t, h, j)
  template <class LogDecay>
  void check(const tensor<T>& o, double error, const LogDecay& log_w) const {
    for (index_t b = 0; b < batches; ++b)
      for (index_t h = 0; h < heads; ++h) {
        const auto truth =
            truth_of_head(steps, ebb::sequential::error_bound(steps, keys), [&](index_t t) {
              const wide by = scale ? wide(*scale) : 1 / std::sqrt(wide(keys));
              model_step s{
                  .k = k.row(b, t, h), .v = v.row(b, t, h), .q = scaled(q.row(b, t, h), by)};
              wide_row w;
              for (index_t j = 0; j < keys; ++j) {
                const wide one = log_w(b, t, h, j);
                s.decay_error = std::max(s.decay_error, -one * wide(error));
                w.push_back(std::exp(one));
              }
              set_transition(s, w, {}, {});
              return s;
            });
        check_head(o, truth, b, h);
      }
  }
  template <class Decay, class LogDecay>
  void check_every_way(index_t first, double error, const Decay& decay,
                       const LogDecay& log_w) const {
    each_way<T>(
        v.view().size(), heads * keys * width, first,
        [&](const auto& cut, const auto& o, const auto& where) {
          ebb::gla(decay(cut), arrays(cut, o), where);
        },
        [&](const auto& cut, const auto& o, index_t position, std::span<T> state) {
          ebb::step(decay(cut), position, arrays(cut, o), state);
        },
        [&](const tensor<T>& o) { check(o, filled_error<T>(error), log_w); });
  }
};

TEST_CASE_TEMPLATE("GLA, native gates", T, float, double) {
  attention_case<T> c;
  for (const double normalizer : {16.0, 1.0}) {
    c.check_every_way(
        1, 20, [&](const auto& cut) { return ebb::gla_decay(cut(c.gate.view()), normalizer); },
        [&](index_t b, index_t t, index_t h, index_t j) {
          return std::log(wide_sigma(c.gate(b, t, h, j))) / wide(normalizer);
        });
    c.scale = 0.25;
  }
}

TEST_CASE_TEMPLATE("GLA and RetNet, tapered: one model", T, float, double) {
  const attention_case<T> c;
  const auto all = [](const auto& view) { return view; };
  for (const index_t first : {index_t{1}, index_t{3000}, index_t{1} << 40}) {
    const auto decay = [&](const auto& cut) {
      return ebb::gla_post_decay(ebb::gla_post_initial(), post_taper::absolute_by_gaps(2048),
                                 c.raw(cut));
    };
    c.check_every_way(first, 20 + 21 * 30, decay, [&](index_t b, index_t t, index_t h, index_t j) {
      // A_log on [0, log 16], equal gaps.
      const wide A_log = std::log(wide(16)) * wide(h) / 2;
      const wide alpha = wide(2 - h) / 2;
      const wide dt = wide_softplus(c.gate(b, t, h, j) + wide(c.bias[std::size_t(h * keys + j)]));
      return -std::exp(A_log) * dt * std::pow(wide(first + t), -alpha);
    });
    const std::vector<index_t> firsts(batches, first);
    ebb::sequences<T> where;
    where.first_positions = firsts;
    tensor<T> one(c.v.view().size()), other(c.v.view().size());
    ebb::gla(decay(all), c.arrays(all, one.view()), where);
    ebb::retnet(ebb::retnet_post_decay(ebb::gla_post_initial(), post_taper::absolute_by_gaps(2048),
                                       c.raw(all)),
                c.arrays(all, other.view()), where);
    CHECK(one.values() == other.values());
  }
}

TEST_CASE_TEMPLATE("RetNet, native", T, float, double) {
  attention_case<T> c;
  c.check_every_way(
      1, 4, [&](const auto&) { return ebb::retnet_decay(heads); },
      [&](index_t, index_t, index_t h, index_t) {
        return std::log(1 - std::pow(wide(2), wide(-5 - h)));
      });
  // Slow heads keep their digits.
  ebb::array<double> block(1, 60);
  ebb::retnet_decay(60).fill({}, block.view());
  for (index_t h = 0; h < 60; ++h) {
    const auto truth = static_cast<double>(std::log1p(-std::ldexp(wide(1), int(-5 - h))));
    CHECK(block(0, h) == doctest::Approx(truth).epsilon(0x1p-51));
  }
}

}  // namespace
