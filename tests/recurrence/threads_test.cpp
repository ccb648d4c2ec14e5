// SPDX-License-Identifier: Apache-2.0
// How `threads` cuts a scan, and the executors it runs on.
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <limits>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <ebb/core/array.hpp>
#include <ebb/decay/constant.hpp>
#include <ebb/decay/post.hpp>
#include <ebb/recurrence/backend/automatic.hpp>
#include <ebb/recurrence/backend/threads.hpp>
#include <ebb/recurrence/layer.hpp>
#include <ebb/spectrum/geometric.hpp>

#include "support/backwards_executor.hpp"
#include "support/scan_oracle.hpp"

namespace {

using ebb::extents;
using ebb::index_t;
using ebb::thread_pool;
using ebb::test::backwards;
using ebb::test::draws;
using ebb::test::same_bits;

// A number for a place in the caller's data.
double code(index_t b, index_t t, index_t k) {
  return static_cast<double>((b * 10000 + t) * 10000 + k + 1);
}

struct coded_decay {
  static constexpr ebb::decay_kind kind = ebb::decay_kind::input;
  static constexpr ebb::decay_form form = ebb::decay_form::log_factor;
  static constexpr ebb::input_gain gain = ebb::input_gain::one_minus_decay;
  using gradients = ebb::no_gradients;

  template <class Block>
  void fill(const ebb::block_origin& where, const Block& block) const {
    for (index_t t = 0; t < block.steps(); ++t)
      for (index_t k = 0; k < block.channels(); ++k)
        block(t, k) = code(where.batch, where.step + t, where.channel + k) +
                      1e12 * static_cast<double>(where.position + t);
  }
};

// A backend that writes down where it was: what it finds at a place must be the place's own code.
struct surveyor {
  static constexpr std::string_view name = "surveyor";
  static constexpr ebb::determinism repeats = ebb::determinism::any_thread_count;
  static constexpr double error_bound(index_t) { return 0; }

  bool* wrong;
  std::uintptr_t* lines;  // the addresses of all first elements, or-ed

