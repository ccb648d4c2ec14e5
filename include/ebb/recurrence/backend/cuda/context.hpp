// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/cuda/context.hpp
/// @brief  What a kernel is written against: words, packed data, and the execution context.
#pragma once

#include <cstdint>
#include <type_traits>

#include <ebb/core/config.hpp>

namespace ebb::inline EBB_ABI::detail::gpu {

using word32 = std::uint32_t;
using word64 = std::uint64_t;

/// Threads of a warp.
inline constexpr int warp_size = 32;

/// N adjacent elements, which one instruction moves. Its address is a multiple of sizeof(T) N, so
/// N is a power of two.
template <class T, int N>
struct alignas(sizeof(T) * N) packed {
  static_assert(N > 0 && (N & (N - 1)) == 0, "ebb: a power of two of elements is packed");
  T v[N];

  EBB_DEVICE constexpr T& operator[](int i) { return v[i]; }
  EBB_DEVICE constexpr const T& operator[](int i) const { return v[i]; }
};

/// A kernel: what every thread of every block runs, on any execution context.
///
///     struct kernel {
///       using params = ...;                 // trivially copyable, at most 4 KiB
///       static constexpr int threads = ...; // of a block: a multiple of 32, at most 1024
///       template <class Context>
///       struct shared_memory {              // one object a block; nothing but such members
///         typename Context::template shared<T, N> name;
///       };
///       EBB_NO_EXEC_CHECK template <class Context>
///       static EBB_DEVICE void run(Context& c, shared_memory<Context>& m, const params& p);
///     };
///
/// The execution context c of a thread, offered by `device_context` and by the emulator of the
/// tests:
///
/// | call                                | meaning                                              |
/// |-------------------------------------|------------------------------------------------------|
/// | c.thread(), c.lane(), c.warp()      | number in the block, in the warp, and of the warp    |
/// | c.block()                           | number of the block; nothing follows from it about   |
/// |                                     | which block starts first: where one waits for        |
/// |                                     | another, take tickets                                |
/// | c.sync_block(), c.sync_warp()       | all threads of the block or warp have come here, and |
/// |                                     | see what was written to memory before                |
/// | c.shuffle(v, lane)                  | v of that lane                                       |
/// | c.shuffle_up(v, d), shuffle_down    | v of lane - d, lane + d; its own v where there is    |
/// |                                     | none                                                 |
/// | c.shuffle_xor(v, mask)              | v of lane ^ mask                                     |
/// | c.ballot(flag)                      | bit i: the flag of lane i                            |
/// | c.fetch_add(word32* p, word32 v)    | relaxed atomic addition, device scope; the old value |
/// | c.pause()                           | in a loop that waits for another block               |
/// | c.store_words(p, word64 const(&)[W])| relaxed stores of W words, each whole; a reader may  |
/// | c.load_words(p, word64 (&)[W])      | see some of them only. Even W: p 16-byte aligned     |
/// | c.load<N>(const T* p)               | packed<T, N> of data read once, aligned like it      |
/// | c.store<N>(T* p, packed<T, N>)      | the same, written                                    |
/// | c.load_cached(const T* p)           | what nobody writes during the launch                 |
/// | m.name.get(c, i), .put(c, i, value) | shared memory                                        |
/// | c.exp, exp2, expm1, log2, log1p (x) | of float and double                                  |
/// | c.multiply_add(a, b, c)             | a b + c, rounded once                                |
///
/// Barriers, shuffles and ballots are for the whole block or warp, at one place in the code;
/// shuffles and ballots order no memory. Shuffled values are trivially copyable and have 1, 2 or a
/// multiple of 4 bytes, at most 16. Blocks meet in words and tickets only: nothing orders the data
/// that one block writes before what another one reads.
template <class Kernel>
concept kernel_body = std::is_trivially_copyable_v<typename Kernel::params> &&
                      (sizeof(typename Kernel::params) <= 4096) &&
                      (Kernel::threads > 0) && (Kernel::threads <= 1024) &&
                      (Kernel::threads % warp_size == 0);

}  // namespace ebb::inline EBB_ABI::detail::gpu
