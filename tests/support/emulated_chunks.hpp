// SPDX-License-Identifier: Apache-2.0
/// @file   support/emulated_chunks.hpp
/// @brief  The form that multiplies chunks on tensor cores: its kernels and its planning on the
///   emulator, its products on the processor.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include <ebb/recurrence/backend/cuda/chunk_plan.hpp>

#include "support/emulated_matrix.hpp"

namespace ebb::test {

/// What a library of products does, by its definition: sums in float, in order. Every factor must
/// have been written.
class host_products {
 public:
  explicit host_products(emulator::memory& m) : memory_(m) {}

  template <class E>
  void operator()(const detail::gpu::matrix_products<E>& p) {
    for (index_t n = 0; n < p.count; ++n) {
      require_written(p.a, n, p.rows, p.inner);
      require_written(p.b, n, p.inner, p.columns);
      for (index_t i = 0; i < p.rows; ++i)
        for (index_t j = 0; j < p.columns; ++j) {
          float sum = 0;
          for (index_t k = 0; k < p.inner; ++k)
            sum += static_cast<float>(at(p.a, n, i, k)) * static_cast<float>(at(p.b, n, k, j));
          float* const to = p.to + (n * p.to_next + i * p.to_row + j);
          emulator::report faults;
          if (memory_.may_write(to, sizeof(float), sizeof(float),
                                {{}, emulator::place::here(), &faults}))
            *to = sum;
          if (!faults.clean())
            throw std::runtime_error("a product writes where it may not\n" + faults.text());
        }
    }
  }

 private:
  template <class Factor>
  static const auto& at(const Factor& f, index_t n, index_t row, index_t column) {
    return f.data[n * f.next + (f.transposed ? column * f.row + row : row * f.row + column)];
  }
  template <class Factor>
  void require_written(const Factor& f, index_t n, index_t rows, index_t columns) const {
    for (index_t i = 0; i < rows; ++i)
      for (index_t j = 0; j < columns; ++j)
        if (memory_.unwritten(&at(f, n, i, j), 1) != 0)
          throw std::runtime_error("a product reads what nobody has written");
  }

  emulator::memory& memory_;
};

/// A matrix_form_for outer products with decays by head.
/// @tparam Length  L
/// @tparam Extra   roundings of float that 16-bit factors add
template <index_t Length, int Extra = 0>
struct emulated_chunks {
  static constexpr std::string_view name = "emulated_chunks";
  static constexpr determinism repeats = determinism::run_to_run;
  static constexpr double error_bound(index_t steps, index_t keys) {
    return detail::gpu::chunk_error_bound(steps, keys) + Extra;
  }

  emulator::config how{};

  template <class Decay, class Data, class State>
  void run(const Decay& decay, const Data& data, const sequences<State>& where) const {
    emulator::launcher launcher(how);
    emulator::memory& m = launcher.begin_call();
    add_matrix_memory(m, decay, data, where);
    host_products multiply(m);
    detail::gpu::chunk_plan<emulator::launcher, host_products, Decay, Data, State>::run(
        launcher, multiply, decay, data, where, Length);
  }
};

template <index_t Length, int Extra>
struct form_domain<emulated_chunks<Length, Extra>> {
  static constexpr bool corrections = false, wide_values = true, by_key = false, factors = false;
};

}  // namespace ebb::test
