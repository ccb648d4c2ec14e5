// SPDX-License-Identifier: Apache-2.0
// Views of (batch, time, head, width) data: elements, errors, and questions about memory, held to
// lists of all addresses.
#include <doctest/doctest.h>

#include <limits>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include <ebb/core/head_view.hpp>

#include "support/scan_oracle.hpp"

namespace {

using ebb::head_extents;
using ebb::head_strides;
using ebb::head_view;
using ebb::index_t;
using ebb::strided_view;

// What is thrown, or nothing.
template <class Call>
std::string thrown_by(Call call) {
  try {
    call();
  } catch (const ebb::shape_error& error) {
    return error.what();
  }
  return "";
}
bool begins(const std::string& text, const std::string& with) {
  return text.substr(0, with.size()) == with;
}

TEST_CASE("elements, dense and at distances") {
  std::vector<int> memory(200);
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<int>(i);
  const head_view<int> dense(memory.data(), {2, 3, 4, 5});
  CHECK(dense.stride().batch == 60);
  CHECK(dense.stride().step == 20);
  CHECK(dense.stride().head == 5);
  CHECK(dense(1, 2, 3, 4) == 119);
  CHECK(dense.head(3)(1, 2, 4) == 119);
  CHECK(dense.head(2).size() == ebb::extents{2, 3, 5});
  const head_view<const int> seen = dense;
  CHECK(seen(1, 0, 1, 2) == 67);
  CHECK(seen.data() == memory.data());
  const head_view<const int> backwards(memory.data() + 100, {2, 3, 2, 2}, {50, -20, 7});
  CHECK(backwards(1, 2, 1, 1) == 118);
  const auto later = dense.steps_from(1, 2);
  CHECK(later.steps() == 2);
  CHECK(later(0, 1, 0, 0) == 40);
  CHECK(dense.steps_from(3, 0).empty());
  static_assert(!std::is_convertible_v<head_view<const int>, head_view<int>>);
  static_assert(std::is_convertible_v<head_view<int>, head_view<const int>>);
}

TEST_CASE("left out, or empty") {
  CHECK(head_view<float>().left_out());
  float x = 0;
  CHECK_FALSE(head_view<float>(&x, {1, 1, 1, 1}).left_out());
  CHECK_FALSE(head_view<float>(nullptr, {1, 0, 2, 3}).left_out());
  for (const head_extents& none :
       {head_extents{0, 1, 1, 1}, {1, 0, 1, 1}, {1, 1, 0, 1}, {1, 1, 1, 0}}) {
    const head_view<float> view(nullptr, none);
    CHECK(view.empty());
    CHECK_FALSE(ebb::overlap(view, head_view<float>(&x, {1, 1, 1, 1})));
    CHECK_FALSE(ebb::overlap(head_view<float>(&x, {1, 1, 1, 1}), view));
    CHECK(ebb::elements_apart(view));
  }
}

TEST_CASE("what the constructors refuse") {
  float x = 0;
  const std::string extents = "head_view: need extents >= 0 (batches, steps, heads, width), got ";
  CHECK(begins(thrown_by([&] { head_view<float>(&x, {-1, 1, 1, 1}); }), extents + "-1, 1, 1, 1"));
  CHECK(begins(thrown_by([&] { head_view<float>(&x, {1, -2, 1, 1}); }), extents));
  CHECK(begins(thrown_by([&] { head_view<float>(&x, {1, 1, -3, 1}, {}); }), extents));
  CHECK(begins(thrown_by([&] { head_view<float>(&x, {1, 1, 1, -4}, {}); }), extents));
  const std::string memory = "head_view: need memory for a view that is not empty";
  CHECK(begins(thrown_by([] { head_view<float>(nullptr, {1, 1, 1, 1}); }), memory));
  CHECK(begins(thrown_by([] { head_view<float>(nullptr, {1, 1, 1, 1}, {}); }), memory));
  const index_t half = index_t{1} << 32;
  CHECK(begins(thrown_by([&] {
                 head_view<float>(&x, {1, half, 1, half});
               }),
               "head_view: need fewer than 2^63 elements"));
  CHECK(begins(thrown_by([&] {
                 head_view<float>(&x, {half, 1, half, 1});
               }),
               "head_view: need fewer than 2^63 elements"));
  CHECK_NOTHROW(head_view<float>(&x, {1, half, 1, half}, {}));  // repeats one number
  const head_view<float> view(&x, {1, 4, 1, 1}, {});
  const std::string steps = "head_view: need steps inside the view (first, count, steps), got ";
  for (const auto& part : {std::pair<index_t, index_t>{-1, 1},
                           {0, 5},
                           {5, 0},
                           {4, 1},
                           {2, -1},
                           {3, std::numeric_limits<index_t>::max()}})
    CHECK(begins(thrown_by([&] { (void)view.steps_from(part.first, part.second); }), steps));
}

struct random_view {
  head_view<const float> view;
  std::set<const float*> addresses{};
  bool apart = true;

