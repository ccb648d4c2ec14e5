// SPDX-License-Identifier: Apache-2.0
// Complex states in vectors against the loops of `rows`, to the bit.
#include <doctest/doctest.h>

#include <algorithm>
#include <complex>
#include <limits>
#include <span>
#include <vector>

#include <ebb/decay/irregular.hpp>
#include <ebb/recurrence/backend/simd.hpp>

#include "support/scan_contract.hpp"

namespace {

using ebb::decay_form;
using ebb::index_t;
using ebb::input_gain;

/// Numbers whose parts are of every kind.
template <class Real>
std::vector<std::complex<Real>> numbers_of_every_kind() {
  using limits = std::numeric_limits<Real>;
  const std::vector<Real> parts{Real(0),
                                Real(-0.0),
                                Real(1),
                                Real(-0.3),
                                Real(1e-7),
                                limits::min(),
                                limits::max(),
                                -limits::infinity(),
                                limits::quiet_NaN(),
                                limits::denorm_min()};
  std::vector<std::complex<Real>> result;
  for (const Real re : parts)
    for (const Real im : parts) result.emplace_back(re, im);
  return result;
}

template <class Real>
struct rows_of_numbers {
  std::vector<std::complex<Real>> values, wholes, states, inputs;

  explicit rows_of_numbers(index_t count) {
    const auto kinds = numbers_of_every_kind<Real>();
    ebb::test::draws random(5);
    const auto number = [&] {
      if (random.integer(0, 9) == 0)
        return kinds[static_cast<std::size_t>(
            random.integer(0, static_cast<index_t>(kinds.size()) - 1))];
      return ebb::test::random_number<std::complex<Real>>(random);
    };
    for (index_t i = 0; i < count; ++i) {
      values.push_back(number()), states.push_back(number()), inputs.push_back(number());
      const Real whole = random.integer(0, 1) == 0 ? Real(0) : Real(1);
      wholes.emplace_back(whole, whole);
    }
  }
  template <decay_form Form>
  auto weights(index_t from) const {
    if constexpr (Form == decay_form::factor)
      return values.data() + from;
    else
      return ebb::detail::complex_weights<Real>{values.data() + from, wholes.data() + from};
  }
};

template <class T>
bool same_numbers(const std::vector<T>& x, const std::vector<T>& y) {
  return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                    [](const T& a, const T& b) { return ebb::test::same_number(a, b); });
}

template <class Backend, decay_form Form, input_gain Gain, class Real>
auto walked(const rows_of_numbers<Real>& data, index_t from, index_t weight_row, index_t stride,
            index_t width, index_t count, bool far) {
  std::vector<std::complex<Real>> state(data.states.begin() + from,
                                        data.states.begin() + from + width);
  std::vector<std::complex<Real>> out(static_cast<std::size_t>(width * count) + 1, Real(-7));
  Backend::kernel::template rows<Form, Gain>(
      data.template weights<Form>(from), weight_row, state.data(), data.inputs.data() + from,
      width * stride, stride, out.data(), width, width, count, far);
  out.insert(out.end(), state.begin(), state.end());
  return out;
}

template <decay_form Form, input_gain Gain, class Real>
void check_rows() {
  const index_t longest = 600, count = 11;
  const rows_of_numbers<Real> data(2 * longest * count + 16);
  for (index_t width = 1; width <= longest; width += width < 40 ? 1 : 187)
    for (const bool constant : {true, false})
      for (const bool far : {true, false})
        for (const index_t stride : {1, 2}) {
          const index_t from = width % 7, row = constant ? 0 : width + 1;
          const auto right =
              walked<ebb::rows, Form, Gain>(data, from, row, stride, width, count, far);
          const auto got =
              walked<ebb::simd<>, Form, Gain>(data, from, row, stride, width, count, far);
          INFO("width " << width << ", constant " << constant << ", far " << far);
          CHECK(same_numbers(got, right));
          // Row by row, and what stands after the last one.
          CHECK(got[static_cast<std::size_t>(width * count)] == std::complex<Real>(-7));
        }
}

TEST_CASE_TEMPLATE("vectors take every state where the loops take it", Real, float, double) {
  check_rows<decay_form::factor, input_gain::one, Real>();
  check_rows<decay_form::factor, input_gain::one_minus_decay, Real>();
  check_rows<decay_form::log_factor, input_gain::one, Real>();
  check_rows<decay_form::log_factor, input_gain::one_minus_decay, Real>();
}

TEST_CASE_TEMPLATE("scans give the bits of rows", T, std::complex<float>, std::complex<double>) {
  for (const index_t channels : {1, 3, 4, 7, 8, 9, 16, 33, 130, 1100}) {
    const index_t steps = channels > 1000 ? 5 : 90;
    const ebb::extents size{2, steps, channels};
    const auto in = ebb::test::random_inputs<T, ebb::time_major>(size, 3);
    const auto factors = ebb::test::random_factors<T, ebb::time_major>(size, 4);
    const auto logs = ebb::test::random_logs<T, ebb::time_major>(size, 6);
    const auto real =
        ebb::rates_of<double>(ebb::geometric_spectrum::timescales(0.5, 300), channels);
    std::vector<std::complex<double>> turning;
    for (const double r : real) turning.emplace_back(r, 7 * r);
    const std::span<const std::complex<double>> rates(turning);
    ebb::array<double> intervals(ebb::extents{2, steps, 1});
    for (index_t i = 0; i < 2 * steps; ++i) intervals.data()[i] = 0.1 * static_cast<double>(i % 17);
    const auto check = [&](const auto& decay) {
      for (const auto order : {ebb::direction::forward, ebb::direction::reverse}) {
        ebb::array<T> right(size), got(size);
        ebb::scan(decay, in, right, {order}, ebb::rows{});
        ebb::scan(decay, in, got, {order}, ebb::simd<>{});
        CHECK(ebb::test::same_bits(right, got));
      }
    };
    check(ebb::stored_factors(factors));
    check(ebb::stored_logs(logs));
    check(ebb::constant_decay().bind(rates));
    check(ebb::irregular_decay(intervals).bind(rates));
    check(ebb::post_taper::relative(64).bind(std::span<const double>(real)));
  }
}

}  // namespace
