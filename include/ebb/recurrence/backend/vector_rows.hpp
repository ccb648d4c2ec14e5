// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/vector_rows.hpp
/// @brief  Rows of channels walked in vector registers: parts, panels, whole rows.
#pragma once

#include <algorithm>
#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>

#include <xsimd/xsimd.hpp>

#include <ebb/recurrence/backend/complex_lanes.hpp>
#include <ebb/recurrence/backend/lanes.hpp>
#include <ebb/recurrence/backend/log_time_weights.hpp>

namespace ebb::inline EBB_ABI::detail {

/// Whether data and states of these types go by vectors.
template <class T, class State>
inline constexpr bool in_vectors = std::same_as<T, State> &&
                                   (std::same_as<T, float> || std::same_as<T, double>);

/// Whether a step looks for an infinite state that meets its own decrement (update.hpp). Without,
/// the state becomes NaN and stays so: a walk over many steps needs to look at its end only, and
/// then starts again with care. That takes a third of the time of a step off its critical path.
enum class care { none, taken };

/// `advance` (recurrence/update.hpp) on a batch of channels, with a - 1 in place of a where `kept`
/// (of a log-decay): the same forms, chosen by masks, with at most one product left for each sum.
template <decay_form Form, input_gain Gain, care Care, class Batch, class Mask>
Batch advance_batch(const Batch& weight, const Mask& kept, const Batch& h, const Batch& b) {
  constexpr bool average = Gain == input_gain::one_minus_decay;
  Batch fast;
  if constexpr (average)
    fast = multiply_add(weight, h, (Batch(1) - weight) * b);
  else
    fast = multiply_add(weight, h, b);
  if constexpr (Form == decay_form::factor) {
    return fast;
  } else {
    Batch slow;
    if constexpr (average)
      slow = multiply_add(weight, h - b, h);
    else
      slow = h + fast;
    if constexpr (Care == care::taken) slow = xsimd::select(xsimd::isnan(slow), h + b, slow);
    return xsimd::select(kept, slow, fast);
  }
}

/// Rows walked by vectors of `Arch`: `walk` with a kind of weights.
template <class Arch>
class vector_rows {
 public:
  template <class T>
  using batch_of = xsimd::batch<T, Arch>;
  template <class T>
  static constexpr auto lanes_of = static_cast<index_t>(batch_of<T>::size);

  /// Rows of channels that are to be walked.
  template <class T>
  struct block {
    T* state;
    const T* x;
    index_t x_row;
    T* y;
    index_t y_row, width, count;
    bool far;
    index_t together = 1;  // real numbers that no two vectors may share out
    index_t lead = 0;      // channels before the first one whose output is aligned, in every row
  };

  /// `rows` of a kernel, with vectors of channels.
  template <decay_form Form, input_gain Gain, class T>
  static void weighted(const T* weights, index_t weight_row, const block<T>& all) {
    if (weight_row == 0)
      walk<T, 4, walk_kind::constant>(
          all, [&]<int V>(index_t k, const part_of_row<T, V>& part) __attribute__((always_inline)) {
            return constant_weights<Form, Gain, T, V>(weights + k, part);
          });
    else
      walk<T, 4, walk_kind::varying>(
          all, [&]<int V>(index_t k, const part_of_row<T, V>& part) __attribute__((always_inline)) {
            return varying_weights<Form, Gain, T, V>{weights + k, weight_row, part};
          });
  }

  /// `log_time` of a kernel.
  template <int Degree, input_gain Gain, class T>
  static void in_flight(const detail::log_time_weights<T>& flight, index_t i, index_t i_step,
                        const block<T>& all) {
    walk<T, vectors_held<T, Degree>, walk_kind::log_time>(
        all, [&]<int V>(index_t k, const part_of_row<T, V>& part) __attribute__((always_inline)) {
          return log_time_weights<Degree, Gain, T, V>(flight, k, part, i, i_step);
        });
  }

