// SPDX-License-Identifier: Apache-2.0
/// @file   table1/evidence.hpp
/// @brief  From rows to fitted exponents: what the rules of the ledger are applied to.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <ebb/approx/law.hpp>

#include "table1/row.hpp"

namespace table1 {

using ebb::approx::line_fit;
using row_filter = std::function<bool(const row&)>;

/// The rows that pass, of those whose bounds meet and whose error is above zero.
std::vector<row> sound_rows(std::span<const row> rows, const row_filter& passes);

/// Groups of rows that share a law but not its level: one horizon (or position) and one beta.
struct level {
  double steps = 0;  ///< T, or t for rows with a position
  double beta = 0;
  auto operator<=>(const level&) const = default;  // NOLINT(modernize-use-nullptr): there is none
};

level level_of(const row& r);

/// log E against N, one curve for each level. Where several rows share N (seeds, or shapes of a
/// spectrum), `pick` makes one number of their logarithms.
using curves = std::map<level, std::vector<std::pair<int, double>>>;
enum class pick { median, smallest };
curves error_curves(std::span<const row> rows, pick choice);

/// The curves without points of fewer than `least(steps)` channels, and without those that are
/// left with fewer than two points.
curves restricted(const curves& all, const std::function<double(double steps)>& least);

/// How errors fall along a coordinate x(N, steps): log E = level - rate x.
struct fall {
  line_fit rate;           ///< slope is -rate
  line_fit growth;         ///< slope is q - 1: local rates grow like x^(q-1), so -log E like x^q
  double least_local = 0;  ///< the smallest local rate

  double c() const { return -rate.slope; }
  double c_low() const { return -rate.slope_high(); }
  double c_high() const { return -rate.slope_low(); }
  /// Somewhere errors fall ten times slower than they do on the whole (or rise).
  bool stalls() const { return least_local < c() / 10; }
  double q() const { return 1 + growth.slope; }
  double q_low() const { return 1 + growth.slope_low(); }
  double q_high() const { return 1 + growth.slope_high(); }
};

using coordinate = std::function<double(double channels, double steps)>;

/// Fits `fall`; nothing where the curves hold fewer than three local rates.
std::optional<fall> fit_fall(const curves& all, const coordinate& x);

/// The power p of N in E = K N^p, one level each; nothing with fewer than three points.
std::optional<line_fit> fit_power(const curves& all);

/// The rows of best sums, to compare others with.
class optima {
 public:
  explicit optima(std::span<const row> rows);

  /// The row's error over that of the best sum with as many terms, for the same beta and kind of
  /// error, on all real lags from 1 to the row's last. Nothing where that is not among the rows.
  std::optional<double> ratio(const row& r) const;

 private:
  using key = std::tuple<int, double, double, bool>;  // N, last lag, beta, relative
  static key key_of(const row& r);
  std::map<key, double> errors_;
};

/// "0.72 +- 0.05", rounded to the interval.
std::string with_interval(double value, double half_width);
std::string with_interval(const line_fit& fit);

}  // namespace table1
