// SPDX-License-Identifier: Apache-2.0
/// @file   support/scan_case.hpp
/// @brief  One arbitrary call of scan, made from bytes and compared with the definition: the random
///         differential test and the fuzzer draw from here.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "support/scan_contract.hpp"

namespace ebb::test {

/// Decisions taken from bytes; when they run out, the first choice.
class choices {
 public:
  explicit choices(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  bool flip() { return integer(0, 1) == 1; }
  index_t integer(index_t low, index_t high) {
    const index_t drawn = next() | next() << 8;
    return low + drawn % (high - low + 1);
  }
  /// Mostly short, now and then long enough to cross tiles and blocks.
  index_t length(index_t shortest, index_t usual, index_t longest) {
    return integer(0, 15) == 15 ? integer(usual, longest) : integer(shortest, usual);
  }
  std::uint64_t seed() { return static_cast<std::uint64_t>(integer(0, 0xffff)); }

 private:
  index_t next() { return at_ < bytes_.size() ? bytes_[at_++] : 0; }

  std::span<const std::uint8_t> bytes_;
  std::size_t at_ = 0;
};

/// Memory for a view with padding of a known value all around.
template <class T, class Axis>
class guarded {
 public:
  guarded(const extents& size, choices& draw) : row_padding_(draw.integer(0, 3)) {
    const bool rows = std::same_as<Axis, time_major>;
    const index_t row = (rows ? size.channels : size.steps) + row_padding_;
    const index_t entry = row * (rows ? size.steps : size.channels) + draw.integer(0, 5);
    memory_.assign(static_cast<std::size_t>(size.batches * entry + 2), T(-77));
    view_ = {memory_.data() + 1, size, {entry, row}};
  }
  const strided_view<T, Axis>& view() const { return view_; }

  /// Whether everything outside the view is as it was. Destroys the contents.
  bool intact() {
    for (index_t b = 0; b < view_.batches(); ++b)
      for (index_t t = 0; t < view_.steps(); ++t)
        for (index_t k = 0; k < view_.channels(); ++k) view_(b, t, k) = T(-77);
    return std::all_of(memory_.begin(), memory_.end(), [](const T& x) { return x == T(-77); });
  }

