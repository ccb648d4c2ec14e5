// SPDX-License-Identifier: Apache-2.0
/// @file   drawing/text.hpp
/// @brief  Numbers as text.
#pragma once

#include <string>

namespace drawing {

/// The shortest text that reads back as the same double: keys compare as numbers.
std::string shortest(double value);

/// The number with so many significant digits, as printf's %g.
std::string significant(double value, int digits);

}  // namespace drawing
