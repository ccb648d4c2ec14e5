// SPDX-License-Identifier: Apache-2.0
#include "scan_rows.hpp"

void bench::offer_float_channel_major() { offer_scans<float, ebb::channel_major>(); }
