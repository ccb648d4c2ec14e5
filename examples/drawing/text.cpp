// SPDX-License-Identifier: Apache-2.0
#include "drawing/text.hpp"

#include <charconv>
#include <cstdio>

namespace drawing {

std::string shortest(double value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  return std::string(text, end);
}

std::string significant(double value, int digits) {
  char text[48];
  const int n = std::snprintf(text, sizeof text, "%.*g", digits, value);
  return std::string(text, static_cast<std::size_t>(n));
}

}  // namespace drawing
