// SPDX-License-Identifier: Apache-2.0
// The scan over a tree: every path is the scan along it; a path is accepted; drafts are rolled
// back.
#include <doctest/doctest.h>

#include <complex>
#include <string>
#include <utility>
#include <vector>

#include <ebb/decay/constant.hpp>
#include <ebb/recurrence/backend/reference.hpp>
#include <ebb/recurrence/history.hpp>
#include <ebb/recurrence/tree.hpp>
#include <ebb/spectrum/geometric.hpp>
#include <ebb/spectrum/listed.hpp>

#include "support/scan_contract.hpp"

namespace {

using ebb::channel_major;
using ebb::index_t;
using ebb::strided_view;
using ebb::time_major;

// Two trees of seven steps: branches, a chain, and two roots in the second.
const std::vector<index_t> two_trees{-1, 0, 1, 1, 0, 4, 5, /**/ -1, -1, 1, 2, 3, 2, 0};
constexpr index_t steps = 7;

std::vector<index_t> path_to(const std::vector<index_t>& parents, index_t b, index_t t) {
  std::vector<index_t> path;
  for (; t >= 0; t = parents[static_cast<std::size_t>(b * steps + t)]) path.insert(path.begin(), t);
  return path;
}

template <class Backend, class T, class State, class Axis>
void check_paths(bool keep_states) {
  constexpr index_t channels = 5;
  const ebb::extents size{2, steps, channels};
  const auto in = ebb::test::random_inputs<T, Axis>(size, 31);
  const auto factors = ebb::test::random_factors<State, time_major>(size, 32);
  const auto initial = ebb::test::random_inputs<State, time_major>({2, 1, channels}, 33);
  const std::vector<index_t> first{10, 1000};
  ebb::array<State> states(size);
  ebb::step_tree<State> tree{.parents = two_trees,
                             .first_positions = first,
                             .initial_states = initial.view(),
                             .states = states.view()};
  if (!keep_states) tree.states = {};
  const auto by_position = ebb::test::moving_decay<State>(channels);
  const auto run = [&](const auto& decay, const auto& along_path) {
    ebb::array<T, Axis> out(size);
    ebb::scan_tree(decay, in, out, tree, Backend{});
    for (index_t b = 0; b < 2; ++b)
      for (index_t t = 0; t < steps; ++t) {
        const auto path = path_to(two_trees, b, t);
        const auto length = static_cast<index_t>(path.size());
        CHECK(tree.depth(b, t, steps) == length);
        ebb::array<T> x(length, channels), y(length, channels);
        ebb::array<State> a(length, channels), last(1, channels);
        for (index_t i = 0; i < length; ++i)
          for (index_t k = 0; k < channels; ++k) {
            x(i, k) = in(b, path[static_cast<std::size_t>(i)], k);
            a(i, k) = factors(b, path[static_cast<std::size_t>(i)], k);
          }
        const ebb::sequences<State> where{
            .first_positions = std::span<const index_t>(&first[static_cast<std::size_t>(b)], 1),
            .initial_states = initial.view().batch_entry(b),
            .final_states = last.view()};
        ebb::scan(along_path(a), x, y, where, {}, Backend{});
        bool same = true;
        for (index_t k = 0; k < channels; ++k) {
          same = same && ebb::test::same_number(out(b, t, k), y(length - 1, k));
          if (keep_states) same = same && ebb::test::same_number(states(b, t, k), last(0, k));
        }
        CHECK(same);
      }
    auto in_place = in;
    ebb::scan_tree(decay, in_place, in_place, tree, Backend{});
    CHECK(ebb::test::same_bits(in_place, out));
  };
  run(
      by_position, [&](const auto&) -> const auto& { return by_position; });
  run(ebb::stored_factors(factors), [](const auto& a) { return ebb::stored_factors(a); });
}

TEST_CASE("every path of a tree is the scan along it") {
  check_paths<ebb::rows, float, float, time_major>(false);
  check_paths<ebb::rows, double, double, channel_major>(true);
  check_paths<ebb::rows, ebb::bfloat16, float, time_major>(true);
  check_paths<ebb::rows, std::complex<float>, std::complex<float>, time_major>(true);
  check_paths<ebb::rows, float, double, time_major>(true);
}

TEST_CASE("what a tree refuses, before it writes") {
  ebb::array<float> a(3, 2), in(3, 2), out(3, 2), states(3, 2);
  ebb::array<float, channel_major> columns(3, 2);
  out(0, 0) = -5;
  const auto refuses = [&](const char* text, auto&& call) {
    CHECK_THROWS_WITH_AS(call(), doctest::Contains(text), ebb::shape_error);
    CHECK(out(0, 0) == -5);
  };
  const auto tree = [](const std::vector<index_t>& parents) {
    return ebb::step_tree<float>{.parents = parents};
  };
  const std::vector<index_t> good{-1, 0, 0}, itself{-1, 1, 0}, below{-1, -2, 0}, few{-1, 0};
  refuses("scan_tree: need parents before their steps, or -1 (parent, step), got 1, 1",
          [&] { ebb::scan_tree(a, a, out, tree(itself)); });
  refuses("need parents", [&] { ebb::scan_tree(a, a, out, tree(below)); });
  refuses("need a parent for each step", [&] { ebb::scan_tree(a, a, out, tree(few)); });
  refuses("need tree.states", [&] { ebb::scan_tree(a, columns, columns, tree(good)); });
  auto shared = tree(good);
  shared.states = out.view();
  refuses("scan_tree: need tree.states apart from in, out and the initial states",
          [&] { ebb::scan_tree(a, a, out, shared); });
  shared.states = a.view();
  refuses("scan_tree: need tree.states apart from", [&] { ebb::scan_tree(in, a, out, shared); });
  refuses("scan_tree: need tree.states apart from the decay's data",
          [&] { ebb::scan_tree(a, in, out, shared); });
  shared.states = ebb::strided_view<float>(states.data(), {1, 3, 2}, {0, 0});
  refuses("scan_tree: need tree.states whose elements", [&] { ebb::scan_tree(a, a, out, shared); });
  shared.states = states.view();
  shared.initial_states = states.view().steps_from(1, 1);
  refuses("need tree.states apart from", [&] { ebb::scan_tree(a, a, out, shared); });
  shared.initial_states = states.view();
  refuses(
      "scan_tree: need initial states of shape (batches, 1, channels) (got, then wanted), got 1, "
      "3, 2",
      [&] { ebb::scan_tree(a, a, out, shared); });
  auto narrow = tree(good);
  narrow.states = states.view().channels_from(0, 1);
  refuses(
      "scan_tree: need tree.states of shape (batches, steps, channels) (got, then wanted), got 1, "
      "3, 1",
      [&] { ebb::scan_tree(a, a, out, narrow); });
  ebb::array<float> none({3, 0, 2});
  narrow.states = none.view();
  refuses(
      "scan_tree: need tree.states of shape (batches, steps, channels) (got, then wanted), got 3, "
      "0, 2",
      [&] { ebb::scan_tree(a, a, out, narrow); });
  auto empty = tree(good);
  empty.initial_states = none.view();
  refuses(
      "scan_tree: need initial states of shape (batches, 1, channels) (got, then wanted), got 3, "
      "0, 2",
      [&] { ebb::scan_tree(a, a, out, empty); });
  const std::vector<index_t> nowhere{0}, two_places{1, 1};
  auto twice = tree(good);
  twice.first_positions = two_places;
  refuses("scan_tree: need one first position per batch entry (got, batches), got 2, 1",
          [&] { ebb::scan_tree(a, a, out, twice); });
  auto early = tree(good);
  early.first_positions = nowhere;
  CHECK_THROWS_AS(ebb::scan_tree(a, a, out, early), ebb::domain_error);
  ebb::scan_tree(a, a, out, tree(good));
  CHECK(out(0, 0) == 0);
}

TEST_CASE("drafts: accept a path, or roll back to any of the last states") {
  // a = 1/2, 4 drafted, 2 accepted: the state is 1.5; 0 accepted: the initial one.
  const auto memory =
      ebb::make_layer<double>(ebb::listed_spectrum::poles({0.5}), ebb::constant_decay(), 1);
  auto state = memory.start();
  ebb::array<double> b(4, 1), h(4, 1);
  for (index_t t = 0; t < 4; ++t) b(t, 0) = 1;
  const std::vector<index_t> chain{-1, 0, 1, 2};
  const ebb::step_tree<double> tree{.parents = chain};
  ebb::scan_tree(memory.decay(), b, h, tree);
  auto none = state;
  ebb::accept_path(h, tree, -1, none);
  CHECK(none.values[0] == 0);
  CHECK(none.next_position == 1);
  ebb::accept_path(h, tree, 1, state);
  CHECK(state.values[0] == 1.5);
  CHECK(state.next_position == 3);
  const auto refuses = [&](const char* text, const auto& states, const auto& drafts, index_t step) {
    CHECK_THROWS_WITH_AS(ebb::accept_path(states, drafts, step, state), doctest::Contains(text),
                         ebb::shape_error);
    CHECK(state.values[0] == 1.5);
    CHECK(state.next_position == 3);
  };
  refuses("accept_path: need -1 <= step < steps (got, steps), got 4, 4", h, tree, 4);
  refuses("accept_path: need -1 <= step", h, tree, -2);
  const std::vector<index_t> circle{-1, 2, 1, 2}, few{-1, 0, 1}, beyond{-1, 7, 1, 2};
  refuses("accept_path: need a parent for each step", h, ebb::step_tree<double>{.parents = few}, 1);
  refuses("accept_path: need a parent", h, ebb::step_tree<double>{}, 0);
  refuses("accept_path: need parents before", h, ebb::step_tree<double>{.parents = circle}, 3);
  refuses("accept_path: need parents before", h, ebb::step_tree<double>{.parents = beyond}, 1);
  const std::vector<index_t> two_entries{-1, 0, 1, 2, -1, -1, -1, -1};
  refuses("accept_path: need a parent", h, ebb::step_tree<double>{.parents = two_entries}, 3);
  refuses(
      "accept_path: need states of one batch entry and N channels (batches, channels, N), got 2",
      ebb::array<double>({2, 4, 1}), ebb::step_tree<double>{.parents = two_entries}, 3);
  refuses("accept_path: need states of one", ebb::array<double>(4, 2), tree, 3);
  // The state has moved on to position 3; a tree says where it began, or nothing.
  const std::vector<index_t> third{3}, first{1}, both{3, 3};
  auto placed = tree;
  placed.first_positions = both;
  refuses("accept_path: need the first position of one batch entry (got), got 2", h, placed, 1);
  placed.first_positions = first;
  CHECK_THROWS_WITH_AS(ebb::accept_path(h, placed, 1, state),
                       "accept_path: need a tree that begins at the state's next position (first, "
                       "next), got 1, 3",
                       ebb::domain_error);
  CHECK(state.next_position == 3);
  placed.first_positions = third;
  auto moved = state;
  ebb::accept_path(h, placed, 3, moved);
  CHECK(moved.next_position == 7);

  // The same by a history of three: positions 2, 3, 4 are remembered after four steps.
  state = memory.start();
  ebb::state_history<double> history(3, 1);
  const double one = 1;
  for (int t = 0; t < 4; ++t) {
    history.keep(state);
    memory.step({&one, 1}, state);
  }
  CHECK(history.size() == 3);
  CHECK_THROWS_AS(history.roll_back(1, state), ebb::domain_error);
  history.roll_back(3, state);
  CHECK(state.values[0] == 1.5);
  CHECK(state.next_position == 3);
  CHECK(history.size() == 2);
  CHECK_THROWS_AS(history.roll_back(4, state), ebb::domain_error);
  // A decode loop keeps before each step, also behind a roll-back: the same place, kept anew.
  state.values[0] = 1.25;
  history.keep(state);
  CHECK(history.size() == 2);
  memory.step({&one, 1}, state);
  history.keep(state);
  CHECK(history.size() == 3);
  memory.step({&one, 1}, state);
  history.roll_back(3, state);
  CHECK(state.values[0] == 1.25);
  CHECK_THROWS_AS(history.keep(memory.start(2)), ebb::domain_error);
  CHECK(history.size() == 2);
  history.roll_back(2, state);
  CHECK(state.values[0] == 1);
  CHECK_THROWS_AS(ebb::state_history<double>(0, 1), ebb::domain_error);
  CHECK_THROWS_AS(ebb::state_history<double>(index_t{1} << 32, index_t{1} << 32),
                  ebb::domain_error);
  CHECK_THROWS_AS(ebb::state_history<double>(3, index_t{1} << 60), ebb::domain_error);
  // The positions must fit as well: 2^60 of 8 bytes do not.
  CHECK_THROWS_AS(ebb::state_history<float>(index_t{1} << 62, 0), ebb::domain_error);
  CHECK_THROWS_AS(ebb::state_history<float>(index_t{1} << 60, 1), ebb::domain_error);
}

TEST_CASE("a history that has been moved from is empty") {
  ebb::layer_state<float> state{{1, 2}, 5};
  ebb::state_history<float> one(2, 2);
  one.keep(state);
  state.next_position = 6;
  one.keep(state);
  ebb::state_history<float> two = std::move(one);
  CHECK(one.size() == 0);  // NOLINT(bugprone-use-after-move): what is tested
  CHECK(two.size() == 2);
  CHECK_THROWS_AS(one.keep(state), ebb::domain_error);
  CHECK_THROWS_AS(one.roll_back(6, state), ebb::domain_error);
  one = std::move(two);
  CHECK(two.size() == 0);  // NOLINT(bugprone-use-after-move)
  state.values = {3, 4};
  one.roll_back(5, state);
  CHECK(state.values == std::vector<float>{1, 2});
  const auto copy = one;
  CHECK(copy.size() == 1);
  CHECK(one.size() == 1);
}

}  // namespace
