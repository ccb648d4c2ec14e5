// SPDX-License-Identifier: Apache-2.0
#include <ebb/ebb.hpp>

struct no_bound {
  static constexpr const char* name = "no_bound";
  static constexpr ebb::determinism repeats = ebb::determinism::none;
  template <class... Arguments>
  void scan(const Arguments&...) const {}
};

auto call() {
  return ebb::make_layer<float>(ebb::linear_k{}, ebb::constant_decay(), 4, no_bound{});
}