  /// The same for complex numbers: a row of them is one of twice as many real ones.
  template <decay_form Form, input_gain Gain, class Real>
  static void pairs(const detail::weight_pointer_t<std::complex<Real>, Form>& weights, index_t row,
                    const block<Real>& all) {
    using batch = batch_of<Real>;
    const Real *const w = detail::values_of(weights), *const whole = detail::wholes_of(weights);
    // A constant weight takes two vectors and a mask for each of the state, of 16 or 32.
    constexpr int held = sizeof(batch) == 64 ? 4 : 2;
    if (row == 0)
      walk<Real, held, walk_kind::constant_pairs>(
          all, [&]<int V>(index_t k, const part_of_row<Real, V>& part)
                   __attribute__((always_inline)) {
                     return detail::constant_pairs<Form, Gain, batch, V>(w + k, whole + k, part);
                   });
    else
      walk<Real, 4, walk_kind::varying>(
          all, [&]<int V>(index_t k, const part_of_row<Real, V>& part)
                   __attribute__((always_inline)) {
                     return detail::varying_pairs<Form, Gain, part_of_row<Real, V>, batch, V>{
                         w + k, whole + k, row, part};
                   });
  }

 private:
  using care = detail::care;

  // Vectors of channels whose states and polynomials fit into the registers together.
  template <class T, int Degree>
  static constexpr int vectors_held = std::clamp((sizeof(batch_of<T>) == 64 ? 20 : 8) /
                                                     (Degree + 1),
                                                 2, 4);

  // V vectors of channels: the first begins at the first channel, the last one ends at the last,
  // and those between begin where a vector of the output is aligned. Vectors that overlap compute
  // the same numbers twice: all inputs of a row are loaded before any of its outputs is stored.
  template <class T, int V>
  struct part_of_row {
    index_t width, overlap = 0;  // overlap: of the first two, where they are not the last two

    index_t begin_of(int v) const {
      if (v == V - 1) return width - lanes_of<T>;
      return v == 0 ? 0 : v * lanes_of<T> - overlap;
    }
    // The channels of vector v that no vector aligned with a line has: first .. first + count - 1.
    index_t first_own(int v) const {
      return V > 1 && v == V - 1 ? begin_of(V - 2) + lanes_of<T> - begin_of(V - 1) : 0;
    }
    index_t own(int v) const {
      return V > 2 && v == 0 ? lanes_of<T> - overlap : lanes_of<T> - first_own(v);
    }
    batch_of<T> load(const T* from, int v) const {
      return batch_of<T>::load_unaligned(from + begin_of(v));
    }
  };

  // Where the weights of a row come from: the same for all rows (complex ones are three vectors
  // for one of states), rows in memory, polynomials.
  enum class walk_kind { constant, constant_pairs, varying, log_time };

  // The weights of a part of V vectors, and the step they make: row i of the block, vector v.
  template <decay_form Form, input_gain Gain, class T, int V>
  struct constant_weights {
    static constexpr bool may_need_care = Form == decay_form::log_factor;
    batch_of<T> w[V];
    xsimd::batch_bool<T, Arch> kept[V];

    constant_weights(const T* weights, const part_of_row<T, V>& part) {
      for (int v = 0; v < V; ++v) {
        w[v] = part.load(weights, v);
        kept[v] = w[v] < batch_of<T>(0);
      }
    }
    template <care Care>
    batch_of<T> step(index_t, int v, const batch_of<T>& h, const batch_of<T>& b) const {
      return detail::advance_batch<Form, Gain, Care>(w[v], kept[v], h, b);
    }
  };

  template <decay_form Form, input_gain Gain, class T, int V>
  struct varying_weights {
    static constexpr bool may_need_care = Form == decay_form::log_factor;
    const T* weights;
    index_t row;
    part_of_row<T, V> part;

    template <care Care>
    batch_of<T> step(index_t i, int v, const batch_of<T>& h, const batch_of<T>& b) const {
      const batch_of<T> w = part.load(weights + i * row, v);
      return detail::advance_batch<Form, Gain, Care>(w, w < batch_of<T>(0), h, b);
    }
  };

  template <int Degree, input_gain Gain, class T, int V>
  struct log_time_weights {
    static constexpr bool may_need_care = true;
    batch_of<T> c[V][Degree + 1];
    xsimd::batch_bool<T, Arch> kept[V];
    const T* times;
    index_t step_of_times;

