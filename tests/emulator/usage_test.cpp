// SPDX-License-Identifier: Apache-2.0
// Memory used otherwise than it is meant, and ranges that overlap.
#include <doctest/doctest.h>

#include <stdexcept>
#include <vector>

#include "support/emulator/trial.hpp"

namespace {

namespace emulator = ebb::test::emulator;
using ebb::detail::gpu::word32;
using ebb::detail::gpu::word64;
using emulator::fault;
using emulator::small_kernel;
using emulator::usage;

enum class deed { store_input, load_words_of_data, store_words_in_data, add_to_data, load_word };
template <deed What>
struct misuses {
  struct params {
    float* in;
    float* out;
    word64* words;
    word32* ticket;
  };
  static constexpr int threads = 32;
  template <class Context>
  struct shared_memory {};
  template <class Context>
  static void run(Context& c, shared_memory<Context>&, const params& p) {
    if (c.thread() != 0) return;
    word64 w[1] = {};
    if (What == deed::store_input) c.template store<1>(p.in, {{1.0f}});
    if (What == deed::load_words_of_data) c.load_words(reinterpret_cast<const word64*>(p.out), w);
    if (What == deed::store_words_in_data) c.store_words(reinterpret_cast<word64*>(p.out), w);
    if (What == deed::add_to_data) c.fetch_add(reinterpret_cast<word32*>(p.out), 1u);
    if (What == deed::load_word) c.template load<1>(p.words);
  }
};
template <deed What>
emulator::report misuse() {
  emulator::small_memory m;
  return emulator::launch<misuses<What>>(1, {m.in.data(), m.out.data(), m.words.data(), &m.ticket},
                                         m.ranges);
}

TEST_CASE("inputs are not written, data are not words, words are not data") {
  for (const auto& found : {misuse<deed::store_input>(), misuse<deed::load_words_of_data>(),
                            misuse<deed::store_words_in_data>(), misuse<deed::add_to_data>(),
                            misuse<deed::load_word>()}) {
    CAPTURE(found.text());
    REQUIRE(found.findings.size() == 1);
    CHECK(found.has(fault::usage));
  }
}

// Reads out[thread] as a constant before or after it is written, or reads it plainly.
enum class constant { before, after, never };
template <constant When>
struct reads_constants : small_kernel<32> {
  template <class Context>
  static void run(Context& c, shared_memory<Context>&, const params& p) {
    float* const mine = p.out + c.thread();
    if (When == constant::before) c.load_cached(mine);
    c.template store<1>(mine, {{1.0f}});
    if (When == constant::after) c.load_cached(mine);
    if (When == constant::never) c.template load<1>(mine);
    c.load_cached(p.in + c.thread());
  }
};

TEST_CASE("a launch does not write what it reads as a constant") {
  emulator::check_fault<reads_constants<constant::after>>(fault::usage, 1);
  emulator::check_clean<reads_constants<constant::never>>(1);
  for (const emulator::config& how : emulator::schedules(1)) {
    using kernel = reads_constants<constant::before>;
    emulator::small_memory m;
    const auto found = emulator::launch<kernel>(1, m.params<kernel>(), m.ranges, how);
    CHECK(found.has(fault::usage));
    // In the next launch it is a constant that is there.
    CHECK_FALSE(
        emulator::launch<kernel>(1, m.params<kernel>(), m.ranges, how).has(fault::unwritten));
  }
}

// out[i] = in[i] + 1 where both may be the same memory.
struct adds_one : small_kernel<32> {
  template <class Context>
  static void run(Context& c, shared_memory<Context>&, const params& p) {
    auto x = c.template load<1>(p.in + c.thread());
    x[0] += 1.0f;
    c.store(p.out + c.thread(), x);
  }
};

TEST_CASE("an input that is an output too, and one that overlaps it in part") {
  std::vector<float> data(48, 1.0f);
  emulator::memory m;
  m.add(static_cast<const float*>(data.data()), 40, usage::input, "in");
  m.add(data.data() + 8, 40, usage::output, "out");
  const auto run = [&](int at) {
    return emulator::launch<adds_one>(1, {data.data() + at, data.data() + at, nullptr, nullptr}, m);
  };
  CHECK(run(8).clean());
  CHECK(data[8] == 2.0f);
  CHECK(run(0).has(fault::usage));       // writes below the output
  CHECK(run(16).has(fault::unwritten));  // reads above the input
  CHECK(m.unwritten(data.data(), 48) == 0);
}

TEST_CASE("ranges of different types do not overlap") {
  std::vector<word64> data(8);
  emulator::memory m;
  m.add(data.data(), 8, usage::words, "words");
  CHECK_THROWS_AS(m.add(data.data(), 1, usage::input, "data"), std::logic_error);
  CHECK_THROWS_AS(m.add(reinterpret_cast<word32*>(data.data()) + 1, 1, usage::words, "halves"),
                  std::logic_error);
}

}  // namespace
