// SPDX-License-Identifier: Apache-2.0
/// @file   table1/claims.hpp
/// @brief  The claims ledger: statements of the paper and of this library, judged by stated rules
///         on measured numbers.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "table1/observe.hpp"
#include "table1/row.hpp"

namespace table1 {

enum class verdict {
  holds,     ///< as stated
  holds_if,  ///< only under the condition that the ledger names
  fails      ///< not even under a condition that the run contains
};

std::string_view name_of(verdict v);

struct claim {
  std::string id;
  std::string statement;          ///< the claim in short
  std::optional<verdict> ruling;  ///< none: the rows of this run cannot decide it
  std::string condition;          ///< of holds_if
  std::string value;              ///< the number that decides
  std::string detail;             ///< the rule and the numbers it was applied to
  std::string command;            ///< a run that shows it
};

/// Judges the fifteen claims in a fixed order: those of the paper, then three on optimal and
/// two-ended spectra. Depends on its arguments alone.
///
/// Rows whose bounds do not meet are left out. A rule asks for a fitted exponent with its 95 %
/// interval; where a run has too few rows for the rule, the claim has no ruling and `detail` says
/// what is missing. docs/table1.md states every rule.
std::vector<claim> judge(std::span<const row> rows, const observations& seen);

}  // namespace table1
