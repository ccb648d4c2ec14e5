// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/cuda/memory_check.hpp
/// @brief  Whether the data of a call lie where a GPU may read and write them.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include <cuda_runtime.h>

#include <ebb/core/sequences.hpp>
#include <ebb/recurrence/backend/cuda/error.hpp>

namespace ebb::inline EBB_ABI::detail::gpu {

/// Looks at the first element of each array of a call.
/// @throws domain_error unless it lies in memory of this device, or in managed memory. Host memory
///   is refused also where a device could read it: pinned, or all of it on some machines.
struct memory_check {
  int device;
  std::string_view name;  // of the call

  template <class View>
  void operator()(const View& view, std::string_view what) const {
    if (!view.empty()) at(view.data(), what);
  }

  template <class State>
  void states(const sequences<State>& where) const {
    (*this)(where.initial_states, "initial states");
    (*this)(where.final_states, "final states");
    (*this)(where.snapshots, "snapshots");
  }

  template <class Decay>
  void decay(const Decay& decay) const {
    if constexpr (requires { decay.view(); }) (*this)(decay.view(), "the decay's array");
  }

 private:
  void at(const void* address, std::string_view what) const {
    cudaPointerAttributes found{};
    require_success(cudaPointerGetAttributes(&found, address), "cudaPointerGetAttributes");
    if (found.type == cudaMemoryTypeManaged) return;
    std::string rule("need ");
    rule += what;
    rule += " in the current device's memory";
    require_domain(found.type == cudaMemoryTypeDevice, name, rule, "host memory");
    require_domain(found.device == device, name, rule + " (device of the data, current)",
                   found.device, device);
  }
};

}  // namespace ebb::inline EBB_ABI::detail::gpu