 private:
  index_t row_padding_;
  std::vector<T> memory_;
  strided_view<T, Axis> view_;
};

/// One call, checked; an empty text, or what is wrong with it.
template <class Config>
std::string run_scan_case(choices& draw) {
  using T = typename Config::value;
  using State = typename Config::state;
  using Backend = typename Config::backend;
  using Wide = typename Config::wide;
  using InAxis = typename Config::in_axis;
  using OutAxis = typename Config::out_axis;
  // Long or wide, not both: many small cases find more than few large ones.
  const index_t batches = draw.integer(1, 3), steps = draw.length(0, 20, 1100);
  const extents size{batches, steps, draw.length(0, 12, steps > 20 ? 24 : 540)};
  const auto order = draw.flip() ? direction::reverse : direction::forward;

  // Sequences: offsets with empty ones and padding, states, positions, resets, snapshots.
  sequences<State> where;
  std::vector<index_t> offsets, first, kept;
  std::vector<std::uint8_t> flags;
  if (draw.flip()) {
    for (index_t s = draw.integer(1, 6); s > 0; --s) offsets.push_back(draw.integer(0, size.steps));
    std::sort(offsets.begin(), offsets.end());
    where.offsets = offsets;
  }
  const extents state_size{size.batches, where.count(), size.channels};
  const auto initial = random_inputs<State, time_major>(state_size, draw.seed());
  ebb::array<State> states = initial;
  const bool begins = draw.flip(), in_one_memory = draw.flip();
  if (begins) where.initial_states = in_one_memory ? states.view() : initial.view();
  where.final_states = states.view();
  if (draw.flip()) {
    for (index_t i = 0; i < size.batches * where.count(); ++i)
      first.push_back(1 + draw.integer(0, 5000) * (draw.flip() ? 1 : index_t{1} << 30));
    where.first_positions = first;
  }
  if (draw.flip()) {
    flags = random_resets(size, draw.seed());
    where.resets = flags;
  }
  for (index_t t = 0; draw.flip() && t < size.steps; t += draw.integer(1, 9)) kept.push_back(t);
  ebb::array<State> snapshots(
      extents{size.batches, static_cast<index_t>(kept.size()), size.channels});
  for (index_t i = 0; i < snapshots.size().batches * snapshots.steps() * size.channels; ++i)
    snapshots.data()[i] = State(-5);
  where.snapshot_steps = kept;
  where.snapshots = snapshots.view();

  // Layouts: padded, repeated, in place.
  guarded<T, InAxis> in_memory(size, draw);
  guarded<T, OutAxis> out_memory(size, draw);
  const auto values = random_inputs<T, InAxis>(size, draw.seed());
  const bool in_place = draw.flip() && std::same_as<InAxis, OutAxis>;
  const auto in = in_memory.view();
  const auto out = out_memory.view();
  for (index_t b = 0; b < size.batches; ++b)
    for (index_t t = 0; t < size.steps; ++t)
      for (index_t k = 0; k < size.channels; ++k) {
        in(b, t, k) = values(b, t, k);
        out(b, t, k) = in_place ? values(b, t, k) : T(-5);
      }
  const index_t which = draw.integer(0, 6);

  std::string problem;
  index_t number = 0;
  for_each_decay<Config>(size, [&](const auto& decay) {
    if (number++ != which) return;
    using Decay = std::remove_cvref_t<decltype(decay)>;
    sequences<State> true_where = where;
    if (begins) true_where.initial_states = initial.view();
    const auto truth = truth_of<Wide>(decay, std::as_const(values).view(), true_where, order);
    if constexpr (std::same_as<InAxis, OutAxis>) {
      if (in_place)
        scan(decay, out, out, where, {order}, Backend{});
      else
        scan(decay, in, out, where, {order}, Backend{});
    } else {
      scan(decay, in, out, where, {order}, Backend{});
    }
    constexpr step_kind kind = step_kind_of<Decay, State>;
    const auto fail = [&](const char* what, index_t b, index_t t, index_t k) {
      if (problem.empty())
        problem = std::string(what) + " at batch " + std::to_string(b) + ", step " +
                  std::to_string(t) + ", channel " + std::to_string(k) + " of " +
                  std::to_string(size.batches) + " x " + std::to_string(size.steps) + " x " +
                  std::to_string(size.channels) + ", decay " + std::to_string(which);
    };
    const auto sound = [&](const auto& got, index_t b, index_t t, index_t k) {
      const double ratio =
          error_over_bound<Backend, State>(got, truth.h(b, t, k), truth.majorant(b, t, k),
                                           truth.underflow(b, t, k), truth.steps(b, t, k), kind);
      return ratio <= 1;
    };
    for (index_t b = 0; b < size.batches; ++b)
      for (index_t t = 0; t < size.steps; ++t)
        for (index_t k = 0; k < size.channels; ++k) {
          const bool covered = truth.steps(b, t, k) > 0;
          const T untouched = in_place ? values(b, t, k) : T(-5);
          if (covered ? !sound(out(b, t, k), b, t, k) : !same_number(out(b, t, k), untouched))
            fail(covered ? "out of bound" : "padding written", b, t, k);
          const index_t m = where.snapshot_of(t);
          if (m >= 0 && (covered ? !sound(snapshots(b, m, k), b, t, k)
                                 : !same_number(snapshots(b, m, k), State(-5))))
            fail("snapshot", b, t, k);
        }
    for (index_t b = 0; b < size.batches; ++b)
      for (index_t s = 0; s < where.count(); ++s)
        for (index_t k = 0; k < size.channels; ++k) {
          const index_t length = where.end(s, size.steps) - where.begin(s);
          const double ratio = error_over_bound<Backend, State>(
              states(b, s, k), truth.final_h(b, s, k), truth.final_majorant(b, s, k),
              truth.final_underflow(b, s, k), length, kind);
          if (!(length == 0 ? same_number(states(b, s, k), begins ? initial(b, s, k) : State(0))
                            : ratio <= 1))
            fail("final state", b, s, k);
        }
    if (!in_memory.intact() || !out_memory.intact()) fail("memory around the data", 0, 0, 0);
  });
  return problem;
}

/// Many cases from one seed; reports the first that fails.
template <class Config>
void check_random_cases(int count, std::uint64_t seed) {
  draws random(seed);
  for (int i = 0; i < count; ++i) {
    std::vector<std::uint8_t> bytes(200);
    for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random.bits());
    choices draw(bytes);
    const std::string problem = run_scan_case<Config>(draw);
    INFO("case " << i << " of seed " << seed);
    REQUIRE(problem == "");
  }
}

}  // namespace ebb::test
