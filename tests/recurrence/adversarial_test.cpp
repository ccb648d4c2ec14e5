// SPDX-License-Identifier: Apache-2.0
// The error bounds on data made to break them.
#include <doctest/doctest.h>

#include <ebb/recurrence/backend/automatic.hpp>
#include <ebb/recurrence/backend/reference.hpp>
#include <ebb/recurrence/scan.hpp>

#include "support/scan_adversarial.hpp"

namespace {

TEST_CASE_TEMPLATE("bounds hold on adversarial data", Backend, ebb::rows, ebb::reference,
                   ebb::automatic<>) {
  ebb::test::check_adversarial<Backend, float, ebb::time_major>();
  ebb::test::check_adversarial<Backend, double, ebb::channel_major>();
}

}  // namespace
