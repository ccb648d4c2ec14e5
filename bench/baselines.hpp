// SPDX-License-Identifier: Apache-2.0
/// @file   bench/baselines.hpp
/// @brief  What one would write or take instead of ebb::scan, each as strong as we can make it.
#pragma once

#include <cmath>
#include <cstddef>
#include <functional>
#include <iterator>
#include <memory>
#include <numeric>
#include <type_traits>
#include <vector>

#include <benchmark/benchmark.h>

#include <ebb/core/affine.hpp>
#include <ebb/core/scalar.hpp>
#include <ebb/core/view.hpp>

#if defined(EBB_BENCH_EIGEN)
#include <Eigen/Core>
#endif
#if defined(EBB_BENCH_TBB)
#include <tbb/blocked_range.h>
#include <tbb/parallel_scan.h>
#include <tbb/task_arena.h>
#endif

namespace bench {

using ebb::index_t;
using ebb::strided_view;

inline void written(void* data) {
  benchmark::DoNotOptimize(data);
  benchmark::ClobberMemory();
}

// a b, of complex numbers by the schoolbook formula: what `*` adds for infinities would be unfair.
template <class T>
T times(const T& a, const T& b) {
  if constexpr (ebb::is_complex<T>)
    return T(a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real());
  else
    return a * b;
}

// The rows of a step do not overlap; g++ need not check that for each of them.
#if defined(__GNUC__) && !defined(__clang__)
#define EBB_BENCH_APART _Pragma("GCC ivdep")
#else
#define EBB_BENCH_APART
#endif

/// The loop that everybody writes, in the order of the memory; factor(t, k) gives a. The state is
/// the row before, or a variable where the steps of a channel are adjacent.
template <class T, class Factor>
void plain_loop(const Factor& factor, const strided_view<T, ebb::channel_major>& in,
                const strided_view<T, ebb::channel_major>& out) {
  const index_t steps = in.steps();
  for (index_t k = 0; k < in.channels(); ++k) {
    const T* const x = in.data() + k * steps;
    T* const y = out.data() + k * steps;
    T h(0);
    for (index_t t = 0; t < steps; ++t) y[t] = h = times(factor(t, k), h) + x[t];
  }
  written(out.data());
}
template <class T, class Factor>
void plain_loop(const Factor& factor, const strided_view<T, ebb::time_major>& in,
                const strided_view<T, ebb::time_major>& out) {
  const index_t n = in.channels();
  if (n == 1) {
    using column = strided_view<T, ebb::channel_major>;
    return plain_loop<T>(factor, column(in.data(), in.steps(), 1),
                         column(out.data(), in.steps(), 1));
  }
  const T* const b = in.data();
  T* const h = out.data();
  for (index_t k = 0; k < n; ++k) h[k] = b[k];
  for (index_t t = 1; t < in.steps(); ++t) {
    const T* const x = b + t * n;
    T* const y = h + t * n;
    EBB_BENCH_APART
    for (index_t k = 0; k < n; ++k) y[k] = times(factor(t, k), (y - n)[k]) + x[k];
  }
  written(h);
}

/// Stored factors.
template <class T, class Axis>
void plain_stored(const strided_view<T, Axis>& a, const strided_view<T, Axis>& in,
                  const strided_view<T, Axis>& out) {
  const T* const data = a.data();
  const index_t steps = a.step_stride(), channels = a.channel_stride();
  if constexpr (std::is_same_v<Axis, ebb::time_major>)
    plain_loop<T>([=](index_t t, index_t k) { return data[t * steps + k]; }, in, out);
  else
    plain_loop<T>([=](index_t t, index_t k) { return data[k * channels + t]; }, in, out);
}

/// Factors of channels.
template <class T, class Axis>
void plain_constant(const std::vector<T>& a, const strided_view<T, Axis>& in,
                    const strided_view<T, Axis>& out) {
  const T* const data = a.data();
  plain_loop<T>([=](index_t, index_t k) { return data[k]; }, in, out);
}

/// The position-adaptive taper as its formula says, two exponentials an element, in the type of the
/// data; one logarithm a step.
template <class Real>
struct naive_taper {
  std::vector<Real> rates, alpha;
  Real reference;
  std::vector<Real> log_times{};

  template <class T, class Axis>
  void scan(index_t first_position, const strided_view<T, Axis>& in,
            const strided_view<T, Axis>& out) {
    log_times.resize(static_cast<std::size_t>(in.steps()));
    for (index_t t = 0; t < in.steps(); ++t)
      log_times[static_cast<std::size_t>(t)] =
          std::log(static_cast<Real>(first_position + t) / reference);
    const Real *const r = rates.data(), *const s = alpha.data(), *const l = log_times.data();
    plain_loop<T>([=](index_t t, index_t k) { return T(std::exp(-r[k] * std::exp(-s[k] * l[t]))); },
                  in, out);
  }
};

/// (a_i, b_i) read from two arrays where they lie, as the input of a standard scan.
template <class T>
class pairs {
 public:
  using iterator_category = std::random_access_iterator_tag;
  using value_type = ebb::affine<T>;
  using difference_type = std::ptrdiff_t;
  using pointer = const value_type*;
  using reference = value_type;

  pairs(const T* a, const T* b) : a_(a), b_(b) {}
  value_type operator*() const { return {*a_, *b_}; }
  value_type operator[](difference_type i) const { return {a_[i], b_[i]}; }
  pairs& operator++() { return ++a_, ++b_, *this; }
  pairs operator++(int) {
    const pairs before = *this;
    ++*this;
    return before;
  }
  pairs& operator+=(difference_type i) { return a_ += i, b_ += i, *this; }
  friend pairs operator+(pairs x, difference_type i) { return x += i; }
  friend difference_type operator-(const pairs& x, const pairs& y) { return x.a_ - y.a_; }
  friend bool operator==(const pairs& x, const pairs& y) { return x.a_ == y.a_; }
  friend bool operator!=(const pairs& x, const pairs& y) { return x.a_ != y.a_; }

