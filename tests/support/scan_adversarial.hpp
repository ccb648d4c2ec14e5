// SPDX-License-Identifier: Apache-2.0
/// @file   support/scan_adversarial.hpp
/// @brief  Long runs made to hurt: inputs that cancel the state, decays at and next to 1, 0 and -1.
#pragma once

#include <cmath>
#include <utility>

#include "support/scan_oracle.hpp"

namespace ebb::test {

/// Holds a backend to its bound where roundings add up and results are small beside what made them.
template <class Backend, class T, class Axis>
void check_adversarial() {
  constexpr index_t steps = 20000, channels = 6;
  ebb::array<T, Axis> factors(steps, channels), logs(steps, channels), in(steps, channels);
  draws random(71);
  const T u = std::numeric_limits<T>::epsilon() / 2;
  for (index_t k = 0; k < channels; ++k) {
    T h = 0;
    for (index_t t = 0; t < steps; ++t) {
      T a = 1;  // channel 0: no decay at all, so that 20000 roundings stay
      if (k == 1) a = 1 - u;
      if (k == 2) a = t % 2 == 0 ? T(1) : T(-1);
      if (k == 3) a = random.integer(0, 99) == 0 ? T(0) : T(1);
      if (k == 4) a = 1 - static_cast<T>(std::exp(random.uniform(-16, -1)));
      if (k == 5)
        a = static_cast<T>(random.uniform(0.4, 0.6));  // where the kernel changes its form
      factors(t, k) = a;
      logs(t, k) = k == 1 ? -u / 16 : std::log(std::abs(a));
      // Every third input takes away what is there, but for a little.
      const bool cancels = t % 3 == 2;
      const T b = cancels ? -a * h * static_cast<T>(1 + 1e-3 * random.uniform(-1, 1))
                          : static_cast<T>(random.uniform(-1, 1) * std::exp(random.uniform(-9, 9)));
      in(t, k) = b;
      h = a * h + b;
    }
  }
  const auto run = [&](const auto& decay) {
    using Decay = std::remove_cvref_t<decltype(decay)>;
    for (const direction order : {direction::forward, direction::reverse}) {
      ebb::array<T, Axis> out(in.size());
      scan(decay, in, out, sequences<T>{}, {order}, Backend{});
      const auto truth =
          truth_of<long double>(decay, std::as_const(in).view(), sequences<T>{}, order);
      check_bound<Backend, T>(std::as_const(out).view(), truth, step_kind_of<Decay, T>, T(0));
    }
  };
  run(stored_factors(factors));
  run(stored_logs(logs));
}

}  // namespace ebb::test
