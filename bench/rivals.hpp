// SPDX-License-Identifier: Apache-2.0
/// @file   bench/rivals.hpp
/// @brief  The taper by two exponentials an element, in vectors: what a good programmer writes who
///   does not know that they can be avoided.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include <ebb/core/sequences.hpp>
#include <ebb/core/view.hpp>
#include <ebb/decay/stored.hpp>
#include <ebb/recurrence/scan.hpp>

#if defined(EBB_BENCH_SIMD)
#include <ebb/recurrence/backend/lane_scan.hpp>
#include <xsimd/xsimd.hpp>
#endif

#include "baselines.hpp"

namespace bench {

// How exponentials of vectors are taken. `exp_roundings`: within how many u; checked before they
// are timed. `narrowest`: as many channels as it takes for rows to be vectors.

#if defined(EBB_BENCH_SIMD)
/// xsimd's batches.
struct by_xsimd {
  static constexpr double exp_roundings = 3;
  template <class T>
  static constexpr auto narrowest = static_cast<index_t>(xsimd::batch<T>::size);

  /// y = exp(-r exp(-alpha l)) before + x for a row of channels; the last vector may overlap.
  template <class T>
  static void step(const T* r, const T* alpha, T l, const T* before, const T* x, T* y, index_t n) {
    using batch = xsimd::batch<T>;
    const batch log_time(l);
    const auto vector = [=](index_t k) {
      const batch rate = batch::load_unaligned(r + k), s = batch::load_unaligned(alpha + k);
      const batch a = xsimd::exp(-rate * xsimd::exp(-s * log_time));
      ebb::detail::multiply_add(a, batch::load_unaligned(before + k), batch::load_unaligned(x + k))
          .store_unaligned(y + k);
    };
    index_t k = 0;
    for (; k + narrowest<T> <= n; k += narrowest<T>) vector(k);
    if (k < n) vector(n - narrowest<T>);
  }
  /// a = exp(-r exp(-alpha l)) for steps of one channel; l and a have room for a last vector.
  template <class T>
  static void fill(T r, T alpha, const T* l, T* a, index_t n) {
    using batch = xsimd::batch<T>;
    for (index_t i = 0; i < n; i += narrowest<T>)
      xsimd::exp(batch(-r) * xsimd::exp(batch(-alpha) * batch::load_unaligned(l + i)))
          .store_unaligned(a + i);
  }
};
#endif

#if defined(EBB_BENCH_EIGEN)
/// Eigen's arrays.
struct by_eigen {
  static constexpr double exp_roundings = 6;
  template <class T>
  static constexpr index_t narrowest = 16;

  template <class T>
  static void step(const T* r, const T* alpha, T l, const T* before, const T* x, T* y, index_t n) {
    using row = Eigen::Map<const Eigen::Array<T, 1, Eigen::Dynamic>>;
    Eigen::Map<Eigen::Array<T, 1, Eigen::Dynamic>>(y, n) =
        (-row(r, n) * (-row(alpha, n) * l).exp()).exp() * row(before, n) + row(x, n);
  }
  template <class T>
  static void fill(T r, T alpha, const T* l, T* a, index_t n) {
    using column = Eigen::Array<T, Eigen::Dynamic, 1>;
    Eigen::Map<column>(a, n) = (-r * (-alpha * Eigen::Map<const column>(l, n)).exp()).exp();
  }
};
#endif

/// The taper by its formula, exponentials in vectors and in the type of the data, one logarithm a
/// step.
///
/// Channels adjacent: in one pass, a row at a time. Filling blocks of rows and scanning those by
/// stored factors was measured to take 1.1 to 1.9 times as long. Steps adjacent: parts of a channel
/// are filled, and scanned by `Backend`, which does that faster than a loop.
template <class T, class By, class Backend>
class vector_taper {
 public:
  vector_taper(std::vector<T> rates, std::vector<T> alpha, T reference)
      : rates_(std::move(rates)), alpha_(std::move(alpha)), reference_(reference), decays_(room) {}

