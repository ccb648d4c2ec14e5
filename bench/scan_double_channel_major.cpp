// SPDX-License-Identifier: Apache-2.0
#include "scan_rows.hpp"

void bench::offer_double_channel_major() { offer_scans<double, ebb::channel_major>(); }
