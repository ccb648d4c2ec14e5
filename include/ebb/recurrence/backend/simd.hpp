// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/simd.hpp
/// @brief  The scan in vector registers, written with xsimd.
#pragma once

#if !__has_include(<xsimd/xsimd.hpp>)
#error \
    "ebb/recurrence/backend/simd.hpp needs xsimd >= 8.1: install libxsimd-dev and link ebb::simd."
#endif

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <xsimd/xsimd.hpp>

#include <ebb/recurrence/backend/lane_scan.hpp>
#include <ebb/recurrence/backend/rows.hpp>

#if XSIMD_VERSION_MAJOR < 8 || (XSIMD_VERSION_MAJOR == 8 && XSIMD_VERSION_MINOR < 1)
#error \
    "ebb/recurrence/backend/simd.hpp needs xsimd >= 8.1: this one is older (libxsimd-dev has it)."
#endif

namespace ebb::inline EBB_ABI {

namespace detail {

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

}  // namespace detail

/// The scan over tiles, as `rows`, with the channels of a step in vector registers of `Arch`.
///
/// float and double data in states of their own type go by vectors: of channels, or of steps where
/// each channel's factors, inputs and outputs lie one after the other (`channel_major` data; one
/// channel alone). Other data whose steps are adjacent is turned into rows on the stack. The rest
/// (complex numbers, 16-bit storage, states wider than the data, rows of less than a vector) takes
/// the loops of `rows`. Vectors of a row may overlap, so where an element lies in its row does not
/// change its bits.
///
/// Where rows take more than 16 MB in all, outputs go past the caches, if all rows are aligned alike
/// (their distance is a multiple of a vector): whoever reads them soon after finds them in memory.
///
/// Cost: as rows, but not at the mercy of the compiler's vectoriser; no allocation, no alignment
/// needed.
/// Accuracy: error_bound of rows, and its bits, where `Arch` fuses products and sums just as the
/// compiler's flags say (the default does). Vectors of steps change the order of operations: there
/// the bits are others, within the same bound, and depend on where a sequence, a reset or a
/// snapshot cuts the steps; pieces of a sequence agree within the bound.
/// Subnormals: as rows.
///
/// @tparam Arch  an architecture of xsimd; by default the best the compiler's flags allow
template <class Arch = xsimd::default_arch>
struct simd {
  static constexpr std::string_view name = "simd";
  static constexpr determinism repeats = determinism::any_thread_count;

  static constexpr double error_bound(index_t steps, const step_kind& kind = {}) {
    return step_roundings(kind) * static_cast<double>(steps);
  }

  template <class Decay, scan_scalar T, class InAxis, class OutAxis, class State>
  void scan(const Decay& decay, const strided_view<const T, InAxis>& in,
            const strided_view<T, OutAxis>& out, const sequences<State>& where,
            const scan_options& options) const {
    detail::scan_tiles<kernel>(decay, in, out, where, options);
  }

  /// Vectors, for the tiles of tiles.hpp.
  struct kernel {
    template <decay_form Form, input_gain Gain, class State, class T>
    static void rows(const step_weight_t<State>* weights, index_t weight_row, State* state,
                     const T* x, index_t x_row, index_t x_stride, T* y, index_t y_row,
                     index_t width, index_t count, bool far) {
      if constexpr (detail::in_vectors<T, State>) {
        if (x_stride == 1 && width >= lanes_of<T>) {
          const block<T> at{state, x, x_row, y, y_row, width, count, far};
          if (weight_row == 0)
            walk<T, 4, walk_kind::constant>(
                at, [&]<int V>(index_t k, const part_of_row<T, V>& part)
                        __attribute__((always_inline)) {
                          return constant_weights<Form, Gain, T, V>(weights + k, part);
                        });
          else
            walk<T, 4, walk_kind::varying>(
                at, [&]<int V>(index_t k, const part_of_row<T, V>& part)
                        __attribute__((always_inline)) {
                          return varying_weights<Form, Gain, T, V>{weights + k, weight_row, part};
                        });
          return;
        }
      }
      portable::rows<Form, Gain>(weights, weight_row, state, x, x_row, x_stride, y, y_row, width,
                                 count, far);
    }

