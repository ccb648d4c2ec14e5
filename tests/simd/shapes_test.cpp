// SPDX-License-Identifier: Apache-2.0
// Every way in which `simd` walks rows, by their length and by the size of the data: the bits of
// `rows`.
#include <doctest/doctest.h>

#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include <ebb/decay/average.hpp>
#include <ebb/decay/constant.hpp>
#include <ebb/decay/post.hpp>
#include <ebb/recurrence/backend/simd.hpp>
#include <ebb/spectrum/geometric.hpp>

#include "support/scan_contract.hpp"

namespace {

using ebb::direction;
using ebb::index_t;

template <class T>
void check_shape(index_t steps, index_t channels, index_t first) {
  CAPTURE(steps);
  CAPTURE(channels);
  const ebb::extents size{1, steps, channels};
  const auto b = ebb::test::random_inputs<T, ebb::time_major>(size, 1);
  const auto factors = ebb::test::random_factors<T, ebb::time_major>(size, 2);
  const auto initial = ebb::test::random_inputs<T, ebb::time_major>({1, 1, channels}, 3);
  const auto rates = ebb::rates_of<double>(ebb::geometric_spectrum::extended(1000, 1, 1), channels);
  const std::span<const double> bind(rates);
  const auto check = [&](const auto& decay) {
    for (const direction order : {direction::forward, direction::reverse}) {
      ebb::array<T> right(size), got(size), right_last(initial.size()), last(initial.size());
      ebb::sequences<T> where{.first_positions = {&first, 1}, .initial_states = initial.view()};
      where.final_states = right_last.view();
      ebb::scan(decay, b, right, where, {order});
      where.final_states = last.view();
      ebb::scan(decay, b, got, where, {order}, ebb::simd<>{});
      CHECK(ebb::test::same_bits(got, right));
      CHECK(ebb::test::same_bits(last, right_last));
      auto place = b;
      ebb::scan(decay, place, place, where, {order}, ebb::simd<>{});
      CHECK(ebb::test::same_bits(place, right));
    }
  };
  // The steps of one channel go by vectors (lane_scan_test.cpp), with other bits.
  if (channels > 1) check(ebb::stored_factors(factors));
  check(ebb::constant_decay().bind(bind));
  const auto tapered = ebb::post_taper::relative(1000).bind(bind);
  check(tapered);
  check(ebb::normalised_decay(tapered));
}

// Data whose steps are adjacent has the bits of data whose channels are, wherever blocks begin.
template <class Backend, class T>
void check_turned(index_t steps, index_t channels, index_t begin) {
  CAPTURE(steps);
  CAPTURE(channels);
  CAPTURE(begin);
  const ebb::extents size{2, steps, channels};
  const auto b = ebb::test::random_inputs<T, ebb::time_major>(size, 1);
  ebb::array<T, ebb::channel_major> turned(size), logs(size);
  ebb::array<T> time_logs(size);
  for (index_t n = 0; n < 2; ++n)
    for (index_t t = 0; t < steps; ++t)
      for (index_t k = 0; k < channels; ++k) {
        turned.view()(n, t, k) = b.view()(n, t, k);
        logs.view()(n, t, k) = time_logs.view()(n, t, k) = -T(t % 7) / T(k + 1);
      }
  const auto rates = ebb::rates_of<double>(ebb::geometric_spectrum::extended(1000, 1, 1), channels);
  const index_t count = steps - begin;
  const auto check = [&](const auto& decay, const auto& same_decay) {
    for (const direction order : {direction::forward, direction::reverse}) {
      ebb::array<T> right({2, count, channels}), mixed({2, count, channels});
      ebb::array<T, ebb::channel_major> got(size), other(size);
      const auto from = b.view().steps_from(begin, count);
      const auto turned_from = turned.view().steps_from(begin, count);
      const auto got_part = got.view().steps_from(begin, count);
      const auto other_part = other.view().steps_from(begin, count);
      ebb::scan(decay, from, right, {order});
      ebb::scan(same_decay, turned_from, got_part, {order}, Backend{});
      ebb::scan(decay, from, other_part, {order}, Backend{});
      ebb::scan(decay, turned_from, mixed, {order}, Backend{});
      CHECK(ebb::test::same_bits(mixed, right));
      bool same = true;
      for (index_t n = 0; n < 2; ++n)
        for (index_t t = 0; t < count; ++t)
          for (index_t k = 0; k < channels; ++k)
            same = same && got_part(n, t, k) == right.view()(n, t, k) &&
                   other_part(n, t, k) == right.view()(n, t, k);
      CHECK(same);
      for (index_t n = 0; n < 2; ++n)  // what comes before stays
        for (index_t t = 0; t < begin; ++t)
          for (index_t k = 0; k < channels; ++k) CHECK(got.view()(n, t, k) == T(0));
    }
  };
  const std::span<const double> bind(rates);
  const auto constant = ebb::constant_decay().bind(bind);
  check(constant, constant);
  const auto tapered = ebb::post_taper::relative(1000).bind(bind);
  check(tapered, tapered);
  const auto rows = time_logs.view().steps_from(begin, count);
  const auto columns = logs.view().steps_from(begin, count);
  check(ebb::stored_logs(rows), ebb::stored_logs(columns));
}

TEST_CASE_TEMPLATE("steps adjacent in memory", T, float, double) {
  for (const index_t channels : {1, 2, 5, 16, 17, 40})
    for (const index_t begin : {0, 3}) {
      check_turned<ebb::simd<>, T>(300, channels, begin);
      check_turned<ebb::rows, T>(150, channels, begin);
    }
  check_turned<ebb::simd<>, T>(16, 32, 1);
  check_turned<ebb::simd<>, T>(1, 33, 0);
}

// Rows of `row` elements that take more than the caches, `offset` elements after an aligned address:
// outputs go past the caches, and nothing beside them is written.
template <class T>
void check_far(index_t channels, index_t row, index_t offset) {
  CAPTURE(channels);
  CAPTURE(row);
  CAPTURE(offset);
  const index_t steps = 16'100'000 / (2 * static_cast<index_t>(sizeof(T)) * row) + 2;
  const auto count = static_cast<std::size_t>(steps * row + 16 + offset);
  std::vector<T> from(count), to(count, T(7));
  ebb::test::draws random(1);
  for (T& value : from) value = static_cast<T>(random.uniform(-1, 1));
  const auto aligned = [&](std::vector<T>& values) {
    std::size_t room = count * sizeof(T);
    void* place = values.data();
    return static_cast<T*>(std::align(64, sizeof(T), place, room)) + offset;
  };
  const ebb::strided_view<T> in(aligned(from), {1, steps, channels}, {0, row}),
      out(aligned(to), {1, steps, channels}, {0, row});
  ebb::array<T> right(steps, channels);
  const auto rates = ebb::rates_of<double>(ebb::geometric_spectrum::extended(1000, 1, 1), channels);
  const std::span<const double> bind(rates);
  const auto check = [&](const auto& decay) {
    for (const direction order : {direction::forward, direction::reverse}) {
      ebb::scan(decay, in, right, {order});
      ebb::scan(decay, in, out, {order}, ebb::simd<>{});
      bool same = true;
      for (index_t t = 0; t < steps; ++t)
        same = same && std::memcmp(&out(t, 0), &right(t, 0),
                                   static_cast<std::size_t>(channels) * sizeof(T)) == 0;
      CHECK(same);
    }
  };
  const auto factors = ebb::test::random_factors<T, ebb::time_major>(right.size(), 2);
  check(ebb::stored_factors(factors));
  check(ebb::constant_decay().bind(bind));
  check(ebb::post_taper::relative(1000).bind(bind));
  // An infinite state meets its own decrement: the walk starts again, past what it has written.
  in(steps / 2, channels - 1) = in(steps / 3, 0) = std::numeric_limits<T>::infinity();
  check(ebb::post_taper::relative(1000).bind(bind));
  bool untouched = true;
  for (index_t t = 0; t + 1 < steps; ++t)
    for (index_t k = channels; k < row; ++k)
      untouched = untouched && out.data()[t * row + k] == T(7);
  CHECK(untouched);
}

TEST_CASE("rows beyond the caches") {
  check_far<float>(704, 704, 0);
  check_far<float>(700, 704, 4);
  check_far<float>(709, 720, 13);
  check_far<float>(709, 709, 4);
  check_far<float>(256, 256, 4);
  check_far<float>(100, 112, 1);
  check_far<float>(48, 48, 5);
  check_far<float>(16, 16, 0);
  check_far<double>(301, 304, 3);
  check_far<double>(256, 256, 2);
}

TEST_CASE_TEMPLATE("rows of up to a few vectors, of several parts, and longer", T, float, double) {
  for (const index_t channels : {1, 3, 15, 16, 17, 33, 64, 65, 80, 100, 200, 370, 400, 513})
    check_shape<T>(37, channels, 100);
  // All rows in one set of the first cache; more channels than a tile has.
  check_shape<T>(11, 1024, 1);
  check_shape<T>(9, 4096 + 19, 5000);
}

TEST_CASE("data beyond the caches, in long rows and in short ones") {
  check_shape<float>(17000, 131, 70000);
  check_shape<float>(4200, 513, 1);
}

}  // namespace
