// SPDX-License-Identifier: Apache-2.0
// A decay of one's own: each step decays and writes only the slots that a router selects.
#include <cmath>
#include <cstdio>
#include <span>
#include <string_view>
#include <vector>

#include <ebb/ebb.hpp>

// [decay]
/// log a_{t,k} = -r_k where slot k is selected at step t, else 0.
struct routed_decay {
  static constexpr std::string_view name = "routed";
  static constexpr ebb::decay_kind kind = ebb::decay_kind::input;  // reads an array of the caller
  ebb::strided_view<const unsigned char> selected;                 // (batch, step, slot) flags

  struct bound {
    static constexpr ebb::decay_kind kind = ebb::decay_kind::input;
    static constexpr ebb::decay_form form = ebb::decay_form::log_factor;
    using gradients = ebb::no_gradients;
    ebb::strided_view<const unsigned char> selected;
    std::vector<double> rates;

    // Nothing else compares the data with arrays of yours.
    void check(const ebb::extents& data) const {
      if (data.batches > selected.batches() || data.steps > selected.steps() ||
          data.channels > selected.channels() || data.channels != std::ssize(rates))
        throw ebb::shape_error("routed_decay: the data is larger than the flags");
    }

    template <class Real, class Axis>
    void fill(const ebb::block_origin& where, const ebb::strided_view<Real, Axis>& block) const {
      for (ebb::index_t t = 0; t < block.steps(); ++t)
        for (ebb::index_t k = 0; k < block.channels(); ++k) {
          const ebb::index_t slot = where.channel + k;
          const bool chosen = selected(where.batch, where.step + t, slot) != 0;
          block(t, k) = static_cast<Real>(chosen ? -rates[static_cast<std::size_t>(slot)] : 0);
        }
    }
  };

  template <ebb::real_scalar Real>
  bound bind(std::span<const Real> rates) const {
    return {selected, {rates.begin(), rates.end()}};
  }
};
static_assert(ebb::decay_for<routed_decay, double>);
// [decay]
int main() {  // NOLINT(bugprone-exception-escape): an exception is a failed example
  const ebb::index_t steps = 300, slots = 32;
  ebb::array<unsigned char> selected(steps, slots);
  ebb::array<float> b(steps, slots), h(steps, slots), longer(steps + 1, slots);
  for (ebb::index_t t = 0; t < steps; ++t)
    for (const ebb::index_t slot : {7 * t % slots, (7 * t + 11) % slots}) {  // a router
      selected(t, slot) = 1;
      b(t, slot) = std::sin(static_cast<float>(t));
    }
  const auto memory = ebb::make_layer<float>(ebb::geometric_spectrum::timescales(1, 100),
                                             routed_decay{selected.view()}, slots);
  memory(b, h);
  int failures = 0;
  for (ebb::index_t k = 0; k < slots; ++k) {
    double rate = memory.decay().rates[static_cast<std::size_t>(k)], state = 0, size = 0;
    for (ebb::index_t t = 0; t < steps; ++t) {
      const double a = selected(t, k) != 0 ? std::exp(-rate) : 1;
      state = a * state + b(t, k), size = a * size + std::abs(b(t, k));
      const double bound = std::expm1(ebb::rows::error_bound(t + 2) * 0x1p-24) * size;
      failures += !(std::abs(h(t, k) - state) <= bound);
    }
  }
  try {
    memory(longer, longer);
    ++failures;  // it has read flags that are not there
  } catch (const ebb::shape_error&) {
  }
  std::printf("%s\n", failures == 0 ? "ok" : "FAILED");
  return failures == 0 ? 0 : 1;
}
