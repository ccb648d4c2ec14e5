// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/cuda/scan_vjp_plan.hpp
/// @brief  The gradients of a scan on a GPU from the host's side.
#pragma once

#include <concepts>
#include <span>
#include <string_view>
#include <type_traits>

#include <ebb/core/overlap.hpp>
#include <ebb/recurrence/backend/cuda/back_steps.hpp>
#include <ebb/recurrence/backend/cuda/gradient_kernel.hpp>
#include <ebb/recurrence/backend/cuda/scan_plan.hpp>
#include <ebb/recurrence/backend/cuda/steps_sink.hpp>
#include <ebb/recurrence/backend/cuda/sum_kernel.hpp>
#include <ebb/recurrence/vjp_tile.hpp>

namespace ebb::inline EBB_ABI::detail::gpu {

/// What the way back keeps to on a GPU, in roundings; docs/accuracy.md. Of g after so many steps of
/// the walk; of conj(1 - a) g besides; and of d, or d log a, besides.
constexpr double back_error_bound(index_t steps, const step_kind& kind) {
  return scan_error_bound(steps, {kind.form, input_gain::one, kind.complex}) + 2;
}
constexpr double gain_error_bound(const step_kind& kind) {
  if (kind.gain == input_gain::one) return 0;
  const bool logs = kind.form == decay_form::log_factor;
  return kind.complex ? (logs ? 25 : 5) : (logs ? 7 : 2);
}
constexpr double change_error_bound(const step_kind& kind) {
  const bool logs = kind.form == decay_form::log_factor;
  return kind.complex ? (logs ? 19 : 4) : (logs ? 8 : 2);
}

/// Where the sums for the elements of an array go: the axes along which it repeats itself, or its
/// columns serve several channels, are summed over.
template <class Element, class Axis>
struct element_sums {
  strided_view<Element, Axis> to;
  three kept, summed, to_kept;
  bool direct = false;  ///< every element has a place of its own

  element_sums(const strided_view<Element, Axis>& view, index_t channels) : to(view) {
    const extents& size = view.size();
    const index_t counts[3] = {size.batches, size.steps, size.channels};
    const index_t strides[3] = {view.stride().batch, view.step_stride(), view.channel_stride()};
    direct = size.channels == channels;
    for (int i = 0; i < 3; ++i) {
      const bool repeats = strides[i] == 0 && counts[i] > 1;
      kept.v[i] = repeats ? 1 : counts[i];
      summed.v[i] = repeats ? counts[i] : 1;
      to_kept.v[i] = strides[i];
      direct = direct && !repeats;
    }
    if (size.channels > 0) summed.v[2] *= channels / size.channels;
  }

  /// @throws shape_error where elements share memory otherwise than along whole axes.
  void check() const {
    const strided_view<Element, Axis> once(to.data(), {kept.v[0], kept.v[1], kept.v[2]},
                                           to.stride());
    require_shape(elements_apart(once), "ebb::cuda",
                  "need gradients of a decay's array that repeat along whole axes, or not at all");
  }
};

/// One call of ebb::scan_vjp, checked (recurrence/vjp.hpp), on a launcher: a walk back for the
/// gradients of states; then, where those of a decay are asked for, gradient_kernel, and the sums
/// of what its blocks have added up. Nothing depends on the order of blocks: the same bits every
/// time.
///
/// Cost: the walk moves what a scan moves. Gradients of a decay read g, the decays and h once more;
/// g has memory of its own, unless it is the gradients of inputs in the type of states.
template <template <class> class Tiles, class Launcher, class Call>
class scan_vjp_plan {
  using Decay = typename Call::decay_type;
  using Out = std::remove_cvref_t<decltype(std::declval<const Call&>().out)>;
  using T = std::remove_const_t<typename Out::value_type>;
  using State = typename Call::state_type;
  static_assert(is_made_on_device<Decay, State>());
  static constexpr input_gain gain = gain_of<Decay>;
  static constexpr bool steps_adjacent = !Out::channels_adjacent;
  static constexpr bool has_sums = Call::has_decay_gradients && has_sink<Decay, State>;

