// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/weight_block.hpp
/// @brief  Many weights as kernels read them, and a block of them that decays fill.
#pragma once

#include <complex>
#include <cstddef>
#include <type_traits>

#include <ebb/decay/weight.hpp>

namespace ebb::inline EBB_ABI::detail {

/// The real numbers that complex ones consist of: real part, imaginary part, ...
template <class Real>
const Real* parts_of(const std::complex<Real>* z) {
  return reinterpret_cast<const Real*>(z);
}
template <class Real>
Real* parts_of(std::complex<Real>* z) {
  return reinterpret_cast<Real*>(z);
}

/// Weights of complex log-decays, in two arrays of one shape that kernels can read by vectors: the
/// values, and `whole` (decay/weight.hpp) in both components.
template <class Real>
struct complex_weights {
  const std::complex<Real>* value;
  const std::complex<Real>* whole;

  complex_weight<Real> operator[](index_t i) const { return {value[i], whole[i].real()}; }
  complex_weights operator+(index_t i) const { return {value + i, whole + i}; }
  complex_weights& operator+=(index_t i) { return *this = *this + i; }
};

/// Where kernels find weights: p[i] is a step_weight.
template <class State, decay_form Form>
struct weight_pointer {
  using type = const State*;
};
template <class Real>
struct weight_pointer<std::complex<Real>, decay_form::log_factor> {
  using type = complex_weights<Real>;
};
template <class State, decay_form Form>
using weight_pointer_t = typename weight_pointer<State, Form>::type;

/// Room for Size weights. A decay is filled into `filled()`, and becomes weights where it lies.
template <class State, decay_form Form, index_t Size>
class weight_block {
  static constexpr bool two = is_complex<State> && Form == decay_form::log_factor;

 public:
  State* filled() { return values_; }

  /// The filled values from `first` on become weights.
  void weigh(index_t first, index_t count) {
    State* const values = values_ + first;
    if constexpr (two) {
      using Real = real_of_t<State>;
      Real *const value = parts_of(values), *const wholes = parts_of(whole_ + first);
      const auto store = [=](index_t i, const Real& re, const Real& im, const Real& whole) {
        value[2 * i] = re, value[2 * i + 1] = im;
        wholes[2 * i] = wholes[2 * i + 1] = whole;
      };
      if constexpr (has_exponential<Real>) {
        complex_weights_of(values, count, store);
      } else {
        for (index_t i = 0; i < count; ++i) {
          const complex_weight<Real> w = weight_of<Form>(values[i]);
          store(i, w.value.real(), w.value.imag(), w.whole);
        }
      }
    } else if constexpr (Form == decay_form::log_factor) {
      weights_of<Form>(values, values, count);
    }
  }

  /// The weights from `first` on are real ones: make(w) writes `count` of them to w.
  template <class Make>
  void set(index_t first, index_t, const Make& make) requires(!two) {
    make(values_ + first);
  }
  template <class Make>
  void set(index_t first, index_t count, const Make& make) requires two {
    using Real = real_of_t<State>;
    Real w[static_cast<std::size_t>(Size)];
    make(w);
    Real *const value = parts_of(values_ + first), *const wholes = parts_of(whole_ + first);
    for (index_t i = 0; i < count; ++i) {
      value[2 * i] = w[i], value[2 * i + 1] = Real(0);
      wholes[2 * i] = wholes[2 * i + 1] = choose(w[i] < 0, Real(1), Real(0));
    }
  }

  weight_pointer_t<State, Form> begin() const {
    if constexpr (two)
      return {values_, whole_};
    else
      return values_;
  }

 private:
  struct nothing {};
  alignas(64) State values_[static_cast<std::size_t>(Size)];
  [[no_unique_address]] std::conditional_t<two, State[static_cast<std::size_t>(two ? Size : 1)],
                                           nothing>
      whole_;
};

}  // namespace ebb::inline EBB_ABI::detail