  template <class Draws>
  random_view(std::vector<float>& memory, Draws& random)
      : view(memory.data() + random.integer(300, 360),
             {random.integer(1, 3), random.integer(1, 4), random.integer(1, 3),
              random.integer(1, 4)},
             {random.integer(-9, 30), random.integer(-9, 20), random.integer(-5, 12)}) {
    for (index_t b = 0; b < view.batches(); ++b)
      for (index_t t = 0; t < view.steps(); ++t)
        for (index_t h = 0; h < view.heads(); ++h)
          for (index_t i = 0; i < view.width(); ++i)
            apart = addresses.insert(&view(b, t, h, i)).second && apart;
  }
  template <class Other>
  bool meets(const Other& other) const {
    for (const float* at : addresses)
      if (other.count(at) > 0) return true;
    return false;
  }
};

TEST_CASE("overlap, elements_apart and strides_agree against all addresses") {
  ebb::test::draws random(5);
  std::vector<float> memory(1000);
  int met = 0, parted = 0, known_apart = 0;
  for (int i = 0; i < 20000; ++i) {
    const random_view one(memory, random), two(memory, random);
    const bool meet = one.meets(two.addresses);
    CHECK_MESSAGE(ebb::overlap(one.view, two.view) == meet, "case " << i);
    CHECK_MESSAGE(ebb::overlap(two.view, one.view) == meet, "case " << i);
    (meet ? met : parted)++;

    const strided_view<const float> rows(
        memory.data() + random.integer(280, 380),
        {random.integer(1, 3), random.integer(1, 4), random.integer(1, 4)},
        {random.integer(-9, 30), random.integer(-9, 20)});
    std::set<const float*> addresses;
    for (index_t b = 0; b < rows.batches(); ++b)
      for (index_t t = 0; t < rows.steps(); ++t)
        for (index_t k = 0; k < rows.channels(); ++k) addresses.insert(&rows(b, t, k));
    CHECK_MESSAGE(ebb::overlap(one.view, rows) == one.meets(addresses), "case " << i);

    // Sufficient: what is said to be apart is.
    if (ebb::elements_apart(one.view)) {
      ++known_apart;
      CHECK_MESSAGE(one.apart, "case " << i);
    }

    // Two views of one shape walk alike where all distances from the first element are equal.
    const head_strides other{one.view.stride().batch + random.integer(0, 1),
                             one.view.stride().step + random.integer(0, 1),
                             one.view.stride().head + random.integer(0, 1)};
    const head_view<const float> beside(memory.data() + 400, one.view.size(), other);
    bool alike = true;
    for (index_t b = 0; b < beside.batches(); ++b)
      for (index_t t = 0; t < beside.steps(); ++t)
        for (index_t h = 0; h < beside.heads(); ++h)
          alike = alike && beside.pointer(b, t, h) - beside.data() ==
                               one.view.pointer(b, t, h) - one.view.data();
    CHECK_MESSAGE(ebb::strides_agree(one.view, beside) == alike, "case " << i);
    CHECK_FALSE(ebb::strides_agree(
        one.view, head_view<const float>(memory.data(), {3, 4, 3, 5}, one.view.stride())));
  }
  CHECK(met > 1000);
  CHECK(parted > 1000);
  CHECK(known_apart > 500);
}

TEST_CASE("elements_apart of the layouts in use, in any order of the axes") {
  std::vector<float> memory(1000);
  float* const data = memory.data() + 500;
  CHECK(ebb::elements_apart(head_view<float>(data, {2, 3, 4, 5})));
  CHECK(ebb::elements_apart(head_view<float>(data, {2, 3, 4, 5}, {60, 5, 15})));
  CHECK(ebb::elements_apart(head_view<float>(data, {2, 3, 4, 5}, {5, 40, 10})));
  CHECK(ebb::elements_apart(head_view<float>(data, {2, 3, 4, 5}, {-60, -20, -5})));
  CHECK(ebb::elements_apart(head_view<float>(data, {1, 3, 1, 5}, {0, 5, 0})));
  CHECK_FALSE(ebb::elements_apart(head_view<float>(data, {2, 3, 4, 5}, {0, 20, 5})));
  CHECK_FALSE(ebb::elements_apart(head_view<float>(data, {2, 3, 4, 5}, {60, 20, 4})));
  CHECK_FALSE(ebb::elements_apart(head_view<float>(data, {2, 3, 4, 5}, {60, 19, 5})));
}

TEST_CASE("overlap: parts of a fused buffer, with many heads, steps and batch entries") {
  // One division: this ends at once, where all pairs would take hours. Nothing is read.
  constexpr index_t heads = 1000, steps = 1000, batches = 1000;
  std::vector<float> row(4);
  for (const index_t width : {1, 2}) {
    const ebb::head_strides by{steps * 4 * heads * width, 4 * heads * width, width};
    const ebb::head_extents size{batches, steps, heads, width};
    const auto part = [&](index_t first) { return head_view<float>(row.data() + first, size, by); };
    CHECK_FALSE(ebb::overlap(part(0), part(heads * width)));
    CHECK_FALSE(ebb::overlap(part(3 * heads * width), part(heads * width)));
    CHECK(ebb::overlap(part(0), part(heads * width - 1)));
    CHECK(ebb::overlap(part(3 * heads * width + 1), part(0)));  // into the next step
  }
}

}  // namespace
