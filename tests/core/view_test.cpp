// SPDX-License-Identifier: Apache-2.0
// Views, arrays and the questions about shared memory.
#include <doctest/doctest.h>

#include <concepts>
#include <numeric>
#include <set>
#include <vector>

#include <ebb/core/array.hpp>
#include <ebb/core/overlap.hpp>
#include <ebb/spectrum/random.hpp>

namespace {

using ebb::channel_major;
using ebb::extents;
using ebb::index_t;
using ebb::strided_view;
using ebb::time_major;

static_assert(ebb::view_of<strided_view<float>, float>);
static_assert(ebb::view_of<strided_view<float>, const float>);
static_assert(ebb::view_of<strided_view<const float>, const float>);
static_assert(!ebb::view_of<strided_view<const float>, float>);
static_assert(!ebb::view_of<strided_view<double>, const float>);
static_assert(ebb::view_of<ebb::array<float, channel_major>, float>);
static_assert(ebb::view_of<const ebb::array<float>, const float>);
static_assert(!ebb::view_of<const ebb::array<float>, float>);
static_assert(!ebb::view_of<std::vector<float>, const float>);
static_assert(std::convertible_to<strided_view<float>, strided_view<const float>>);
static_assert(!std::convertible_to<strided_view<const float>, strided_view<float>>);
static_assert(!std::convertible_to<strided_view<float>, strided_view<float, channel_major>>);

// A container of somebody else's, seen through a specialised trait.
struct foreign {
  std::vector<double> values;
};

}  // namespace

template <>
struct ebb::view_traits<foreign> {
  static auto of(foreign& f) {
    return strided_view<double>(f.values.data(), static_cast<index_t>(f.values.size()), 1);
  }
};

namespace {

TEST_CASE("elements lie where the strides say") {
  std::vector<int> memory(200);
  std::iota(memory.begin(), memory.end(), 0);
  const strided_view<int> rows(memory.data(), extents{2, 3, 4}, {100, 10});
  CHECK(rows(1, 2, 3) == 123);
  CHECK(rows(2, 3) == 23);
  const strided_view<int, channel_major> columns(memory.data(), extents{2, 4, 3}, {100, 10});
  CHECK(columns(1, 3, 2) == 123);
  const strided_view<int> dense(memory.data(), extents{2, 3, 4});
  CHECK(dense(1, 2, 3) == 12 + 2 * 4 + 3);
  const strided_view<int, channel_major> transposed(memory.data(), 3, 4);
  CHECK(transposed(2, 3) == 3 * 3 + 2);
  const strided_view<int> repeated(memory.data() + 5, extents{1, 6, 2}, {0, 0});
  CHECK(repeated(5, 1) == 6);
  const strided_view<int> backwards(memory.data() + 50, extents{1, 6, 2}, {0, -10});
  CHECK(backwards(5, 1) == 1);
}

TEST_CASE("parts of a view") {
  std::vector<int> memory(60);
  std::iota(memory.begin(), memory.end(), 0);
  const strided_view<int> view(memory.data(), extents{2, 5, 6});
  CHECK(view.steps_from(3, 2)(0, 0) == 18);
  CHECK(view.channels_from(4, 2)(1, 1) == 11);
  CHECK(view.batch_entry(1)(0, 0) == 30);
  CHECK(view.steps_from(5, 0).empty());
  CHECK_THROWS_AS((void)view.steps_from(4, 2), ebb::shape_error);
  CHECK_THROWS_AS((void)view.channels_from(-1, 2), ebb::shape_error);
  CHECK_THROWS_AS((void)view.batch_entry(2), ebb::shape_error);
}

TEST_CASE("impossible views and arrays are refused") {
  int memory[4] = {};
  CHECK_THROWS_AS(strided_view<int>(memory, -1, 2), ebb::shape_error);
  CHECK_THROWS_AS(strided_view<int>(nullptr, 1, 1), ebb::shape_error);
  CHECK_NOTHROW(strided_view<int>(nullptr, 0, 7));
  CHECK_THROWS_AS(ebb::array<int>(2, -3), ebb::shape_error);
  const index_t huge = index_t{1} << 40;
  CHECK_THROWS_AS(ebb::array<int>(huge, huge), ebb::shape_error);
  CHECK_THROWS_AS(ebb::array<int>(extents{huge, 1, huge}), ebb::shape_error);
  CHECK_NOTHROW(ebb::array<int>(extents{huge, huge, 0}));
}

TEST_CASE("arrays own their memory and bind by constness") {
  ebb::array<double> values(3, 2);
  values(2, 1) = 7;
  const ebb::array<double> copy = values;
  values(2, 1) = 8;
  CHECK(copy(2, 1) == 7);
  CHECK(copy(0, 0) == 0);
  static_assert(std::same_as<decltype(ebb::as_view(copy)), strided_view<const double>>);
  static_assert(std::same_as<decltype(ebb::as_view(values)), strided_view<double>>);
  foreign other{{1, 2, 3}};
  CHECK(ebb::as_view(other)(2, 0) == 3);
}

template <class Axis>
strided_view<int, Axis> random_view(ebb::uniform_stream& random, std::vector<int>& memory) {
  const auto draw = [&](index_t low, index_t high) {
    return low + static_cast<index_t>(random.bits() % static_cast<std::uint64_t>(high - low + 1));
  };
  // Offsets up to 2 * 12 + 3 * 14 + 3 either way from the middle of 200.
  return {memory.data() + draw(90, 110),
          extents{draw(1, 3), draw(1, 4), draw(1, 4)},
          {draw(-12, 12), draw(-14, 14)}};
}

template <class A, class B>
void check_against_enumeration(std::uint64_t seed) {
  ebb::uniform_stream random(seed);
  std::vector<int> memory(200);
  int overlaps = 0, apart = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    const auto a = random_view<A>(random, memory);
    const auto b = random_view<B>(random, memory);
    const auto addresses = [](const auto& view) {
      std::multiset<const int*> all;
      for (index_t i = 0; i < view.batches(); ++i)
        for (index_t t = 0; t < view.steps(); ++t)
          for (index_t k = 0; k < view.channels(); ++k) all.insert(&view(i, t, k));
      return all;
    };
    const auto of_a = addresses(a), of_b = addresses(b);
    bool shared = false;
    for (const int* p : of_a) shared = shared || of_b.count(p) > 0;
    CHECK(ebb::overlap(a, b) == shared);
    overlaps += shared;
    // elements_apart is sufficient, not necessary.
    bool repeats = false;
    for (const int* p : of_a) repeats = repeats || of_a.count(p) > 1;
    if (ebb::elements_apart(a)) CHECK_FALSE(repeats);
    apart += ebb::elements_apart(a);
  }
  CHECK(overlaps > 300);
  CHECK(overlaps < 2700);
  CHECK(apart > 300);
}

