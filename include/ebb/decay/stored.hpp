// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/decay/stored.hpp
/// @brief  Decays, or their logarithms, read from an array of the caller.
#pragma once

#include <algorithm>
#include <concepts>
#include <limits>
#include <string_view>
#include <type_traits>

#include <ebb/core/numeric.hpp>
#include <ebb/decay/concept.hpp>

namespace ebb::inline EBB_ABI {

namespace detail {
/// Values in somebody's memory: rows of this axis, `row` elements apart.
template <class T, class Axis>
struct stored_rows {
  const T* data;
  index_t row;
};
}  // namespace detail

/// Stored decay: a_{t,k}, or log a_{t,k}, as it stands in somebody else's memory.
///
/// Shapes: (batch, time, channel) as the data; a stride of zero repeats a row (the same decays at
/// every step, or in every batch entry). The memory must outlive the object.
/// Cost: one load and one store per element. Accuracy: exact.
///
/// @tparam Form  factor: any finite value. log_factor: log a <= 0, -inf for a = 0; a positive
///               value is outside the domain and grows the state as e^value, not clamped.
template <class T, unit_stride_axis Axis, decay_form Form>
class stored_decay {
 public:
  static constexpr std::string_view name = Form == decay_form::factor ? "stored" : "stored_logs";
  static constexpr decay_kind kind = decay_kind::stored;
  static constexpr decay_form form = Form;

  /// Gradients of 16-bit values are sums in float.
  using sum_type = std::conditional_t<!is_complex<T> && (std::numeric_limits<T>::digits <
                                                         std::numeric_limits<float>::digits),
                                      float, T>;
  /// Where vjp adds: the gradient of each stored value, of the stored shape. A zero stride sums
  /// over what it repeats.
  struct gradients {
    strided_view<sum_type, Axis> values{};
  };

  explicit constexpr stored_decay(const strided_view<const T, Axis>& values) : values_(values) {}

  const strided_view<const T, Axis>& view() const { return values_; }

  template <class Real, class BlockAxis>
  void fill(const block_origin& where, const strided_view<Real, BlockAxis>& block) const {
    if constexpr (std::same_as<Axis, BlockAxis> && std::same_as<Real, T>) {
      constexpr bool by_steps = std::same_as<Axis, time_major>;
      const index_t rows = by_steps ? block.steps() : block.channels();
      const index_t row = by_steps ? block.channels() : block.steps();
      if (row == 1) {  // not worth a call of the library for each
        for (index_t i = 0; i < rows; ++i)
          block.data()[i * block.stride().row] = rows_at(where).data[i * values_.stride().row];
        return;
      }
      for (index_t i = 0; i < rows; ++i)
        std::copy_n(rows_at(where).data + i * values_.stride().row, row,
                    block.data() + i * block.stride().row);
    } else if constexpr (std::same_as<Axis, channel_major>) {
      for (index_t k = 0; k < block.channels(); ++k)
        for (index_t t = 0; t < block.steps(); ++t) block(t, k) = value<Real>(where, t, k);
    } else {
      for (index_t t = 0; t < block.steps(); ++t)
        for (index_t k = 0; k < block.channels(); ++k) block(t, k) = value<Real>(where, t, k);
    }
  }

  /// The values from an origin on, to be read where they lie.
  detail::stored_rows<T, Axis> rows_at(const block_origin& where) const {
    return {values_.pointer(where.batch, where.step, where.channel), values_.stride().row};
  }

  template <class Real, class BlockAxis, class CotangentAxis>
  void vjp(const block_origin& where, const strided_view<const Real, BlockAxis>&,
           const strided_view<const Real, CotangentAxis>& cotangent, gradients& sums) const {
    const auto add = [&](index_t t, index_t k) {
      sums.values(where.batch, where.step + t, where.channel + k) +=
          detail::cotangent_as<sum_type>(cotangent(t, k));
    };
    if constexpr (std::same_as<Axis, channel_major>) {
      for (index_t k = 0; k < cotangent.channels(); ++k)
        for (index_t t = 0; t < cotangent.steps(); ++t) add(t, k);
    } else {
      for (index_t t = 0; t < cotangent.steps(); ++t)
        for (index_t k = 0; k < cotangent.channels(); ++k) add(t, k);
    }
  }

  /// @throws shape_error unless the data has the stored shape.
  void check(const extents& size) const {
    const extents& own = values_.size();
    detail::require_shape(own == size, "stored_decay",
                          "need decays of the data's shape (batches, steps, channels of each)",
                          own.batches, own.steps, own.channels, size.batches, size.steps,
                          size.channels);
  }
  /// @throws shape_error unless the gradients have the stored shape.
  void check(const extents& size, const gradients& sums) const {
    const extents& own = sums.values.size();
    detail::require_shape(own == size, "stored_decay",
                          "need gradients of the data's shape (batches, steps, channels of each)",
                          own.batches, own.steps, own.channels, size.batches, size.steps,
                          size.channels);
  }

 private:
  template <class Real>
  Real value(const block_origin& where, index_t t, index_t k) const {
    return detail::scalar_as<Real>(values_(where.batch, where.step + t, where.channel + k));
  }

  strided_view<const T, Axis> values_;
};

namespace detail {
template <decay_form Form, class V>
auto stored_as(V& values) {
  using T = view_value<V>;
  return stored_decay<T, view_axis<V>, Form>(strided_view<const T, view_axis<V>>(as_view(values)));
}
}  // namespace detail

/// The decays of an array or view, as factors a. A temporary must be a view: an array would be
/// gone.
template <class V>
requires outlives_call<V> && requires(V& values) { as_view(values); }
auto stored_factors(V&& values) { return detail::stored_as<decay_form::factor>(values); }

/// The decays of an array or view of log a. A temporary must be a view: an array would be gone.
template <class V>
requires outlives_call<V> && requires(V& values) { as_view(values); }
auto stored_logs(V&& values) { return detail::stored_as<decay_form::log_factor>(values); }

namespace detail {
/// The decay of a call: a bound decay is itself; anything that can be seen as an array holds factors. A wrong argument
/// gets a sentence, and what the concept misses after it.
template <class State, class Decay>
decltype(auto) as_decay(const Decay& decay) {
  if constexpr (bound_decay<Decay, State>) {
    return (decay);
  } else if constexpr (requires { as_view(decay); }) {
    return stored_factors(decay);
  } else {
    if constexpr (decay_for<Decay, parameter_t<State>>)
      static_assert(bound_decay<Decay, State>,
                    "ebb: the first argument is a policy; bind it first: policy.bind(rates)");
    else
      static_assert(bound_decay<Decay, State>,
                    "ebb: the first argument is neither an array of factors nor a bound_decay");
    return (decay);
  }
}
}  // namespace detail

static_assert(bound_decay<stored_decay<float, time_major, decay_form::factor>, float>);
static_assert(bound_decay<stored_decay<float, channel_major, decay_form::log_factor>, double>);

}  // namespace ebb::inline EBB_ABI