  template <class Decay, class In, class Out>
  void scan(const Decay& decay, const In& in, const Out& out, const ebb::sequences<double>& where,
            const ebb::scan_options& options) const {
    const auto expect = [&](bool condition) { *wrong = *wrong || !condition; };
    expect(options.order == ebb::direction::reverse);
    expect(ebb::gain_of<Decay> == ebb::input_gain::one_minus_decay);
    if (!in.empty() && static_cast<index_t>(in(0, 0, 0) - 1) % 10000 > 0)
      *lines |= reinterpret_cast<std::uintptr_t>(out.data());
    for (index_t b = 0; b < out.batches(); ++b)
      for (index_t s = 0; s < where.count(); ++s)
        for (index_t k = 0; k < out.channels(); ++k) {
          // Its initial state tells batch entry, sequence and channel.
          where.final_states(b, s, k) += where.initial_states(b, s, k);
          const index_t begin = where.begin(s), end = where.end(s, out.steps());
          for (index_t t = begin; t < end; ++t) {
            double filled = 0;
            decay.fill({b, t, k, where.first_position(b, s) + t - begin},
                       ebb::strided_view<double>(&filled, 1, 1));
            const auto position = static_cast<index_t>(filled / 1e12);
            expect(filled - 1e12 * static_cast<double>(position) == in(b, t, k));
            const auto place = static_cast<index_t>(in(b, t, k)) - 1;
            const index_t batch = place / 100000000, step = place / 10000 % 10000;
            expect(position == (where.first_positions.empty() ? 1 : 1000 * batch + step + 1) +
                                   (where.first_positions.empty() ? t - begin : 0));
            expect(where.resets_at(b, t, out.steps()) == ((batch + step) % 3 == 0));
            out(b, t, k) += 1;
            if (const index_t m = where.snapshot_of(t); m >= 0)
              where.snapshots(b, m, k) += in(b, t, k);
          }
        }
  }
};

// An executor takes calls with what they have captured.
struct of_pointers {
  void run(index_t count, void (*call)(index_t)) {
    for (index_t i = 0; i < count; ++i) call(i);
  }
  index_t concurrency() const { return 1; }
};
struct of_functions {
  void run(index_t, const std::function<void(index_t)>&) {}
  index_t concurrency() const { return 1; }
};
static_assert(!ebb::executor<of_pointers>);
static_assert(ebb::executor<of_functions> && ebb::executor<backwards>);

static_assert(ebb::bound_decay<coded_decay, double>);
static_assert(ebb::scan_backend_for<surveyor, coded_decay, double>);
static_assert(ebb::scan_backend_for<ebb::threads<surveyor, backwards>, coded_decay, double>);

template <class Axis>
void check_cut(const extents& size, const std::vector<index_t>& offsets, bool positions,
               index_t minimum_work) {
  INFO("B = " << size.batches << ", T = " << size.steps << ", N = " << size.channels
              << ", sequences: " << offsets.size());
  ebb::array<double, Axis> in(size), out(size);
  const index_t count = offsets.empty() ? 1 : static_cast<index_t>(offsets.size()) - 1;
  ebb::array<double> initial(extents{size.batches, count, size.channels}), last(initial.size());
  std::vector<std::uint8_t> resets;
  std::vector<index_t> first, kept;
  for (index_t t = 1; t < size.steps; t += 2) kept.push_back(t);
  ebb::array<double> snapshots(
      extents{size.batches, static_cast<index_t>(kept.size()), size.channels});
  for (index_t b = 0; b < size.batches; ++b) {
    for (index_t t = 0; t < size.steps; ++t) {
      resets.push_back((b + t) % 3 == 0);
      for (index_t k = 0; k < size.channels; ++k) in(b, t, k) = code(b, t, k);
    }
    for (index_t s = 0; s < count; ++s) {
      first.push_back(1000 * b + (offsets.empty() ? 0 : offsets[std::size_t(s)]) + 1);
      for (index_t k = 0; k < size.channels; ++k) initial(b, s, k) = code(b, s, k);
    }
  }
  ebb::sequences<double> where{.offsets = offsets,
                               .initial_states = initial.view(),
                               .final_states = last.view(),
                               .resets = resets,
                               .snapshot_steps = kept,
                               .snapshots = snapshots.view()};
  if (positions) where.first_positions = first;
  bool wrong = false;
  std::uintptr_t lines = 0;
  backwards executor(3);
  const ebb::threads<surveyor, backwards> backend(executor, {&wrong, &lines}, minimum_work);
  const coded_decay decay;
  const ebb::strided_view<const double, Axis> from = in.view();
  backend.scan(decay, from, out.view(), where, {ebb::direction::reverse});

  CHECK(!wrong);
  bool once = true;
  index_t covered = 0;
  for (index_t b = 0; b < size.batches; ++b)
    for (index_t k = 0; k < size.channels; ++k) {
      for (index_t t = 0; t < size.steps; ++t) {
        const bool inside = offsets.empty() || (t >= offsets.front() && t < offsets.back());
        covered += inside;
        once = once && out(b, t, k) == (inside ? 1 : 0);
        if (t % 2 == 1) once = once && snapshots(b, t / 2, k) == (inside ? code(b, t, k) : 0);
      }
      for (index_t s = 0; s < count; ++s) once = once && last(b, s, k) == code(b, s, k);
    }
  CHECK(once);
  // Not more tasks than four for each thread, but for rounding; each has enough to do.
  CHECK(executor.calls <= 24);
  CHECK((executor.calls == 0 || executor.calls <= 2 * covered / minimum_work));
  // Rows that are whole lines long: every cut is on a line of 128 bytes.
  if (std::same_as<Axis, ebb::time_major> && size.channels % 16 == 0) CHECK(lines % 128 == 0);
}

TEST_CASE_TEMPLATE("every sequence and channel lies in one task, with its own part of everything",
                   Axis, ebb::time_major, ebb::channel_major) {
  check_cut<Axis>({1, 20, 200}, {}, true, 1);
  check_cut<Axis>({1, 20, 208}, {}, false, 1);
  check_cut<Axis>({5, 9, 1}, {}, true, 1);
  check_cut<Axis>({40, 9, 33}, {}, false, 1);
  check_cut<Axis>({1, 50, 64}, {3, 3, 40, 41, 41, 49, 49}, true, 1);
  check_cut<Axis>({3, 50, 7}, {0, 1, 2, 3, 4, 30, 50}, true, 1);
  check_cut<Axis>({2, 12, 3}, {5}, false, 1);           // padding only
  check_cut<Axis>({2, 12, 3}, {4, 4, 4, 4}, false, 1);  // empty sequences only
  check_cut<Axis>({2, 0, 3}, {}, false, 1);
  check_cut<Axis>({2, 3, 0}, {}, false, 1);
  check_cut<Axis>({0, 3, 3}, {}, false, 1);
  check_cut<Axis>({4, 10, 100}, {}, true, 1000);
  check_cut<Axis>({4, 10, 100}, {}, true, 3000);
  draws random(1);
  for (int trial = 0; trial < 200; ++trial) {
    const extents size{random.integer(1, 4), random.integer(1, 60), random.integer(1, 70)};
    std::vector<index_t> offsets;
    for (index_t at = random.integer(0, 3); at <= size.steps; at += random.integer(0, 12))
      offsets.push_back(at);
    if (trial % 5 == 0) offsets.clear();
    check_cut<Axis>(size, offsets, trial % 2 == 0 || !offsets.empty(), random.integer(1, 100));
  }
}

TEST_CASE("as many tasks as there is work for") {
  // Three threads: 12 tasks at most, but for rounding, of 1000 elements.
  const auto calls = [](const extents& size, bool exponentials) {
    backwards executor(3);
    const ebb::threads<ebb::rows, backwards> backend(executor, {}, 1000);
    const ebb::array<float> a(size);
    ebb::array<float> h(size);
    if (exponentials)
      ebb::scan(ebb::stored_logs(a), h, h, backend);
    else
      ebb::scan(a, h, h, backend);
    return executor.calls;
  };
  for (const bool exponentials : {false, true}) {
    CHECK(calls({1, 1, 512}, exponentials) == 0);  // little work: no task at all
    CHECK(calls({100, 30, 3}, exponentials) == 9);
    CHECK(calls({12, 1000, 96}, exponentials) == 12);
    CHECK(calls({1, 1000, 3200}, exponentials) == 3);  // one range of each row for each thread
    CHECK(calls({1, 1000, 1024}, exponentials) == (exponentials ? 3 : 2));  // of 2048 bytes
    CHECK(calls({1, 2, 3200}, exponentials) == 3);
    CHECK(calls({1, 1, 3200}, exponentials) == 3);
  }
  // Narrow ranges only where they pay, and then one for each thread.
  CHECK(calls({1, 1000, 96}, true) == 3);
  CHECK(calls({1, 1000, 96}, false) == 0);
  CHECK(calls({1, 1000, 64}, true) == 2);
  CHECK(calls({1, 1000, 31}, true) == 0);
  CHECK(calls({2, 1000, 96}, true) == 4);
  CHECK(calls({2, 1000, 96}, false) == 2);
  // Constant decays are followed in ranges of 1024 bytes, stored ones in ranges of 2048.
  const std::vector<double> rates(768, 0.5);
  backwards executor(3);
  const ebb::threads<ebb::rows, backwards> backend(executor, {}, 1000);
  ebb::array<float> h(1000, 768);
  ebb::scan(ebb::constant_decay().bind(std::span<const double>(rates)), h, h, backend);
  CHECK(executor.calls == 3);
  CHECK(calls({1, 1000, 768}, false) == 0);
}

TEST_CASE("the same bits for any number of threads") {
  const index_t channels = 70;
  const extents size{3, 200, channels};
  const auto memory = ebb::make_layer<float>(ebb::geometric_spectrum::timescales(1, 4096),
                                             ebb::post_taper::relative(4096), channels);
  ebb::array<float> b(size), right(size);
  draws random(2);
  for (index_t i = 0; i < channels * 600; ++i)
    b.data()[i] = static_cast<float>(random.uniform(-1, 1));
  const std::vector<index_t> offsets{0, 30, 30, 31, 200};
  ebb::array<float> right_last(extents{3, 4, channels});
  ebb::sequences<float> where{.offsets = offsets, .final_states = right_last.view()};
  memory(b, right, where);
  for (const index_t count : {1, 2, 3, 8}) {
    const ebb::threads<ebb::rows> backend(count, {}, 1);
    ebb::array<float> h(size), last(right_last.size());
    where.final_states = last.view();
    ebb::scan(memory.decay(), b, h, where, {}, backend);
    CHECK(same_bits(h, right));
    CHECK(same_bits(last, right_last));
  }
}

TEST_CASE("an executor without threads counts as one") {
  const ebb::extents size{1, 3000, 100};
  ebb::array<double> a(size), b(size), right(size), h(size);
  draws random(5);
  for (auto* values : {&a, &b})
    for (index_t i = 0; i < size.steps * size.channels; ++i)
      values->data()[i] = random.uniform(-1, 1);
  ebb::scan(a, b, right);
  for (const index_t claimed : {index_t{0}, index_t{-3}}) {
    backwards none{claimed};
    ebb::scan(a, b, h, ebb::threads<ebb::rows, backwards>(none, {}, 1));
    CHECK(same_bits(h, right));
    const ebb::automatic<ebb::rows, backwards> chosen{ebb::threads<ebb::rows, backwards>(none)};
    ebb::scan(a, b, h, chosen);
    CHECK(same_bits(h, right));
  }
}

TEST_CASE("an executor without limits cuts as finely as the most threads") {
  const ebb::extents size{3, 1000, 5};
  ebb::array<double> a(size), b(size), right(size), h(size);
  draws random(6);
  for (auto* values : {&a, &b})
    for (index_t i = 0; i < size.batches * size.steps * size.channels; ++i)
      values->data()[i] = random.uniform(-1, 1);
  ebb::scan(a, b, right);
  const index_t most = std::numeric_limits<index_t>::max();
  for (const index_t claimed : {index_t{1} << 60, index_t{1} << 61, index_t{1} << 62, most}) {
    INFO(claimed);
    backwards unlimited{claimed};
    for (index_t i = 0; i < size.batches * size.steps * size.channels; ++i) h.data()[i] = -7;
    ebb::scan(a, b, h, ebb::threads<ebb::rows, backwards>(unlimited, {}, 1));
    CHECK(same_bits(h, right));
    CHECK(unlimited.calls > 1);
  }
}

TEST_CASE("data without elements, whatever its extents") {
  const index_t huge = index_t{1} << 62;
  const ebb::strided_view<float> none(nullptr, {4, huge, 0}, {});
  backwards executor(3);
  CHECK_NOTHROW(ebb::scan(none, none, none, ebb::threads<ebb::rows, backwards>(executor, {}, 1)));
  CHECK_NOTHROW(ebb::scan(none, none, none, ebb::automatic<>()));
  CHECK(executor.calls == 0);
}

// A move that copies, and work after it, are what is tested.
// NOLINTBEGIN(bugprone-use-after-move, performance-move-const-arg)
TEST_CASE("a move leaves the backend able to work") {
  ebb::array<float> a(100, 3), b(100, 3), right(100, 3), h(100, 3);
  for (index_t i = 0; i < 300; ++i) a.data()[i] = 0.5f, b.data()[i] = float(i % 7);
  ebb::scan(a, b, right);
  ebb::threads<> one(2, {}, 1);
  ebb::threads<> two = std::move(one);
  ebb::scan(a, b, h, one);
  CHECK(same_bits(h, right));
  one = std::move(two);
  ebb::automatic<> three{std::move(one)};
  const ebb::automatic<> four = std::move(three);
  const auto decay = ebb::stored_factors(a);
  for (const auto* backend : {&one, &two}) {
    h = ebb::array<float>(100, 3);
    ebb::scan(decay, b, h, *backend);
    CHECK(same_bits(h, right));
  }
  // Enough work for the pool.
  ebb::array<float> c(1000, 300), x(1000, 300), y(1000, 300);
  ebb::scan(c, x, y, three);
  ebb::scan(c, x, y, four);
}
// NOLINTEND(bugprone-use-after-move, performance-move-const-arg)

TEST_CASE("a step on threads") {
  const auto memory =
      ebb::make_layer<float>(ebb::geometric_spectrum::timescales(1, 100),
                             ebb::post_taper::absolute(), 300, ebb::threads<ebb::rows>(3, {}, 1));
  const auto plain = ebb::make_layer<float>(ebb::geometric_spectrum::timescales(1, 100),
                                            ebb::post_taper::absolute(), 300);
  const std::vector<float> b(300, 1.0f);
  auto one = memory.start(), two = plain.start();
  for (int t = 0; t < 10; ++t) {
    memory.step(b, one);
    plain.step(b, two);
  }
  CHECK(one.values == two.values);
}

TEST_CASE("one backend used by several threads at once") {
  const ebb::threads<ebb::rows> backend(3, {}, 1);
  const index_t channels = 100, steps = 50;
  ebb::array<float> a(steps, channels), b(steps, channels), right(steps, channels);
  for (index_t i = 0; i < steps * channels; ++i) a.data()[i] = -0.25f, b.data()[i] = 1;
  const auto decay = ebb::stored_logs(a);
  ebb::scan(decay, b, right);
  std::atomic<int> wrong{0};
  std::vector<std::thread> users;
  for (int user = 0; user < 4; ++user)
    users.emplace_back([&, copy = backend] {
      ebb::array<float> h(steps, channels);
      for (int i = 0; i < 100; ++i) {
        ebb::scan(decay, b, h, i % 2 == 0 ? backend : copy);
        if (!same_bits(h, right)) ++wrong;
      }
    });
  for (std::thread& user : users) user.join();
  CHECK(wrong == 0);
}

TEST_CASE_TEMPLATE("an executor calls each index once", Executor, thread_pool,
                   ebb::inline_executor) {
  Executor executor;
  for (const index_t count : {0, 1, 2, 3, 100, 10000}) {
    std::vector<std::atomic<int>> calls(static_cast<std::size_t>(count));
    executor.run(count, [&](index_t i) { ++calls[static_cast<std::size_t>(i)]; });
    bool once = true;
    for (const auto& n : calls) once = once && n == 1;
    CHECK(once);
  }
}

TEST_CASE("a pool is as wide as it says, and runs calls at once") {
  thread_pool pool(3);
  CHECK(pool.concurrency() == 3);
  CHECK(thread_pool().concurrency() >= 1);
  // All three calls wait for each other.
  std::atomic<int> present{0};
  pool.run(3, [&](index_t) {
    ++present;
    while (present < 3) std::this_thread::yield();
  });
  CHECK(present == 3);
  CHECK_THROWS_WITH_AS(thread_pool(0), "thread_pool: need 1 <= threads <= 4096, got 0",
                       ebb::domain_error);
}

TEST_CASE_TEMPLATE("the first exception comes out, and the executor lives on", Executor,
                   thread_pool, ebb::inline_executor) {
  Executor executor;
  for (int repeat = 0; repeat < 50; ++repeat) {
    std::atomic<int> calls{0};
    CHECK_THROWS_WITH_AS(executor.run(1000,
                                      [&](index_t i) {
                                        ++calls;
                                        if (i == 10) throw std::runtime_error("the tenth");
                                      }),
                         "the tenth", std::runtime_error);
    // Other threads may make many calls before they hear of it, if its own is not running.
    CHECK(calls > 10);
    if (executor.concurrency() == 1) CHECK(calls == 11);
    calls = 0;
    executor.run(20, [&](index_t) { ++calls; });
    CHECK(calls == 20);
  }
}

TEST_CASE("after an exception the other threads stop too") {
  // The first call throws while the second is under way. Each call after that sleeps, so that the
  // thread that throws gets the processor: those that are left would take some 10 s.
  thread_pool pool(2);
  std::atomic<bool> both{false}, thrown{false};
  std::atomic<int> calls{0};
  const auto call = [&](index_t i) {
    ++calls;
    if (i == 0) {
      while (!both) std::this_thread::yield();
      thrown = true;
      throw std::runtime_error("the first");
    }
    if (i == 1) {
      both = true;
      while (!thrown) std::this_thread::yield();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  CHECK_THROWS_AS(pool.run(10000, call), std::runtime_error);
  CHECK(calls < 10000);
}

TEST_CASE("a run within a run") {
  thread_pool pool(3);
  std::atomic<int> calls{0};
  pool.run(5, [&](index_t) { pool.run(7, [&](index_t) { ++calls; }); });
  CHECK(calls == 35);
}

struct failing {
  static constexpr ebb::decay_kind kind = ebb::decay_kind::input;
  static constexpr ebb::decay_form form = ebb::decay_form::factor;
  using gradients = ebb::no_gradients;
  void fill(const ebb::block_origin& where, const ebb::strided_view<float>&) const {
    if (where.channel + where.batch > 0) throw std::runtime_error("no decay");
  }
  void fill(const ebb::block_origin&, const ebb::strided_view<float, ebb::channel_major>&) const {}
};

TEST_CASE("an exception of a decay comes out of the scan") {
  ebb::array<float> b(extents{4, 10, 300});
  CHECK_THROWS_WITH_AS(ebb::scan(failing{}, b, b, ebb::threads<ebb::rows>(2, {}, 1)), "no decay",
                       std::runtime_error);
}

TEST_CASE("parameters are checked") {
  CHECK_THROWS_WITH_AS(ebb::threads<>(0), "thread_pool: need 1 <= threads <= 4096, got 0",
                       ebb::domain_error);
  CHECK_THROWS_WITH_AS(ebb::threads<>(2, {}, 0), "threads: need a minimum_work >= 1, got 0",
                       ebb::domain_error);
  CHECK_THROWS_WITH_AS(ebb::threads<>(std::shared_ptr<thread_pool>()), "threads: need an executor",
                       ebb::domain_error);
}

}  // namespace
