// SPDX-License-Identifier: Apache-2.0
// The way back as a scan of its own: the same gradients of inputs and initial states as beside
// those of a decay.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <ebb/decay/constant.hpp>
#include <ebb/decay/post.hpp>
#include <ebb/recurrence/backend/threads.hpp>
#include <ebb/recurrence/vjp.hpp>
#include <ebb/spectrum/geometric.hpp>

#include "support/scan_contract.hpp"

namespace {

using ebb::channel_major;
using ebb::direction;
using ebb::extents;
using ebb::index_t;
using ebb::scan_cotangents;
using ebb::scan_gradients;
using ebb::sequences;
using ebb::time_major;
namespace test = ebb::test;

/// Empty sequences, of one step, of two, and longer ones, with padding around them.
const std::vector<index_t> offsets{2, 2, 3, 5, 40, 71};
constexpr extents size{2, 75, 9};
constexpr index_t count = 5, all = index_t{2} * 75 * 9, states = 2 * count * 9;

template <class T, class Axis>
struct problem {
  ebb::array<T, Axis> b = test::random_inputs<T, Axis>(size, 1), h{size},
                      dh = test::random_inputs<T, Axis>(size, 2);
  ebb::array<T> last = test::random_inputs<T, time_major>({2, count, size.channels}, 3);
  std::vector<std::uint8_t> flags = test::random_resets(size, 4);
  std::vector<index_t> first = std::vector<index_t>(2 * count, 30);

  sequences<T> where(bool resets) const {
    sequences<T> result{.offsets = offsets, .first_positions = first};
    if (resets) result.resets = flags;
    return result;
  }
};

/// Gradients of inputs and initial states, padding at -7.
template <class T, class Axis>
struct result {
  ebb::array<T, Axis> inputs{size};
  ebb::array<T> initial{extents{2, count, size.channels}};

  result() {
    for (index_t i = 0; i < all; ++i) inputs.data()[i] = T(-7);
  }
};

template <class T, class Axis, class Decay, class Backend>
result<T, Axis> back(const problem<T, Axis>& p, const Decay& decay, direction order, bool resets,
                     const Backend& backend) {
  result<T, Axis> got;
  ebb::scan_vjp(
      decay, p.b, p.h, scan_cotangents<T, T, Axis>{p.dh.view(), p.last.view(), {}},
      scan_gradients<T, ebb::no_gradients, T, Axis>{got.inputs.view(), got.initial.view(), nullptr},
      p.where(resets), {order}, backend);
  return got;
}

/// The same beside the gradients of the decay.
template <class T, class Axis, class Decay>
result<T, Axis> beside(const problem<T, Axis>& p, const Decay& decay, direction order, bool resets,
                       typename Decay::gradients sums) {
  result<T, Axis> got;
  ebb::scan_vjp(decay, p.b, p.h, scan_cotangents<T, T, Axis>{p.dh.view(), p.last.view(), {}},
                scan_gradients<T, typename Decay::gradients, T, Axis>{got.inputs.view(),
                                                                      got.initial.view(), &sums},
                p.where(resets), {order});
  return got;
}

TEST_CASE_TEMPLATE("the bits of the gradients beside those of a decay", Axis, time_major,
                   channel_major) {
  const problem<float, Axis> p;
  const auto factors = test::random_factors<float, Axis>(size, 5);
  const auto logs = test::random_logs<float, time_major>(size, 6);
  const auto rates =
      ebb::rates_of<double>(ebb::geometric_spectrum::extended(50, 1, 1), size.channels);
  ebb::array<float, Axis> d_factors(size);
  ebb::array<float> d_logs(size);
  std::vector<double> d_rates(rates.size());
  for (const direction order : {direction::forward, direction::reverse})
    for (const bool resets : {false, true}) {
      const auto check = [&](const auto& decay, const auto& sums) {
        const auto right = beside(p, decay, order, resets, sums);
        const auto got = back(p, decay, order, resets, ebb::rows{});
        CHECK(test::same_bits(got.inputs, right.inputs));
        CHECK(test::same_bits(got.initial, right.initial));
        const auto threaded = back(p, decay, order, resets, ebb::threads<ebb::rows>(2, {}, 1));
        CHECK(test::same_bits(threaded.inputs, right.inputs));
      };
      const auto stored = ebb::stored_factors(factors);
      check(stored, typename decltype(stored)::gradients{d_factors.view()});
      const auto stored_logs = ebb::stored_logs(logs);
      check(stored_logs, typename decltype(stored_logs)::gradients{d_logs.view()});
      const auto constant = ebb::constant_decay().bind(std::span<const double>(rates));
      check(constant, typename decltype(constant)::gradients{d_rates});
    }
}

TEST_CASE("tapered decays, within the bounds of both ways") {
  // x <= 1: a step of either way errs by 6 roundings, and by 10 u x from its polynomial.
  problem<float, time_major> p;
  const auto rates =
      ebb::rates_of<double>(ebb::geometric_spectrum::timescales(1, 50), size.channels);
  const auto decay = ebb::post_taper::relative(20).bind(std::span<const double>(rates));
  std::vector<double> d_rates(rates.size());
  const typename decltype(decay)::gradients sums{.rates = d_rates};
  for (const direction order : {direction::forward, direction::reverse}) {
    const auto right = beside(p, decay, order, true, sums);
    const auto got = back(p, decay, order, true, ebb::rows{});
    problem<float, time_major> sizes = p;
    for (index_t i = 0; i < all; ++i) sizes.dh.data()[i] = std::abs(p.dh.data()[i]);
    for (index_t i = 0; i < states; ++i) sizes.last.data()[i] = std::abs(p.last.data()[i]);
    const auto most = beside(sizes, decay, order, true, sums);
    const double u = std::numeric_limits<float>::epsilon() / 2;
    bool within = true;
    for (index_t i = 0; i < all; ++i)
      within = within && std::abs(double(got.inputs.data()[i]) - double(right.inputs.data()[i])) <=
                             (22 * 35 + 4) * u * std::abs(double(most.inputs.data()[i]));
    CHECK(within);
  }
}

TEST_CASE("in place of the cotangents, by any backend") {
  problem<double, time_major> p;
  const auto factors = test::random_factors<double, time_major>(size, 5);
  const auto right = back(p, ebb::stored_factors(factors), direction::forward, true, ebb::rows{});
  auto place = p.dh;
  const auto keep = p.dh;
  ebb::scan_vjp(factors, p.b, p.h, scan_cotangents<double>{place.view(), p.last.view(), {}},
                scan_gradients<double>{place.view(), {}, nullptr}, p.where(true));
  bool same = true;
  for (index_t b = 0; b < 2; ++b)
    for (index_t t = 0; t < size.steps; ++t)
      for (index_t k = 0; k < size.channels; ++k) {
        const bool covered = t >= offsets.front() && t < offsets.back();
        same = same && place(b, t, k) == (covered ? right.inputs(b, t, k) : keep(b, t, k));
      }
  CHECK(same);
}

}  // namespace
