// SPDX-License-Identifier: Apache-2.0
// The benchmark of scans with tiles of other sizes (scan_tiles in scan_launch.hpp), from macros of the command line:
//   EBB_AXIS    time_major: EBB_WARPS warps with EBB_PIECE steps a lane; channel_major: with EBB_PIECE runs each
#include <string>

#include "families.hpp"
#include "scan_bench.hpp"

#if !defined(EBB_AXIS)
#define EBB_AXIS time_major
#define EBB_WARPS 16
#define EBB_PIECE 8
#endif

namespace ebb::test {

template <int Warps, int Piece>
struct sizes {
  template <class State>
  struct tiles : detail::gpu::scan_tiles<State> {
    static constexpr int column_warps = Warps, row_warps = Warps, row_runs = Piece;
    template <class Gate>
    static constexpr int column_depth = Piece;
  };
};

/// ebb::cuda with these tiles.
template <int Warps, int Piece>
struct tuned {
  static constexpr std::string_view name = "tuned";
  static constexpr determinism repeats = ebb::cuda::repeats;
  static constexpr double error_bound(index_t steps, const step_kind& kind = {}) {
    return ebb::cuda::error_bound(steps, kind);
  }
  template <class Decay, class T, class InAxis, class OutAxis, class State>
  void scan(const Decay& decay, const strided_view<const T, InAxis>& in,
            const strided_view<T, OutAxis>& out, const sequences<State>& where,
            const scan_options& options) const {
    using launcher = detail::gpu::device_launcher;
    const int device = detail::gpu::current_device();
    auto& own = detail::gpu::workspace_pool::of_thread().take(device, nullptr);
    launcher with(own.memory, device, nullptr, &own.last);
    detail::gpu::scan_plan<sizes<Warps, Piece>::template tiles, launcher, Decay, T, InAxis, OutAxis,
                           State>::run(with, decay, in, out, where, options);
  }
};

namespace {

const std::string label = std::to_string(EBB_WARPS) + " warps of " + std::to_string(EBB_PIECE);

const registered tuning({"tune " + label, nullptr, [](table& results) {
                           bench_scans<EBB_AXIS>(results, tuned<EBB_WARPS, EBB_PIECE>{}, label);
                         }});

}  // namespace
}  // namespace ebb::test
