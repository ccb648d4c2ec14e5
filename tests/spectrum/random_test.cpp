// SPDX-License-Identifier: Apache-2.0
// The generator against published outputs, and the draws against what they should look like.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include <ebb/spectrum/random.hpp>

namespace {

TEST_CASE("xoshiro256** gives the published outputs from the state 1, 2, 3, 4") {
  // The first outputs as listed in the test suites of several independent implementations.
  ebb::uniform_stream stream(std::array<std::uint64_t, 4>{1, 2, 3, 4});
  const std::uint64_t published[] = {11520u,
                                     0u,
                                     1509978240u,
                                     1215971899390074240u,
                                     1216172134540287360u,
                                     607988272756665600u,
                                     16172922978634559625u,
                                     8476171486693032832u,
                                     10595114339597558777u,
                                     2904607092377533576u};
  for (const std::uint64_t expected : published) CHECK(stream.bits() == expected);
}

TEST_CASE("the seed is expanded by splitmix64") {
  // Outputs of splitmix64 from the seed 1234567, as widely published.
  const std::array<std::uint64_t, 4> published{6457827717110365317u, 3203168211198807973u,
                                               9817491932198370423u, 4593380528125082431u};
  ebb::uniform_stream seeded(1234567u), given(published);
  for (int i = 0; i < 100; ++i) CHECK(seeded.bits() == given.bits());
}

TEST_CASE("a uniform number is the upper 53 bits plus one: never 0") {
  ebb::uniform_stream stream(std::array<std::uint64_t, 4>{1, 2, 3, 4});
  CHECK(stream.next() == 6 * 0x1p-53);  // 11520 / 2048 = 5.6
  CHECK(stream.next() == 0x1p-53);      // the output 0
}

TEST_CASE("uniform numbers are multiples of 2^-53 in (0, 1]") {
  ebb::uniform_stream stream(3);
  double sum = 0, square = 0, least = 1, most = 0;
  const int count = 100000;
  for (int i = 0; i < count; ++i) {
    const double u = stream.next();
    CHECK_UNARY(u > 0 && u <= 1 && std::ldexp(u, 53) == std::floor(std::ldexp(u, 53)));
    sum += u, square += u * u, least = std::min(least, u), most = std::max(most, u);
  }
  // Five standard deviations of the mean of u and of u^2.
  CHECK(std::abs(sum / count - 0.5) < 5 * std::sqrt(1.0 / 12 / count));
  CHECK(std::abs(square / count - 1.0 / 3) < 5 * std::sqrt(4.0 / 45 / count));
  CHECK(least < 1e-3);
  CHECK(most > 1 - 1e-3);
}

TEST_CASE("more channels keep the draws of fewer") {
  const ebb::random_log_uniform spectrum(1e-4, 1, 9);
  const auto few = ebb::rates_of<double>(spectrum, 10), more = ebb::rates_of<double>(spectrum, 20);
  CHECK(std::includes(more.begin(), more.end(), few.begin(), few.end()));
  CHECK(ebb::rates_of<double>(ebb::random_log_uniform(1e-4, 1, 10), 10) != few);
}

TEST_CASE("log-uniform rates fill the range evenly in the logarithm") {
  const auto rates = ebb::rates_of<double>(ebb::random_log_uniform(1e-4, 1, 4), 10000);
  // The count below the geometric middle is binomial(N, 1/2): five standard deviations.
  const auto below = std::lower_bound(rates.begin(), rates.end(), 1e-2) - rates.begin();
  CHECK(std::abs(static_cast<double>(below) - 5000) < 5 * 50);
  CHECK(rates.front() >= 1e-4);
  CHECK(rates.back() <= 1);
}

}  // namespace
