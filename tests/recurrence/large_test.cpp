// SPDX-License-Identifier: Apache-2.0
// More than 2^31 elements: offsets far into a sparse mapping, of which only the ends are touched.
#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include <ebb/decay/constant.hpp>
#include <ebb/recurrence/backend/reference.hpp>
#include <ebb/recurrence/scan.hpp>

#if defined(__linux__)
#include <sys/mman.h>

namespace {

using ebb::channel_major;
using ebb::extents;
using ebb::index_t;
using ebb::time_major;

/// Zeros that take memory only where they are written.
class sparse_floats {
 public:
  explicit sparse_floats(index_t count)
      : bytes_(static_cast<std::size_t>(count) * sizeof(float)),
        data_(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {}
  sparse_floats(const sparse_floats&) = delete;
  sparse_floats& operator=(const sparse_floats&) = delete;
  ~sparse_floats() {
    if (good()) munmap(data_, bytes_);
  }
  bool good() const { return data_ != MAP_FAILED; }
  float* data() const { return static_cast<float*>(data_); }

 private:
  std::size_t bytes_;
  void* data_;
};

template <class Backend, class Axis>
void check_far(const extents& size) {
  sparse_floats memory(size.batches * size.steps * size.channels);
  if (!memory.good()) {
    MESSAGE("skipped: no address space for " << size.steps << " steps");
    return;
  }
  const ebb::strided_view<float, Axis> data(memory.data(), size);
  const index_t b = size.batches - 1, last = size.channels - 1;
  for (index_t t = size.steps - 3; t < size.steps; ++t) data(b, t, last) = 1;
  // The first entries have no steps, the last one three at its far end, in both directions.
  const std::vector<index_t> offsets{size.steps - 3, size.steps};
  const std::vector<double> rates(static_cast<std::size_t>(size.channels), std::log(2.0));
  const auto decay = ebb::constant_decay().bind(std::span<const double>(rates));
  const std::vector<index_t> first(static_cast<std::size_t>(size.batches), index_t{1} << 40);
  const ebb::sequences<float> where{.offsets = offsets, .first_positions = first};
  ebb::scan(decay, data, data, where, {}, Backend{});
  CHECK(data(b, size.steps - 3, last) == 1);
  CHECK(data(b, size.steps - 2, last) == doctest::Approx(1.5));
  CHECK(data(b, size.steps - 1, last) == doctest::Approx(1.75));
  CHECK(data(b, size.steps - 4, last) == 0);
}

TEST_CASE_TEMPLATE("T x N above 2^31", Backend, ebb::rows, ebb::reference) {
  check_far<Backend, time_major>({1, (index_t{1} << 33) + 5, 1});
  check_far<Backend, time_major>({1, (index_t{1} << 28) + 5, 9});
  check_far<Backend, channel_major>({1, (index_t{1} << 32) + 5, 2});
  check_far<Backend, time_major>({3, (index_t{1} << 31) + 1, 1});
}

}  // namespace
#endif
