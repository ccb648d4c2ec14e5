// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/cuda/descriptor.hpp
/// @brief  What a tile tells the tiles after it: words of half data, half flag.
#pragma once

#include <bit>
#include <cstddef>
#include <type_traits>

#include <ebb/recurrence/backend/cuda/launcher.hpp>
#include <ebb/recurrence/backend/cuda/map.hpp>

namespace ebb::inline EBB_ABI::detail::gpu {

/// What a descriptor holds: nothing of this launch, the map of its tile alone, or (in b) the state
/// after the tile.
enum class tile_status : word32 { none = 0, aggregate = 1, prefix = 2 };

/// A map and its status, in words that are each written and read by one relaxed 64-bit access.
///
/// Each word holds 32 bits of the map and, above them, the same flag: epoch, exponent, whole, cut
/// and status. A reader takes what it finds if all flags agree: no fence, no 128-bit atomic, and
/// nothing to clear between launches, for words of an earlier one have another epoch (of 24 bits).
template <device_state State>
struct tile_descriptor {
  using map = step_map<State>;
  static_assert(tile_numbering::last_epoch >> 24 == 0);
  static constexpr int words = 2 * static_cast<int>(sizeof(State)) / 4;

  EBB_NO_EXEC_CHECK template <class Context>
  static EBB_DEVICE void put(Context& c, word64* to, const map& m, tile_status status,
                             word32 epoch) {
    const auto data = std::bit_cast<payload>(content{m.a, m.b});
    const word32 flag = epoch << 8 | static_cast<word32>(m.exponent + 8) << 4 |
                        (m.whole ? 8u : 0u) | (m.cut ? 4u : 0u) | static_cast<word32>(status);
    word64 out[words];
    EBB_UNROLL for (int i = 0; i < words; ++i) out[i] = word64{flag} << 32 | data.word[i];
    c.store_words(to, out);
  }

  /// Waits until the tile has said something in this epoch.
  EBB_NO_EXEC_CHECK template <class Context>
  static EBB_DEVICE tile_status get(Context& c, const word64* from, word32 epoch, map& m) {
    for (;;) {
      word64 in[words];
      c.load_words(from, in);
      const word32 flag = static_cast<word32>(in[0] >> 32);
      bool whole_one = flag >> 8 == epoch;
      EBB_UNROLL for (int i = 1; i < words; ++i) {
        whole_one = whole_one && static_cast<word32>(in[i] >> 32) == flag;
      }
      if (whole_one) {
        payload data;
        EBB_UNROLL for (int i = 0; i < words; ++i) data.word[i] = static_cast<word32>(in[i]);
        const auto got = std::bit_cast<content>(data);
        m = {got.a, got.b, static_cast<int>(flag >> 4 & 15u) - 8, (flag & 8u) != 0,
             (flag & 4u) != 0};
        return static_cast<tile_status>(flag & 3u);
      }
      c.pause();
    }
  }

 private:
  struct content {
    State a, b;
  };
  struct payload {
    word32 word[words];
  };
  static_assert(sizeof(content) == sizeof(payload) && std::is_trivially_copyable_v<content>);
};

}  // namespace ebb::inline EBB_ABI::detail::gpu
