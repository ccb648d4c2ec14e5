// SPDX-License-Identifier: Apache-2.0
// Checks and benchmarks on a GPU. Without one: says so, exit 77.
//   check [word...]   the families that were linked, or those whose names have a word in them, against their
//                     definition in double
//   small [word...]   the same on small shapes, for compute-sanitizer
//   host              what needs no GPU
//   bench             times, beside the device's own copy
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include <cuda_runtime.h>

#include "families.hpp"
#include "report.hpp"
#include "timing.hpp"

namespace {

/// The family "host" needs no GPU and is left to its own mode.
int check(bool host, const std::vector<std::string>& wanted) {
  ebb::test::report all;
  for (const auto& some : ebb::test::families()) {
    bool chosen = wanted.empty();
    for (const std::string& word : wanted)
      chosen = chosen || some.name.find(word) != std::string::npos;
    if (!chosen || host != (some.name == "host")) continue;
    ebb::test::report results;
    some.check(results);
    std::printf("%-44s %6d passed, %d failed\n", some.name.c_str(), results.passed, results.failed);
    std::fflush(stdout);
    all.passed += results.passed, all.failed += results.failed;
  }
  std::printf("%d passed, %d failed\n", all.passed, all.failed);
  return all.failed == 0 && all.passed > 0 ? 0 : 1;
}

int bench() {
  ebb::test::table results;
  for (const auto& some : ebb::test::families())
    if (some.bench != nullptr) some.bench(results);
  return 0;
}

}  // namespace

int main(int count, char** words) {
  try {
    const std::string_view mode = count > 1 ? words[1] : "check";
    const std::vector<std::string> wanted(words + (count > 2 ? 2 : count), words + count);
    if (mode == "host") return check(true, {});
    int devices = 0;
    if (const cudaError_t code = cudaGetDeviceCount(&devices);
        code != cudaSuccess || devices == 0) {
      std::printf("skipped: no GPU (%s)\n",
                  code == cudaSuccess ? "none is visible" : cudaGetErrorString(code));
      return 77;
    }
    cudaDeviceProp found{};
    ebb::test::require_cuda(cudaGetDeviceProperties(&found, 0), "cudaGetDeviceProperties");
    std::printf("%s, compute capability %d.%d, %d processors, L2 %d MiB\n", found.name, found.major,
                found.minor, found.multiProcessorCount, found.l2CacheSize >> 20);
    ebb::test::small_shapes = mode == "small";
    if (mode == "check" || mode == "small") return check(false, wanted);
    if (mode == "bench") return bench();
    std::fprintf(stderr, "usage: %s [check [word...] | small [word...] | host | bench]\n",
                 words[0]);
    return 2;
  } catch (const std::exception& error) {
    std::printf("FAILED %s\n", error.what());
    return 1;
  }
}
