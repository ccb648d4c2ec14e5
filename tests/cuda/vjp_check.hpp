// SPDX-License-Identifier: Apache-2.0
/// @file   cuda/vjp_check.hpp
/// @brief  The gradients of scans on a GPU against the way back on the processor in double.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <ebb/recurrence/backend/cuda.hpp>
#include <ebb/recurrence/vjp.hpp>

#include "scan_check.hpp"

namespace ebb::test {

/// What surrounds the data: three sequences, resets, states.
struct vjp_places {
  std::vector<index_t> offsets, first;
  std::vector<std::uint8_t> resets;

  vjp_places(const extents& size, bool packed) {
    if (!packed) return;
    const index_t all = size.steps;
    offsets = {all / 10, all / 10 + all / 3, all / 10 + all / 3, all - all / 9};
    numbers draw(7);
    for (index_t i = 0; i < size.batches * all; ++i) resets.push_back(draw.next() % 97 == 0);
    for (index_t i = 0; i < size.batches * 3; ++i) first.push_back(5 + i);
  }
  extents states(const extents& size) const {
    return {size.batches, offsets.empty() ? 1 : 3, size.channels};
  }
  template <class State>
  sequences<State> with(const strided_view<const State>& initial) const {
    sequences<State> where{.offsets = offsets, .first_positions = first, .resets = resets};
    where.initial_states = initial;
    return where;
  }
};

template <class To, class From, class Axis>
ebb::array<To, Axis> converted(const ebb::array<From, Axis>& from, bool absolute = false) {
  ebb::array<To, Axis> to(from.size());
  const index_t count = from.batches() * from.steps() * from.channels();
  for (index_t i = 0; i < count; ++i) {
    const auto x = static_cast<To>(static_cast<default_state_t<From>>(from.data()[i]));
    to.data()[i] = absolute && x < To(0) ? -x : x;
  }
  return to;
}

/// Factors of absolute value 1 and whole numbers, so that nothing is rounded: every bit.
template <class T, class Axis>
void check_exact_vjp(report& results, const std::string& name, const extents& size, bool packed) {
  const vjp_places places(size, packed);
  numbers draw(static_cast<std::uint64_t>(size.steps));
  const auto whole = [&] {
    const auto x = static_cast<real_of_t<T>>(draw.next() % 5);
    return T(x - 2);
  };
  ebb::array<T, Axis> a(size), in(size), out(size), dh(size), inputs(size), found(size);
  ebb::array<T, Axis> factors(size), factors_found(size);
  ebb::array<T> start(places.states(size)), last(start.size()), initial(start.size()),
      initial_found(start.size());
  fill(a, [&] {
    const T sign(draw.next() % 2 == 0 ? real_of_t<T>(1) : real_of_t<T>(-1));
    if constexpr (is_complex<T>)
      return draw.next() % 2 == 0 ? sign : sign * T(0, 1);
    else
      return sign;
  });
  fill(in, whole);
  fill(dh, whole);
  fill(start, whole);
  fill(last, whole);
  const device_array<T, Axis> a_there(a), in_there(in), dh_there(dh);
  const device_array<T> start_there(start), last_there(last);
  for (const direction order : {direction::forward, direction::reverse}) {
    ebb::scan(a, in, out, places.with<T>(start.view()), {order});
    const device_array<T, Axis> out_there(out);
    device_array<T, Axis> inputs_there(size), factors_there(factors);
    device_array<T> initial_there(start.size());
    using Sums = typename stored_decay<T, Axis, decay_form::factor>::gradients;
    Sums here{factors.view()}, there{factors_there.view()};
    fill(factors, [] { return T(0); });
    factors_there.copy_from(factors);
    ebb::scan_vjp(ebb::stored_factors(a), in, out,
                  scan_cotangents<T, T, Axis>{dh.view(), last.view(), {}},
                  scan_gradients<T, Sums, T, Axis>{inputs.view(), initial.view(), &here},
                  places.with<T>(start.view()), {order});
    ebb::scan_vjp(
        ebb::stored_factors(a_there), in_there, out_there,
        scan_cotangents<T, T, Axis>{dh_there.view(), last_there.view(), {}},
        scan_gradients<T, Sums, T, Axis>{inputs_there.view(), initial_there.view(), &there},
        places.with<T>(start_there.view()), {order}, ebb::cuda{});
    fill(found, [] { return T(0); });
    inputs_there.copy_to(found);
    factors_there.copy_to(factors_found);
    initial_there.copy_to(initial_found);
    detail::gpu::require_success(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    index_t wrong = 0;
    for (index_t b = 0; b < size.batches; ++b)
      for (index_t k = 0; k < size.channels; ++k) {
        for (index_t t = packed ? places.offsets.front() : 0;
             t < (packed ? places.offsets.back() : size.steps); ++t)
          wrong +=
              !(found(b, t, k) == inputs(b, t, k)) + !(factors_found(b, t, k) == factors(b, t, k));
        for (index_t s = 0; s < start.steps(); ++s)
          wrong += !(initial_found(b, s, k) == initial(b, s, k));
      }
    results.check(wrong == 0, name + ", factors, exact" + (packed ? ", packed" : "") + ": " +
                                  std::to_string(wrong) + " gradients");
  }
}

/// Everything that is found, in double, in a row: element after element, then sum after sum.
template <class Sums>
struct sum_lists {
  std::vector<double> rates, alpha, bias;
  sum_lists(index_t channels, index_t biases)
      : rates(static_cast<std::size_t>(channels)),
        alpha(static_cast<std::size_t>(channels)),
        bias(static_cast<std::size_t>(biases)) {}
  template <class Give>
  void each(Sums& sums, bool tapered, const Give& give) {
    if constexpr (requires { sums.rates; }) give(sums.rates, rates);
    if constexpr (requires { sums.alpha; })
      if (tapered) give(sums.alpha, alpha);
    if constexpr (requires { sums.bias; }) give(sums.bias, bias);
  }
};

/// The gradients of inputs and of parameters, of a decay with positive log-time; `log_units`: what
/// its kernel states of log a, in u.
template <class T, class State, class Axis, class Decay>
void check_sums_vjp(report& results, const std::string& name, const extents& size,
                    const Decay& decay, double log_units) {
  const vjp_places places(size, true);
  numbers draw(3);
  const auto any = [&] { return draw.template number<T>(); };
  const auto any_state = [&] { return draw.template number<State>(); };
  ebb::array<T, Axis> in(size), out(size), dh(size), inputs(size);
  ebb::array<State> start(places.states(size)), last(start.size());
  fill(in, any);
  fill(dh, any);
  fill(start, any_state);
  fill(last, any_state);
  const auto here = decay.on_host();
  const auto there = decay.on_device();
  ebb::scan(here, in, out, places.with<State>(start.view()));

  using Bound = std::remove_cvref_t<decltype(here)>;
  using Sums = typename Bound::gradients;
  const bool tapered = [&] {
    if constexpr (requires { here.alpha(); })
      return !here.alpha().empty();
    else
      return false;
  }();
  // The same in double, and on absolute values: what roundings are relative to.
  ebb::array<double, Axis> exact[2] = {ebb::array<double, Axis>(size),
                                       ebb::array<double, Axis>(size)};
  sum_lists<Sums> lists[2] = {{size.channels, 1}, {size.channels, 1}};
  for (const bool absolute : {false, true}) {
    const auto wide_in = converted<double>(in), wide_out = converted<double>(out, absolute),
               wide_dh = converted<double>(dh, absolute);
    const auto wide_start = converted<double>(start, absolute),
               wide_last = converted<double>(last, absolute);
    Sums sums{};
    lists[absolute].each(sums, tapered, [](auto& to, auto& list) { to = list; });
    ebb::scan_vjp(here, wide_in, wide_out,
                  scan_cotangents<double, double, Axis>{wide_dh.view(), wide_last.view(), {}},
                  scan_gradients<double, Sums, double, Axis>{exact[absolute].view(), {}, &sums},
                  places.with<double>(wide_start.view()));
  }

  const device_array<T, Axis> in_there(in), out_there(out), dh_there(dh);
  const device_array<State> start_there(start), last_there(last);
  device_array<T, Axis> inputs_there(inputs);
  Sums sums{};
  sum_lists<Sums> found(size.channels, 1);
  std::vector<std::pair<device_array<double>, std::vector<double>*>> arrays;
  found.each(sums, tapered, [&](auto& to, std::vector<double>& list) {
    const auto count = static_cast<index_t>(list.size());
    arrays.emplace_back(device_array<double>(strided_view<double>(list.data(), 1, count)), &list);
    to = std::span<double>(arrays.back().first.data(), list.size());
  });
  ebb::scan_vjp(there, in_there, out_there,
                scan_cotangents<T, State, Axis>{dh_there.view(), last_there.view(), {}},
                scan_gradients<T, Sums, State, Axis>{inputs_there.view(), {}, &sums},
                places.with<State>(start_there.view()), {}, ebb::cuda{});
  inputs_there.copy_to(inputs);
  for (auto& [array, list] : arrays)
    array.copy_to(strided_view<double>(list->data(), 1, static_cast<index_t>(list->size())));
  detail::gpu::require_success(cudaDeviceSynchronize(), "cudaDeviceSynchronize");

  constexpr double u = static_cast<double>(std::numeric_limits<State>::epsilon()) / 2;
  constexpr step_kind kind{Bound::form, input_gain::one, false};
  const double n = detail::gpu::back_error_bound(size.steps, kind) +
                   detail::gpu::change_error_bound(kind) +
                   (log_units + 12) * static_cast<double>(size.steps + 2);
  const double relative = std::expm1(n * std::log1p(u)) + static_cast<double>(size.steps) * 0x1p-50;
  index_t wrong = 0;
  for (index_t b = 0; b < size.batches; ++b)
    for (index_t t = places.offsets.front(); t < places.offsets.back(); ++t)
      for (index_t k = 0; k < size.channels; ++k) {
        double allowed = relative * exact[1](b, t, k);
        if constexpr (!std::is_same_v<T, State>)
          allowed += static_cast<double>(static_cast<float>(std::numeric_limits<T>::epsilon())) *
                     exact[1](b, t, k);
        const auto got = static_cast<double>(static_cast<State>(inputs(b, t, k)));
        wrong += !(std::abs(got - exact[0](b, t, k)) <= allowed + 1e-37);
      }
  results.check(wrong == 0, name + ": " + std::to_string(wrong) + " gradients of inputs");
  wrong = 0;
  const auto compare = [&](const std::vector<double>& got, const std::vector<double>& right,
                           const std::vector<double>& most) {
    for (std::size_t i = 0; i < got.size(); ++i)
      wrong += !(std::abs(got[i] - right[i]) <= relative * std::abs(most[i]) + 1e-30);
  };
  compare(found.rates, lists[0].rates, lists[1].rates);
  compare(found.alpha, lists[0].alpha, lists[1].alpha);
  compare(found.bias, lists[0].bias, lists[1].bias);
  results.check(wrong == 0, name + ": " + std::to_string(wrong) + " gradients of parameters");
}

/// All gradients of one type of data, along one axis.
template <class T, class State, class Axis>
void check_gradients(report& results, const std::string& name) {
  std::vector<extents> shapes{{1, 1, 1}, {2, 700, 5}, {1, 9000, 2}};
  if (!small_shapes) shapes.insert(shapes.end(), {{2, 777, 130}, {1, 20000, 3}, {300, 50, 7}});
  for (const extents& size : shapes) {
    if constexpr (std::is_same_v<T, State>)
      for (const bool packed : {false, true}) check_exact_vjp<T, Axis>(results, name, size, packed);
    if constexpr (!is_complex<T>) {
      if (size.steps < 2) continue;
      const auto rates = some_rates(size.channels);
      const std::span<const double> bind(rates);
      check_sums_vjp<T, State, Axis>(results, name + ", constant", size,
                                     parameters{constant_decay().bind(bind)}, 0);
      check_sums_vjp<T, State, Axis>(results, name + ", post", size,
                                     parameters{post_taper::absolute().bind(bind)}, 10);
      check_sums_vjp<T, State, Axis>(results, name + ", selective", size,
                                     selective_steps<T, Axis>(size, 3, false), 32);
    }
  }
}

}  // namespace ebb::test
