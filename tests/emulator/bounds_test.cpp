// SPDX-License-Identifier: Apache-2.0
// Accesses outside the memory of a launch, and at addresses that vectors must not have.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "support/emulator/trial.hpp"

namespace {

namespace emulator = ebb::test::emulator;
using ebb::index_t;
using emulator::fault;
using emulator::small_kernel;
using emulator::usage;

template <int Index>
struct reads_cell : small_kernel<32> {
  template <class Context>
  static void run(Context& c, shared_memory<Context>& m, const params&) {
    if (c.thread() != 0) return;
    m.cells.put(c, Index, 1.0f);
    m.cells.get(c, Index);
  }
};

TEST_CASE("shared memory has as many cells as it has") {
  emulator::check_fault<reads_cell<64>>(fault::bounds);
  emulator::check_fault<reads_cell<-1>>(fault::bounds);
  emulator::check_clean<reads_cell<0>>();
  emulator::check_clean<reads_cell<63>>();
}

template <int Lane>
struct shuffles_from : small_kernel<32> {
  template <class Context>
  static void run(Context& c, shared_memory<Context>&, const params&) {
    c.shuffle(1.0f, Lane);
  }
};

TEST_CASE("a warp has 32 lanes") {
  emulator::check_fault<shuffles_from<32>>(fault::bounds);
  emulator::check_fault<shuffles_from<-1>>(fault::bounds);
  emulator::check_clean<shuffles_from<31>>();
}

// One thread reads and writes N elements from `first` on.
template <int N>
struct touches {
  struct params {
    const float* in;
    float* out;
  };
  static constexpr int threads = 32;
  template <class Context>
  struct shared_memory {};
  template <class Context>
  static void run(Context& c, shared_memory<Context>&, const params& p) {
    if (c.thread() != 0) return;
    if (p.in != nullptr) c.template load<N>(p.in);
    if (p.out != nullptr) c.template store<N>(p.out, {});
  }
};

struct array_of_16 {
  alignas(64) float in[16] = {};
  alignas(64) float out[16] = {};
  emulator::memory ranges;
  array_of_16() {
    ranges.add(static_cast<const float*>(in), 15, usage::input, "in");
    ranges.add(out, 15, usage::output, "out");
  }
};
template <int N>
emulator::report touch(index_t read, index_t written) {
  array_of_16 a;
  return emulator::launch<touches<N>>(
      1, {read < 0 ? nullptr : a.in + read, written < 0 ? nullptr : a.out + written}, a.ranges);
}

TEST_CASE("global memory ends where it is said to end") {
  CHECK(touch<1>(14, 14).clean());
  CHECK(touch<4>(8, 8).clean());
  for (const auto& found :
       {touch<1>(15, -1), touch<1>(-1, 15), touch<4>(12, -1), touch<4>(-1, 12)}) {
    CAPTURE(found.text());
    REQUIRE(found.findings.size() == 1);
    CHECK(found.has(fault::bounds));
    CHECK(found.text().find("0 bytes past the end of ") != std::string::npos);
  }
}

TEST_CASE("what is out of bounds is not written") {
  array_of_16 a;
  for (float& x : a.out) x = 7.0f;
  CHECK_FALSE(emulator::launch<touches<4>>(1, {nullptr, a.out + 12}, a.ranges).clean());
  for (const float x : a.out) CHECK(x == 7.0f);
}

TEST_CASE("vectors lie at multiples of their size") {
  CHECK(touch<2>(6, 6).clean());
  CHECK(touch<2>(5, -1).has(fault::alignment));
  CHECK(touch<2>(-1, 5).has(fault::alignment));
  CHECK(touch<4>(6, -1).has(fault::alignment));
  CHECK(touch<4>(-1, 2).has(fault::alignment));
}

// Words from words + First on.
template <int W, int First>
struct touches_words : small_kernel<32> {
  template <class Context>
  static void run(Context& c, shared_memory<Context>&, const params& p) {
    ebb::detail::gpu::word64 w[W] = {};
    if (c.thread() != 0) return;
    c.store_words(p.words + First, w);
    c.load_words(p.words + First, w);
  }
};

TEST_CASE("an even number of words lies at a multiple of 16 bytes") {
  emulator::check_fault<touches_words<2, 1>>(fault::alignment);
  emulator::check_clean<touches_words<2, 2>>();
  emulator::check_clean<touches_words<3, 1>>();
  emulator::check_clean<touches_words<1, 255>>();
  emulator::check_fault<touches_words<1, 256>>(fault::bounds);
}

TEST_CASE("the padding of a view is out of bounds") {
  std::vector<float> data(24, 1.0f);
  using view = ebb::strided_view<const float>;
  const auto found = [&](index_t at) {
    emulator::memory m;
    m.add(view(data.data(), {2, 2, 4}, {12, 5}), usage::input, "rows");
    return emulator::launch<touches<1>>(1, {data.data() + at, nullptr}, m);
  };
  for (const index_t at : {0, 3, 5, 8, 12, 20}) CHECK(found(at).clean());
  for (const index_t at : {4, 9, 11, 16, 21, 23}) CHECK(found(at).has(fault::bounds));
}

TEST_CASE("no memory at all, and memory further on") {
  float x = 0;
  emulator::memory none;
  CHECK(emulator::launch<touches<1>>(1, {&x, nullptr}, none).has(fault::bounds));
  emulator::memory m;
  float data[4] = {};
  m.add(data + 2, 2, usage::output, "tail");
  const auto before = emulator::launch<touches<1>>(1, {nullptr, data + 1}, m);
  CHECK(before.has(fault::bounds));
  CHECK(before.text().find("4 bytes before tail") != std::string::npos);
}

}  // namespace