 public:
  /// @throws domain_error for gradients of a decay that no kernel makes, shape_error for arrays of
  ///   gradients that share memory within themselves otherwise than along whole axes, or for 2^31
  ///   blocks. Nothing has been launched then.
  static void run(Launcher& launcher, const Call& call, const scan_options& options) {
    const extents& size = call.out.size();
    bool decays = false;
    if constexpr (Call::has_decay_gradients) decays = call.gradients.decay != nullptr;
    require_domain(!decays || has_sums, "ebb::cuda",
                   "no kernel makes the gradients of this decay's parameters; left out, those of "
                   "inputs and initial states are made");
    if constexpr (has_sums)
      if (decays) check_sums(call);
    const bool inputs = call.gradients.inputs.data() != nullptr;
    if (size.batches == 0 || size.channels == 0) return;
    if (!decays && !inputs && call.gradients.initial_states.data() == nullptr) return;
    with_gate<State>(launcher, call.decay, [&](const auto& gate) {
      const auto where = sequences_of(launcher, lists_of(call.where));
      if (!decays)
        walk<T, gain>(launcher, call, options, gate, where, operand_of(call.gradients.inputs));
      if constexpr (has_sums)
        if (decays) with_sums(launcher, call, options, gate, where, inputs);
    });
  }

 private:
  /// Without the states.
  static sequences<State> lists_of(const sequences<State>& where) {
    return {.offsets = where.offsets,
            .first_positions = where.first_positions,
            .resets = where.resets,
            .snapshot_steps = where.snapshot_steps};
  }

  template <class To, input_gain Gain, class Gate>
  static void walk(Launcher& launcher, const Call& call, const scan_options& options,
                   const Gate& gate, const device_sequences<State>& where, const operand<To>& out) {
    const extents& size = call.out.size();
    using steps = back_steps<T, To, State, Gate, Gain>;
    typename steps::params p{};
    p.gate = gate;
    p.in = operand_of(call.cotangents.outputs);
    p.out = out;
    p.where = where;
    p.where.initial = operand_of(call.cotangents.final_states);
    p.where.final = operand_of(call.gradients.initial_states);
    p.where.snapshot_steps = nullptr, p.where.snapshot_count = 0;
    p.batches = size.batches, p.steps = size.steps, p.channels = size.channels;
    p.reverse = options.order == direction::forward;
    if (call.cotangents.snapshots.data() != nullptr) {
      p.kept_steps = where.snapshot_steps, p.kept_count = where.snapshot_count;
      p.kept = operand_of(call.cotangents.snapshots);
    }
    sequences<State> states = lists_of(call.where);
    states.initial_states = call.cotangents.final_states;
    states.final_states = call.gradients.initial_states;
    scan_launch<Tiles, Launcher, steps, steps_adjacent>::run(launcher, p, states, p.kept_count > 0);
  }

  // An array of scratch memory of the shape of the data, in the order of its axis.
  template <class Element>
  static operand<Element> dense(Launcher& launcher, const extents& size) {
    const index_t row = steps_adjacent ? size.steps : size.channels;
    return {launcher.template scratch<Element>(size.batches * size.steps * size.channels),
            size.steps * size.channels, steps_adjacent ? 1 : row, steps_adjacent ? row : 1, false};
  }
  template <class U>
  static operand<const U> constant(const operand<U>& values) {
    return {values.data, values.batch, values.step, values.channel, false};
  }

