// SPDX-License-Identifier: Apache-2.0
// The selective scan against the definition: shapes, sequences, resets, snapshots, storage types.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <type_traits>
#include <vector>

#include <ebb/core/storage.hpp>
#include <ebb/recurrence/backend/matrix_reference.hpp>
#include <ebb/recurrence/selective_scan.hpp>

#include "support/model_oracle.hpp"

namespace {

using ebb::decay_per;
using ebb::index_t;
using ebb::outer_data;
using namespace ebb::test;

struct shape {
  index_t steps, heads, keys;
  bool by_key = true, logs = true, weights = false, skip = false;
  std::optional<double> unit{};
};

template <class T>
tensor<T> sizes_of(const tensor<T>& x) {
  tensor<T> result = x;
  for (index_t b = 0; b < x.view().batches(); ++b)
    for (index_t t = 0; t < x.view().steps(); ++t)
      for (index_t h = 0; h < x.view().heads(); ++h)
        for (index_t i = 0; i < x.view().width(); ++i)
          result.view()(b, t, h, i) = static_cast<T>(static_cast<float>(std::abs(x(b, t, h, i))));
  return result;
}

template <class T>
void check_shape(const shape& s) {
  INFO("steps " << s.steps << ", heads " << s.heads << ", keys " << s.keys);
  using State = ebb::default_state_t<T>;
  using Wide = double;
  std::mt19937_64 random(static_cast<unsigned>(s.steps * 1000 + s.heads * 50 + s.keys));
  const index_t B = 2, groups = s.heads % 3 == 0 ? 3 : 1, N = s.heads * s.keys;
  // Numbers of float in every type, so that sizes are exact.
  const auto made = [&](index_t heads, index_t width, double low, double high) {
    const tensor<float> x({B, s.steps, heads, width}, random, low, high);
    tensor<T> result(x.view().size());
    for (index_t i = 0; i < index_t(x.values().size()); ++i)
      result.view().data()[i] = static_cast<T>(x.values()[std::size_t(i)]);
    return result;
  };
  const tensor<T> k = made(groups, s.keys, -1, 1), q = made(1, s.keys, -1, 1),
                  v = made(s.heads, 1, -1, 1), c = made(s.heads, 1, -1, 1);
  const tensor<T> k_size = sizes_of(k), q_size = sizes_of(q), v_size = sizes_of(v),
                  c_size = sizes_of(c);
  std::vector<State> skip, skip_size;
  for (index_t h = 0; h < s.heads && s.skip; ++h) {
    skip.push_back(State(h) - 1);
    skip_size.push_back(std::abs(State(h) - 1));
  }
  ebb::array<State> stored(ebb::extents{B, s.steps, s.by_key ? N : s.heads});
  for (index_t i = 0; i < B * s.steps * stored.channels(); ++i) {
    const double u = double(random() >> 11) * 0x1p-53;
    stored.data()[i] = static_cast<State>(s.logs ? (i % 7 == 0 ? -1e-5 : -2 * u) : u);
  }
  const index_t before = s.steps > 4 ? 1 : 0;
  const std::vector<index_t> offsets{before, s.steps / 2, s.steps / 2, s.steps};
  const std::vector<index_t> kept{s.steps / 3, s.steps - 1};
  std::vector<std::uint8_t> resets(std::size_t(B * s.steps));
  for (std::size_t i = 0; i < resets.size(); ++i) resets[i] = i % 11 == 5;
  ebb::array<State> initial(ebb::extents{B, 3, N});
  for (index_t i = 0; i < B * 3 * N; ++i) initial.data()[i] = State(float(i % 13 - 6) / 8);

  const auto run = [&](auto state, const auto& form, bool sizes, tensor<T>& out, auto& finals,
                       auto& snapshots) {
    using S = decltype(state);
    outer_data<T> data{.queries = (sizes ? q_size : q).view(),
                       .keys = (sizes ? k_size : k).view(),
                       .values = (sizes ? v_size : v).view(),
                       .outputs = out.view(),
                       .skip = sizes ? skip_size : skip,
                       .scale = 0.5,
                       .unit_queries = s.unit,
                       .unit_keys = s.unit,
                       .decays = s.by_key ? decay_per::key : decay_per::head};
    if (s.weights) data.weights = (sizes ? c_size : c).view();
    ebb::array<S> start(initial.size());
    for (index_t i = 0; i < B * 3 * N; ++i)
      start.data()[i] = sizes ? std::abs(S(initial.data()[i])) : S(initial.data()[i]);
    ebb::sequences<S> where;
    where.offsets = offsets, where.initial_states = start.view();
    where.final_states = finals.view();
    where.resets = resets, where.snapshot_steps = kept, where.snapshots = snapshots.view();
    if (s.logs)
      ebb::selective_scan(ebb::stored_logs(stored), data, where, form);
    else
      ebb::selective_scan(ebb::stored_factors(stored), data, where, form);
  };
  // Outputs of narrow types are compared by way of wide data: they are rounded once more.
  tensor<T> got({B, s.steps, s.heads, 1}), truth(got.view().size()), size(got.view().size());
  ebb::array<State> got_final(initial.size()), got_kept(ebb::extents{B, 2, N});
  ebb::array<Wide> true_final(initial.size()), true_kept(got_kept.size()),
      final_size(initial.size()), kept_size(got_kept.size());
  run(State(), ebb::key_lanes{}, false, got, got_final, got_kept);
  run(Wide(), ebb::matrix_reference{}, false, truth, true_final, true_kept);
  run(Wide(), ebb::matrix_reference{}, true, size, final_size, kept_size);

  const double u = double(std::numeric_limits<State>::epsilon()) / 2;
  const double n = ebb::key_lanes::error_bound(s.steps, s.keys) + 2;  // the reference's own
  const double state = std::expm1(n * std::log1p(u));
  const double output = state + 2 * double(std::numeric_limits<T>::epsilon());
  for (index_t b = 0; b < B; ++b) {
    for (index_t t = 0; t < s.steps; ++t)
      for (index_t h = 0; h < s.heads; ++h)
        CHECK(double(std::abs(got(b, t, h, 0) - truth(b, t, h, 0))) <=
              output * double(size(b, t, h, 0)));
    for (index_t i = 0; i < N; ++i) {
      for (index_t r = 0; r < 3; ++r)
        CHECK(std::abs(got_final(b, r, i) - true_final(b, r, i)) <= state * final_size(b, r, i));
      for (index_t r = 0; r < 2; ++r)
        CHECK(std::abs(got_kept(b, r, i) - true_kept(b, r, i)) <= state * kept_size(b, r, i));
    }
  }
}

TEST_CASE_TEMPLATE("shapes, decays and options", T, float, double, ebb::bfloat16) {
  for (const index_t keys : {1, 4, 16, 17, 33})
    for (const index_t heads : {1, 3, 70}) check_shape<T>({9, heads, keys});
  check_shape<T>({70, 3, 16, true, false});
  check_shape<T>({70, 3, 16, false, true});
  check_shape<T>({9, 3, 5, false, false, true, true});
  check_shape<T>({9, 2, 20, true, true, true, true, 1e-6});
  check_shape<T>({3, 2, 1100, true, true, true, true});
}

TEST_CASE("no steps, no heads, no keys") {
  using counts = std::array<index_t, 3>;
  for (const auto& [steps, heads, keys] : {counts{0, 2, 3}, counts{2, 0, 3}, counts{2, 2, 0}}) {
    tensor<float> k({1, steps, heads, keys}), v({1, steps, heads, 1}), o({1, steps, heads, 1});
    ebb::array<float> decays(ebb::extents{1, steps, heads * keys});
    ebb::selective_scan(ebb::stored_logs(decays),
                        outer_data<float>{.queries = std::as_const(k).view(),
                                          .keys = std::as_const(k).view(),
                                          .values = std::as_const(v).view(),
                                          .outputs = o.view(),
                                          .decays = decay_per::key});
    for (const float x : o.values()) CHECK(x == 0);
  }
}

TEST_CASE("pieces and steps have the bits of the whole") {
  const index_t steps = 40, heads = 5, keys = 16, N = heads * keys;
  std::mt19937_64 random(1);
  const tensor<float> k({1, steps, 1, keys}, random, -1, 1), q({1, steps, 1, keys}, random, -1, 1),
      v({1, steps, heads, 1}, random, -1, 1);
  ebb::array<float> logs(steps, N);
  for (index_t i = 0; i < steps * N; ++i) logs.data()[i] = -float(i % 17) / 8;
  tensor<float> whole({1, steps, heads, 1}), pieces(whole.view().size());
  std::vector<float> state(static_cast<std::size_t>(N), 0.0f);
  const auto data = [&](tensor<float>& o, index_t from, index_t count) {
    return outer_data<float>{.queries = q.view().steps_from(from, count),
                             .keys = k.view().steps_from(from, count),
                             .values = v.view().steps_from(from, count),
                             .outputs = o.view().steps_from(from, count),
                             .decays = decay_per::key};
  };
  ebb::selective_scan(ebb::stored_logs(logs), data(whole, 0, steps));
  ebb::sequences<float> where;
  where.final_states = ebb::strided_view<float>(state.data(), 1, N);
  ebb::selective_scan(ebb::stored_logs(logs.view().steps_from(0, 29)), data(pieces, 0, 29), where);
  for (index_t t = 29; t < steps; ++t)
    ebb::selective_step(ebb::stored_logs(logs.view().steps_from(t, 1)), t + 1, data(pieces, t, 1),
                        std::span<float>(state));
  CHECK(whole.values() == pieces.values());
}

TEST_CASE("values wider than one number are refused") {
  tensor<float> k({1, 2, 1, 3}), v({1, 2, 1, 2}), o({1, 2, 1, 2});
  ebb::array<float> decays(2, 3);
  CHECK_THROWS_AS(ebb::selective_scan(ebb::stored_logs(decays),
                                      outer_data<float>{.queries = std::as_const(k).view(),
                                                        .keys = std::as_const(k).view(),
                                                        .values = std::as_const(v).view(),
                                                        .outputs = o.view(),
                                                        .decays = decay_per::key}),
                  ebb::shape_error);
}

}  // namespace
