// SPDX-License-Identifier: Apache-2.0
#include <ebb/core/array.hpp>
#include <ebb/recurrence/delta.hpp>

// Neither how its bits repeat nor how far it may err.
struct silent {
  static constexpr const char* name = "silent";
  template <class... Arguments>
  void run(const Arguments&...) const {}
};

void call(ebb::array<float>& a, const ebb::delta_data<float>& data) {
  ebb::delta(a, data, silent{});
}
