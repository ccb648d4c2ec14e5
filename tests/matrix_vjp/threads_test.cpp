// SPDX-License-Identifier: Apache-2.0
// The gradients of matrix states on several threads: the bits of one thread, and what goes wrong.
#include <doctest/doctest.h>

#include <cstring>
#include <memory>
#include <span>
#include <stdexcept>
#include <thread>
#include <type_traits>
#include <vector>

#include <ebb/decay/selective.hpp>
#include <ebb/recurrence/backend/sequential_threads.hpp>

#include "support/matrix_vjp_contract.hpp"

namespace {

using ebb::decay_per;
using ebb::index_t;
using ebb::test::matrix_rule;
using ebb::test::matrix_vjp_case;
namespace test = ebb::test;

// Runs calls in the order last to first, as if there were so many threads.
struct backwards {
  index_t threads = 2;
  template <class F>
  void run(index_t count, const F& call) {
    for (index_t i = count; i-- > 0;) call(i);
  }
  index_t concurrency() const { return threads; }
};

// Every call of its own thread, so that pieces end in any order.
struct all_at_once {
  index_t threads = 2;
  template <class F>
  void run(index_t count, const F& call) {
    std::vector<std::thread> started;
    for (index_t i = 0; i < count; ++i) started.emplace_back([&call, i] { call(i); });
    for (std::thread& one : started) one.join();
  }
  index_t concurrency() const { return threads; }
};

template <class Executor>
ebb::sequential_threads<Executor> form_of(Executor executor) {
  return ebb::sequential_threads<Executor>(std::make_shared<Executor>(executor), 1);
}

// f(form) for several numbers of threads.
template <class F>
void each_form(const F& f) {
  const auto pool = std::make_shared<ebb::thread_pool>(3);
  f(ebb::sequential_threads<>(pool, 1));
  f(form_of(backwards{4}));
  for (const index_t threads : {2, 5, 40}) f(form_of(all_at_once{threads}));
}

template <class T, class State>
void check_same_bits(const matrix_vjp_case& of) {
  const auto numbers = test::random_arrays<T, State>(of, 601);
  test::matrix_vjp_call<T, State> one(of, numbers);
  one.run();
  const auto same = [](const auto& x, const auto& y) {
    return x.empty() || std::memcmp(x.data(), y.data(), x.size() * sizeof(x[0])) == 0;
  };
  each_form([&](const auto& form) {
    test::matrix_vjp_call<T, State> many(of, numbers);
    many.run(form);
    std::vector<bool> equal{same(one.d_skip, many.d_skip)};
    const auto compare = [&](auto& of_one, auto& of_many) {
      std::vector<const void*> others;
      of_many.each([&](const char*, auto& array) { others.push_back(&array); });
      std::size_t n = 0;
      of_one.each([&](const char*, auto& array) {
        using array_type = std::remove_reference_t<decltype(array)>;
        equal.push_back(same(array.numbers, static_cast<const array_type*>(others[n++])->numbers));
      });
    };
    compare(one.d_data, many.d_data);
    compare(one.d_states, many.d_states);
    CHECK(equal == std::vector<bool>(equal.size(), true));
  });
}

TEST_CASE_TEMPLATE("the bits of one thread, however many there are", T, float, ebb::bfloat16) {
  for (const matrix_rule rule :
       {matrix_rule::outer, matrix_rule::gated, matrix_rule::corrections, matrix_rule::rates})
    for (const decay_per decays : {decay_per::head, decay_per::key}) {
      matrix_vjp_case of{.rule = rule, .batches = 2, .steps = 45, .heads = 6, .keys = 5};
      of.query_heads = 1, of.key_heads = 3, of.removal_heads = 2, of.correction_heads = 6;
      of.decays = decays, of.logs = true, of.weighing = true, of.skip = 12;
      of.offsets = {1, 30, 30, 44}, of.kept = {3, 35}, of.unit_keys = 0.1;
      check_same_bits<T, float>(of);
      of.offsets.clear(), of.kept.clear(), of.skip = 6, of.key_heads = 6;
      check_same_bits<T, float>(of);
    }
}

struct parameter_sums {
  std::vector<double> rates = std::vector<double>(7), bias = std::vector<double>(1);
  std::vector<float> raw = std::vector<float>(100);
};

// A raw step, a bias and rates that all channels and sequences share.
TEST_CASE("parameters of decays that heads share") {
  matrix_vjp_case of{.batches = 2, .steps = 50, .heads = 7, .keys = 3, .values = 4};
  of.query_heads = of.key_heads = 7, of.offsets = {0, 20, 50};
  const auto numbers = test::random_arrays<float, float>(of, 602);
  std::vector<double> rates(7, 0.0);
  for (std::size_t h = 0; h < 7; ++h) rates[h] = 0.1 * static_cast<double>(h + 1);
  std::vector<float> raw(100);
  test::draws random(603);
  for (float& x : raw) x = static_cast<float>(random.uniform(-2, 1));
  const std::vector<double> bias{0.25};
  const auto decay =
      ebb::selective_decay(ebb::strided_view<const float>(raw.data(), {2, 50, 1}, {50, 1}))
          .with_bias(bias)
          .bind(std::span<const double>(rates));
  const auto run = [&](const auto& form) {
    parameter_sums to;
    typename decltype(decay)::gradients sums{
        .rates = to.rates, .raw = {to.raw.data(), {2, 50, 1}, {50, 1}}, .bias = to.bias};
    test::matrix_vjp_call<float, float>(of, numbers).run(decay, sums, form);
    return to;
  };
  const parameter_sums one = run(ebb::sequential{});
  CHECK(one.bias[0] != 0);
  each_form([&](const auto& form) {
    const parameter_sums many = run(form);
    CHECK(many.rates == one.rates);
    CHECK(many.bias == one.bias);
    CHECK(many.raw == one.raw);
  });
}

// A decay whose gradients fail.
struct failing : ebb::stored_decay<float, ebb::time_major, ebb::decay_form::factor> {
  using base = ebb::stored_decay<float, ebb::time_major, ebb::decay_form::factor>;
  using base::base;
  template <class Block, class Cotangent>
  void vjp(const ebb::block_origin& where, const Block&, const Cotangent&,
           typename base::gradients&) const {
    if (where.channel == 3) throw std::runtime_error("no gradients");
  }
};

TEST_CASE("an exception reaches the caller") {
  matrix_vjp_case of{.steps = 20, .heads = 6};
  of.query_heads = of.key_heads = 6;
  test::matrix_vjp_call<float, float> call(of, test::random_arrays<float, float>(of, 604));
  const failing decay{call.states.decays.rows()};
  failing::gradients sums{call.d_states.decays.rows()};
  for (const auto& pool : {std::make_shared<ebb::thread_pool>(3)}) {
    CHECK_THROWS_AS(call.run(decay, sums, ebb::sequential_threads<>(pool, 1)), std::runtime_error);
    CHECK_THROWS_AS(call.run(decay, sums), std::runtime_error);
  }
}

struct none {
  template <class F>
  void run(index_t, const F&) {
    throw std::runtime_error("asked for threads");
  }
  index_t concurrency() const { return 8; }
};

// Work below the minimum stays on the calling thread.
TEST_CASE("small calls take no other thread") {
  matrix_vjp_case of{.steps = 20};
  test::matrix_vjp_call<float, float> call(of, test::random_arrays<float, float>(of, 605));
  // 20 steps of 2 heads of 3 x 2, three times.
  call.run(ebb::sequential_threads<none>(std::make_shared<none>(), 361));
  CHECK_THROWS_AS(call.run(ebb::sequential_threads<none>(std::make_shared<none>(), 360)),
                  std::runtime_error);
}

}  // namespace
