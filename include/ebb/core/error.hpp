// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/core/error.hpp
/// @brief  The two exceptions of the core and the checks that throw them.
#pragma once

#include <cstddef>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <string_view>

#include <ebb/core/config.hpp>

namespace ebb::inline EBB_ABI {

/// Arrays, views or offsets do not fit together. Thrown before anything is written.
class shape_error : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

/// A parameter is outside its documented domain. Thrown before anything is written.
class domain_error : public std::domain_error {
 public:
  using std::domain_error::domain_error;
};

namespace detail {

template <class Value>
std::string printed(const Value& value) {
  if constexpr (requires { std::string_view(value); })
    return std::string(std::string_view(value));
  else if constexpr (requires { std::to_string(value); })
    return std::to_string(value);
  else
    return std::to_string(static_cast<double>(value));
}

inline std::string printed(double value) {
  char text[32];
  const int n = std::snprintf(text, sizeof text, "%.17g", value);
  return std::string(text, static_cast<std::size_t>(n));
}

inline std::string printed(float value) { return printed(static_cast<double>(value)); }
inline std::string printed(long double value) { return printed(static_cast<double>(value)); }

template <class... Got>
std::string message(std::string_view where, std::string_view rule, const Got&... got) {
  std::string text(where);
  text += ": ";
  text += rule;
  if constexpr (sizeof...(Got) > 0) {
    text += ", got ";
    std::string_view separator;
    ((text += separator, text += printed(got), separator = ", "), ...);
  }
  return text;
}

/// Throws shape_error("where: rule, got value, value") unless the condition holds.
template <class... Got>
constexpr void require_shape(bool condition, std::string_view where, std::string_view rule,
                             const Got&... got) {
  if (!condition) EBB_THROW(shape_error(message(where, rule, got...)));
}

/// Throws domain_error("where: rule, got value, value") unless the condition holds.
template <class... Got>
constexpr void require_domain(bool condition, std::string_view where, std::string_view rule,
                              const Got&... got) {
  if (!condition) EBB_THROW(domain_error(message(where, rule, got...)));
}

}  // namespace detail
}  // namespace ebb::inline EBB_ABI
