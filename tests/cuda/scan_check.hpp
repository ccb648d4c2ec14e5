// SPDX-License-Identifier: Apache-2.0
/// @file   cuda/scan_check.hpp
/// @brief  Scans on a GPU against their definition in double on the processor.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <ebb/decay/average.hpp>
#include <ebb/decay/constant.hpp>
#include <ebb/decay/post.hpp>
#include <ebb/decay/selective.hpp>
#include <ebb/recurrence/backend/cuda.hpp>
#include <ebb/recurrence/scan.hpp>
#include <ebb/recurrence/update.hpp>

#include "report.hpp"

namespace ebb::test {

/// Data on the host and a copy of it on the device.
template <class T, class Axis>
struct both {
  explicit both(ebb::array<T, Axis> values) : host(std::move(values)), device(host) {}
  ebb::array<T, Axis> host;
  ebb::device_array<T, Axis> device;
};

/// The decays of a check: each is bound to arrays of the host or of the device.
template <class D, class Axis, decay_form Form>
struct stored_values {
  stored_values(const extents& size, std::uint64_t seed) : values(made(size, seed)) {}
  static ebb::array<D, Axis> made(const extents& size, std::uint64_t seed) {
    ebb::array<D, Axis> result(size);
    numbers draw(seed);
    fill(result, [&] {
      const std::uint64_t kind = draw.next() % 8;
      using Real = real_of_t<default_state_t<D>>;
      if constexpr (Form == decay_form::factor) {
        if (kind == 0) return static_cast<D>(0.0f);
        if (kind <= 4) return static_cast<D>(static_cast<Real>(draw.uniform(0.99, 1)));
        return draw.template number<D>();
      } else {
        const auto size_of = static_cast<Real>(-std::exp(draw.uniform(-14, kind == 0 ? 4 : -3)));
        if constexpr (is_complex<D>)
          return D(size_of, static_cast<Real>(draw.uniform(-3, 3)));
        else
          return static_cast<D>(size_of);
      }
    });
    return result;
  }
  auto on_host() const { return stored_decay<D, Axis, Form>(values.host.view()); }
  auto on_device() const { return stored_decay<D, Axis, Form>(values.device.view()); }
  both<D, Axis> values;
};

/// One that reads no array.
template <class Bound>
struct parameters {
  Bound bound;
  const Bound& on_host() const { return bound; }
  const Bound& on_device() const { return bound; }
};
template <class Bound>
parameters(Bound) -> parameters<Bound>;

template <class T, class Axis>
struct selective_steps {
  selective_steps(const extents& size, std::uint64_t seed, bool tapered)
      : raw([&] {
          ebb::array<T, Axis> values(size);
          numbers draw(seed);
          fill(values, [&] { return static_cast<T>(draw.uniform(-6, 1)); });
          return values;
        }()),
        tapered(tapered) {
    for (index_t k = 0; k < size.channels; ++k)
      rates.push_back(0.01 + static_cast<double>(k) / static_cast<double>(size.channels));
  }
  template <class V>
  auto bound(const V& values) const {
    const double bias[] = {-0.5};
    auto policy = selective_decay<T, Axis>(values).with_bias(bias).limited(1e-4, 2);
    return (tapered ? policy.tapered(post_taper::relative(4096)) : policy)
        .bind(std::span<const double>(rates));
  }
  auto on_host() const { return bound(raw.host.view()); }
  auto on_device() const { return bound(raw.device.view()); }
  both<T, Axis> raw;
  std::vector<double> rates;
  bool tapered;
};

/// Rates of timescales 1 to 4096.
inline std::vector<double> some_rates(index_t channels) {
  std::vector<double> rates;
  for (index_t k = 0; k < channels; ++k)
    rates.push_back(std::exp2(12 * static_cast<double>(k) / static_cast<double>(channels) - 12));
  return rates;
}

/// What a call has besides its data.
struct variant {
  std::string name;
  bool reverse = false, states = false, packed = false, resets = false, in_place = false,
       padded = false, far = false;  // far: at position 2^40
};
inline const std::vector<variant>& all_variants() {
  static const std::vector<variant> all{
      {"plain"},
      {"reverse, with states", true, true},
      {"forward, packed, resets, snapshots, far", false, true, true, true, false, false, true},
      {"reverse, packed, resets, snapshots, in place, padded rows", true, true, true, true, true,
       true}};
  return all;
}

/// The recurrence in double, its majorant, and how many steps lie behind each element.
template <class Wide>
struct scan_truth {
  std::vector<Wide> h;
  std::vector<double> most;
  std::vector<index_t> steps;
};

template <class Decay, class T, class Axis, class State>
auto scan_truth_of(const Decay& decay, const strided_view<const T, Axis>& in,
                   const sequences<State>& where, bool reverse, std::vector<State>& finals,
                   std::vector<double>& finals_most) {
  using Wide = std::conditional_t<is_complex<State>, std::complex<double>, double>;
  const extents size = in.size();
  const auto count = static_cast<std::size_t>(size.batches * size.steps * size.channels);
  scan_truth<Wide> truth{std::vector<Wide>(count), std::vector<double>(count),
                         std::vector<index_t>(count, -1)};
  for (index_t b = 0; b < size.batches; ++b)
    for (index_t s = 0; s < where.count(); ++s)
      for (index_t k = 0; k < size.channels; ++k) {
        const index_t begin = where.begin(s), end = where.end(s, size.steps);
        const bool given = where.initial_states.data() != nullptr;
        Wide h = given ? static_cast<Wide>(where.initial_states(b, s, k)) : Wide(0);
        double most = std::abs(h);
        for (index_t i = 0; i < end - begin; ++i) {
          const index_t t = reverse ? end - 1 - i : begin + i;
          if (where.resets_at(b, t, size.steps)) h = Wide(0), most = 0;
          State filled{};
          decay.fill({b, t, k, where.first_position(b, s) + (t - begin)},
                     strided_view<State>(&filled, 1, 1));
          const Wide a = Decay::form == decay_form::factor ? Wide(filled) : std::exp(Wide(filled));
          Wide x = static_cast<Wide>(static_cast<State>(in(b, t, k)));
          if (gain_of<Decay> == input_gain::one_minus_decay) {
            if constexpr (!is_complex<State>)
              x *= Decay::form == decay_form::factor ? 1 - a : -std::expm1(Wide(filled));
            else
              x *= Wide(1) - a;
          }
          h = a * h + x;
          most = std::abs(a) * most + std::abs(x);
          const auto at = static_cast<std::size_t>((b * size.steps + t) * size.channels + k);
          truth.h[at] = h, truth.most[at] = most, truth.steps[at] = i + 1;
        }
        finals.push_back(static_cast<State>(h));
        finals_most.push_back(most);
      }
  return truth;
}

/// Whether |computed - exact| is within the roundings of so many steps on both sides.
template <class State, class T, class Wide>
bool agrees(const T& computed, const Wide& exact, double most, index_t steps,
            const step_kind& kind) {
  using Real = real_of_t<State>;
  constexpr double u = static_cast<double>(std::numeric_limits<Real>::epsilon()) / 2;
  // Decays filled in the state's type are the same on both sides, but for tapers: 10 u of log a,
  // x e^-x <= 1 of a (docs/accuracy.md); the exponential of the definition costs 6 of double.
  const double n = cuda::error_bound(steps, kind) + 10.0 * static_cast<double>(steps);
  const double own = 8.0 * static_cast<double>(steps) * 0x1p-53;
  const double bound = (std::expm1(n * std::log1p(u)) + own) * most + 1e-37;
  const Wide found = static_cast<Wide>(static_cast<State>(computed));
  double rounding = 0;
  if constexpr (!std::is_same_v<T, State>)
    rounding = static_cast<double>(static_cast<float>(std::numeric_limits<T>::epsilon())) *
               (std::abs(exact) + bound);
  return std::abs(found - exact) <= bound + rounding;
}

/// One decay on one shape, in every variant.
template <class T, class State, class Axis, class Decay>
void check_scan(report& results, const std::string& name, const extents& size, const Decay& decay) {
  for (std::size_t number = 0; number < all_variants().size(); ++number) {
    const variant& how = all_variants()[number];
    const std::string what = name + " " + std::to_string(size.batches) + " x " +
                             std::to_string(size.steps) + " x " + std::to_string(size.channels) +
                             ", " + how.name;
    numbers draw(1000 * number + static_cast<std::uint64_t>(size.steps));
    const index_t T_ = size.steps;
    std::vector<index_t> offsets, kept, first;
    std::vector<std::uint8_t> resets;
    if (how.packed) {
      offsets = {T_ / 10, T_ / 10 + T_ / 3, T_ / 10 + T_ / 3, T_ - T_ / 9};
      for (const index_t t : {T_ / 10, T_ / 2, T_ - 1})
        if (kept.empty() || kept.back() < t) kept.push_back(t);
    }
    const index_t count = how.packed ? 3 : 1;
    if (how.resets)
      for (index_t i = 0; i < size.batches * T_; ++i) resets.push_back(draw.next() % 97 == 0);
    for (index_t i = 0; i < size.batches * count; ++i)
      first.push_back((how.far ? index_t{1} << 40 : 1) + i);

    ebb::array<State> initial({size.batches, count, size.channels});
    fill(initial, [&] { return draw.template number<State>(); });
    ebb::array<State> snapshots({size.batches, static_cast<index_t>(kept.size()), size.channels});
    fill(snapshots, [] { return State(-77); });
    const device_array<State> initial_there(initial);
    device_array<State> finals_there(initial.size()), snapshots_there(snapshots);

    // Rows of the data may have a gap behind them; nothing may be written there.
    constexpr bool by_steps = std::is_same_v<Axis, time_major>;
    const index_t rows = by_steps ? size.steps : size.channels;
    const index_t row = by_steps ? size.channels : size.steps, gap = how.padded ? 3 : 0;
    const extents memory =
        by_steps ? extents{size.batches, rows, row + gap} : extents{size.batches, row + gap, rows};
    ebb::array<T, Axis> in(memory), out(memory);
    fill(in, [&] { return draw.template number<T>(); });
    device_array<T, Axis> in_there(in), out_there(memory);
    const auto part = [&](const auto& view) {
      return by_steps ? view.channels_from(0, size.channels) : view.steps_from(0, size.steps);
    };
    fill(out, [] { return static_cast<T>(-77.0f); });
    out_there.copy_from(out);
    if (how.in_place) out = in;

    sequences<State> there{
        .offsets = offsets, .first_positions = first, .resets = resets, .snapshot_steps = kept};
    there.snapshots = snapshots_there.view();
    if (how.states) there.initial_states = initial_there.view();
    there.final_states = finals_there.view();
    const scan_options options{how.reverse ? direction::reverse : direction::forward};
    auto& target = how.in_place ? in_there : out_there;
    ebb::scan(decay.on_device(), part(std::as_const(in_there).view()), part(target.view()), there,
              options, ebb::cuda{});

    sequences<State> here = there;
    here.initial_states = {};
    if (how.states) here.initial_states = std::as_const(initial).view();
    std::vector<State> finals;
    std::vector<double> finals_most;
    const auto host_decay = decay.on_host();
    using Bound = std::remove_cvref_t<decltype(host_decay)>;
    const step_kind kind = step_kind_of<Bound, State>;
    const auto truth = scan_truth_of(host_decay, part(std::as_const(in).view()), here, how.reverse,
                                     finals, finals_most);

    ebb::array<State> finals_found(initial.size());
    target.copy_to(out);
    finals_there.copy_to(finals_found);
    snapshots_there.copy_to(snapshots);
    detail::gpu::require_success(cudaDeviceSynchronize(), "cudaDeviceSynchronize");

    index_t wrong = 0, touched = 0;
    const auto& before = how.in_place ? in : out;
    for (index_t b = 0; b < memory.batches; ++b)
      for (index_t t = 0; t < memory.steps; ++t)
        for (index_t k = 0; k < memory.channels; ++k) {
          const bool inside = t < size.steps && k < size.channels;
          const auto at = static_cast<std::size_t>((b * size.steps + t) * size.channels + k);
          const T found = out(b, t, k);
          if (inside && truth.steps[at] > 0)
            wrong += !agrees<State>(found, truth.h[at], truth.most[at], truth.steps[at], kind);
          else
            touched += !(found == (how.in_place ? before(b, t, k) : static_cast<T>(-77.0f)));
        }
    results.check(wrong == 0, what + ": " + std::to_string(wrong) + " outputs");
    results.check(touched == 0, what + ": " + std::to_string(touched) + " written outside");
    wrong = 0;
    for (std::size_t i = 0; i < finals.size(); ++i) {
      const auto n = static_cast<index_t>(i);
      const index_t k = n % size.channels, s = n / size.channels % count,
                    b = n / size.channels / count;
      using Wide = std::conditional_t<is_complex<State>, std::complex<double>, double>;
      wrong += !agrees<State>(finals_found(b, s, k), static_cast<Wide>(finals[i]), finals_most[i],
                              std::max<index_t>(1, T_), kind);
    }
    results.check(wrong == 0, what + ": " + std::to_string(wrong) + " final states");
    wrong = 0;
    for (index_t b = 0; b < size.batches; ++b)
      for (std::size_t m = 0; m < kept.size(); ++m)
        for (index_t k = 0; k < size.channels; ++k) {
          const auto at = static_cast<std::size_t>((b * T_ + kept[m]) * size.channels + k);
          const State found = snapshots(b, static_cast<index_t>(m), k);
          wrong += truth.steps[at] > 0
                       ? !agrees<State>(found, truth.h[at], truth.most[at], truth.steps[at], kind)
                       : !(found == State(-77));
        }
    results.check(wrong == 0, what + ": " + std::to_string(wrong) + " snapshots");
  }
}

/// Every shape that takes another path: single elements, several tiles of a row, many rows, many
/// channels, widths that are no multiple of a vector.
inline std::vector<extents> scan_shapes() {
  if (small_shapes) return {{1, 1, 1}, {2, 700, 5}, {1, 9000, 2}, {2, 300, 130}, {300, 5, 1}};
  return {{1, 1, 1},     {3, 4097, 5},  {1, 200000, 1}, {2, 777, 130},
          {1, 9000, 96}, {2, 64, 1024}, {70000, 5, 1},  {1, 9, 40000}};
}

/// Which decays a family checks; every one has kernels of its own.
enum decay_bit : unsigned {
  factors_bit = 1,
  logarithms_bit = 2,
  post_bit = 4,
  constant_bit = 8,
  average_bit = 16,
  selective_bit = 32,
  tapered_bit = 64
};
inline constexpr unsigned every_decay = 127;

/// These decays on all shapes, for one type of data.
template <class T, class State, class Axis, unsigned Decays>
void check_decays(report& results, const std::string& family) {
  using Kept = std::conditional_t<is_complex<State>, State, T>;
  constexpr bool real = !is_complex<State>;
  for (const extents& size : scan_shapes()) {
    const auto go = [&](const std::string& name, const auto& decay) {
      check_scan<T, State, Axis>(results, family + ", " + name, size, decay);
    };
    const auto rates = some_rates(size.channels);
    const std::span<const double> bind(rates);
    if constexpr ((Decays & factors_bit) != 0)
      go("factors", stored_values<Kept, Axis, decay_form::factor>(size, 1));
    if constexpr ((Decays & logarithms_bit) != 0)
      go("logarithms", stored_values<State, Axis, decay_form::log_factor>(size, 2));
    if constexpr ((Decays & post_bit) != 0)
      go("post", parameters{post_taper::relative(4096).with_offset(3).bind(bind)});
    if constexpr ((Decays & constant_bit) != 0 && real)
      go("constant", parameters{constant_decay().bind(bind)});
    if constexpr ((Decays & constant_bit) != 0 && !real) {
      std::vector<std::complex<double>> turning;
      for (const double r : rates) turning.emplace_back(r, 3 * r);
      go("constant",
         parameters{constant_decay().bind(std::span<const std::complex<double>>(turning))});
    }
    if constexpr ((Decays & average_bit) != 0 && real)
      go("average", parameters{normalised(constant_decay()).bind(bind)});
    if constexpr ((Decays & selective_bit) != 0 && real)
      go("selective", selective_steps<T, Axis>(size, 3, false));
    if constexpr ((Decays & tapered_bit) != 0 && real)
      go("selective, tapered", selective_steps<T, Axis>(size, 4, true));
  }
}

}  // namespace ebb::test
