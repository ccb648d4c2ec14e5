// SPDX-License-Identifier: Apache-2.0
/// @file   bench/problem.hpp
/// @brief  The data that all candidates of a row share, and the names of rows.
#pragma once

#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include <benchmark/benchmark.h>

#include <ebb/core/scalar.hpp>
#include <ebb/core/view.hpp>
#include <ebb/spectrum/geometric.hpp>

namespace bench {

using ebb::index_t;

struct shape {
  index_t steps, channels;
};

/// T from 1e3 to 1e7, N from 1 to 4096, 2^26 elements at most; where numbers are only compared,
/// small ones that fill no vector.
const std::vector<shape>& all_shapes();

/// kind/backend/decay/type/layout/T:../N:..; a part left empty is left out.
std::string row_name(const std::vector<std::string>& parts, const shape& size);

/// Registers a row where it is asked for: by the filter if there is one, else if `usual`.
void offer(const std::string& name, bool usual, std::function<void(benchmark::State&)> body);

template <class T>
std::string type_name() {
  const std::string real = std::is_same_v<ebb::real_of_t<T>, float> ? "float" : "double";
  return ebb::is_complex<T> ? "complex<" + real + ">" : real;
}

/// Elements that begin at a chosen cache line of a page: arrays that all begin at the same one
/// hinder each other, and where they begin must not be left to chance.
template <class T>
class lines {
 public:
  explicit lines(index_t count = 0, std::size_t line = 0)
      : storage_(static_cast<std::size_t>(count) + 2 * page / sizeof(T)) {
    const auto address = reinterpret_cast<std::uintptr_t>(storage_.data());
    first_ = ((page - address % page) % page + line * 64 % page) / sizeof(T);
  }
  T* data() { return storage_.data() + first_; }
  const T* data() const { return storage_.data() + first_; }

 private:
  static constexpr std::size_t page = 4096;
  std::vector<T> storage_;
  std::size_t first_;
};

/// b, a and h of a row; `spare` only where asked for.
template <class T, class Axis>
struct problem {
  explicit problem(const shape& wanted, bool with_factors = true, bool with_spare = false)
      : size(wanted),
        count(wanted.steps * wanted.channels),
        in_memory(count, 0),
        factor_memory(with_factors ? count : 0, 19),
        out_memory(count, 38),
        spare_memory(with_spare ? count : 0, 57),
        in(in_memory.data(), wanted.steps, wanted.channels),
        out(out_memory.data(), wanted.steps, wanted.channels),
        rates(
            ebb::rates_of<double>(ebb::geometric_spectrum::timescales(1, 4096), wanted.channels)) {
    // Periods that share no factor with any shape; values that never fade into subnormal numbers.
    constexpr index_t in_period = 9973, factor_period = 7919;
    std::vector<T> inputs, decays;
    for (index_t i = 0; i < in_period; ++i)
      inputs.push_back(number(std::sin(0.1 * static_cast<double>(i) + 0.05), 0.3));
    for (index_t i = 0; i < factor_period; ++i)
      decays.push_back(number(0.5 + 0.49 * std::cos(static_cast<double>(i)), 0.1));
    for (index_t i = 0; i < count; ++i) {
      in.data()[i] = inputs[static_cast<std::size_t>(i % in_period)];
      if (with_factors)
        factor_memory.data()[i] = decays[static_cast<std::size_t>(i % factor_period)];
    }
    if (with_factors) factors = {factor_memory.data(), wanted.steps, wanted.channels};
    if (with_spare) spare = {spare_memory.data(), wanted.steps, wanted.channels};
  }
  problem(const problem&) = delete;
  problem& operator=(const problem&) = delete;

  /// A number of this size, if complex with this phase.
  static T number(double size, double phase) {
    using Real = ebb::real_of_t<T>;
    if constexpr (ebb::is_complex<T>)
      return T(static_cast<Real>(size * std::cos(phase)),
               static_cast<Real>(size * std::sin(phase)));
    else
      return static_cast<Real>(size);
  }

  /// The rates of constant decays: for complex numbers they also turn.
  auto constant_rates() const {
    if constexpr (ebb::is_complex<T>) {
      std::vector<std::complex<double>> turning;
      for (std::size_t k = 0; k < rates.size(); ++k)
        turning.emplace_back(rates[k], -0.1 * static_cast<double>(k % 31));
      return turning;
    } else {
      return rates;
    }
  }

  shape size;
  index_t count;
  lines<T> in_memory, factor_memory, out_memory, spare_memory;
  ebb::strided_view<T, Axis> in, out, factors, spare;
  std::vector<double> rates;
};

}  // namespace bench
