// SPDX-License-Identifier: Apache-2.0
/// @file   table1/optima.hpp
/// @brief  Best exponential sums, found once for all cells that ask for them.
#pragma once

#include <atomic>

#include <ebb/approx/minimax.hpp>

namespace table1 {

/// The best sum of `channels` terms for tau^-beta on all real lags of [1, horizon].
///
/// The sums of one horizon, beta and kind are one `minimax_chain`, kept for as long as the program
/// runs. It reaches up to the most terms asked for so far: asked for the largest first, as
/// measure_all does, it is found once. Thread-safe.
/// @param channels  1 .. 128
/// @throws cancelled when `stop` becomes true.
ebb::approx::minimax_sum optimum(int channels, double horizon, double beta, bool relative,
                                 const std::atomic<bool>& stop);

}  // namespace table1
