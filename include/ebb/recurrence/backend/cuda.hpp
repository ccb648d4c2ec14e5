// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/cuda.hpp
/// @brief  Scans and matrix states on a GPU of NVIDIA; for sources that nvcc compiles.
#pragma once

#if !defined(__CUDACC__)
#error "ebb/recurrence/backend/cuda.hpp is for nvcc: include it in a .cu file"
#endif

#include <string_view>
#include <type_traits>

#include <cuda_runtime.h>

#include <ebb/recurrence/backend/cuda/device_array.hpp>
#include <ebb/recurrence/backend/cuda/device_launcher.hpp>
#include <ebb/recurrence/backend/cuda/error.hpp>
#include <ebb/recurrence/backend/cuda/matrix_plan.hpp>
#include <ebb/recurrence/backend/cuda/memory_check.hpp>
#include <ebb/recurrence/backend/cuda/scan_plan.hpp>
#include <ebb/recurrence/backend/cuda/scan_vjp_plan.hpp>
#include <ebb/recurrence/backend/cuda/silu_kernel.hpp>
#include <ebb/recurrence/backend/cuda/workspace.hpp>
#include <ebb/recurrence/backend/cuda/workspace_pool.hpp>
#include <ebb/recurrence/concept.hpp>
#include <ebb/recurrence/matrix.hpp>
#include <ebb/recurrence/vjp.hpp>

namespace ebb::inline EBB_ABI {

class cuda_chunked;

/// A GPU, as a scan backend and as a form of the recurrences with matrix states.
///
/// Everything a call reads or writes step by step lies in memory of the current device (or managed
/// memory), behind the same views, shapes and strides as on the processor: data, states, snapshots,
/// the arrays of decays (`device_array`, or pointers from anywhere). The small arrays of
/// `sequences` (offsets, first positions, resets, snapshot steps) and the parameters of decays
/// stay in host memory, and may be changed once the call has returned. Gradients are all in the
/// device's memory, those of parameters too: a `std::span` of a decay's gradients is device memory.
///
/// A call gives its work to the stream and returns; it does not wait for the device, but where 16
/// earlier ones with such arrays are still unfinished. Results are there once the stream has been
/// waited for.
///
/// The memory a call needs besides comes from a workspace: the caller's, or one of the thread's own
/// for this stream. The first calls allocate, later ones of no larger shapes do not. A call cannot
/// be captured into a CUDA graph.
///
/// Limits: compute capability 7.0 and newer; at most 2^31 - 1 blocks in a launch.
class cuda {
 public:
  static constexpr std::string_view name = "cuda";
  static constexpr determinism repeats = determinism::run_to_run;

  /// Of the scan: see detail::gpu::scan_error_bound.
  static constexpr double error_bound(index_t steps, const step_kind& kind = {}) {
    return detail::gpu::scan_error_bound(steps, kind);
  }
  /// Of matrix states: see detail::gpu::matrix_error_bound.
  static constexpr double error_bound(index_t steps, index_t keys, bool corrected = true) {
    return detail::gpu::matrix_error_bound(steps, keys, corrected);
  }

  /// On the default stream.
  cuda() = default;
  /// On a stream of the current device, with a workspace of the thread's own.
  explicit cuda(cudaStream_t stream) : stream_(stream) {}
  /// With the caller's workspace, which must outlive the call.
  cuda(cudaStream_t stream, cuda_workspace& workspace)
      : stream_(stream), workspace_(workspace.memory_.get()) {}

  cudaStream_t stream() const { return stream_; }

  /// @throws domain_error where data lie in other memory, or in a stream's capture; cuda_error.
  ///   Nothing has been given to the device then, but where that error comes from a later launch.
  template <class Decay, scan_scalar T, class InAxis, class OutAxis, class State>
  void scan(const Decay& decay, const strided_view<const T, InAxis>& in,
            const strided_view<T, OutAxis>& out, const sequences<State>& where,
            const scan_options& options) const {
    const int device = detail::gpu::current_device();
    const detail::gpu::memory_check check{device, "scan"};
    check(in, "in");
    check(out, "out");
    check.states(where);
    check.decay(decay);
    enqueue(device, [&](auto& launcher) {
      using launcher_type = std::remove_reference_t<decltype(launcher)>;
      detail::gpu::scan_plan<detail::gpu::scan_tiles, launcher_type, Decay, T, InAxis, OutAxis,
                             State>::run(launcher, decay, in, out, where, options);
    });
  }

