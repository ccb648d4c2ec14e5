// SPDX-License-Identifier: Apache-2.0
// A user's program on a GPU. Sums of ones are exact.
#include <cstdio>

#include <cuda_runtime.h>

#include <ebb/recurrence/backend/cuda.hpp>
#include <ebb/recurrence/scan.hpp>

int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::puts("skipped: no GPU");
    return 77;
  }
  ebb::array<float> ones(1000, 3), sums(1000, 3);
  for (int i = 0; i < 3000; ++i) ones.data()[i] = 1;
  const ebb::device_array<float> a(ones), b(ones);
  ebb::device_array<float> h(1000, 3);
  ebb::scan(a, b, h, ebb::cuda{});
  h.copy_to(sums);
  return cudaDeviceSynchronize() == cudaSuccess && sums(999, 2) == 1000 ? 0 : 1;
}
