// SPDX-License-Identifier: Apache-2.0
#include <ebb/ebb.hpp>

// Neither how its bits repeat nor how far it may err.
struct silent {
  static constexpr const char* name = "silent";
  template <class... Arguments>
  void scan(const Arguments&...) const {}
};

void call(ebb::array<float>& b, ebb::array<float>& h) { ebb::scan(b, b, h, silent{}); }
