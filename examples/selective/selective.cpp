// SPDX-License-Identifier: Apache-2.0
// Prefill, then decode, where the step sizes come with the data: the numbers are those of one scan.
#include <cmath>
#include <cstdio>
#include <span>

#include <ebb/ebb.hpp>

int main() {  // NOLINT(bugprone-exception-escape): an exception is a failed example
  const ebb::index_t prompt = 40, tokens = 20, channels = 16;
  ebb::array<float> raw(prompt + tokens, channels), b(raw.size()), whole(raw.size());
  for (ebb::index_t t = 0; t < b.steps(); ++t)
    for (ebb::index_t k = 0; k < channels; ++k) {
      raw(t, k) = 3 * std::sin(static_cast<float>(5 * t + k));
      b(t, k) = std::cos(static_cast<float>(t + 3 * k));
    }
  const auto spectrum = ebb::geometric_spectrum::timescales(1, 300);
  const auto taper = ebb::post_taper::relative(300);
  ebb::make_layer<float>(spectrum, ebb::selective_decay(raw).tapered(taper), channels)(b, whole);
  int failures = 0;

  // [pieces]
  // The decay reads the steps of the piece at hand: first those of the prompt.
  const auto policy = ebb::selective_decay(raw.view().steps_from(0, prompt)).tapered(taper);
  auto memory = ebb::make_layer<float>(spectrum, policy, channels);
  auto state = memory.start();
  ebb::array<float> h(prompt, channels);
  memory(b.view().steps_from(0, prompt), h, state);

  for (ebb::index_t t = prompt; t < prompt + tokens; ++t) {
    memory.decay().read_from(raw.view().steps_from(t, 1));  // then the one step of each token
    memory.step(std::span<const float>(&b(t, 0), channels), state);
    for (ebb::index_t k = 0; k < channels; ++k)
      failures += state.values[static_cast<std::size_t>(k)] != whole(t, k);
  }
  // [pieces]

  for (ebb::index_t t = 0; t < prompt; ++t)
    for (ebb::index_t k = 0; k < channels; ++k) failures += h(t, k) != whole(t, k);
  std::printf("%s\n", failures == 0 ? "ok" : "FAILED");
  return failures == 0 ? 0 : 1;
}
