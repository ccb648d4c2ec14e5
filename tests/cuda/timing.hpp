// SPDX-License-Identifier: Apache-2.0
/// @file   cuda/timing.hpp
/// @brief  Times on a GPU beside that of its own copy of the same size.
#pragma once

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include <cuda_runtime.h>

#include <ebb/recurrence/backend/cuda.hpp>

namespace ebb::test {

inline void require_cuda(cudaError_t code, const char* call) {
  detail::gpu::require_success(code, call);
}

/// The median of some runs, in milliseconds of the default stream.
template <class Run>
double milliseconds(const Run& run) {
  cudaEvent_t before = nullptr, after = nullptr;
  require_cuda(cudaEventCreate(&before), "cudaEventCreate");
  require_cuda(cudaEventCreate(&after), "cudaEventCreate");
  for (int i = 0; i < 3; ++i) run();
  std::vector<float> times(15);
  for (float& time : times) {
    require_cuda(cudaEventRecord(before), "cudaEventRecord");
    run();
    require_cuda(cudaEventRecord(after), "cudaEventRecord");
    require_cuda(cudaEventSynchronize(after), "cudaEventSynchronize");
    require_cuda(cudaEventElapsedTime(&time, before, after), "cudaEventElapsedTime");
  }
  cudaEventDestroy(before);
  cudaEventDestroy(after);
  std::nth_element(times.begin(), times.begin() + 7, times.end());
  return static_cast<double>(times[7]);
}

/// Numbers in low .. high, the same for the same seed.
template <class Real>
__global__ void fill_kernel(Real* to, long long count, unsigned seed, Real low, Real high) {
  const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += step) {
    unsigned x = static_cast<unsigned>(i) * 2654435761u + seed;
    x = (x ^ (x >> 16)) * 0x85ebca6bu;
    x = (x ^ (x >> 13)) * 0xc2b2ae35u;
    to[i] = low + (high - low) * (static_cast<Real>(x >> 8) * Real(0x1p-24));
  }
}

/// `count` floats on the device, filled so.
inline device_array<float> filled(index_t count, unsigned seed, float low, float high) {
  device_array<float> result(count, 1);
  fill_kernel<<<4096, 256>>>(result.data(), count, seed, low, high);
  require_cuda(cudaGetLastError(), "fill_kernel");
  return result;
}

/// The lines of the benchmark.
class table {
 public:
  table() { std::printf("%-50s %10s %9s %8s\n", "", "ms", "GB/s", "of copy"); }

  /// What the device's own copy of so many floats reaches, in GB/s (read and written).
  double copy(const float* from, float* to, index_t count) {
    const double ms = milliseconds([&] {
      require_cuda(cudaMemcpyAsync(to, from, static_cast<std::size_t>(count) * sizeof(float),
                                   cudaMemcpyDeviceToDevice, nullptr),
                   "cudaMemcpyAsync");
    });
    const double rate = 8 * static_cast<double>(count) / ms / 1e6;
    line("device copy of " + size_of(count), ms, rate, rate);
    return rate;
  }

  void line(const std::string& name, double ms, double rate, double copy) {
    std::printf("%-50s %10.4f %9.0f %7.1f%%\n", name.c_str(), ms, rate, 100 * rate / copy);
    std::fflush(stdout);
  }
  void line(const std::string& name, double ms, const std::string& rate) {
    std::printf("%-50s %10.4f %s\n", name.c_str(), ms, rate.c_str());
    std::fflush(stdout);
  }

  static std::string size_of(index_t count) {
    const double mib = static_cast<double>(count) * 4 / (1 << 20);
    char text[32];
    std::snprintf(text, sizeof text, mib < 1 ? "%.2g MiB" : "%.0f MiB", mib);
    return text;
  }
};

}  // namespace ebb::test
