// SPDX-License-Identifier: Apache-2.0
// What the entry points refuse, with which sentence, and that nothing has been written by then.
#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include <ebb/core/array.hpp>
#include <ebb/decay/constant.hpp>
#include <ebb/recurrence/layer.hpp>
#include <ebb/spectrum/linear.hpp>

namespace {

using ebb::array;
using ebb::index_t;
using ebb::sequences;
using ebb::strided_view;

struct fixture {
  std::vector<float> memory = std::vector<float>(400, -3.0f);
  strided_view<float> out{memory.data(), {1, 5, 4}, {0, 8}};
  array<float> in{5, 4}, a{5, 4};

  template <class Call>
  void refuses(const std::string& text, Call call) {
    INFO(text);
    std::string got = "nothing thrown";
    try {
      call();
    } catch (const ebb::shape_error& error) {
      got = error.what();
    } catch (const ebb::domain_error& error) {
      got = error.what();
    }
    CHECK(got.substr(0, text.size()) == text);
    CHECK(memory == std::vector<float>(400, -3.0f));
  }
};

TEST_CASE_FIXTURE(fixture, "shapes that disagree") {
  refuses(
      "scan: need in and out of one shape (batches, steps, channels of each), got 1, 4, 4, 1, 5, 4",
      [&] { ebb::scan(a, array<float>(4, 4), out); });
  refuses("stored_decay: need decays of the data's shape",
          [&] { ebb::scan(array<float>(5, 3), in, out); });
  const std::vector<double> rates{1, 2, 3};
  refuses("constant_decay: need as many channels as the decay is bound to (got, bound), got 4, 3",
          [&] { ebb::scan(ebb::constant_decay().bind(std::span<const double>(rates)), in, out); });
  array<float> states(1, 3);
  refuses(
      "scan: need initial states of shape (batches, sequences, channels) (got, then wanted), got "
      "1, 1, 3",
      [&] { ebb::scan(a, in, out, sequences<float>{.initial_states = states.view()}); });
  refuses("scan: need final states of shape",
          [&] { ebb::scan(a, in, out, sequences<float>{.final_states = states.view()}); });
}

TEST_CASE_FIXTURE(fixture, "sequences that do not fit") {
  const std::vector<index_t> backwards{0, 3, 2, 5}, beyond{0, 6}, zero{0};
  refuses("scan: need ascending offsets, got 3, 2",
          [&] { ebb::scan(a, in, out, sequences<float>{.offsets = backwards}); });
  refuses("scan: need offsets in 0 .. steps",
          [&] { ebb::scan(a, in, out, sequences<float>{.offsets = beyond}); });
  refuses("scan: need first positions in 1 .. 2^62, got 0",
          [&] { ebb::scan(a, in, out, sequences<float>{.first_positions = zero}); });
}

TEST_CASE_FIXTURE(fixture, "resets and snapshots that do not fit") {
  const std::vector<std::uint8_t> flags(4);
  refuses("scan: need one reset flag per batch entry and step (got, batches, steps), got 4, 1, 5",
          [&] { ebb::scan(a, in, out, sequences<float>{.resets = flags}); });
  const std::vector<index_t> twice{1, 1}, beyond{5}, fine{1, 4};
  array<float> two(2, 4), three(3, 4);
  const auto with = [](const std::vector<index_t>& steps, const strided_view<float>& kept) {
    return sequences<float>{.snapshot_steps = steps, .snapshots = kept};
  };
  refuses("scan: need strictly ascending snapshot steps in 0 .. steps - 1, got 1",
          [&] { ebb::scan(a, in, out, with(twice, two.view())); });
  refuses("scan: need strictly ascending snapshot steps in 0 .. steps - 1, got 5",
          [&] { ebb::scan(a, in, out, with(beyond, array<float>(1, 4).view())); });
  refuses("scan: need snapshots of shape (batches, snapshot steps, channels), got 1, 3, 4",
          [&] { ebb::scan(a, in, out, with(fine, three.view())); });
  refuses("scan: need snapshots of shape",
          [&] { ebb::scan(a, in, out, with(fine, strided_view<float>())); });
  const strided_view<float> inside(memory.data(), 2, 4);
  refuses("scan: need snapshots apart from in, out and the other states",
          [&] { ebb::scan(a, in, out, with(fine, inside)); });
  const strided_view<float> same(memory.data() + 200, {1, 2, 4}, {0, 0});
  refuses("scan: need snapshots that do not share memory",
          [&] { ebb::scan(a, in, out, with(fine, same)); });
  CHECK_NOTHROW(ebb::scan(a, in, out, with(fine, two.view())));
}

// Left out is what the default constructor makes; a mistake in a shape is one without elements too.
TEST_CASE_FIXTURE(fixture, "empty arrays are of the right shape as well") {
  array<float> no_states({1, 0, 4}), others({3, 0, 7}), nobody({0, 1, 4});
  refuses(
      "scan: need final states of shape (batches, sequences, channels) (got, then wanted), got 1, "
      "0, 4",
      [&] { ebb::scan(a, in, out, sequences<float>{.final_states = no_states.view()}); });
  refuses(
      "scan: need final states of shape (batches, sequences, channels) (got, then wanted), got 0, "
      "1, 4",
      [&] { ebb::scan(a, in, out, sequences<float>{.final_states = nobody.view()}); });
  refuses(
      "scan: need initial states of shape (batches, sequences, channels) (got, then wanted), got "
      "3, 0, 7",
      [&] { ebb::scan(a, in, out, sequences<float>{.initial_states = others.view()}); });
  refuses("scan: need snapshots of shape (batches, snapshot steps, channels), got 3, 0, 7",
          [&] { ebb::scan(a, in, out, sequences<float>{.snapshots = others.view()}); });
  const std::vector<index_t> padding{2};  // no sequences at all
  CHECK_NOTHROW(ebb::scan(a, in, out,
                          sequences<float>{.offsets = padding,
                                           .initial_states = no_states.view(),
                                           .final_states = no_states.view(),
                                           .snapshots = no_states.view()}));
  const strided_view<float> five({}, 5, 0), one({}, 1, 0);
  const std::vector<index_t> kept{3};
  CHECK_NOTHROW(ebb::scan(
      five, five, five,
      sequences<float>{
          .initial_states = one, .final_states = one, .snapshot_steps = kept, .snapshots = one}));
  CHECK_NOTHROW(ebb::scan(five, five, five, sequences<float>{.snapshot_steps = kept}));
  const array<float> nothing({0, 5, 4});
  array<float> to({0, 5, 4});
  CHECK_NOTHROW(
      ebb::scan(nothing, nothing, to,
                sequences<float>{.initial_states = nobody.view(), .final_states = nobody.view()}));
  CHECK(memory == std::vector<float>(400, -3.0f));
}

TEST_CASE_FIXTURE(fixture, "memory shared otherwise than allowed") {
  using view = strided_view<float>;
  const view shifted(memory.data() + 1, {1, 5, 4}, {0, 8});
  const view beside(memory.data() + 4, {1, 5, 4}, {0, 8});
  const view repeated(memory.data(), {1, 5, 4}, {0, 0});
  const view inside(memory.data() + 8, 1, 4), apart(memory.data() + 200, 1, 4);
  refuses("scan: need in to be out itself, or apart from it", [&] { ebb::scan(a, shifted, out); });
  refuses("scan: need in to be out itself, or apart from it", [&] { ebb::scan(a, repeated, out); });
  refuses("scan: need an out whose elements do not share memory",
          [&] { ebb::scan(a, in, repeated); });
  refuses("scan: need the decay's data apart from out, final states and snapshots",
          [&] { ebb::scan(shifted, in, out); });
  refuses("scan: need final states apart from in and out",
          [&] { ebb::scan(a, in, out, sequences<float>{.final_states = inside}); });
  refuses("scan: need final states apart from in and out",
          [&] { ebb::scan(a, out, out, sequences<float>{.final_states = inside}); });
  refuses("scan: need initial states apart from out",
          [&] { ebb::scan(a, in, out, sequences<float>{.initial_states = inside}); });
  const view nearly(memory.data() + 201, 1, 4);
  refuses("scan: need final states to be the initial ones, or apart from them", [&] {
    ebb::scan(a, in, out, sequences<float>{.initial_states = apart, .final_states = nearly});
  });
  const view twice(memory.data() + 200, {1, 2, 4}, {0, 0});
  const std::vector<index_t> offsets{0, 2, 5};
  refuses("scan: need final states that do not share memory", [&] {
    ebb::scan(a, in, out, sequences<float>{.offsets = offsets, .final_states = twice});
  });
  CHECK_NOTHROW(ebb::scan(a, beside, out));
  CHECK_NOTHROW(ebb::scan(a, out, out));
  CHECK_NOTHROW(
      ebb::scan(a, in, out, sequences<float>{.initial_states = apart, .final_states = apart}));
}

TEST_CASE_FIXTURE(fixture, "step") {
  const std::vector<double> rates{1, 2, 3};
  const auto decay = ebb::constant_decay().bind(std::span<const double>(rates));
  const std::vector<float> b(3);
  const std::span<float> four(memory.data(), 4), three(memory.data(), 3);
  refuses("step: need b and state of one size, got 3, 4", [&] { ebb::step(decay, 1, b, four); });
  refuses("constant_decay: need as many channels",
          [&] { ebb::step(decay, 1, std::vector<float>(4), four); });
  refuses("step: need first positions in 1 .. 2^62, got 0", [&] { ebb::step(decay, 0, b, three); });
  refuses("step: need in to be out itself, or apart from it",
          [&] { ebb::step(decay, 1, std::span<const float>(memory.data() + 1, 3), three); });
}

struct trusting_decay {
  static constexpr ebb::decay_kind kind = ebb::decay_kind::constant;
  struct bound {
    static constexpr ebb::decay_kind kind = ebb::decay_kind::constant;
    static constexpr ebb::decay_form form = ebb::decay_form::factor;
    using gradients = ebb::no_gradients;
    std::vector<double> rates;
    template <class Real, class Axis>
    void fill(const ebb::block_origin& where, const strided_view<Real, Axis>& block) const {
      for (index_t t = 0; t < block.steps(); ++t)
        for (index_t k = 0; k < block.channels(); ++k)
          block(t, k) =
              static_cast<Real>(1 - rates.at(static_cast<std::size_t>(where.channel + k)));
    }
  };
  template <class Real>
  bound bind(std::span<const Real> rates) const {
    return {{rates.begin(), rates.end()}};
  }
};

TEST_CASE_FIXTURE(fixture, "layer") {
  const auto make = [](index_t channels) {
    return ebb::make_layer<float>(ebb::linear_k_over_N(), ebb::constant_decay(), channels);
  };
  refuses("rates_of: need channels >= 0, got -1", [&] { make(-1); });
  const auto memory_of_three = make(3), memory_of_four = make(4);
  const std::string others =
      "layer: need data of this layer's channels (in, out, the layer's), got";
  refuses(others + " 4, 4, 3", [&] { memory_of_three(in, out); });
  refuses(others, [&] { memory_of_three(in, out, sequences<float>{}); });
  auto state = memory_of_three.start();
  refuses("layer: need a state of this layer (its channels, the layer's), got 3, 4",
          [&] { memory_of_four(in, out, state); });
  refuses(others, [&] { memory_of_three(in, out, state); });
  auto four = memory_of_four.start();
  const strided_view<float> two(memory.data(), {2, 5, 4});
  refuses("layer: need one batch entry for a running state (in, out), got 2, 2",
          [&] { memory_of_four(two, two, four); });
  refuses("layer: need one batch entry", [&] { memory_of_four(in, two, four); });
  CHECK(four.next_position == 1);
  CHECK(state.next_position == 1);
  refuses("layer: need a first position in 1 .. 2^62, got 0", [&] { (void)make(3).start(0); });
  refuses(others + " 4, 3, 3", [&] { memory_of_three.step(std::vector<float>(4), state); });
  const std::span<float> first(memory.data(), 4);
  refuses(others + " 3, 4, 3", [&] { memory_of_three.step(std::vector<float>(3), first, state); });
  refuses("layer: need a state of this layer (its channels, the layer's), got 4, 3",
          [&] { memory_of_three.step(std::vector<float>(3), four); });
  CHECK(state.next_position == 1);

  // A decay that checks nothing, with an array of one rate a channel.
  const auto unchecked = ebb::make_layer<float>(ebb::linear_k_over_N(), trusting_decay(), 3);
  refuses(others + " 4, 4, 3", [&] { unchecked(in, out); });
  refuses(others + " 4, 4, 3", [&] { unchecked(in, out, sequences<float>{}); });
  refuses(others + " 4, 4, 3", [&] { unchecked(in, out, four); });
  refuses(others + " 4, 3, 3", [&] { unchecked.step(std::vector<float>(4), four); });
  refuses(others + " 4, 4, 3", [&] { unchecked.step(std::vector<float>(4), first, four); });
}

}  // namespace
