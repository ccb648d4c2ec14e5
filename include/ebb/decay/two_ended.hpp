// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/decay/two_ended.hpp
/// @brief  The taper that goes with a two-ended spectrum.
#pragma once

#include <ebb/decay/post.hpp>
#include <ebb/spectrum/two_ended.hpp>

namespace ebb::inline EBB_ABI {

/// The position-adaptive taper of a two-ended spectrum: `post_taper::relative(T)` with its offset.
///
///   log a_{t,k} = -r_k ((t + t_0) / T)^-alpha_k,   alpha = 1 for the slowest rate, 0 for the fastest
///
/// The sum channel, whose rate is 0, keeps everything at all positions.
inline post_taper two_ended_taper(const two_ended_spectrum& spectrum) {
  return post_taper::relative(spectrum.horizon()).with_offset(spectrum.options().offset);
}

}  // namespace ebb::inline EBB_ABI
