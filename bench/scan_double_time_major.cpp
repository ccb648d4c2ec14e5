// SPDX-License-Identifier: Apache-2.0
#include "scan_rows.hpp"

void bench::offer_double_time_major() { offer_scans<double, ebb::time_major>(); }
