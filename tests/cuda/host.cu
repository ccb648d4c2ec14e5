// SPDX-License-Identifier: Apache-2.0
// The library's code for the processor in a source that nvcc compiles: every public header, and that
// matrix states, the part nvcc sees in a form of its own (core/pack.hpp), are what they should be.
#include <ebb/ebb.hpp>
#include <ebb/recurrence/backend/automatic.hpp>
#include <ebb/recurrence/backend/chunked.hpp>
#include <ebb/recurrence/backend/cuda.hpp>
#include <ebb/recurrence/backend/over_time.hpp>
#include <ebb/recurrence/backend/sequential_threads.hpp>
#include <ebb/recurrence/backend/threads.hpp>

#include "families.hpp"
#include "matrix_check.hpp"

namespace ebb::test {
namespace {

void check(report& results) {
  const auto there = [](const auto& values) { return values; };
  check_matrices<float>(results, "sequential, float", sequential{}, there);
  check_matrices<double>(results, "sequential, double", sequential{}, there);
}
const registered host({"host", check});

}  // namespace
}  // namespace ebb::test
