// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/interop/eigen.hpp
/// @brief  Eigen matrices, maps and blocks wherever the library takes a view; never a copy.
#pragma once

#if !__has_include(<Eigen/Core>)
#error "ebb/interop/eigen.hpp needs Eigen >= 3.4: install it (libeigen3-dev) and link ebb::eigen."
#endif

#include <concepts>
#include <type_traits>

#include <Eigen/Core>

#include <ebb/core/view.hpp>

namespace ebb::inline EBB_ABI {

namespace detail {
template <class M>
concept eigen_dense =
    std::derived_from<std::remove_const_t<M>, Eigen::DenseBase<std::remove_const_t<M>>>;

template <class M>
inline constexpr bool eigen_in_memory =
    (M::Flags & Eigen::DirectAccessBit) != 0 && M::InnerStrideAtCompileTime == 1;
}  // namespace detail

/// A dense Eigen object of T rows (steps) and N columns (channels) as a view of itself.
///
/// Row-major objects have their channels adjacent (time_major), column-major ones their steps
/// (channel_major). Blocks and maps with an outer stride are padded views. Expressions without
/// memory, and objects whose inner stride is not 1 at compile time, do not compile: a hidden copy
/// would be an output that vanishes. A const object, and `Map<const M>`, binds as input only.
template <detail::eigen_dense M>
struct view_traits<M> {
  using object = std::remove_const_t<M>;
  using scalar = typename object::Scalar;
  using axis = std::conditional_t<object::IsRowMajor, time_major, channel_major>;

  static auto of(M& matrix) {
    static_assert(detail::eigen_in_memory<object>,
                  "ebb::as_view: pass an Eigen object with memory of its own and inner stride 1; "
                  "evaluate expressions first");
    const extents size{1, matrix.rows(), matrix.cols()};
    using element = std::remove_pointer_t<decltype(matrix.data())>;
    return strided_view<element, axis>(matrix.data(), size, {0, matrix.outerStride()});
  }
};

/// Maps, references and blocks point to somebody else's data.
template <detail::eigen_dense M>
requires std::derived_from<M, Eigen::MapBase<M, Eigen::ReadOnlyAccessors>>
inline constexpr bool borrows_data<M> = true;

}  // namespace ebb::inline EBB_ABI