    log_time_weights(const detail::log_time_weights<T>& flight, index_t k,
                     const part_of_row<T, V>& part, index_t i, index_t i_step)
        : times(flight.y() + i), step_of_times(i_step) {
      constexpr index_t stride = detail::log_time_weights<T>::widest;
      const T* const from = flight.coefficients() + k;
      for (int v = 0; v < V; ++v) {
        for (int d = 0; d <= Degree; ++d) c[v][d] = part.load(from + d * stride, v);
        kept[v] = part.load(from + (Degree + 1) * stride, v) != batch_of<T>(0);
      }
    }
    template <care Care>
    batch_of<T> step(index_t i, int v, const batch_of<T>& h, const batch_of<T>& b) const {
      const batch_of<T> y(times[i * step_of_times]);
      batch_of<T> p = c[v][Degree];
      for (int d = Degree - 1; d >= 0; --d) p = detail::multiply_add(p, y, c[v][d]);
      return detail::advance_batch<decay_form::log_factor, Gain, Care>(p, kept[v], h, b);
    }
  };

  // How rows are walked, by what was measured fastest (scripts/bench; AVX-512, 1 MB of second
  // cache).
  // Rows of up to 4 vectors: down all rows, states in registers. In the caches, up to 1.5 KB: the
  // same in parts of up to 4 vectors, enough to hide the latency of a step, 64 rows at a time
  // where rows have several parts; longer rows: panels of 8 rows and parts of one vector, so that
  // the processor can follow each row (4 rows where all would meet in one set of the first
  // cache).
  // Beyond the caches only whole rows keep the memory busy: columns of 4 vectors take twice as
  // long, at 128 channels as at 768. But a taper's coefficients fit into the first cache beside
  // them only up to 1 KB of channels, the three parts of complex weights up to 2 KB. Outputs go
  // past the caches there, where rows allow it: the lines they fill are not read first (1.3 to 1.6
  // times as fast at 768 channels).
  template <class T>
  static constexpr index_t narrow = 1536 / static_cast<index_t>(sizeof(T));

  // make.operator()<V>(k, part) gives the weights of the channels k .. k + part - 1.
  template <class T, int Most, walk_kind Kind, class Make>
  static void walk(block<T> all, const Make& make) {
    constexpr index_t lanes = lanes_of<T>;
    const auto address = reinterpret_cast<std::uintptr_t>(all.y) / sizeof(T);
    if (all.y_row % lanes == 0)
      all.lead = (lanes - static_cast<index_t>(address % batch_of<T>::size)) % lanes;
    if (all.lead % all.together != 0) all.lead = 0;
    walk_as_wide<T, Most, Kind>(all, make);
    if (all.far) detail::stream_fence();
  }
  template <class T, int Most, walk_kind Kind, class Make>
  static void walk_as_wide(const block<T>& all, const Make& make) {
    constexpr index_t lanes = lanes_of<T>;
    const auto panels = [&]<int Height, int Vectors>() {
      index_t n = 0;
      for (; n + Height <= all.count; n += Height)
        walk_parts<Vectors, Height>(all, n, Height, make);
      if (n < all.count) walk_parts<Vectors, 0>(all, n, all.count - n, make);
    };
    if (all.width <= Most * lanes) return walk_parts<Most, 0>(all, 0, all.count, make);
    constexpr index_t longest_whole = Kind == walk_kind::constant_pairs ? 2048 : 1024;
    const bool whole_rows =
        Kind == walk_kind::varying ||
        (all.far && (Kind == walk_kind::constant ||
                     all.width * static_cast<index_t>(sizeof(T)) <= longest_whole));
    if (whole_rows) return walk_rows_whole<Most>(all, make);
    if constexpr (Kind != walk_kind::varying) {
      if (all.width <= narrow<T>) {
        for (index_t n = 0; n < all.count; n += 64)
          walk_parts<Most, 0>(all, n, std::min<index_t>(64, all.count - n), make);
      } else if (!all.far && all.x_row * static_cast<index_t>(sizeof(T)) % 4096 == 0) {
        panels.template operator()<4, 1>();
      } else {
        panels.template operator()<8, 1>();
      }
    }
  }

  // Row after row. What is called for each is inlined: calls cost half as much again at 128 channels.
  template <int Most, class T, class Make>
  [[gnu::flatten]] static void walk_rows_whole(const block<T>& all, const Make& make) {
    for (index_t n = 0; n < all.count; ++n) walk_parts<Most, 1>(all, n, 1, make);
  }

