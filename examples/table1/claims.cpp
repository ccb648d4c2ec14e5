// SPDX-License-Identifier: Apache-2.0
#include "table1/claims.hpp"

#include "table1/rules.hpp"

namespace table1 {

std::string_view name_of(verdict v) {
  switch (v) {
    case verdict::holds:
      return "holds";
    case verdict::holds_if:
      return "holds_if";
    case verdict::fails:
      return "fails";
  }
  return "";
}

std::vector<claim> judge(std::span<const row> rows, const observations& seen) {
  return {rules::random_gap(rows, seen),  rules::random_error(rows),
          rules::linear_gap(rows),        rules::linear_error(rows),
          rules::geometric_gap(rows),     rules::geometric_error(rows),
          rules::geometric_minimax(rows), rules::post_gap(rows),
          rules::post_error(rows),        rules::effective_channels(rows, seen),
          rules::scale_free(seen),        rules::no_overhead(seen),
          rules::optimum_law(rows),       rules::two_ended_static(rows),
          rules::two_ended_post(rows)};
}

}  // namespace table1
