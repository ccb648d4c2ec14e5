// SPDX-License-Identifier: Apache-2.0
#include <ebb/ebb.hpp>
#include <ebb/recurrence/backend/threads.hpp>

struct engine {
  void run(ebb::index_t count, void (*call)(ebb::index_t)) {
    for (ebb::index_t i = 0; i < count; ++i) call(i);
  }
  ebb::index_t concurrency() const { return 2; }
};

void call(ebb::array<float>& b, ebb::array<float>& h, engine& mine) {
  ebb::scan(b, b, h, ebb::threads<ebb::rows, engine>(mine));
}