static_assert(ebb::outlives_call<strided_view<float>>);
static_assert(ebb::outlives_call<ebb::array<float>&>);
static_assert(!ebb::outlives_call<ebb::array<float>>);

TEST_CASE("a product of extents that overflows is refused") {
  float x = 0;
  const index_t big = index_t{1} << 32;
  CHECK_THROWS_AS(strided_view<float>(&x, big, big), ebb::shape_error);
  CHECK(strided_view<float>(&x, extents{1, big, big}, {0, 0}).steps() == big);
}

TEST_CASE("overlap agrees with enumeration") {
  check_against_enumeration<time_major, time_major>(1);
  check_against_enumeration<time_major, channel_major>(2);
  check_against_enumeration<channel_major, channel_major>(3);
}

TEST_CASE("overlap: two halves of each row of a fused buffer, in many batch entries") {
  // One division per entry: this ends at once, where all pairs would take minutes.
  const index_t batches = 1000000;
  std::vector<float> row(8);  // nothing is read: the rest of the buffer is not needed
  const strided_view<float> left(row.data(), extents{batches, 2, 4}, {16, 8});
  const strided_view<float> right(row.data() + 4, extents{batches, 2, 4}, {16, 8});
  const strided_view<float> shifted(row.data() + 3, extents{batches, 2, 4}, {16, 8});
  CHECK_FALSE(ebb::overlap(left, right));
  CHECK(ebb::overlap(left, shifted));
}

TEST_CASE("overlap: the layouts that occur") {
  std::vector<float> buffer(100);
  const strided_view<float> left(buffer.data(), extents{1, 10, 5}, {0, 10});
  const strided_view<float> right(buffer.data() + 5, extents{1, 10, 5}, {0, 10});
  const strided_view<float> shifted(buffer.data() + 4, extents{1, 10, 5}, {0, 10});
  const strided_view<const float> row(buffer.data() + 13, extents{1, 10, 5}, {0, 0});
  CHECK_FALSE(ebb::overlap(left, right));
  CHECK(ebb::overlap(left, shifted));
  CHECK(ebb::overlap(left, row));
  CHECK(ebb::same_memory(left, strided_view<const float>(left)));
  CHECK_FALSE(ebb::same_memory(left, right));
  const strided_view<float> column(buffer.data(), 10, 1);
  const strided_view<float, channel_major> same_column(buffer.data(), 10, 1);
  CHECK(ebb::same_memory(column, same_column));
  CHECK(ebb::elements_apart(left));
  CHECK_FALSE(ebb::elements_apart(row));
  // Batch entries interleaved inside the rows.
  CHECK(ebb::elements_apart(strided_view<float>(buffer.data(), extents{2, 5, 4}, {4, 8})));
  CHECK_FALSE(ebb::elements_apart(strided_view<float>(buffer.data(), extents{2, 5, 4}, {4, 7})));
}

}  // namespace
