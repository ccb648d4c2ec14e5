// SPDX-License-Identifier: Apache-2.0
// What the two objects tell about the library as each was compiled.
#pragma once

#include <typeinfo>

namespace ebb::test {

struct compiled {
  double (*softplus)(const double&);
  const std::type_info* domain_error;
};

compiled strict_object();
compiled fast_object();

}  // namespace ebb::test
