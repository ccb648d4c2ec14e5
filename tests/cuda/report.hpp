// SPDX-License-Identifier: Apache-2.0
/// @file   cuda/report.hpp
/// @brief  What the checks on a GPU count and draw from; the standard library and CUDA's, nothing else.
#pragma once

#include <complex>
#include <cstdint>
#include <cstdio>
#include <string>

#include <ebb/core/scalar.hpp>
#include <ebb/core/view.hpp>

namespace ebb::test {

/// How many checks held; a line for each that did not.
struct report {
  int passed = 0, failed = 0;

  void check(bool holds, const std::string& what) {
    (holds ? passed : failed) += 1;
    if (!holds && failed <= 50) std::printf("FAILED %s\n", what.c_str());
  }
};

/// Whether checks leave out what takes long under compute-sanitizer.
inline bool small_shapes = false;

/// The same numbers everywhere: splitmix64.
class numbers {
 public:
  explicit numbers(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t x = state_ += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  }
  double uniform(double low, double high) {
    return low + (high - low) * static_cast<double>(next() >> 11) * 0x1p-53;
  }
  /// Of absolute value up to 1, complex or real.
  template <class T>
  T number() {
    if constexpr (is_complex<T>) {
      using Real = real_of_t<T>;
      const auto re = static_cast<Real>(uniform(-0.7, 0.7));
      return T(re, static_cast<Real>(uniform(-0.7, 0.7)));
    } else {
      return static_cast<T>(uniform(-1, 1));
    }
  }

 private:
  std::uint64_t state_;
};

/// Fills an array with what make() gives, element after element.
template <class Array, class Make>
void fill(Array& values, const Make& make) {
  const index_t count = values.batches() * values.steps() * values.channels();
  for (index_t i = 0; i < count; ++i) values.data()[i] = make();
}

}  // namespace ebb::test