  void scan(index_t first_position, const strided_view<T, ebb::time_major>& in,
            const strided_view<T, ebb::time_major>& out) {
    const index_t n = in.channels();
    const T* const x = in.data();
    T* const y = out.data();
    set_log_times(first_position, in.steps());
    if (n == 1) {
      column(0, x, y, in.steps());
    } else {
      std::copy_n(x, n, y);
      for (index_t t = 1; t < in.steps(); ++t)
        By::step(rates_.data(), alpha_.data(), log_times_[static_cast<std::size_t>(t)],
                 y + (t - 1) * n, x + t * n, y + t * n, n);
    }
    written(y);
  }
  void scan(index_t first_position, const strided_view<T, ebb::channel_major>& in,
            const strided_view<T, ebb::channel_major>& out) {
    set_log_times(first_position, in.steps());
    for (index_t k = 0; k < in.channels(); ++k)
      column(k, in.data() + k * in.steps(), out.data() + k * in.steps(), in.steps());
    written(out.data());
  }

 private:
  static constexpr index_t part = 1024, room = part + 64;

  void set_log_times(index_t first_position, index_t steps) {
    log_times_.resize(static_cast<std::size_t>(steps + 64));
    for (index_t t = 0; t < steps; ++t)
      log_times_[static_cast<std::size_t>(t)] =
          std::log(static_cast<T>(first_position + t) / reference_);
  }
  void column(index_t k, const T* x, T* y, index_t steps) {
    using source = strided_view<const T, ebb::channel_major>;
    T state(0);
    for (index_t t = 0; t < steps; t += part) {
      const index_t n = std::min(part, steps - t);
      By::fill(rates_[static_cast<std::size_t>(k)], alpha_[static_cast<std::size_t>(k)],
               log_times_.data() + t, decays_.data(), n);
      const ebb::sequences<T> where{.initial_states = {&state, 1, 1},
                                    .final_states = {&state, 1, 1}};
      ebb::scan(source(decays_.data(), n, 1), source(x + t, n, 1),
                strided_view<T, ebb::channel_major>(y + t, n, 1), where, {}, Backend{});
    }
  }

  std::vector<T> rates_, alpha_;
  T reference_;
  std::vector<T> log_times_, decays_;
};

/// The largest error of By's exponential of 0 .. log of the smallest normal number, in u; taken by
/// `fill`, of a taper without a taper: a = exp(-r exp(0 l)).
template <class By, class T>
double largest_exp_error() {
  constexpr index_t count = 1 << 16, room = 64;
  const double end = std::log(static_cast<double>(std::numeric_limits<T>::min()));
  std::vector<T> zeros(room), a(room);
  double largest = 0;
  for (index_t i = 0; i < count; ++i) {
    // Half of them next to 0, where decays are slow.
    const double place = static_cast<double>(i) / count;
    const T x = static_cast<T>(i % 2 == 0 ? end * place : -std::exp(-16 * place));
    By::fill(-x, T(0), zeros.data(), a.data(), index_t{16});
    const auto exact = std::exp(static_cast<long double>(x));
    const auto error = std::abs((static_cast<long double>(a[0]) - exact) / exact);
    largest = std::max(largest, static_cast<double>(error));
  }
  return largest / (static_cast<double>(std::numeric_limits<T>::epsilon()) / 2);
}

/// The factors of a decay at all steps and channels, exponentials within 2u of what it fills.
template <class T, class Axis, class Decay>
void compute_factors(const Decay& decay, index_t first_position, const strided_view<T, Axis>& to) {
  std::vector<T> logs(static_cast<std::size_t>(to.steps()));
  for (index_t k = 0; k < to.channels(); ++k) {
    decay.fill({0, 0, k, first_position},
               strided_view<T, ebb::channel_major>(logs.data(), to.steps(), 1));
    for (index_t t = 0; t < to.steps(); ++t) to(t, k) = std::exp(logs[static_cast<std::size_t>(t)]);
  }
}

}  // namespace bench