    template <int Degree, input_gain Gain, class State, class T>
    static void log_time(const detail::log_time_weights<State>& flight, index_t i, index_t i_step,
                         State* state, const T* x, index_t x_row, index_t x_stride, T* y,
                         index_t y_row, index_t width, index_t count, bool far) {
      if constexpr (detail::in_vectors<T, State>) {
        if (x_stride == 1 && width >= lanes_of<T>) {
          walk<T, vectors_held<T, Degree>, walk_kind::log_time>(
              block<T>{state, x, x_row, y, y_row, width, count, far},
              [&]<int V>(index_t k, const part_of_row<T, V>& part) __attribute__((always_inline)) {
                return log_time_weights<Degree, Gain, T, V>(flight, k, part, i, i_step);
              });
          return;
        }
      }
      portable::log_time<Degree, Gain>(flight, i, i_step, state, x, x_row, x_stride, y, y_row,
                                       width, count, far);
    }

    template <decay_form Form, class State, class T>
    static constexpr bool walks_columns = ebb::rows::kernel::walks_columns<Form, State, T>;

    template <input_gain Gain, class State, class T>
    static State column(const State* weight, index_t weight_stride, State h, const T* x,
                        index_t x_stride, T* y, index_t stride, index_t count) {
      index_t whole = 0;
      if constexpr (detail::in_vectors<T, State>) {
        const auto vectors_of_steps = [&]<bool Forward>() {
          using scan = detail::lane_scan<Arch, Forward, Gain, T>;
          whole = count / scan::steps * scan::steps;
          h = scan::run(weight, weight_stride, h, x, x_stride, y, whole);
        };
        if (stride > 0)
          vectors_of_steps.template operator()<true>();
        else
          vectors_of_steps.template operator()<false>();
      }
      return portable::template column<Gain>(weight + whole * weight_stride, weight_stride, h,
                                             x + whole * x_stride, x_stride, y + whole * stride,
                                             stride, count - whole);
    }

    template <class T>
    static void transpose(const T* from, index_t from_row, T* to, index_t to_row, index_t rows,
                          index_t columns) {
      if constexpr (detail::in_vectors<T, T>)
        detail::transpose<Arch>(from, from_row, to, to_row, rows, columns);
      else
        portable::transpose(from, from_row, to, to_row, rows, columns);
    }

   private:
    using portable = ebb::rows::kernel;
    using care = detail::care;

    template <class T>
    using batch_of = xsimd::batch<T, Arch>;
    template <class T>
    static constexpr auto lanes_of = static_cast<index_t>(batch_of<T>::size);

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

    // Where the weights of a row come from: the same for all rows, rows in memory, polynomials.
    enum class walk_kind { constant, varying, log_time };

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

    // Rows of channels that are to be walked.
    template <class T>
    struct block {
      T* state;
      const T* x;
      index_t x_row;
      T* y;
      index_t y_row, width, count;
      bool far;
      index_t lead = 0;  // channels before the first one whose output is aligned, in every row
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
    // them only up to 1 KB of channels. Outputs go past the caches there, where rows allow it: the
    // lines they fill are not read first (1.3 to 1.6 times as fast at 768 channels).
    template <class T>
    static constexpr index_t narrow = 1536 / static_cast<index_t>(sizeof(T));

    // make.operator()<V>(k, part) gives the weights of the channels k .. k + part - 1.
    template <class T, int Most, walk_kind Kind, class Make>
    static void walk(block<T> all, const Make& make) {
      constexpr index_t lanes = lanes_of<T>;
      const auto address = reinterpret_cast<std::uintptr_t>(all.y) / sizeof(T);
      if (all.y_row % lanes == 0)
        all.lead = (lanes - static_cast<index_t>(address % batch_of<T>::size)) % lanes;
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
      const bool whole_rows = Kind == walk_kind::varying ||
                              (all.far && (Kind == walk_kind::constant ||
                                           all.width * static_cast<index_t>(sizeof(T)) <= 1024));
      if (whole_rows) return panels.template operator()<1, Most>();
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
      if (careful || !walk_lightly<V>(part, at, n, weights))
        walk_carefully<V>(part, at, n, weights);
    }
    template <int V, class T, class Weights>
    [[gnu::always_inline]] static bool walk_lightly(const block<T>& part,
                                                    const part_of_row<T, V>& at, index_t n,
                                                    const Weights& weights) {
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
};

}  // namespace ebb::inline EBB_ABI
