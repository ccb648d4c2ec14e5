// SPDX-License-Identifier: Apache-2.0
/// @file   table1/outputs.hpp
/// @brief  What a run tells: errors.csv, claims.csv and the tables of table1.md.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "table1/claims.hpp"
#include "table1/options.hpp"
#include "table1/row.hpp"

namespace table1 {

/// errors.csv: one line for each row; its last column, ratio_to_optimum, is empty where the rows
/// have no best sum to compare with.
std::string errors_csv(std::span<const row> rows);

/// claims.csv: one line for each claim that has a ruling; columns claim, verdict, condition,
/// value, detail. Fields with commas or quotes are quoted.
std::string claims_csv(std::span<const claim> claims);

/// Table 1 as printed beside what was measured, then the ledger. The same text, a Markdown table
/// with aligned columns, goes to the terminal and into table1.md.
std::string comparison(std::span<const row> rows, const observations& seen);
std::string ledger(std::span<const claim> claims);

/// table1.md: how it was made, both tables, the rules with their numbers, the pictures.
std::string report(std::span<const row> rows, const observations& seen,
                   std::span<const claim> claims, const options& o,
                   std::span<const std::string> pictures);

/// Removes what an earlier run wrote into a folder: tables, scripts and pictures of our names.
void remove_outputs(const std::filesystem::path& folder);

}  // namespace table1
