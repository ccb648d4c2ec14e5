// SPDX-License-Identifier: Apache-2.0
// What a call says when it refuses.
#pragma once

#include <string>

#include <ebb/core/error.hpp>

namespace ebb::test {

/// The message of the domain_error that f() throws; empty where it throws none.
template <class F>
std::string message_of(const F& f) {
  try {
    (void)f();
  } catch (const domain_error& error) {
    return error.what();
  }
  return {};
}

}  // namespace ebb::test
