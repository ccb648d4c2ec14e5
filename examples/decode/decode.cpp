// SPDX-License-Identifier: Apache-2.0
// Decoding as an inference engine does it: prefill, single steps, a rollback, a tree of drafts. The
// numbers are those of one scan over what was kept in the end.
#include <cmath>
#include <cstdio>
#include <span>
#include <vector>

#include <ebb/ebb.hpp>

namespace {
constexpr ebb::index_t channels = 48;

// The input of a token; a token is a number here.
std::vector<float> input_of(int token) {
  std::vector<float> b;
  for (int k = 0; k < channels; ++k) b.push_back(std::sin(static_cast<float>(token + 3 * k)));
  return b;
}

ebb::array<float> inputs_of(const std::vector<int>& tokens) {
  ebb::array<float> b(static_cast<ebb::index_t>(tokens.size()), channels);
  for (ebb::index_t t = 0; t < b.steps(); ++t) {
    const auto row = input_of(tokens[static_cast<std::size_t>(t)]);
    for (ebb::index_t k = 0; k < channels; ++k) b(t, k) = row[static_cast<std::size_t>(k)];
  }
  return b;
}
}  // namespace

int main() {  // NOLINT(bugprone-exception-escape): an exception is a failed example
  const auto memory = ebb::make_layer<float>(ebb::geometric_spectrum::timescales(1, 4096),
                                             ebb::post_taper::relative(4096), channels);
  const std::vector<int> prompt{5, 3, 8, 1, 9, 2};

  // [decode]
  // Prefill in one call; the state knows its position.
  auto state = memory.start();
  const auto b = inputs_of(prompt);
  ebb::array<float> h(b.size());
  memory(b, h, state);

  // Three tokens one by one, each state remembered; then the last two are taken back.
  ebb::state_history<float> history(8, channels);
  for (const int token : {20, 21, 22}) {
    history.keep(state);
    memory.step(input_of(token), state);
  }
  history.roll_back(8, state);  // the state before position 8: after the prompt and token 20

  // Drafts: 30 and 31 are alternatives; 32 and 33 continue 31; 34 continues 33.
  const auto drafts = inputs_of({30, 31, 32, 33, 34});
  const std::vector<ebb::index_t> parents{-1, -1, 1, 1, 3};
  const ebb::strided_view<const float> before(state.values.data(), 1, channels);
  const ebb::step_tree<float> tree{
      .parents = parents, .first_positions = {&state.next_position, 1}, .initial_states = before};
  ebb::array<float> states(drafts.size());
  ebb::scan_tree(memory.decay(), drafts, states, tree);
  ebb::accept_path(states, tree, 3, state);  // 31, then 33
  // [decode]

  const auto kept = inputs_of({5, 3, 8, 1, 9, 2, 20, 31, 33});
  ebb::array<float> all(kept.size());
  memory(kept, all);
  int failures = state.next_position != 10;
  for (ebb::index_t k = 0; k < channels; ++k)
    failures += state.values[static_cast<std::size_t>(k)] != all(8, k);
  std::printf("position %ld: %s\n", static_cast<long>(state.next_position),
              failures == 0 ? "ok" : "FAILED");
  return failures == 0 ? 0 : 1;
}
