// SPDX-License-Identifier: Apache-2.0
// A backend of one's own: one channel after another, one step after another, with all semantics.
#include <cmath>
#include <cstdio>
#include <string_view>
#include <vector>

#include <ebb/ebb.hpp>

// [backend]
struct one_by_one {
  static constexpr std::string_view name = "one_by_one";
  static constexpr ebb::determinism repeats = ebb::determinism::any_thread_count;
  static constexpr double error_bound(ebb::index_t steps, const ebb::step_kind& kind = {}) {
    return ebb::step_roundings(kind) * static_cast<double>(steps);  // it rounds as `advance` does
  }

  template <class Decay, ebb::scan_scalar T, class InAxis, class OutAxis, class State>
  void scan(const Decay& decay, const ebb::strided_view<const T, InAxis>& in,
            const ebb::strided_view<T, OutAxis>& out, const ebb::sequences<State>& where,
            const ebb::scan_options& options) const {
    for (ebb::index_t b = 0; b < out.batches(); ++b)
      for (ebb::index_t s = 0; s < where.count(); ++s)
        for (ebb::index_t k = 0; k < out.channels(); ++k) {
          const ebb::index_t begin = where.begin(s), end = where.end(s, out.steps());
          State h = where.initial_states.data() ? where.initial_states(b, s, k) : State(0);
          for (ebb::index_t i = 0; i < end - begin; ++i) {
            const bool forward = options.order == ebb::direction::forward;
            const ebb::index_t t = forward ? begin + i : end - 1 - i;
            if (where.resets_at(b, t, out.steps())) h = State(0);
            State filled{};
            decay.fill({b, t, k, where.first_position(b, s) + t - begin},
                       ebb::strided_view<State>(&filled, 1, 1));
            h = ebb::advance<Decay::form, ebb::gain_of<Decay>, State>(
                ebb::weight_of<Decay::form>(filled), h, static_cast<State>(in(b, t, k)));
            out(b, t, k) = static_cast<T>(h);
            if (const ebb::index_t m = where.snapshot_of(t); m >= 0) where.snapshots(b, m, k) = h;
          }
          if (where.final_states.data()) where.final_states(b, s, k) = h;
        }
  }
};
// [backend]

int main() {  // NOLINT(bugprone-exception-escape): an exception is a failed example
  const ebb::index_t steps = 500, channels = 24;
  // [use]
  const auto mine = ebb::make_layer<float>(ebb::geometric_spectrum::timescales(1, 300),
                                           ebb::post_taper::absolute(), channels, one_by_one{});
  // [use]
  const auto theirs = ebb::make_layer<float>(ebb::geometric_spectrum::timescales(1, 300),
                                             ebb::post_taper::absolute(), channels);
  ebb::array<float> b(steps, channels), h(steps, channels), right(steps, channels);
  ebb::array<float> sizes(steps, channels), most(steps, channels);  // |b|, and its scan
  for (ebb::index_t t = 0; t < steps; ++t)
    for (ebb::index_t k = 0; k < channels; ++k) {
      b(t, k) = static_cast<float>((t * k) % 17) - 8;
      sizes(t, k) = std::abs(b(t, k));
    }
  const std::vector<ebb::index_t> offsets{0, 100, 100, 450};  // an empty sequence, and padding
  const ebb::sequences<float> where{.offsets = offsets};
  int failures = 0;
  for (const auto order : {ebb::direction::forward, ebb::direction::reverse}) {
    mine(b, h, where, {order});
    theirs(b, right, where, {order});
    theirs(sizes, most, where, {order});
    // 6 roundings a step here and there, and 10 of log a, x <= 1, that `rows` takes from a
    // polynomial (docs/accuracy.md): 22 times 350 steps at most.
    for (ebb::index_t t = 0; t < offsets.back(); ++t)
      for (ebb::index_t k = 0; k < channels; ++k)
        failures += !(std::abs(h(t, k) - right(t, k)) <= 22 * 350 * 0x1p-24f * most(t, k));
  }
  std::printf("%s\n", failures == 0 ? "ok" : "FAILED");
  return failures == 0 ? 0 : 1;
}
