// SPDX-License-Identifier: Apache-2.0
/// @file   table1/published.hpp
/// @brief  Published best errors of sums of exponentials with free rates and weights.
#pragma once

#include <array>

namespace table1 {

/// The least maximum of |1/x - sum of `terms` exponentials| on [1, range].
struct published_optimum {
  int terms;
  double range;
  double error;
};

/// From W. Hackbusch's tables EXP_SUM (Takatsuka, Ten-no, Hackbusch, J. Chem. Phys. 129, 044112,
/// 2008, doi 10.1063/1.2958921), as listed with the program laplace-minimax; four digits each.
inline constexpr std::array<published_optimum, 18> published_optima{{
    {2, 1e1, 8.752e-3},
    {4, 1e1, 5.577e-5},
    {4, 1e2, 1.066e-3},
    {6, 1e2, 4.76e-5},
    {8, 1e2, 2.016e-6},
    {12, 1e2, 3.357e-9},
    {16, 1e2, 5.298e-12},
    {8, 1e3, 2.321e-5},
    {12, 1e3, 2.412e-7},
    {16, 1e3, 2.371e-9},
    {8, 1e4, 5.271e-5},
    {12, 1e4, 1.582e-6},
    {16, 1e4, 4.388e-8},
    {24, 1e4, 3.103e-11},
    {16, 1e5, 1.85e-7},
    {24, 1e5, 4.975e-10},
    {16, 1e6, 3.445e-7},
    {24, 1e6, 2.384e-9},
}};

}  // namespace table1