  template <class Gate>
  static void with_sums(Launcher& launcher, const Call& call, const scan_options& options,
                        const Gate& gate, const device_sequences<State>& where, bool inputs) {
    using maker = sink_maker<Decay, State>;
    using kernel = gradient_kernel<T, State, Gate, gain, typename maker::sink, steps_adjacent>;
    const extents& size = call.out.size();
    typename kernel::params p{};
    p.gate = gate;
    p.sink = maker::make(call.decay);
    p.in = operand_of(call.in), p.out = operand_of(call.out);
    p.where = where;
    p.where.initial = operand_of(call.where.initial_states);
    p.batches = size.batches, p.steps = size.steps, p.channels = size.channels;
    p.chunks = (size.steps + kernel::tile - 1) / kernel::tile;
    p.reverse = options.order == direction::reverse;
    const index_t columns = (size.channels + kernel::width - 1) / kernel::width;
    constexpr index_t most = (index_t{1} << 31) - 1;  // blocks of a launch
    require_shape(p.chunks == 0 || size.batches <= most / columns / p.chunks, "ebb::cuda",
                  "need fewer than 2^31 blocks (batches, chunks of steps, blocks of channels)",
                  size.batches, p.chunks, columns);

    // The gradients of states: those of inputs, where they are the same numbers.
    if constexpr (std::is_same_v<T, State> && gain == input_gain::one) {
      const auto g = inputs ? operand_of(call.gradients.inputs) : dense<State>(launcher, size);
      walk<State, gain>(launcher, call, options, gate, where, g);
      p.g = constant(g);
    } else {
      const auto g = dense<State>(launcher, size);
      walk<State, input_gain::one>(launcher, call, options, gate, where, g);
      p.g = constant(g);
      p.inputs = operand_of(call.gradients.inputs);
    }
    if (p.chunks == 0) return;

    bool any_sums = false;
    each_sum(
        call, [&](int, const auto&, index_t) { any_sums = true; },
        [&](const auto& view) {
          const element_sums sums(view, size.channels);
          p.add_elements = sums.direct;
          p.elements =
              sums.direct ? operand_of(view) : dense<typename kernel::element>(launcher, size);
        });
    const index_t number = size.batches * p.chunks * size.channels;
    if (any_sums) p.sums = launcher.template scratch<typename kernel::sum>(kernel::sums * number);
    launcher.template launch<kernel>(size.batches * p.chunks * columns, p);

    each_sum(
        call,
        [&](int which, const auto& to, index_t channels) {
          using summing = sum_kernel<typename kernel::sum>;
          const auto targets = static_cast<index_t>(to.size());
          const index_t chunks = size.batches * p.chunks;
          launch_sums<summing>(launcher, {p.sums + which * number,
                                          to.data(),
                                          {{1, 1, targets}},
                                          {{1, chunks, channels}},
                                          {{0, 0, channels}},
                                          {{0, size.channels, 1}},
                                          {{0, 0, 1}}});
        },
        [&](const auto& view) {
          const element_sums sums(view, size.channels);
          if (sums.direct) return;
          using summing = sum_kernel<typename kernel::element>;
          const three steps{{p.elements.batch, p.elements.step, p.elements.channel}};
          three kept = steps;
          if (sums.kept.v[2] > 0) kept.v[2] *= size.channels / view.channels();
          launch_sums<summing>(launcher, {p.elements.data, view.data(), sums.kept, sums.summed,
                                          kept, steps, sums.to_kept});
        });
  }
  template <class Kernel>
  static void launch_sums(Launcher& launcher, const typename Kernel::params& p) {
    launcher.template launch<Kernel>(Kernel::blocks(p), p);
  }

  template <class Sums, class Elements>
  struct visitor {
    const Sums& on_sums;
    const Elements& on_elements;
    template <class Param>
    void sums(int number, const std::span<Param>& to, index_t channels) const {
      if (!to.empty()) on_sums(number, to, channels);
    }
    template <class View>
    void elements(const View& to) const {
      if (to.data() != nullptr) on_elements(to);
    }
  };
  template <class Sums, class Elements>
  static void each_sum(const Call& call, const Sums& on_sums, const Elements& on_elements) {
    sink_maker<Decay, State>::each(call.decay, *call.gradients.decay,
                                   visitor<Sums, Elements>{on_sums, on_elements});
  }

  static void check_sums(const Call& call) {
    each_sum(
        call, [](int, const auto&, index_t) {},
        [&](const auto& view) { element_sums(view, call.out.channels()).check(); });
  }
};

}  // namespace ebb::inline EBB_ABI::detail::gpu
