// SPDX-License-Identifier: Apache-2.0
// Arrays that can be moved in packs, and such as begin at whole packs but do not consist of them:
// the bits of the same call on arrays that begin anywhere. (The memory of matrix_case begins beside
// every pack.)
#include <doctest/doctest.h>

#include <cstddef>
#include <memory>
#include <vector>

#include <ebb/core/storage.hpp>

#include "support/emulated_matrix.hpp"

namespace {

using namespace ebb;
using namespace ebb::test;
using form = emulated_matrix<small_matrix_tiles, 0>;

/// Rows of heads from a multiple of 64 bytes on, their distances rounded up to multiples of 8.
template <class T>
class aligned_heads {
 public:
  explicit aligned_heads(const head_view<T>& from) {
    const head_extents& size = from.size();
    head_strides by{};
    by.head = (size.width + 7) / 8 * 8;
    by.step = size.heads * by.head;
    by.batch = size.steps * by.step;
    memory_.resize(static_cast<std::size_t>(size.batches * by.batch) + 64);
    void* start = memory_.data();
    std::size_t space = memory_.size() * sizeof(T);
    view_ = {static_cast<T*>(std::align(64, 1, start, space)), size, by};
    each([&](T& to, index_t b, index_t t, index_t h, index_t i) { to = from(b, t, h, i); });
  }
  const head_view<T>& view() const { return view_; }
  template <class F>
  void each(const F& f) const {
    for (index_t b = 0; b < view_.batches(); ++b)
      for (index_t t = 0; t < view_.steps(); ++t)
        for (index_t h = 0; h < view_.heads(); ++h)
          for (index_t i = 0; i < view_.width(); ++i) f(view_(b, t, h, i), b, t, h, i);
  }

 private:
  std::vector<T> memory_;
  head_view<T> view_;
};

/// States from a multiple of 64 bytes on, rows at multiples of 8.
template <class State>
class aligned_states {
 public:
  explicit aligned_states(const strided_view<State>& from) {
    const index_t row = (from.channels() + 7) / 8 * 8;
    memory_.resize(static_cast<std::size_t>(from.batches() * from.steps() * row) + 64);
    void* start = memory_.data();
    std::size_t space = memory_.size() * sizeof(State);
    view_ = {static_cast<State*>(std::align(64, 1, start, space)),
             from.size(),
             {from.steps() * row, row}};
    for (index_t b = 0; b < from.batches(); ++b)
      for (index_t s = 0; s < from.steps(); ++s)
        for (index_t k = 0; k < from.channels(); ++k) view_(b, s, k) = from(b, s, k);
  }
  const strided_view<State>& view() const { return view_; }

 private:
  std::vector<State> memory_;
  strided_view<State> view_;
};

template <class T, class State>
void check(index_t keys, index_t values) {
  const matrix_case base{.batches = 2,
                         .steps = 6,
                         .heads = 2,
                         .keys = keys,
                         .values = values,
                         .weights = true,
                         .skip = matrix_skip::lane,
                         .snapshots = {1, 4}};
  each_kind<form>(base, [&](const matrix_case& c) {
    INFO(c);
    const matrix_problem<T, State> problem(c);
    problem.visit([&](const auto& decay, auto data) {
      auto where = problem.where();
      run_matrix(decay, data, where, form{});

      const aligned_heads<T> q(problem.queries.view()), k(problem.keys.view()),
          v(problem.values.view()), o(problem.outputs.view()), z(problem.removals.view()),
          u(problem.corrections.view()), r(problem.rates.view());
      const aligned_states<State> initial(problem.initial.view()), last(problem.finals.view()),
          kept(problem.kept.view());
      o.each([](T& x, auto...) { x = T(-3.0f); });
      data.queries = q.view(), data.keys = k.view(), data.values = v.view();
      data.outputs = o.view();
      if constexpr (requires { data.removals; }) {
        if (!data.removals.left_out()) data.removals = z.view();
        if (!data.corrections.left_out()) data.corrections = u.view();
        if (!data.rates.left_out()) data.rates = r.view();
      }
      where.initial_states = initial.view();
      where.final_states = last.view();
      where.snapshots = kept.view();
      run_matrix(decay, data, where, form{});

      bool same = true;
      o.each([&](const T& x, index_t b, index_t t, index_t h, index_t i) {
        same = same && same_number(x, problem.outputs.view()(b, t, h, i));
      });
      CHECK(same);
      CHECK(same_bits(last.view(), problem.finals.view()));
      CHECK(same_bits(kept.view(), problem.kept.view()));
    });
  });
}

TEST_CASE("packs of keys and of lanes") {
  check<float, float>(8, 12);
  check<bfloat16, float>(16, 8);
  check<double, double>(6, 10);
}
TEST_CASE("rows and states that begin at whole packs but do not consist of them") {
  check<float, float>(6, 6);
  check<float, float>(5, 8);
  check<float, float>(8, 5);
}

}  // namespace