  // Rows n .. n + count - 1 in parts of up to Most vectors. The last part has a whole vector
  // besides what does not fill one. Rows: count, if it is known here.
  template <int Most, int Rows, class T, class Make>
  static void walk_parts(const block<T>& all, index_t n, index_t count, const Make& make) {
    constexpr index_t lanes = lanes_of<T>;
    index_t k = 0;
    if (all.lead > 0 && all.width >= (Most + 2) * lanes) {
      k = all.lead + Most * lanes;
      walk_part<Most + 1, Rows>(all, n, count, 0, k, make, lanes - all.lead);
    }
    for (;;) {
      const index_t rest = all.width - k, vectors = (rest + lanes - 1) / lanes;
      const bool uneven = rest % lanes != 0;
      if (vectors > Most + (uneven ? 1 : 0)) {
        walk_part<Most, Rows>(all, n, count, k, Most * lanes, make);
        k += Most * lanes;
        continue;
      }
      if (vectors == 1) return walk_part<1, Rows>(all, n, count, k, rest, make);
      if (vectors == 2) return walk_part<2, Rows>(all, n, count, k, rest, make);
      if constexpr (Most > 1)
        if (vectors == 3) return walk_part<3, Rows>(all, n, count, k, rest, make);
      if constexpr (Most > 2)
        if (vectors == 4) return walk_part<4, Rows>(all, n, count, k, rest, make);
      if constexpr (Most > 3) return walk_part<5, Rows>(all, n, count, k, rest, make);
    }
  }

  template <int V, int Rows, class T, class Make>
  [[gnu::always_inline]] static void walk_part(const block<T>& all, index_t n, index_t count,
                                               index_t k, index_t width, const Make& make,
                                               index_t overlap = 0) {
    const part_of_row<T, V> at{width, overlap};
    const auto weights = make.template operator()<V>(k, at);
    const block<T> part{
        all.state + k, all.x + n * all.x_row + k, all.x_row, all.y + n * all.y_row + k, all.y_row,
        width,         Rows > 0 ? Rows : count,   all.far};
    // In place the inputs are gone when the end is reached.
    const bool careful = weights.may_need_care && all.x == all.y;
    if (careful || !walk_lightly<V>(part, at, n, weights)) walk_carefully<V>(part, at, n, weights);
  }
  template <int V, class T, class Weights>
  [[gnu::always_inline]] static bool walk_lightly(const block<T>& part, const part_of_row<T, V>& at,
                                                  index_t n, const Weights& weights) {
    // In place the lines are in the caches already.
    if (!part.far || part.x == part.y)
      return walk_rows<V, care::none, detail::store_kind::cached>(part, at, n, weights);
    if (walk_rows<V, care::none, detail::store_kind::streamed>(part, at, n, weights)) return true;
    detail::stream_fence();
    return false;
  }
  template <int V, class T, class Weights>
  [[gnu::noinline]] static void walk_carefully(const block<T>& part, const part_of_row<T, V>& at,
                                               index_t n, const Weights& weights) {
    walk_rows<V, care::taken, detail::store_kind::cached>(part, at, n, weights);
  }

  // False, with the states as they were, where care is due and none was taken.
  template <int V, care Care, detail::store_kind Store, class T, class Weights>
  [[gnu::always_inline]] static bool walk_rows(const block<T>& part, const part_of_row<T, V>& at,
                                               index_t n, const Weights& weights) {
    batch_of<T> h[V], b[V];
    for (int v = 0; v < V; ++v) h[v] = at.load(part.state, v);
    const T* x = part.x;
    T* y = part.y;
    for (index_t i = 0; i < part.count; ++i, x += part.x_row, y += part.y_row) {
      for (int v = 0; v < V; ++v) b[v] = at.load(x, v);
      for (int v = 0; v < V; ++v) h[v] = weights.template step<Care>(n + i, v, h[v], b[v]);
      for (int v = 0; v < V; ++v)
        detail::store<Store>(y + at.begin_of(v), h[v], at.first_own(v), at.own(v));
    }
    if (weights.may_need_care && Care == care::none) {
      bool found = false;
      for (int v = 0; v < V; ++v) found = found || xsimd::any(xsimd::isnan(h[v]));
      if (found) return false;
    }
    for (int v = 0; v < V; ++v) h[v].store_unaligned(part.state + at.begin_of(v));
    return true;
  }
};

}  // namespace ebb::inline EBB_ABI::detail
