// SPDX-License-Identifier: Apache-2.0
/// @file   support/scan_contract.hpp
/// @brief  The contract of recurrence/concept.hpp as checks, for any backend, types and axis.
#pragma once

#include <algorithm>
#include <complex>
#include <concepts>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include <ebb/decay/constant.hpp>
#include <ebb/decay/post.hpp>
#include <ebb/recurrence/scan.hpp>
#include <ebb/spectrum/geometric.hpp>

#include "support/scan_oracle.hpp"

namespace ebb::test {

/// What a contract test is run over. `bitwise`: pieces and steps give the bits of the whole.
template <class Backend, class T, class State, class InAxis, class OutAxis, class Wide,
          bool Bitwise>
struct scan_config {
  using backend = Backend;
  using value = T;
  using state = State;
  using in_axis = InAxis;
  using out_axis = OutAxis;
  using wide = Wide;
  static constexpr bool bitwise = Bitwise;
};

/// Whether a backend gives the bits of one layout of the output in the other. Specialise it where
/// not.
template <class Backend>
inline constexpr bool bits_of_any_layout = true;

/// Whether sequences have the same bits packed together as alone. Specialise it where not: where
/// tiles of steps begin elsewhere then.
template <class Backend>
inline constexpr bool bits_of_any_packing = true;

/// The bound of a scan cut into pieces whose states are rounded at each cut.
template <class Backend>
struct pieces_of {
  static double error_bound(index_t steps, const step_kind& kind) {
    return roundings<Backend>(steps, kind) + static_cast<double>(steps);
  }
};

/// Of absolute value up to 1; what a storage type can hold.
template <class T>
T random_number(draws& random) {
  if constexpr (is_complex<T>) {
    const double size = random.uniform(0, 1), phase = random.uniform(-3.15, 3.15);
    using Real = real_of_t<T>;
    return T(static_cast<Real>(size * std::cos(phase)), static_cast<Real>(size * std::sin(phase)));
  } else {
    return static_cast<T>(random.uniform(-1, 1));
  }
}

template <class T, class Axis>
ebb::array<T, Axis> random_inputs(const extents& size, std::uint64_t seed) {
  ebb::array<T, Axis> values(size);
  draws random(seed);
  for (index_t b = 0; b < size.batches; ++b)
    for (index_t t = 0; t < size.steps; ++t)
      for (index_t k = 0; k < size.channels; ++k) values(b, t, k) = random_number<T>(random);
  return values;
}

/// Factors of both signs up to 1, 0 and 1 included.
template <class T, class Axis>
ebb::array<T, Axis> random_factors(const extents& size, std::uint64_t seed) {
  auto values = random_inputs<T, Axis>(size, seed);
  draws random(seed + 1);
  for (index_t i = 0; i < size.batches * size.steps * size.channels; ++i) {
    const index_t kind = random.integer(0, 5);
    if (kind == 0) values.data()[i] = 0;
    if (kind == 1) values.data()[i] = 1;
  }
  return values;
}

/// Log-decays of every size: 0, -inf, and from 1e-8 to 100; complex ones with phases of every size.
template <class T, class Axis>
ebb::array<T, Axis> random_logs(const extents& size, std::uint64_t seed) {
  using Real = real_of_t<T>;
  ebb::array<T, Axis> values(size);
  draws random(seed);
  for (index_t i = 0; i < size.batches * size.steps * size.channels; ++i) {
    const index_t kind = random.integer(0, 20);
    auto x = static_cast<Real>(-std::exp(random.uniform(-18, kind < 15 ? 0 : 4.6)));
    if (kind == 0) x = Real(0);
    if (kind == 1) x = -std::numeric_limits<Real>::infinity();
    if constexpr (is_complex<T>)
      values.data()[i] = T(x, static_cast<Real>(kind < 10 ? random.uniform(-3.15, 3.15)
                                                          : std::exp(random.uniform(-18, 0))));
    else
      values.data()[i] = x;
  }
  return values;
}

/// A decay with the gain 1 - a.
template <class Decay>
struct averaging {
  static constexpr decay_kind kind = Decay::kind;
  static constexpr decay_form form = Decay::form;
  static constexpr input_gain gain = input_gain::one_minus_decay;
  using gradients = no_gradients;

