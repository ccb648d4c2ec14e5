// SPDX-License-Identifier: Apache-2.0
#include <complex>

#include "scan_rows.hpp"

void bench::offer_complex_time_major() { offer_scans<std::complex<float>, ebb::time_major>(); }
