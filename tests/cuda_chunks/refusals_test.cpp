// SPDX-License-Identifier: Apache-2.0
// What chunks on tensor cores do not do is refused before anything is written.
#include <doctest/doctest.h>

#include <limits>
#include <span>
#include <string>
#include <vector>

#include <ebb/decay/post.hpp>

#include "support/emulated_chunks.hpp"

namespace {

using form = ebb::test::emulated_chunks<4>;

template <class Call>
std::string refusal(const Call& call) {
  try {
    call();
  } catch (const ebb::domain_error& error) {
    return error.what();
  }
  return "nothing thrown";
}

TEST_CASE("corrections, decays by key, factors") {
  constexpr ebb::index_t steps = 3, heads = 2, keys = 2, values = 2;
  const std::vector<float> rows(steps * heads * keys, 0.5f);
  std::vector<float> out(steps * heads * values, -7);
  const auto set = [&](auto& data) {
    data.queries = data.keys = {rows.data(), {1, steps, heads, keys}};
    data.values = {rows.data(), {1, steps, heads, values}};
    data.outputs = {out.data(), {1, steps, heads, values}};
  };
  const std::vector<double> rates{0.1, 0.2, 0.3, 0.4};
  const std::span<const double> bind(rates);
  const auto by_head = ebb::constant_decay().bind(bind.first(heads));
  ebb::outer_data<float> data;
  set(data);
  ebb::delta_data<float> corrected;
  set(corrected);
  CHECK(refusal([&] { ebb::delta(by_head, corrected, form{}); }) ==
        "ebb::cuda_chunked: need outer products: no corrections");
  const ebb::array<float> factors(steps, heads);
  CHECK(refusal([&] { ebb::outer(factors, data, form{}); }) ==
        "ebb::cuda_chunked: need decays that are logarithms, not factors");
  data.decays = ebb::decay_per::key;
  CHECK(refusal([&] { ebb::outer(ebb::constant_decay().bind(bind), data, form{}); }) ==
        "ebb::cuda_chunked: need one decay a head");
  CHECK(out == std::vector<float>(out.size(), -7));
}

// An infinite state does not meet its own decrement.
TEST_CASE("an infinite state stays infinite") {
  const std::vector<float> ones(6, 1);
  std::vector<float> out(6), state(1, std::numeric_limits<float>::infinity());
  ebb::outer_data<float> data;
  data.queries = data.keys = data.values = {ones.data(), {1, 6, 1, 1}};
  data.outputs = {out.data(), {1, 6, 1, 1}};
  const std::vector<double> rates{0.01};
  const ebb::strided_view<float> view(state.data(), 1, 1);
  ebb::outer(ebb::constant_decay().bind(std::span<const double>(rates)), data,
             ebb::sequences<float>{.initial_states = view, .final_states = view}, form{});
  CHECK(state[0] == std::numeric_limits<float>::infinity());
  CHECK(out[5] == std::numeric_limits<float>::infinity());
}

}  // namespace