  Decay decay;

  template <class Block>
  void fill(const block_origin& where, const Block& block) const {
    decay.fill(where, block);
  }
};

/// Calls body(decay) for every kind of decay on data of this size.
template <class Config, class Body>
void for_each_decay(const extents& size, Body body) {
  using State = typename Config::state;
  using Axis = typename Config::in_axis;
  const auto factors = random_factors<State, Axis>(size, 11);
  const auto logs = random_logs<State, Axis>(size, 12);
  const auto rates = rates_of<double>(geometric_spectrum::extended(1e4, 2, 1), size.channels);
  const std::span<const double> bind(rates);
  body(stored_factors(factors));
  body(stored_logs(logs));
  body(averaging<decltype(stored_factors(factors))>{stored_factors(factors)});
  body(averaging<decltype(stored_logs(logs))>{stored_logs(logs)});
  if constexpr (is_complex<State>) {
    std::vector<std::complex<double>> turning;
    for (const double r : rates) turning.emplace_back(r, 1 - r);
    body(constant_decay().bind(std::span<const std::complex<double>>(turning)));
    body(post_taper::relative(1e4).bind(bind));
  } else {
    body(constant_decay().bind(bind));
    body(post_taper::relative(1e4).bind(bind));
    const auto constant = constant_decay().bind(bind);
    body(averaging<std::remove_cv_t<decltype(constant)>>{constant});
  }
}

/// Some resets, for all batch entries.
inline std::vector<std::uint8_t> random_resets(const extents& size, std::uint64_t seed) {
  std::vector<std::uint8_t> flags(static_cast<std::size_t>(size.batches * size.steps));
  draws random(seed);
  for (auto& flag : flags) flag = random.integer(0, 6) == 0 ? 255 : 0;
  return flags;
}

template <class Config>
void check_error_bound(const extents& size) {
  using T = typename Config::value;
  using State = typename Config::state;
  INFO("T = " << size.steps << ", N = " << size.channels << ", batches = " << size.batches);
  const auto in = random_inputs<T, typename Config::in_axis>(size, 5);
  const auto initial = random_inputs<State, time_major>({size.batches, 1, size.channels}, 6);
  const std::vector<index_t> first(static_cast<std::size_t>(size.batches), 100);
  const auto flags = random_resets(size, 17);
  for_each_decay<Config>(size, [&](const auto& decay) {
    for (const direction order : {direction::forward, direction::reverse}) {
      ebb::array<T, typename Config::out_axis> out(size);
      ebb::array<State> last(initial.size());
      sequences<State> where;
      where.first_positions = first;
      if (order == direction::reverse) where.resets = flags;
      where.initial_states = initial.view();
      where.final_states = last.view();
      scan(decay, in, out, where, {order}, typename Config::backend{});
      const auto truth =
          truth_of<typename Config::wide>(decay, std::as_const(in).view(), where, order);
      const auto kind = step_kind_of<std::remove_cvref_t<decltype(decay)>, State>;
      check_bound<typename Config::backend, State>(std::as_const(out).view(), truth, kind, T(0));
      // Final states: rounded to the state's type only.
      scan_truth<typename Config::wide> finals{truth.final_h,
                                               truth.final_majorant,
                                               ebb::array<index_t>(last.size()),
                                               truth.final_slack,
                                               {},
                                               {},
                                               {}};
      for (index_t i = 0; i < size.batches * size.channels; ++i)
        finals.steps.data()[i] = size.steps > 0 ? size.steps : 1;
      check_bound<typename Config::backend, State>(std::as_const(last).view(), finals, kind,
                                                   State(0));
    }
  });
}

/// Decays that are no normal numbers, and gains 1 - a that are none, on large numbers.
template <class Config>
void check_underflow(const extents& size) {
  using T = typename Config::value;
  using State = typename Config::state;
  using Real = real_of_t<State>;
  using Part = std::numeric_limits<Real>;
  draws random(21);
  const double normal = std::log(static_cast<double>(Part::min()));
  const double subnormal = std::log(static_cast<double>(Part::denorm_min()));
  const auto number = [&](double size_of, double phase) {
    if constexpr (is_complex<State>)
      return State(static_cast<Real>(size_of * std::cos(phase)),
                   static_cast<Real>(size_of * std::sin(phase)));
    else
      return static_cast<State>(phase < 0 ? -size_of : size_of);
  };
  const auto large = [&](double most) {  // up to most^0.6
    return number(std::exp(random.uniform(-1, 0.6 * std::log(most))), random.uniform(-3, 3));
  };
  ebb::array<State> logs(size), initial({size.batches, 1, size.channels}), last(initial.size());
  ebb::array<T, typename Config::in_axis> in(size);
  for (index_t b = 0; b < size.batches; ++b)
    for (index_t k = 0; k < size.channels; ++k) {
      initial(b, 0, k) = large(static_cast<double>(Part::max()));
      for (index_t t = 0; t < size.steps; ++t) {
        const index_t which = random.integer(0, 3);
        const double x = which == 0   ? random.uniform(0, 1)
                         : which == 1 ? std::exp(random.uniform(subnormal, normal))
                                      : -random.uniform(1.1 * subnormal, normal + 3);
        if constexpr (is_complex<State>)
          logs(b, t, k) = State(static_cast<Real>(-x), which == 1 ? Real(0) : static_cast<Real>(t));
        else
          logs(b, t, k) = static_cast<State>(-x);
        const State value =
            random.integer(0, 2) == 0
                ? State(0)
                : large(static_cast<double>(std::numeric_limits<real_of_t<T>>::max()));
        in(b, t, k) = static_cast<T>(value);
      }
    }
  const auto run = [&](const auto& decay) {
    ebb::array<T, typename Config::out_axis> out(size);
    const sequences<State> where{.initial_states = initial.view(), .final_states = last.view()};
    scan(decay, in, out, where, {}, typename Config::backend{});
    const auto truth =
        truth_of<typename Config::wide>(decay, std::as_const(in).view(), where, direction::forward);
    check_bound<typename Config::backend, State>(
        std::as_const(out).view(), truth, step_kind_of<std::remove_cvref_t<decltype(decay)>, State>,
        T(0));
  };
  run(stored_logs(logs));
  run(averaging<decltype(stored_logs(logs))>{stored_logs(logs)});
}

/// One call, pieces of any length (one step included), and ebb::step: the same numbers.
template <class Config>
void check_pieces(const extents& size, const std::vector<index_t>& lengths) {
  using T = typename Config::value;
  using State = typename Config::state;
  using backend = typename Config::backend;
  const auto in = random_inputs<T, typename Config::in_axis>(size, 7);
  for_each_decay<Config>(size, [&](const auto& decay) {
    using Decay = std::remove_cvref_t<decltype(decay)>;
    if constexpr (Decay::kind != decay_kind::stored) {  // stored decays are cut with the data
      for (const direction order : {direction::forward, direction::reverse}) {
        ebb::array<T, typename Config::out_axis> whole(size), pieces(size);
        ebb::array<State> state(extents{size.batches, 1, size.channels}), last(state.size());
        sequences<State> all{.final_states = last.view()};
        scan(decay, in, whole, all, {order}, backend{});
        for (index_t done = 0, i = 0; done < size.steps; ++i) {
          const index_t count =
              std::min(lengths[static_cast<std::size_t>(i) % lengths.size()], size.steps - done);
          const index_t begin = order == direction::forward ? done : size.steps - done - count;
          const std::vector<index_t> first(static_cast<std::size_t>(size.batches), begin + 1);
          sequences<State> part{.first_positions = first,
                                .initial_states = state.view(),
                                .final_states = state.view()};
          scan(decay, in.view().steps_from(begin, count), pieces.view().steps_from(begin, count),
               part, {order}, backend{});
          done += count;
        }
        if constexpr (Config::bitwise) {
          CHECK(same_bits(whole, pieces));
          CHECK(same_bits(last, state));
        } else {
          // Each cut rounds the state once more than the whole does.
          const auto truth =
              truth_of<typename Config::wide>(decay, in.view(), sequences<State>{}, order);
          check_bound<pieces_of<backend>, State>(std::as_const(pieces).view(), truth,
                                                 step_kind_of<Decay, State>, T(0));
        }
        if constexpr (std::same_as<T, State>) {
          if (order == direction::reverse) continue;
          std::vector<State> running(static_cast<std::size_t>(size.channels));
          std::vector<State> row(running.size());
          bool same = true;
          for (index_t t = 0; t < size.steps; ++t) {
            for (index_t k = 0; k < size.channels; ++k)
              row[static_cast<std::size_t>(k)] = in(0, t, k);
            step(decay, t + 1, row, std::span<State>(running), backend{});
            for (index_t k = 0; k < size.channels; ++k)
              same = same && running[static_cast<std::size_t>(k)] == whole(0, t, k);
          }
          if constexpr (Config::bitwise) CHECK(same);
        }
      }
    }
  });
}

/// `out` over `in`, padded rows, repeated inputs, mixed axes: the same bits, nothing else touched.
template <class Config>
void check_layouts(const extents& size) {
  using T = typename Config::value;
  using State = typename Config::state;
  using backend = typename Config::backend;
  using InAxis = typename Config::in_axis;
  using OutAxis = typename Config::out_axis;
  const auto in = random_inputs<T, InAxis>(size, 8);
  for_each_decay<Config>(size, [&](const auto& decay) {
    for (const direction order : {direction::forward, direction::reverse}) {
      ebb::array<T, OutAxis> plain(size);
      scan(decay, in, plain, sequences<State>{}, {order}, backend{});

      if constexpr (std::same_as<InAxis, OutAxis> || bits_of_any_layout<backend>) {
        auto in_place = in;
        scan(decay, in_place, in_place, sequences<State>{}, {order}, backend{});
        CHECK(same_bits(plain, in_place));
      }

      const bool rows = std::same_as<OutAxis, time_major>;
      const index_t row = (rows ? size.channels : size.steps) + 3;
      const index_t entry = row * (rows ? size.steps : size.channels) + 5;
      std::vector<T> memory(static_cast<std::size_t>(size.batches * entry + 2), T(-77));
      const strided_view<T, OutAxis> padded(memory.data() + 1, size, {entry, row});
      scan(decay, in, padded, sequences<State>{}, {order}, backend{});
      CHECK(same_bits(plain, padded));
      for (index_t b = 0; b < size.batches; ++b)
        for (index_t t = 0; t < size.steps; ++t)
          for (index_t k = 0; k < size.channels; ++k) padded(b, t, k) = T(-77);
      CHECK(memory == std::vector<T>(memory.size(), T(-77)));

      // The first row of the input at every row and in every batch entry.
      const strided_view<const T, InAxis> repeated(in.data(), size, {0, 0});
      ebb::array<T, InAxis> copied(size);
      for (index_t b = 0; b < size.batches; ++b)
        for (index_t t = 0; t < size.steps; ++t)
          for (index_t k = 0; k < size.channels; ++k) copied(b, t, k) = repeated(b, t, k);
      ebb::array<T, OutAxis> from_repeated(size), from_copied(size);
      scan(decay, repeated, from_repeated, sequences<State>{}, {order}, backend{});
      scan(decay, copied, from_copied, sequences<State>{}, {order}, backend{});
      CHECK(same_bits(from_repeated, from_copied));
    }
  });
}

/// A decay that depends on the position (complex: that at least turns).
template <class State>
auto moving_decay(index_t channels) {
  const auto rates = rates_of<double>(geometric_spectrum::timescales(0.5, 300), channels);
  if constexpr (is_complex<State>) {
    std::vector<std::complex<double>> turning;
    for (const double r : rates) turning.emplace_back(r, 3 * r);
    return constant_decay().bind(std::span<const std::complex<double>>(turning));
  } else {
    return post_taper::absolute().bind(std::span<const double>(rates));
  }
}

/// Packed sequences are what separate calls give; empty ones and padding included.
template <class Config>
void check_packed(index_t channels, const std::vector<index_t>& offsets, index_t total) {
  using T = typename Config::value;
  using State = typename Config::state;
  using backend = typename Config::backend;
  const extents size{2, total, channels};
  const auto count = static_cast<index_t>(offsets.size()) - 1;
  const auto in = random_inputs<T, typename Config::in_axis>(size, 9);
  const auto initial = random_inputs<State, time_major>({2, count, channels}, 10);
  std::vector<index_t> first;
  for (index_t i = 0; i < 2 * count; ++i) first.push_back(1 + 37 * i);
  const auto decay = moving_decay<State>(channels);
  for (const direction order : {direction::forward, direction::reverse}) {
    ebb::array<T, typename Config::out_axis> packed(size), alone(size);
    for (index_t i = 0; i < 2 * total * channels; ++i) packed.data()[i] = alone.data()[i] = T(-5);
    ebb::array<State> states = initial, last(initial.size());
    sequences<State> where{.offsets = offsets,
                           .first_positions = first,
                           .initial_states = states.view(),
                           .final_states = states.view()};
    scan(decay, in, packed, where, {order}, backend{});
    for (index_t b = 0; b < 2; ++b)
      for (index_t s = 0; s < count; ++s) {
        const index_t begin = offsets[static_cast<std::size_t>(s)];
        const index_t length = offsets[static_cast<std::size_t>(s) + 1] - begin;
        sequences<State> one{
            .first_positions = std::span<const index_t>(&first[std::size_t(b * count + s)], 1),
            .initial_states = initial.view().batch_entry(b).steps_from(s, 1),
            .final_states = last.view().batch_entry(b).steps_from(s, 1)};
        scan(decay, in.view().batch_entry(b).steps_from(begin, length),
             alone.view().batch_entry(b).steps_from(begin, length), one, {order}, backend{});
      }
    if constexpr (bits_of_any_packing<backend>) {
      CHECK(same_bits(packed, alone));
      CHECK(same_bits(states, last));
    }
    // Padding, empty sequences and the bound all at once.
    where.initial_states = initial.view();
    const auto truth =
        truth_of<typename Config::wide>(decay, std::as_const(in).view(), where, order);
    const auto kind = step_kind_of<std::remove_cvref_t<decltype(decay)>, State>;
    check_bound<backend, State>(std::as_const(packed).view(), truth, kind, T(-5));
    check_bound<backend, State>(std::as_const(alone).view(), truth, kind, T(-5));
    for (index_t b = 0; b < 2; ++b)
      for (index_t s = 0; s < count; ++s)
        if (offsets[std::size_t(s)] == offsets[std::size_t(s) + 1])
          for (index_t k = 0; k < channels; ++k) CHECK(states(b, s, k) == initial(b, s, k));
  }
}

/// The reverse scan is the forward scan of the data turned round.
template <class Config>
void check_reverse(const extents& size) {
  using T = typename Config::value;
  using State = typename Config::state;
  using backend = typename Config::backend;
  const auto turned = [&](const auto& values) {
    auto result = values;
    for (index_t b = 0; b < size.batches; ++b)
      for (index_t t = 0; t < size.steps; ++t)
        for (index_t k = 0; k < size.channels; ++k)
          result(b, t, k) = values(b, size.steps - 1 - t, k);
    return result;
  };
  const auto in = random_inputs<T, typename Config::in_axis>(size, 13);
  const auto logs = random_logs<typename Config::state, time_major>(size, 14);
  const auto back_in = turned(in);
  const auto back_logs = turned(logs);
  ebb::array<T, typename Config::out_axis> reverse(size), forward(size);
  scan(stored_logs(logs), in, reverse, sequences<State>{}, {direction::reverse}, backend{});
  scan(stored_logs(back_logs), back_in, forward, sequences<State>{}, {}, backend{});
  CHECK(same_bits(reverse, turned(forward)));
}

/// A NaN, an infinity or an overflow reaches exactly what IEEE arithmetic lets it reach.
template <class Config>
void check_propagation(const extents& size) {
  using T = typename Config::value;
  using State = typename Config::state;
  using backend = typename Config::backend;
  const index_t when = size.steps / 2, where = size.channels / 2;
  const auto plain_in = random_inputs<T, typename Config::in_axis>(size, 15);
  const auto run = [&](const auto& decay, T bad, const auto& check) {
    auto in = plain_in;
    in(0, when, where) = bad;
    ebb::array<T, typename Config::out_axis> plain(size), out(size);
    scan(decay, plain_in, plain, sequences<State>{}, {}, backend{});
    scan(decay, in, out, sequences<State>{}, {}, backend{});
    bool others_same = true, reached = true;
    for (index_t b = 0; b < size.batches; ++b)
      for (index_t t = 0; t < size.steps; ++t)
        for (index_t k = 0; k < size.channels; ++k) {
          if (b == 0 && k == where && t >= when)
            reached = reached && check(out(b, t, k));
          else
            others_same = others_same && out(b, t, k) == plain(b, t, k);
        }
    CHECK(others_same);
    CHECK(reached);
  };
  const T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  const auto is_nan = [](T x) { return std::isnan(x); };
  const auto is_inf = [](T x) { return x == std::numeric_limits<T>::infinity(); };
  const auto is_minus_inf = [](T x) { return x == -std::numeric_limits<T>::infinity(); };
  // From no decay at all (0) over the form's edge (log 2) to strong decay.
  for (const double rate : {0.0, 1e-9, 0.1, 0.6931, 0.6932, 3.0}) {
    const std::vector<double> rates(static_cast<std::size_t>(size.channels), rate);
    const auto decay = constant_decay().bind(std::span<const double>(rates));
    run(decay, nan, is_nan);
    run(decay, inf, is_inf);
    run(decay, -inf, is_minus_inf);
  }
  // A zero factor, or a log-decay of -inf, does not erase an infinite state: 0 * inf is NaN.
  ebb::array<T> factors(size), logs(size);
  for (index_t i = 0; i < size.batches * size.steps * size.channels; ++i) factors.data()[i] = 1;
  factors(0, when + 1, where) = 0;
  logs(0, when + 1, where) = -inf;
  auto in = plain_in;
  in(0, when, where) = inf;
  ebb::array<T, typename Config::out_axis> out(size);
  scan(stored_factors(factors), in, out, sequences<State>{}, {}, backend{});
  CHECK(is_inf(out(0, when, where)));
  CHECK(is_nan(out(0, when + 1, where)));
  scan(stored_logs(logs), in, out, sequences<State>{}, {}, backend{});
  CHECK(is_inf(out(0, when, where)));
  CHECK(is_nan(out(0, when + 1, where)));
}

/// A reset is the start of a sequence from state 0 that keeps its positions: the same bits as that,
/// also over NaN. A snapshot is the final state of what ends there.
template <class Config>
void check_resets_and_snapshots(index_t channels) {
  using T = typename Config::value;
  using State = typename Config::state;
  using backend = typename Config::backend;
  constexpr index_t steps = 40;
  const extents size{2, steps, channels};
  auto in = random_inputs<T, typename Config::in_axis>(size, 19);
  for (index_t b = 0; b < 2; ++b)
    for (index_t k = 0; k < channels; ++k)
      in(b, 11, k) = std::numeric_limits<real_of_t<T>>::quiet_NaN();
  const auto initial = random_inputs<State, time_major>({2, 1, channels}, 20);
  const auto decay = moving_decay<State>(channels);
  // Resets before steps 0, 12 and 13 of both entries; the second has one more at the end.
  std::vector<std::uint8_t> flags(2 * steps);
  for (const index_t t : {0, 12, 13, 40 + 0, 40 + 12, 40 + 13, 40 + 39})
    flags[static_cast<std::size_t>(t)] = 1;
  const std::vector<index_t> kept{0, 10, 12, 20, 21, 39};
  for (const direction order : {direction::forward, direction::reverse}) {
    const bool forward = order == direction::forward;
    ebb::array<T, typename Config::out_axis> whole(size), cut(size);
    const extents snapshot_size{2, static_cast<index_t>(kept.size()), channels};
    ebb::array<State> snapshots(snapshot_size), expected(snapshot_size);
    sequences<State> where{.initial_states = initial.view(),
                           .resets = flags,
                           .snapshot_steps = kept,
                           .snapshots = snapshots.view()};
    scan(decay, in, whole, where, {order}, backend{});
    for (index_t b = 0; b < 2; ++b) {
      std::vector<index_t> offsets{0, steps};
      for (index_t t = 0; t < steps; ++t)
        if (flags[static_cast<std::size_t>(b * steps + t)]) offsets.push_back(forward ? t : t + 1);
      for (const index_t t : kept) offsets.push_back(forward ? t + 1 : t);  // where snapshots stand
      std::sort(offsets.begin(), offsets.end());
      ebb::array<State> state(1, channels);
      for (index_t k = 0; k < channels; ++k) state(0, k) = initial(b, 0, k);
      for (std::size_t i = 1; i < offsets.size(); ++i) {
        const std::size_t at = forward ? i : offsets.size() - i;
        const index_t begin = offsets[at - 1], length = offsets[at] - begin;
        const index_t first_step = forward ? begin : begin + length - 1;
        const std::vector<index_t> first{1 + begin};
        if (length > 0 && flags[static_cast<std::size_t>(b * steps + first_step)])
          state = ebb::array<State>(1, channels);
        sequences<State> part{
            .first_positions = first, .initial_states = state.view(), .final_states = state.view()};
        scan(decay, in.view().batch_entry(b).steps_from(begin, length),
             cut.view().batch_entry(b).steps_from(begin, length), part, {order}, backend{});
        const index_t last_step = forward ? begin + length - 1 : begin;
        for (std::size_t m = 0; m < kept.size(); ++m)
          if (length > 0 && kept[m] == last_step)
            for (index_t k = 0; k < channels; ++k)
              expected(b, static_cast<index_t>(m), k) = state(0, k);
      }
    }
    if constexpr (Config::bitwise) {
      CHECK(same_bits(whole, cut));
      CHECK(same_bits(snapshots, expected));
    } else {
      for (index_t b = 0; b < 2; ++b)
        for (index_t m = 0; m < snapshot_size.steps; ++m)
          for (index_t k = 0; k < channels; ++k) {
            const State got = snapshots(b, m, k), right = expected(b, m, k);
            [[maybe_unused]] const bool both_nan = is_nan(got) && is_nan(right);
            CHECK((both_nan ||
                   std::abs(got - right) <= 50 * std::numeric_limits<real_of_t<State>>::epsilon()));
          }
    }
    // Only what lies between the NaN and the next reset is lost.
    for (index_t t = 0; t < steps; ++t) {
      [[maybe_unused]] const bool lost = forward ? t == 11 : t <= 11 && t > 0;
      CHECK(is_nan(whole(0, t, 0)) == lost);
    }
  }
}

/// The same call twice gives the same bits.
template <class Config>
void check_repeats(const extents& size) {
  using T = typename Config::value;
  using State = typename Config::state;
  const auto in = random_inputs<T, typename Config::in_axis>(size, 16);
  for_each_decay<Config>(size, [&](const auto& decay) {
    ebb::array<T, typename Config::out_axis> one(size), two(size);
    scan(decay, in, one, sequences<State>{}, {}, typename Config::backend{});
    scan(decay, in, two, sequences<State>{}, {}, typename Config::backend{});
    CHECK(same_bits(one, two));
  });
}

/// Everything above on the shapes that break kernels. `special` shapes cross the edges of tiles.
template <class Config>
void check_scan_contract(const std::vector<index_t>& steps, const std::vector<index_t>& channels,
                         const std::vector<extents>& special) {
  for (const index_t t : steps)
    for (const index_t n : channels) check_error_bound<Config>({1, t, n});
  for (const extents& size : special) check_error_bound<Config>(size);
  check_underflow<Config>({2, 40, 9});
  check_pieces<Config>({1, 100, 3}, {1});
  check_pieces<Config>({2, 130, 17}, {1, 64, 3, 31});
  check_pieces<Config>({1, 300, 40}, {299, 1});
  check_layouts<Config>({2, 9, 5});
  check_layouts<Config>({1, 70, 33});
  check_packed<Config>(3, {2, 2, 5, 5, 13, 14, 14}, 17);
  check_packed<Config>(20, {0, 300, 301, 310}, 310);
  check_packed<Config>(2, {0, 0, 0}, 0);
  check_packed<Config>(2, {4}, 4);
  check_reverse<Config>({2, 77, 5});
  check_resets_and_snapshots<Config>(3);
  check_resets_and_snapshots<Config>(20);
  if constexpr (std::floating_point<typename Config::value>) check_propagation<Config>({2, 20, 5});
  check_repeats<Config>({2, 65, 19});
}

}  // namespace ebb::test
