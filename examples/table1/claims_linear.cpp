// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "table1/rules.hpp"

namespace table1::rules {

claim linear_error(rows_view rows) {
  claim c{"linear_error",
          "linear spectra: error Omega(N^-beta)",
          {},
          "",
          "",
          "",
          "table1 --spectra linear_ends,linear_k,linear_k_over_N,linear_k_over_T"};
  // For each family, the largest p / beta between the two largest N of a level: over all levels,
  // and over those that stay within N <= sqrt(T). Certain, since it comes from certified bounds.
  struct family {
    std::optional<double> anywhere, long_context;
  };
  std::map<std::pair<std::string, std::optional<double>>, family> families;
  std::map<std::tuple<std::string, std::optional<double>, level>, std::vector<row>> levels;
  for (const row& r :
       sound_rows(rows, [](const row& r) { return r.cell.spectrum.starts_with("linear"); }))
    levels[{r.cell.spectrum, r.cell.weights_bound, level_of(r)}].push_back(r);
  for (auto& [key, own] : levels) {
    const auto& [name, bound, where] = key;
    std::sort(own.begin(), own.end(),
              [](const row& a, const row& b) { return a.cell.channels < b.cell.channels; });
    const auto least_power = [&own = own, beta = where.beta](std::size_t last) {
      const row& few = own[last - 1];
      const row& many = own[last];
      return std::log(few.result.error_lower / many.result.error_upper) / beta /
             std::log(static_cast<double>(many.cell.channels) / few.cell.channels);
    };
    family& f = families[{name, bound}];
    const auto raise = [](std::optional<double>& most, double value) {
      most = std::max(most.value_or(value), value);
    };
    if (own.size() >= 2) raise(f.anywhere, least_power(own.size() - 1));
    std::size_t within = 0;
    while (within < own.size() && own[within].cell.channels <= std::sqrt(where.steps)) ++within;
    if (within >= 2) raise(f.long_context, least_power(within - 1));
  }

  constexpr double threshold = 1.1;
  c.detail =
      "rule: with E falling like N^-p between the two largest N of each T and beta, p / beta is at "
      "most 1 + 0.1; p / beta over all T, over N <= sqrt T:";
  std::vector<std::string> always, in_long_contexts;
  bool known = !families.empty(), all_stated = true;
  for (const auto& [key, f] : families) {
    const auto& [name, bound] = key;
    const std::string title = name + (bound ? " with sum |c| <= " + shortest(*bound) : "");
    const auto shown = [](const std::optional<double>& v) { return v ? significant(*v, 3) : "-"; };
    c.detail += ' ' + title + ' ' + shown(f.anywhere) + ", " + shown(f.long_context) + ';';
    if (!f.anywhere) {
      known = false;
      continue;
    }
    const bool stated = *f.anywhere <= threshold;
    if (stated)
      always.push_back(title);
    else if (f.long_context && *f.long_context <= threshold)
      in_long_contexts.push_back(title);
    if (!bound) all_stated = all_stated && stated;
    if (name == "linear_k_over_N" && !bound)
      c.value = significant(f.long_context.value_or(*f.anywhere), 4);
    else if (c.value.empty())
      c.value = significant(*f.anywhere, 4);
  }
  const auto long_context = fit(
      rows, [](const row& r) { return r.cell.spectrum == "linear_k_over_T" && is_free(r); },
      [](double channels, double steps) { return channels / std::sqrt(steps); }, pick::median);
  c.detail += long_context ? " exp(-c N / sqrt T) of the abstract, linear_k_over_T: " +
                                 describe(long_context)
                           : std::string(" too few rows for exp(-c N / sqrt T) of the abstract");
  if (!known) return c;
  const auto list = [](const std::vector<std::string>& names) {
    std::string text;
    for (const auto& name : names) text += (text.empty() ? "" : ", ") + name;
    return text;
  };
  if (all_stated) {
    c.ruling = verdict::holds;
  } else if (always.empty() && in_long_contexts.empty()) {
    c.ruling = verdict::fails;
  } else {
    c.ruling = verdict::holds_if;
    if (!always.empty()) c.condition = "the spectrum is " + list(always);
    if (!in_long_contexts.empty())
      c.condition += std::string(always.empty() ? "" : "; or ") + "it is " +
                     list(in_long_contexts) + " and N <= sqrt T";
  }
  return c;
}

}  // namespace table1::rules
