// SPDX-License-Identifier: Apache-2.0
// RWKV-7 and Gated DeltaNet against their published formulas: raw parameters to outputs.
#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include <ebb/model/gated_deltanet.hpp>
#include <ebb/model/rwkv7.hpp>
#include <ebb/spectrum/geometric.hpp>

#include "support/model_oracle.hpp"

namespace {

using ebb::index_t;
using ebb::post_taper;
using ebb::raw_steps;
using namespace ebb::test;

constexpr index_t batches = 2, heads = 4, keys = 5, width = 3;
// The majorant of a corrected state doubles each step: few of them in float.
template <class T>
constexpr index_t steps = std::is_same_v<T, float> ? 6 : 12;

wide_row unit(const wide_row& x, wide epsilon) {
  return scaled(x, 1 / std::sqrt(wide_dot(x, x) + epsilon));
}

template <class T>
struct rwkv7_case {
  std::mt19937_64 random{5};
  ebb::head_extents by_key{batches, steps<T>, heads, keys};
  tensor<T> r{by_key, random, -1, 1}, k{by_key, random, -1, 1}, kappa{by_key, random, -2, 2},
      a{by_key, random, 0.05, 0.95}, lora{by_key, random, -3, 2},
      v{{batches, steps<T>, heads, width}, random, -1, 1};

  template <class Cut>
  ebb::rwkv7_arrays<T> arrays(const Cut& cut, const ebb::head_view<T>& o) const {
    return {.r = cut(r.view()),
            .k = cut(k.view()),
            .v = cut(v.view()),
            .kappa = cut(kappa.view()),
            .a = cut(a.view()),
            .o = o};
  }
  /// S_t = (diag(w) - (a * kappa) kappa^T) S + k v^T, kappa = x / max(|x|, 1e-12), as published.
  /// @param argument  that of the logistic function, of (b, t, channel)
  template <class Argument>
  void check(const tensor<T>& o, double error, const Argument& argument) const {
    for (index_t b = 0; b < batches; ++b)
      for (index_t h = 0; h < heads; ++h) {
        const auto truth =
            truth_of_head(steps<T>, ebb::sequential::error_bound(steps<T>, keys), [&](index_t t) {
              model_step s{.k = k.row(b, t, h), .v = v.row(b, t, h), .q = r.row(b, t, h)};
              wide_row w, u;
              const wide_row x = kappa.row(b, t, h);
              const wide length = std::max(std::sqrt(wide_dot(x, x)), wide(1e-12));
              const wide_row z = scaled(x, 1 / length);
              for (index_t j = 0; j < keys; ++j) {
                w.push_back(
                    std::exp(-std::exp(wide(-0.5)) * wide_sigma(argument(b, t, h * keys + j))));
                u.push_back(-a(b, t, h, j) * z[std::size_t(j)]);
              }
              set_transition(s, w, u, z);
              s.decay_error = error;  // |log w| < 1
              return s;
            });
        check_head(o, truth, b, h);
      }
  }
};

TEST_CASE_TEMPLATE("RWKV-7, native", T, float, double) {
  const rwkv7_case<T> c;
  const auto decay = [&](const auto& cut) { return ebb::rwkv7_decay(cut(c.lora.view())); };
  each_way<T>(
      c.v.view().size(), heads * keys * width, 1,
      [&](const auto& cut, const auto& o, const auto& where) {
        ebb::rwkv7(decay(cut), c.arrays(cut, o), where);
      },
      [&](const auto& cut, const auto& o, index_t position, std::span<T> state) {
        ebb::step(decay(cut), position, c.arrays(cut, o), state);
      },
      [&](const tensor<T>& o) {
        c.check(o, filled_error<T>(14), [&](index_t b, index_t t, index_t channel) {
          return c.lora(b, t, channel / keys, channel % keys);
        });
      });
}

TEST_CASE_TEMPLATE("RWKV-7, tapered, up to positions of 2^40", T, float, double) {
  const rwkv7_case<T> c;
  const index_t N = heads * keys;
  // Unequal gaps, by the parameters of a file.
  std::vector<T> delta;
  for (index_t i = 0; i + 1 < N; ++i) delta.push_back(T(i % 5) - T(3));
  const double base = -6.5;
  const auto w0 = ebb::rwkv7_logits(base, delta);
  std::vector<wide> logits{wide(base)}, p;
  for (const T d : delta) logits.push_back(logits.back() + wide_softplus(wide(d)));
  for (const wide w : logits) p.push_back(std::log(wide_sigma(w)));
  for (const bool published : {true, false})
    for (const index_t first : {index_t{1}, index_t{3000}, index_t{1} << 40}) {
      const auto taper =
          published ? post_taper::absolute_by_gaps(2048) : post_taper::relative_by_gaps(2048);
      const auto decay = [&](const auto& cut) {
        return ebb::rwkv7_post_decay(w0, taper, cut(c.lora.view()));
      };
      each_way<T>(
          c.v.view().size(), heads * keys * width, first,
          [&](const auto& cut, const auto& o, const auto& where) {
            ebb::rwkv7(decay(cut), c.arrays(cut, o), where);
          },
          [&](const auto& cut, const auto& o, index_t position, std::span<T> state) {
            ebb::step(decay(cut), position, c.arrays(cut, o), state);
          },
          [&](const tensor<T>& o) {
            // By the accuracy of sigmoid_gate, |x| <= 60, L <= 36, and w0 summed in double.
            c.check(o, filled_error<T>(8 + 120 + 36 * 38 + 400),
                    [&](index_t b, index_t t, index_t channel) {
                      const auto n = std::size_t(channel);
                      const wide last = wide(N - 1), rank = wide(channel);
                      const wide G = (p.back() - p.front()) / last;
                      wide alpha = published ? (last - rank) / last +
                                                   (p[n] - p[0] - rank * G) / std::log(wide(2048))
                                             : (p.back() - p[n]) / (p.back() - p[0]);
                      alpha = std::min(wide(1), std::max(wide(0), alpha));
                      const wide time = wide(first + t) / (published ? 1 : 2048);
                      return logits[n] + c.lora(b, t, channel / keys, channel % keys) -
                             alpha * std::log(time);
                    });
          });
    }
}

TEST_CASE("RWKV-7: a removal key that is almost 0 is divided by 1e-12 at least") {
  rwkv7_case<double> c;
  auto kappa = c.kappa.view();
  for (index_t j = 0; j < keys; ++j) kappa(0, 2, 1, j) = 0, kappa(0, 3, 1, j) = 1e-8;
  tensor<double> o(c.v.view().size());
  const auto all = [](const auto& view) { return view; };
  ebb::rwkv7(ebb::rwkv7_decay(c.lora.view()), c.arrays(all, o.view()));
  // Of 1e-8 the two differ by 1e-24 / (2 * 5e-16) of the key.
  c.check(o, 20 + 1e-8 / 0x1p-53, [&](index_t b, index_t t, index_t channel) {
    return c.lora(b, t, channel / keys, channel % keys);
  });
}

template <class T>
struct deltanet_case {
  std::mt19937_64 random{9};
  index_t gates;  // numbers for each head
  tensor<T> q{{batches, steps<T>, 2, keys}, random, -1, 1},
      k{{batches, steps<T>, 2, keys}, random, -1, 1},
      v{{batches, steps<T>, heads, width}, random, -1, 1},
      beta{{batches, steps<T>, heads, 1}, random, 0.05, 0.95}, a;
  std::vector<T> A_log{T(1), T(-0.5), T(2), T(0)}, bias;

