// SPDX-License-Identifier: Apache-2.0
#include <ebb/core/error.hpp>
#include <ebb/core/numeric.hpp>

#include "odr/objects/objects.hpp"

ebb::test::compiled ebb::test::strict_object() {
  return {&ebb::softplus<double>, &typeid(ebb::domain_error)};
}
