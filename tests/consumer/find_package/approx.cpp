// SPDX-License-Identifier: Apache-2.0
// Needs what ebb::approx brings: Eigen (the Gram matrix) and Boost (fifty digits).
#include <cstdio>
#include <ebb/approx/coherence.hpp>
#include <ebb/approx/precision.hpp>
#include <ebb/spectrum/geometric.hpp>

int main() {
  const auto rates = ebb::rates_of<double>(ebb::geometric_spectrum::timescales(1, 1024), 3);
  const double gram = ebb::approx::normalised_gram_matrix(rates)(0, 1);
  using fifty = ebb::approx::multiprecision<50>;
  const double exact =
      static_cast<double>(ebb::approx::coherence(fifty(rates[0]), fifty(rates[1])));
  std::printf("neighbours a factor 32 apart overlap by %.15f\n", gram);
  return gram > 0.34 && gram < 0.35 && std::abs(gram - exact) < 1e-14 ? 0 : 1;
}
