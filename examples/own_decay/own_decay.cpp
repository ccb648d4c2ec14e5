// SPDX-License-Identifier: Apache-2.0
// A decay of one's own: each step decays and writes only the slots that a router selects.
#include <cmath>
#include <complex>
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
    struct gradients {
      std::span<double> rates{};  // dL/dr_k is added to what is there; none: not computed
    };
    ebb::strided_view<const unsigned char> selected;
    std::vector<double> rates;

    // Nothing else compares the data with arrays of yours.
    void check(const ebb::extents& data) const {
      if (data.batches > selected.batches() || data.steps > selected.steps() ||
          data.channels > selected.channels() || data.channels != std::ssize(rates))
        throw ebb::shape_error("routed_decay: the data is larger than the flags");
    }
    void check(const ebb::extents&, const gradients& sums) const {
      if (!sums.rates.empty() && sums.rates.size() != rates.size())
        throw ebb::shape_error("routed_decay: as many gradients as rates, or none");
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

    /// d r_k -= the cotangents of log a_{t,k} at the steps that select k.
    template <class Real, class BlockAxis, class CotangentAxis>
    void vjp(const ebb::block_origin& where, const ebb::strided_view<const Real, BlockAxis>&,
             const ebb::strided_view<const Real, CotangentAxis>& cotangent, gradients& sums) const {
      if (sums.rates.empty()) return;
      for (ebb::index_t t = 0; t < cotangent.steps(); ++t)
        for (ebb::index_t k = 0; k < cotangent.channels(); ++k) {
          const ebb::index_t slot = where.channel + k;
          if (selected(where.batch, where.step + t, slot) != 0)
            sums.rates[static_cast<std::size_t>(slot)] -= std::real(cotangent(t, k));
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
  // The gradients of L = sum of all h with respect to the rates, in double, against the derivative
  // dh_t/dr carried forward: a dh_{t-1}/dr, less a h_{t-1} where the slot is selected.
  const auto& decay = memory.decay();
  ebb::array<double> x(steps, slots), y(steps, slots), ones(steps, slots);
  for (ebb::index_t t = 0; t < steps; ++t)
    for (ebb::index_t k = 0; k < slots; ++k) x(t, k) = b(t, k), ones(t, k) = 1;
  ebb::scan(decay, x, y);
  std::vector<double> d_rates(static_cast<std::size_t>(slots));
  routed_decay::bound::gradients sums{d_rates};
  ebb::scan_vjp(decay, x, y, ebb::scan_cotangents<double>{.outputs = ones.view()},
                ebb::scan_gradients<double, routed_decay::bound::gradients>{.decay = &sums});
  for (ebb::index_t k = 0; k < slots; ++k) {
    const auto slot = static_cast<std::size_t>(k);
    double state = 0, slope = 0, sum = 0, state_size = 0, slope_size = 0, size = 0;
    for (ebb::index_t t = 0; t < steps; ++t) {
      const bool chosen = selected(t, k) != 0;
      const double a = chosen ? std::exp(-decay.rates[slot]) : 1;
      slope = a * slope - (chosen ? a * state : 0);
      slope_size = a * slope_size + (chosen ? a * state_size : 0);
      state = a * state + x(t, k), state_size = a * state_size + std::abs(x(t, k));
      sum += slope, size += slope_size;
    }
    // Forward and backward 6 roundings a step each, as many here, one to add up, and 8.
    const double bound = std::expm1((25 * static_cast<double>(steps) + 8) * 0x1p-53) * size;
    failures += !(std::abs(d_rates[slot] - sum) <= bound);
  }
  try {
    memory(longer, longer);
    ++failures;  // it has read flags that are not there
  } catch (const ebb::shape_error&) {
  }
  std::printf("%s\n", failures == 0 ? "ok" : "FAILED");
  return failures == 0 ? 0 : 1;
}
