// SPDX-License-Identifier: Apache-2.0
// Built with -fno-exceptions: the library works, and errors go where EBB_THROW sends them.
#include <cstdio>
#include <cstdlib>

// [hook]
#define EBB_THROW(exception) (std::puts((exception).what()), std::exit(3))
// [hook]
#include <ebb/ebb.hpp>

int main(int argc, char**) {
  const auto memory = ebb::make_layer<float>(ebb::geometric_spectrum::timescales(1, 64),
                                             ebb::post_taper::relative(64), 4);
  ebb::array<float> b(16, 4), h(argc > 1 ? 8 : 16, 4);
  for (ebb::index_t t = 0; t < 16; ++t) b(t, 0) = 1;
  memory(b, h);
  return h(15, 0) > 1 ? 0 : 1;
}
