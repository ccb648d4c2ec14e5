// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/version.hpp
/// @brief  The version of the library.
#pragma once

#include <string_view>

#include <ebb/core/config.hpp>

namespace ebb::inline EBB_ABI {

inline constexpr int version_major = 0;
inline constexpr int version_minor = 1;
inline constexpr int version_patch = 0;
inline constexpr std::string_view version = "0.1.0";

}  // namespace ebb::inline EBB_ABI
