// SPDX-License-Identifier: Apache-2.0
#include <complex>

#include "scan_rows.hpp"

void bench::offer_complex_channel_major() {
  offer_scans<std::complex<float>, ebb::channel_major>();
}
