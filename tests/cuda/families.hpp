// SPDX-License-Identifier: Apache-2.0
/// @file   cuda/families.hpp
/// @brief  The families of kernels: each is compiled by itself and registers what main() runs.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "report.hpp"

namespace ebb::test {

class table;

struct family {
  std::string name;
  void (*check)(report& results);
  void (*bench)(table& results) = nullptr;
};

inline std::vector<family>& families() {
  static std::vector<family> all;
  return all;
}

struct registered {
  explicit registered(family some) { families().push_back(std::move(some)); }
};

}  // namespace ebb::test