  explicit deltanet_case(bool by_key)
      : gates(by_key ? keys : 1), a({batches, steps<T>, heads, gates}, random, -5, 1) {
    for (index_t i = 0; i < heads * gates; ++i) bias.push_back(T(i % 7) / 8 - T(2));
  }
  template <class Cut>
  ebb::gated_deltanet_arrays<T> arrays(const Cut& cut, const ebb::head_view<T>& o) const {
    return {.q = cut(q.view()),
            .k = cut(k.view()),
            .v = cut(v.view()),
            .beta = cut(beta.view()),
            .o = o,
            .decays = gates == 1 ? ebb::decay_per::head : ebb::decay_per::key};
  }
  template <class Cut>
  raw_steps<T> raw(const Cut& cut) const {
    return {.raw = cut(a.view()), .bias = bias};
  }
  /// S_t = (I - beta k k^T) diag(w) S + beta k v^T, as published.
  /// @param log_rate  log of exp(A_log) times the taper, of (t, h)
  template <class LogRate>
  void check(const tensor<T>& o, double error, const LogRate& log_rate) const {
    for (index_t b = 0; b < batches; ++b)
      for (index_t h = 0; h < heads; ++h) {
        const auto truth =
            truth_of_head(steps<T>, ebb::sequential::error_bound(steps<T>, keys), [&](index_t t) {
              const wide strength = beta(b, t, h, 0);
              const wide_row unit_k = unit(k.row(b, t, h / 2), 1e-6L);
              model_step s{.k = scaled(unit_k, strength),
                           .v = v.row(b, t, h),
                           .q = scaled(unit(q.row(b, t, h / 2), 1e-6L), 1 / std::sqrt(wide(keys)))};
              wide_row w, z;
              for (index_t j = 0; j < keys; ++j) {
                const index_t i = gates == 1 ? 0 : j;
                const wide log_w =
                    -std::exp(log_rate(t, h)) *
                    wide_softplus(a(b, t, h, i) + wide(bias[std::size_t(h * gates + i)]));
                s.decay_error = std::max(s.decay_error, -log_w * wide(error));
                w.push_back(std::exp(log_w));
                z.push_back(w.back() * unit_k[std::size_t(j)]);
              }
              set_transition(s, w, scaled(unit_k, -strength), z);
              return s;
            });
        check_head(o, truth, b, h);
      }
  }
  template <class Decay, class LogRate>
  void check_every_way(index_t first, double error, const Decay& decay, const LogRate& log_rate) {
    each_way<T>(
        v.view().size(), heads * keys * width, first,
        [&](const auto& cut, const auto& o, const auto& where) {
          ebb::gated_deltanet(decay(cut), arrays(cut, o), where);
        },
        [&](const auto& cut, const auto& o, index_t position, std::span<T> state) {
          ebb::step(decay(cut), position, arrays(cut, o), state);
        },
        [&](const tensor<T>& o) { check(o, filled_error<T>(error), log_rate); });
  }
};

TEST_CASE_TEMPLATE("Gated DeltaNet, native and tapered, a gate for a head or each key", T, float,
                   double) {
  for (const bool by_key : {false, true}) {
    deltanet_case<T> c(by_key);
    c.check_every_way(
        1, 20, [&](const auto& cut) { return ebb::gated_deltanet_decay(c.A_log, c.raw(cut)); },
        [&](index_t, index_t h) { return wide(c.A_log[std::size_t(h)]); });
    // Equal gaps: alpha is linear in the rank, by either formula.
    for (const index_t first : {index_t{1}, index_t{3000}, index_t{1} << 40})
      c.check_every_way(
          first, 20 + 21 * 30,
          [&](const auto& cut) {
            return ebb::gated_deltanet_post_decay(ebb::gated_deltanet_post_initial(100),
                                                  post_taper::absolute_by_gaps(2048), c.raw(cut));
          },
          [&](index_t t, index_t h) {
            return std::log(wide(100)) * wide(h) / 3 - wide(3 - h) / 3 * std::log(wide(first + t));
          });
  }
}

TEST_CASE("at position 1 the absolute taper is 1: the native decays") {
  const auto all = [](const auto& view) { return view; };
  const deltanet_case<double> c(true);
  const auto A_log = std::vector<double>{0, 0.5, 1, 1.5};
  const auto spectrum = ebb::geometric_spectrum::rates(1, std::exp(1.5));
  const auto native = ebb::gated_deltanet_decay(A_log, c.raw(all));
  const auto tapered =
      ebb::gated_deltanet_post_decay(spectrum, post_taper::absolute_by_gaps(2048), c.raw(all));
  ebb::array<double> a(1, heads * keys), b(1, heads * keys);
  native.fill({}, a.view());
  tapered.fill({}, b.view());
  for (index_t k = 0; k < heads * keys; ++k)
    CHECK(a(0, k) == doctest::Approx(b(0, k)).epsilon(1e-14));

  // RWKV-7: w0 in the bias of lora.
  const rwkv7_case<double> r;
  const auto w0 = ebb::rwkv7_post_initial(2048, heads * keys);
  tensor<double> lora = r.lora;
  for (index_t h = 0; h < heads; ++h)
    for (index_t j = 0; j < keys; ++j) lora.view()(0, 0, h, j) += w0[std::size_t(h * keys + j)];
  ebb::rwkv7_decay(lora.view()).fill({}, a.view());
  const auto post = ebb::rwkv7_post_decay(w0, post_taper::absolute_by_gaps(2048), r.lora.view());
  post.fill({}, b.view());
  for (index_t k = 0; k < heads * keys; ++k)
    CHECK(a(0, k) == doctest::Approx(b(0, k)).epsilon(1e-14));
}

TEST_CASE("Gated DeltaNet with K = V = 1, by hand") {
  // g = exp(-softplus(0)) = 1/2; k = q = 1 (no epsilon), scale 1; beta 1/2, 1, 1/4.
  const std::vector<double> one(3, 1.0), zero(3, 0.0), beta{0.5, 1, 0.25}, v{2, 3, -1};
  std::vector<double> o(3);
  const ebb::head_extents size{1, 3, 1, 1};
  using view = ebb::head_view<const double>;
  const auto decay = ebb::gated_deltanet_decay(std::vector<double>{0.0},
                                               raw_steps<double>{.raw = view(zero.data(), size)});
  const ebb::gated_deltanet_arrays<double> arrays{.q = view(one.data(), size),
                                                  .k = view(one.data(), size),
                                                  .v = view(v.data(), size),
                                                  .beta = view(beta.data(), size),
                                                  .o = {o.data(), size},
                                                  .epsilon = 0.0};
  ebb::gated_deltanet(decay, arrays);
  // S = 0 + 1/2 (2 - 0) = 1; 1/2 + (3 - 1/2) = 3; 3/2 + 1/4 (-1 - 3/2) = 7/8.
  for (const auto& [got, truth] : {std::pair{o[0], 1.0}, {o[1], 3.0}, {o[2], 0.875}})
    CHECK(got == doctest::Approx(truth).epsilon(1e-14));
}

}  // namespace
