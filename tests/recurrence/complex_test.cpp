// SPDX-License-Identifier: Apache-2.0
// Real decays of complex states: each part goes as a real state does, to the bit.
#include <doctest/doctest.h>

#include <complex>
#include <span>

#include <ebb/recurrence/backend/rows.hpp>

#include "support/scan_contract.hpp"

namespace {

using ebb::channel_major;
using ebb::index_t;
using ebb::time_major;

template <class Real, class Axis>
void check_parts() {
  for (const index_t channels : {1, 5, 16, 40, 1100}) {
    const ebb::extents size{1, channels > 1000 ? 40 : 700, channels};
    ebb::array<Real, Axis> re(size), im(size), re_out(size), im_out(size);
    const auto in = ebb::test::random_inputs<std::complex<Real>, Axis>(size, 31);
    for (index_t t = 0; t < size.steps; ++t)
      for (index_t k = 0; k < channels; ++k) re(t, k) = in(t, k).real(), im(t, k) = in(t, k).imag();
    const auto rates =
        ebb::rates_of<double>(ebb::geometric_spectrum::timescales(0.5, 1000), channels);
    const auto check = [&](const auto& decay) {
      for (const auto order : {ebb::direction::forward, ebb::direction::reverse}) {
        ebb::array<std::complex<Real>, Axis> out(size);
        ebb::scan(decay, in, out, {order}, ebb::rows{});
        ebb::scan(decay, re, re_out, {order}, ebb::rows{});
        ebb::scan(decay, im, im_out, {order}, ebb::rows{});
        bool same = true;
        for (index_t t = 0; t < size.steps; ++t)
          for (index_t k = 0; k < channels; ++k)
            same = same && out(t, k) == std::complex<Real>(re_out(t, k), im_out(t, k));
        CHECK(same);
      }
    };
    const std::span<const double> bind(rates);
    check(ebb::constant_decay().bind(bind));
    check(ebb::post_taper::relative(100).bind(bind));
    check(ebb::post_taper::absolute().bind(bind));
  }
}

TEST_CASE_TEMPLATE("real decays", Real, float, double) {
  check_parts<Real, time_major>();
  check_parts<Real, channel_major>();
}

}  // namespace