  /// The way back of a scan, what ebb::scan_vjp calls: all gradients, and the same bits every time.
  /// Decays that this backend makes have gradients for all that makes them; a decay's array may
  /// repeat along whole axes.
  ///
  /// Cost: of inputs and initial states that of a scan. Those of a decay read the gradients of
  /// states, the decays and the outputs once more, and take B T N states of the workspace, unless
  /// the gradients of inputs are asked for in the type of the states and the gain is 1; sums of
  /// parameters some B N T / 100 doubles.
  /// @throws as scan; domain_error where no kernel makes the gradients of the decay, shape_error
  ///   where its gradients overlap otherwise. Nothing has been given to the device then.
  template <class Call>
  void scan_vjp(const Call& call, const scan_options& options) const {
    const int device = detail::gpu::current_device();
    const detail::gpu::memory_check check{device, "scan_vjp"};
    const auto& given = call.cotangents;
    const auto& asked = call.gradients;
    check(given.outputs, "output cotangents");
    check(given.final_states, "final-state cotangents");
    check(given.snapshots, "snapshot cotangents");
    check(asked.inputs, "input gradients");
    check(asked.initial_states, "initial-state gradients");
    check.decay(call.decay);
    if constexpr (Call::has_decay_gradients)
      if (asked.decay != nullptr) {
        if (gain_of<typename Call::decay_type> != input_gain::one) check(call.in, "in");
        check(call.out, "out");
        check(call.where.initial_states, "initial states");
        detail::each_sum(*asked.decay,
                         [&](const auto& view) { check(view, "the gradients of the decay"); });
      }
    enqueue(device, [&](auto& launcher) {
      using launcher_type = std::remove_reference_t<decltype(launcher)>;
      detail::gpu::scan_vjp_plan<detail::gpu::scan_tiles, launcher_type, Call>::run(launcher, call,
                                                                                    options);
    });
  }

  /// @throws as scan.
  template <class Decay, class Data, class State>
  void run(const Decay& decay, const Data& data, const sequences<State>& where) const {
    const int device = detail::gpu::current_device();
    check_memory(device, decay, data, where);
    enqueue(device, [&](auto& launcher) {
      using launcher_type = std::remove_reference_t<decltype(launcher)>;
      detail::gpu::matrix_plan<detail::gpu::matrix_tiles, launcher_type, Decay, Data, State>::run(
          launcher, decay, data, where);
    });
  }

  /// The gate of a mixer: outputs y become y z sigma(z), shapes as in readout/gate.hpp.
  /// @throws as scan.
  template <class T>
  void silu_gate(const head_view<const T>& gate, const head_view<T>& outputs) const {
    const int device = detail::gpu::current_device();
    const detail::gpu::memory_check check{device, "silu_gate"};
    check(gate, "the gate");
    check(outputs, "outputs");
    enqueue(device,
            [&](auto& launcher) { detail::gpu::silu_kernel<T>::enqueue(launcher, gate, outputs); });
  }

 private:
  friend class cuda_chunked;  // matrix states on the same stream, in the same memory

  template <class Decay, class Data, class State>
  static void check_memory(int device, const Decay& decay, const Data& data,
                           const sequences<State>& where) {
    const detail::gpu::memory_check check{device, "matrix states"};
    check(data.outputs, "outputs");
    detail::each_input(data, check);
    check(data.skip, "the skip");
    check.states(where);
    check.decay(decay);
  }

  template <class Call>
  void enqueue(int device, const Call& call) const {
    cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    detail::gpu::require_success(cudaStreamIsCapturing(stream_, &capture), "cudaStreamIsCapturing");
    detail::require_domain(capture == cudaStreamCaptureStatusNone, "cuda",
                           "need a stream that is not being captured into a graph");
    if (workspace_ != nullptr) {
      detail::gpu::device_launcher launcher(*workspace_, device, stream_);
      call(launcher);
    } else {
      auto& own = detail::gpu::workspace_pool::of_thread().take(device, stream_);
      detail::gpu::device_launcher launcher(own.memory, device, stream_, &own.last);
      call(launcher);
    }
  }

  cudaStream_t stream_ = nullptr;
  detail::gpu::workspace_memory* workspace_ = nullptr;
};

}  // namespace ebb::inline EBB_ABI
