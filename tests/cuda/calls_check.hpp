// SPDX-License-Identifier: Apache-2.0
/// @file   cuda/calls_check.hpp
/// @brief  What ebb::cuda promises about calls: errors before anything is done, streams, workspaces,
///         the same bits each time.
#pragma once

#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <ebb/recurrence/backend/cuda.hpp>
#include <ebb/recurrence/scan.hpp>

#include "report.hpp"
#include "timing.hpp"

namespace ebb::test {

/// Integers and factors of 1: any order of sums is exact.
struct counting {
  explicit counting(index_t steps, index_t channels) : ones(steps, channels), b(steps, channels) {
    fill(ones, [] { return 1.0f; });
    numbers draw(static_cast<std::uint64_t>(steps));
    fill(b, [&] { return static_cast<float>(draw.next() % 3) - 1; });
  }
  int wrong(const ebb::array<float>& h) const {
    int count = 0;
    for (index_t k = 0; k < b.channels(); ++k) {
      float sum = 0;
      for (index_t t = 0; t < b.steps(); ++t) count += (sum += b(t, k)) != h(t, k);
    }
    return count;
  }
  ebb::array<float> ones, b;
};

template <class Error, class Call>
bool refused(const Call& call, const std::string& word) {
  try {
    call();
  } catch (const Error& error) {
    return std::string(error.what()).find(word) != std::string::npos;
  }
  return false;
}

inline void check_errors(report& results) {
  const counting is(100, 8);
  device_array<float> a(is.ones), b(is.b), h(is.b);
  ebb::array<float> host(100, 8);
  results.check(refused<domain_error>([&] { scan(a, is.b, h, ebb::cuda{}); }, "need in in"),
                "an input in host memory is refused");
  results.check(refused<domain_error>([&] { scan(a, b, host, ebb::cuda{}); }, "need out in"),
                "an output in host memory is refused");
  results.check(refused<domain_error>([&] { scan(is.ones, b, h, ebb::cuda{}); }, "decay"),
                "decays in host memory are refused");
  ebb::array<float> states(1, 8);
  results.check(refused<domain_error>(
                    [&] {
                      const sequences<float> where{.initial_states = std::as_const(states).view()};
                      scan(a, b, h, where, ebb::cuda{});
                    },
                    "initial states"),
                "states in host memory are refused");
  h.copy_to(host);
  require_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  bool same = true;
  for (index_t i = 0; i < 800; ++i) same = same && host.data()[i] == is.b.data()[i];
  results.check(same, "refused calls write nothing");

  cudaStream_t stream = nullptr;
  require_cuda(cudaStreamCreate(&stream), "cudaStreamCreate");
  require_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal),
               "cudaStreamBeginCapture");
  results.check(refused<domain_error>([&] { scan(a, b, h, ebb::cuda{stream}); }, "graph"),
                "a stream that is being captured is refused");
  cudaGraph_t graph = nullptr;
  require_cuda(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
  cudaGraphDestroy(graph);
  cudaStreamDestroy(stream);
}

/// Calls one after the other with new data, none waited for: nothing of one may be seen by the next.
inline int run_on(cudaStream_t stream, cuda_workspace* workspace, int calls) {
  std::vector<counting> data;
  std::vector<device_array<float>> h;
  std::vector<ebb::array<float>> found;
  for (int i = 0; i < calls; ++i) data.emplace_back(40000 + 1000 * (i % 5), 1 + 7 * (i % 3));
  std::vector<device_array<float>> a, b;
  for (const counting& is : data) {
    a.emplace_back(is.ones, stream);
    b.emplace_back(is.b, stream);
    h.emplace_back(is.b.size());
    found.emplace_back(is.b.size());
  }
  for (std::size_t i = 0; i < data.size(); ++i)
    scan(a[i], b[i], h[i], workspace ? ebb::cuda{stream, *workspace} : ebb::cuda{stream});
  int wrong = 0;
  for (std::size_t i = 0; i < data.size(); ++i) h[i].copy_to(found[i], stream);
  require_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  for (std::size_t i = 0; i < data.size(); ++i) wrong += data[i].wrong(found[i]);
  return wrong;
}

inline void check_streams(report& results) {
  results.check(run_on(nullptr, nullptr, 30) == 0, "calls on the default stream");
  cuda_workspace workspace;
  results.check(run_on(nullptr, &workspace, 30) == 0, "calls with a workspace of the caller");
  const std::size_t warm = workspace.device_bytes();
  results.check(run_on(nullptr, &workspace, 30) == 0 && workspace.device_bytes() == warm,
                "a workspace grows only where it must");
  const int count = 4;
  std::vector<int> wrong(count, 1);
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i)
    threads.emplace_back([&wrong, i] {
      cudaStream_t stream = nullptr;
      if (cudaStreamCreate(&stream) != cudaSuccess) return;
      try {
        wrong[static_cast<std::size_t>(i)] = run_on(stream, nullptr, 10);
      } catch (const std::exception& error) {
        std::printf("FAILED %s\n", error.what());
      }
      cudaStreamDestroy(stream);
    });
  for (std::thread& thread : threads) thread.join();
  for (const int some : wrong) results.check(some == 0, "calls of several threads and streams");

  // Two streams of one thread, in turns.
  const counting is(300000, 2);
  const device_array<float> a(is.ones), b(is.b);
  std::vector<device_array<float>> h;
  std::vector<cudaStream_t> streams(2);
  require_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  for (cudaStream_t& stream : streams) require_cuda(cudaStreamCreate(&stream), "cudaStreamCreate");
  for (int i = 0; i < 20; ++i) h.emplace_back(is.b.size());
  for (std::size_t i = 0; i < h.size(); ++i) scan(a, b, h[i], ebb::cuda{streams[i % 2]});
  require_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  int differ = 0;
  for (const auto& some : h) {
    ebb::array<float> found(is.b.size());
    some.copy_to(found);
    require_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    differ += is.wrong(found);
  }
  for (cudaStream_t stream : streams) cudaStreamDestroy(stream);
  results.check(differ == 0, "calls of one thread on two streams");
}

/// The same bits each time (determinism::run_to_run): decays that forget slowly.
inline void check_repeats(report& results) {
  const counting is(100000, 40);
  ebb::array<float> decays(is.b.size());
  numbers draw(9);
  fill(decays, [&] { return static_cast<float>(draw.uniform(0.999, 1)); });
  const device_array<float> a(decays), b(is.b);
  device_array<float> h(is.b.size());
  ebb::array<float> first(is.b.size()), next(is.b.size());
  int differ = 0;
  for (int i = 0; i < 20; ++i) {
    scan(a, b, h, ebb::cuda{});
    h.copy_to(i == 0 ? first : next);
    require_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    if (i > 0) differ += std::memcmp(first.data(), next.data(), 100000 * 40 * sizeof(float)) != 0;
  }
  results.check(differ == 0, "the same call gives the same bits");
}

inline void check_calls(report& results) {
  check_errors(results);
  check_streams(results);
  check_repeats(results);
}

}  // namespace ebb::test