 private:
  const T *a_, *b_;
};

/// Takes maps and keeps what they make of the state 0.
template <class T>
class states {
 public:
  using iterator_category = std::output_iterator_tag;
  using value_type = void;
  using difference_type = std::ptrdiff_t;
  using pointer = void;
  using reference = void;

  explicit states(T* h) : h_(h) {}
  states& operator*() { return *this; }
  states& operator=(const ebb::affine<T>& map) {
    *h_ = map.b;
    return *this;
  }
  states& operator++() { return ++h_, *this; }
  states operator++(int) {
    const states before = *this;
    ++*this;
    return before;
  }

 private:
  T* h_;
};

/// std::inclusive_scan with the pair operator over one channel: it reads and writes what we do.
template <class T>
void standard_scan(const T* a, const T* b, T* h, index_t count) {
  std::inclusive_scan(pairs<T>(a, b), pairs<T>(a, b) + count, states<T>(h),
                      [](const ebb::affine<T>& x, const ebb::affine<T>& y) {
                        return ebb::affine<T>{times(x.a, y.a), times(y.a, x.b) + y.b};
                      });
  written(h);
}

#if defined(EBB_BENCH_TBB)
/// tbb::parallel_scan with the pair operator over one channel.
template <class T>
class tbb_scan {
 public:
  explicit tbb_scan(int threads) : arena_(std::make_shared<tbb::task_arena>(threads)) {}

  void operator()(const T* a, const T* b, T* h, index_t count) const {
    using map = ebb::affine<T>;
    arena_->execute([&] {
      tbb::parallel_scan(
          tbb::blocked_range<index_t>(0, count), map{},
          [=](const tbb::blocked_range<index_t>& range, map sum, bool last) {
            if (last) {
              T state = sum.b;
              T product = sum.a;
              for (index_t i = range.begin(); i < range.end(); ++i) {
                product = times(product, a[i]);
                h[i] = state = times(a[i], state) + b[i];
              }
              return map{product, state};
            }
            for (index_t i = range.begin(); i < range.end(); ++i)
              sum = {times(sum.a, a[i]), times(a[i], sum.b) + b[i]};
            return sum;
          },
          [](const map& x, const map& y) {
            return map{times(x.a, y.a), times(y.a, x.b) + y.b};
          });
    });
    written(h);
  }

 private:
  std::shared_ptr<tbb::task_arena> arena_;
};
#endif

#if defined(EBB_BENCH_EIGEN)
/// Eigen's array arithmetic: a row of the memory at a time where channels are adjacent, else a
/// column of it.
template <class T>
using eigen_rows = Eigen::Array<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

template <class T>
void eigen_stored(const strided_view<T, ebb::time_major>& a,
                  const strided_view<T, ebb::time_major>& in,
                  const strided_view<T, ebb::time_major>& out) {
  const Eigen::Map<const eigen_rows<T>> w(a.data(), a.steps(), a.channels()),
      b(in.data(), in.steps(), in.channels());
  Eigen::Map<eigen_rows<T>> h(out.data(), out.steps(), out.channels());
  h.row(0) = b.row(0);
  for (index_t t = 1; t < in.steps(); ++t) h.row(t) = w.row(t) * h.row(t - 1) + b.row(t);
  written(out.data());
}
template <class T>
void eigen_stored(const strided_view<T, ebb::channel_major>& a,
                  const strided_view<T, ebb::channel_major>& in,
                  const strided_view<T, ebb::channel_major>& out) {
  const Eigen::Map<const eigen_rows<T>> w(a.data(), a.channels(), a.steps()),
      b(in.data(), in.channels(), in.steps());
  Eigen::Map<eigen_rows<T>> h(out.data(), out.channels(), out.steps());
  h.col(0) = b.col(0);
  for (index_t t = 1; t < in.steps(); ++t) h.col(t) = w.col(t) * h.col(t - 1) + b.col(t);
  written(out.data());
}

template <class T>
void eigen_constant(const std::vector<T>& a, const strided_view<T, ebb::time_major>& in,
                    const strided_view<T, ebb::time_major>& out) {
  const Eigen::Map<const Eigen::Array<T, 1, Eigen::Dynamic>> w(a.data(), in.channels());
  const Eigen::Map<const eigen_rows<T>> b(in.data(), in.steps(), in.channels());
  Eigen::Map<eigen_rows<T>> h(out.data(), out.steps(), out.channels());
  h.row(0) = b.row(0);
  for (index_t t = 1; t < in.steps(); ++t) h.row(t) = w * h.row(t - 1) + b.row(t);
  written(out.data());
}
template <class T>
void eigen_constant(const std::vector<T>& a, const strided_view<T, ebb::channel_major>& in,
                    const strided_view<T, ebb::channel_major>& out) {
  const Eigen::Map<const Eigen::Array<T, Eigen::Dynamic, 1>> w(a.data(), in.channels());
  const Eigen::Map<const eigen_rows<T>> b(in.data(), in.channels(), in.steps());
  Eigen::Map<eigen_rows<T>> h(out.data(), out.channels(), out.steps());
  h.col(0) = b.col(0);
  for (index_t t = 1; t < in.steps(); ++t) h.col(t) = w * h.col(t - 1) + b.col(t);
  written(out.data());
}
#endif

}  // namespace bench
