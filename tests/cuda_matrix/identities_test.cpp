// SPDX-License-Identifier: Apache-2.0
// Cases by hand, identities between the recurrences, long runs and repetitions, for the kernels of
// matrix states.
#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "support/emulated_matrix.hpp"
#include "support/matrix_calls.hpp"
#include "support/matrix_identities.hpp"

namespace {

using form = ebb::test::emulated_matrix<ebb::test::small_matrix_tiles, 0>;

TEST_CASE("by hand") { ebb::test::check_by_hand<form, float>(); }
TEST_CASE("identities") { ebb::test::check_identities<form, float>(); }
TEST_CASE("long runs") { ebb::test::check_long_runs<form>(); }

/// 1000 steps that write nothing, of a rate of about 1e-3 whose decay lies half-way between two
/// floats: rounded to float it would be off by 2^-25 at each step, always to the same side, and
/// exp(-1) by 1.1e-5. Formed from a - 1 the errors are those of the state's own rounding, with
/// either sign: u/2 or less each, u sqrt(1000) / 2 = 1e-6 of the state at one standard deviation
/// at the most; less than a third of the former error, 3.6e-6, is allowed.
template <class Form>
void check_slow_decays(ebb::index_t keys, int first_rule) {
  constexpr ebb::index_t steps = 1000;
  const auto rate = static_cast<float>(std::log1p(-16767.5 * 0x1p-24));
  for (const ebb::decay_per decays : {ebb::decay_per::head, ebb::decay_per::key})
    for (int rule = first_rule; rule < 3; ++rule) {
      INFO("K = " << keys << ", by key: " << (decays == ebb::decay_per::key) << ", rule " << rule);
      const std::vector<float> row(static_cast<std::size_t>(keys), 0.1f);
      const std::vector<float> zero(static_cast<std::size_t>(keys), 0.0f);
      const float nothing = 0;
      std::vector<float> state(static_cast<std::size_t>(keys), 1.0f), o(steps);
      const auto repeated = [&](const std::vector<float>& numbers) {
        return ebb::head_view<const float>(numbers.data(), {1, steps, 1, keys}, {});
      };
      ebb::delta_data<float> data;
      data.queries = repeated(row);
      data.keys = repeated(rule == 1 ? zero : row);
      data.values = ebb::head_view<const float>(&nothing, {1, steps, 1, 1}, {});
      data.outputs = {o.data(), {1, steps, 1, 1}};
      data.decays = decays;
      if (rule == 2) data.removals = repeated(row), data.corrections = repeated(zero);
      const ebb::strided_view<float> states(state.data(), 1, keys);
      const ebb::sequences<float> where{.initial_states = states, .final_states = states};
      const ebb::index_t channels = decays == ebb::decay_per::key ? keys : 1;
      const std::vector<float> logs(static_cast<std::size_t>(channels), rate);
      const auto decay = ebb::stored_logs(
          ebb::strided_view<const float>(logs.data(), {1, steps, channels}, {0, 0}));
      if (rule == 0)
        ebb::outer(decay,
                   ebb::outer_data<float>{.queries = data.queries,
                                          .keys = data.keys,
                                          .values = data.values,
                                          .outputs = data.outputs,
                                          .decays = decays},
                   where, Form{});
      else
        ebb::delta(decay, data, where, Form{});
      const double right = std::exp(static_cast<double>(rate) * steps);
      for (const float s : state) CHECK(std::abs(static_cast<double>(s) - right) <= 3.6e-6);
    }
}
TEST_CASE("slow decays keep their timescale") {
  check_slow_decays<form>(3, 0);   // in registers
  check_slow_decays<form>(33, 2);  // in memory
}
TEST_CASE("fading through the subnormals") { ebb::test::check_fading<form>(); }

TEST_CASE("every order of threads gives the same bits") {
  for (const auto& how : ebb::test::emulator::schedules(5))
    ebb::test::check_same_bits<float, float>(form{}, form{.how = how},
                                             {.batches = 2,
                                              .steps = 9,
                                              .keys = 7,
                                              .values = 9,
                                              .weights = true,
                                              .resets = true,
                                              .snapshots = {3, 7}});
}

}  // namespace
