// SPDX-License-Identifier: Apache-2.0
// Values that lanes give one another.
#include <doctest/doctest.h>

#include <complex>
#include <cstdint>

#include <ebb/core/storage.hpp>

#include "support/emulator/trial.hpp"

namespace {

namespace emulator = ebb::test::emulator;
using ebb::detail::gpu::word32;

// out[block, thread] = how many exchanges went wrong; a value names the lane it comes from.
template <class T, class Value>
struct exchanges : emulator::small_kernel<64> {
  template <class Context>
  static void run(Context& c, emulator::small_kernel<64>::shared_memory<Context>&,
                  const params& p) {
    const Value of;
    const int lane = c.lane(), base = 32 * c.warp();
    const T mine = of(base + lane);
    int wrong = 0;
    const auto expect = [&](const T& got, int from) { wrong += !(got == of(base + from)); };
    for (int d = 0; d < 32; ++d) {
      expect(c.shuffle(mine, d), d);
      expect(c.shuffle(mine, (lane + d) % 32), (lane + d) % 32);
      expect(c.shuffle_up(mine, d), lane >= d ? lane - d : lane);
      expect(c.shuffle_down(mine, d), lane + d < 32 ? lane + d : lane);
      expect(c.shuffle_xor(mine, d), lane ^ d);
      wrong += c.ballot(lane == d) != word32{1} << d;
    }
    c.template store<1>(p.out + c.block() * threads + c.thread(), {{static_cast<float>(wrong)}});
  }
};

template <class T, class Value>
void check_exchanges(const Value&) {
  using kernel = exchanges<T, Value>;
  emulator::for_all_schedules([](const emulator::config& how) {
    emulator::small_memory m;
    const auto found = emulator::launch<kernel>(3, m.template params<kernel>(), m.ranges, how);
    CAPTURE(found.text());
    CHECK(found.clean());
    for (int i = 0; i < 3 * kernel::threads; ++i) CHECK(m.out[static_cast<std::size_t>(i)] == 0.0f);
  });
}

struct some_map {
  double a, b;
  friend bool operator==(const some_map&, const some_map&) = default;
};

TEST_CASE("of 2, 4, 8 and 16 bytes") {
  check_exchanges<std::uint16_t>([](int i) { return static_cast<std::uint16_t>(i + 300); });
  check_exchanges<float>([](int i) { return static_cast<float>(i) + 0.5f; });
  check_exchanges<std::complex<float>>(
      [](int i) { return std::complex<float>(static_cast<float>(i), 1.0f); });
  check_exchanges<some_map>([](int i) { return some_map{static_cast<double>(i), -1.0 / (i + 1)}; });
}

}  // namespace
