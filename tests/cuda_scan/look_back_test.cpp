// SPDX-License-Identifier: Apache-2.0
// Look-back over many tiles, exactly.
#include <doctest/doctest.h>

#include "cuda_scan/exact.hpp"

namespace {

namespace emulator = ebb::test::emulator;
using ebb::channel_major;
using ebb::index_t;
using ebb::time_major;

using crowd = ebb::test::emulated_scan<ebb::test::small_tiles, false, 48>;

TEST_CASE("more than 32 tiles, 48 of them at once, in every order") {
  for (const auto& how : emulator::schedules(7)) {
    if (how.switch_at_accesses) continue;
    crowd::shared_launcher() = crowd::make_launcher(how);
    ebb::test::check_exact<crowd, time_major>({2, 4 * 41 + 3, 3}, 1, 20);
    ebb::test::check_exact<crowd, channel_major>({1, 256 * 40 + 3, 1}, 1, 21);
  }
}

TEST_CASE("descriptors of the launch before") {
  crowd::shared_launcher() = crowd::make_launcher({});
  ebb::test::check_exact<crowd, time_major>({1, 4 * 36, 130}, 3, 30);
  ebb::test::check_exact<crowd, channel_major>({1, 256 * 36, 1}, 3, 31);
}

TEST_CASE("epochs and tickets start anew") {
  using few = ebb::test::emulated_scan<ebb::test::small_tiles, false, 3>;
  using ebb::detail::gpu::tile_numbering;
  few::shared_launcher() = emulator::launcher(
      {}, index_t{1} << 40, tile_numbering(tile_numbering::last_epoch - 3, 0xffffffe0u));
  ebb::test::check_exact<few, time_major>({1, 30, 3}, 2, 70);
  ebb::test::check_exact<few, channel_major>({1, 256 * 3, 1}, 2, 71);
}

TEST_CASE("switches at every access") {
  for (const auto& how : emulator::schedules(9)) {
    if (!how.switch_at_accesses) continue;
    using few = ebb::test::emulated_scan<ebb::test::small_tiles, false, 3>;
    few::shared_launcher() = few::make_launcher(how);
    ebb::test::check_exact<few, time_major>({1, 19, 5}, 1, 40);
    ebb::test::check_exact<few, channel_major>({2, 256 * 3 - 1, 1}, 1, 41);
  }
}

TEST_CASE("packed sequences, resets and snapshots over many tiles") {
  const auto check = [](auto axis, index_t steps, std::vector<index_t> offsets) {
    using Axis = decltype(axis);
    const ebb::extents size{2, steps, 3};
    const auto count = static_cast<index_t>(offsets.size()) - 1;
    const auto factors = ebb::test::integers<Axis>(size, 60, true);
    const auto in = ebb::test::integers<Axis>(size, 61, false);
    const auto initial = ebb::test::integers<time_major>({2, count, 3}, 62, false);
    std::vector<std::uint8_t> resets(static_cast<std::size_t>(2 * steps));
    ebb::test::draws random(63);
    for (auto& flag : resets) flag = random.integer(0, 200) == 0;
    const std::vector<index_t> kept{0, 7, steps / 2, steps - 1};
    for (const ebb::direction order : {ebb::direction::forward, ebb::direction::reverse}) {
      ebb::array<float, Axis> out(size), right(size);
      ebb::array<float> states[2] = {initial, initial};
      ebb::array<float> snapshots[2] = {ebb::array<float>(ebb::extents{2, 4, 3}),
                                        ebb::array<float>(ebb::extents{2, 4, 3})};
      for (const int own : {0, 1}) {
        ebb::sequences<float> where;
        where.offsets = offsets;
        where.initial_states = where.final_states = states[own].view();
        where.resets = resets;
        where.snapshot_steps = kept;
        where.snapshots = snapshots[own].view();
        if (own == 1)
          scan(factors, in, out, where, {order}, crowd{});
        else
          scan(factors, in, right, where, {order});
      }
      CHECK(ebb::test::same_bits(out, right));
      CHECK(ebb::test::same_bits(states[0], states[1]));
      CHECK(ebb::test::same_bits(snapshots[0], snapshots[1]));
    }
  };
  check(time_major{}, 160, {1, 1, 40, 43, 159, 159});
  check(channel_major{}, 256 * 5, {0, 255, 256, 257, 1280});
}

TEST_CASE("empty sequences pass their states on") {
  const ebb::extents size{1, 9, 3};
  const auto factors = ebb::test::integers<time_major>(size, 80, true);
  const auto in = ebb::test::integers<time_major>(size, 81, false);
  const auto initial = ebb::test::integers<time_major>({1, 4, 3}, 82, false);
  const std::vector<index_t> offsets{0, 0, 5, 5, 9};
  ebb::array<float> out(size), right(size), last(initial.size()), right_last(initial.size());
  ebb::sequences<float> where{
      .offsets = offsets, .initial_states = initial.view(), .final_states = last.view()};
  scan(factors, in, out, where, crowd{});
  where.final_states = right_last.view();
  scan(factors, in, right, where);
  CHECK(ebb::test::same_bits(out, right));
  CHECK(ebb::test::same_bits(last, right_last));
}

}  // namespace
