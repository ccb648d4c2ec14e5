// SPDX-License-Identifier: Apache-2.0
// The gradients of matrix states against differences of the loss in 50 digits: of every number that
// a call reads, and of the parameters of decays.
#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <vector>

#include <ebb/decay/constant.hpp>
#include <ebb/decay/post.hpp>
#include <ebb/decay/selective.hpp>

#include "support/exact.hpp"
#include "support/matrix_vjp_contract.hpp"

namespace {

using ebb::decay_per;
using ebb::index_t;
using ebb::test::exact;
using ebb::test::matrix_rule;
using ebb::test::matrix_vjp_case;
namespace test = ebb::test;

/// The slope of a loss along a number: (f(x + d) - f(x - d)) / (2 d), off by d^2 |f'''| / 6. With
/// d = 1e-14 that is 1e-28 of a third derivative, and roundings are 1e-49 / d = 1e-35 of the loss.
template <class Loss>
exact slope(exact& x, const Loss& loss) {
  const exact d("1e-14"), middle = x;
  x = middle + d;
  const exact above = loss();
  x = middle - d;
  const exact below = loss();
  x = middle;
  return exact((above - below) / (2 * d));
}

matrix_vjp_case small(matrix_rule rule, decay_per decays, bool logs) {
  matrix_vjp_case of{.rule = rule, .steps = 6, .heads = 2, .keys = 3, .values = 2};
  of.query_heads = 1, of.removal_heads = 1, of.correction_heads = 2;
  of.decays = decays, of.logs = logs, of.weighing = true, of.skip = 4;
  of.unit_queries = 0.1, of.unit_keys = 0, of.unit_removals = 1e-2;
  of.offsets = {0, 4, 6}, of.kept = {1, 3}, of.resets = {0, 0, 1, 0, 0, 0};
  return of;
}

template <class F>
void each_small(const F& f) {
  for (const matrix_rule rule :
       {matrix_rule::outer, matrix_rule::gated, matrix_rule::corrections, matrix_rule::rates})
    for (const decay_per decays : {decay_per::head, decay_per::key})
      for (const bool logs : {false, true}) f(small(rule, decays, logs));
}

/// -inf is a decay of 0, which has no slope along its logarithm.
bool differentiable(const exact& x) { return x > exact(-1e30); }

// The truth of the other tests, so that it need not be trusted; and the code itself.
TEST_CASE("every gradient is the slope of the loss") {
  std::uint64_t seed = 300;
  each_small([&](const matrix_vjp_case& of) {
    test::matrix_vjp_call<double, double> call(of, test::random_arrays<double, double>(of, ++seed));
    call.run();
    auto in = test::widened_arrays<exact>(of, call.numbers);
    auto truth = test::matrix_truth<exact>(of, call.numbers);
    auto slopes = test::arrays_of<test::bounded<long double>>(of, {});
    std::vector<test::head_array<test::bounded<exact>>*> right;
    truth.each([&](const char*, auto& array) { right.push_back(&array); });
    std::vector<test::head_array<test::bounded<long double>>*> found;
    slopes.each([&](const char*, auto& array) { found.push_back(&array); });
    std::size_t which = 0, nonzero = 0;
    in.each([&](const char* name, test::head_array<exact>& array) {
      INFO(name << " of rule " << static_cast<int>(of.rule));
      exact worst = 0;
      for (std::size_t n = 0; n < array.numbers.size(); ++n) {
        const auto& expected = right[which]->numbers[n];
        exact difference = 0;
        if (differentiable(array.numbers[n]))
          difference = slope(array.numbers[n], [&] { return test::matrix_loss(of, in); });
        nonzero += difference != 0;
        // Third derivatives: sums of products of up to 6 steps, of rows of which three factors are
        // replaced, a unit row's derivatives at most 30 |x|^-3 < 1e6 times as large: below 1e9.
        const exact error = abs(difference - expected.value) / (1 + expected.size);
        if (error > worst) worst = error;
        found[which]->numbers[n] = {difference.convert_to<long double>(),
                                    expected.size.convert_to<long double>()};
      }
      CHECK(worst < exact("1e-19"));
      ++which;
    });
    CHECK(nonzero > 100);
    call.compare(slopes);  // 1e-19 is below all that double is allowed
  });
}

/// Fills the decays of a wide call from parameters, and gives its loss.
struct parameters {
  std::vector<exact> rates{}, alpha{}, bias{}, raw{};
};
using filler =
    std::function<exact(const parameters&, index_t t, index_t position, index_t channel)>;

/// One call with a bound decay, against slopes along its parameters.
template <class T, class Decay>
void check_parameters(const matrix_vjp_case& of, const Decay& decay, const parameters& at,
                      const filler& log_decay, typename Decay::gradients sums,
                      const std::vector<std::pair<const double*, std::vector<exact>*>>& wanted,
                      parameters& moving) {
  auto numbers = test::random_arrays<T, T>(of, 401);
  test::matrix_vjp_call<T, T> call(of, numbers);
  call.run(decay, sums);
  auto in = test::widened_arrays<exact>(of, numbers);
  const auto where = of.where<T>();
  moving = at;
  const auto loss = [&] {
    for (index_t s = 0; s < of.count(); ++s)
      for (index_t t = where.begin(s); t < where.end(s, of.steps); ++t)
        for (index_t h = 0; h < of.heads; ++h)
          for (index_t j = 0; j < in.decays.size.width; ++j)
            in.decays(0, t, h, j) =
                log_decay(moving, t, where.first_position(0, s) + t - where.begin(s),
                          h * in.decays.size.width + j);
    return test::matrix_loss(of, in);
  };
  loss();
  // dL/dp = sum of dL/dlog a times dlog a/dp: it errs by the roundings of each dL/dlog a, of log a
  // itself (rounded to T it moves a product of decays by less than 4 u a step), and a few of double.
  auto filled = test::arrays_of<double>(of, 0);
  filled = numbers;
  for (std::size_t n = 0; n < in.decays.numbers.size(); ++n)
    filled.decays.numbers[n] = in.decays.numbers[n].template convert_to<double>();
  const auto truth = test::matrix_truth<long double>(of, filled);
  const auto size_of = [&](std::size_t k, bool one) {  // of the channel's decays, or of one
    long double size = one ? truth.decays.numbers[k].size : 0;
    if (one) return static_cast<double>(size);
    for (std::size_t i = k; i < truth.decays.numbers.size(); i += at.rates.size())
      size += truth.decays.numbers[i].size;
    return static_cast<double>(size);
  };
  const double u = std::numeric_limits<T>::epsilon() / 2;
  const double n = test::matrix_vjp_roundings(of) + 4 * static_cast<double>(of.steps) + 60;
  for (const auto& pair : wanted) {
    const double* const got = pair.first;
    std::vector<exact>* const numbers_of = pair.second;
    for (std::size_t k = 0; k < numbers_of->size(); ++k) {
      const auto right = slope((*numbers_of)[k], loss).template convert_to<double>();
      // |dlog a / dp| is at most 3 for every parameter here.
      const bool by_step = numbers_of == &moving.raw;
      const double allowed = std::expm1(n * std::log1p(u)) * 3 * size_of(k, by_step);
      INFO("parameter " << k << ": " << got[k] << " for " << right);
      CHECK(std::abs(got[k] - right) <= allowed);
      if (!by_step) CHECK(std::abs(right) > 10 * allowed);
    }
  }
}

template <class T>
void check_all_parameters() {
  for (const decay_per decays : {decay_per::head, decay_per::key})
    for (const matrix_rule rule :
         {matrix_rule::outer, matrix_rule::gated, matrix_rule::corrections}) {
      matrix_vjp_case of{.rule = rule, .steps = 40, .heads = 2, .keys = 2, .values = 3};
      of.removal_heads = 1, of.decays = decays, of.logs = true;
      of.offsets = {1, 36, 40}, of.first = {3, 1};
      if (sizeof(T) < 8) of.steps = 9, of.offsets = {1, 6, 9};  // so that float can tell
      const std::size_t C = decays == decay_per::head ? 2 : 4;
      const std::vector<double> rates =
          C == 2 ? std::vector<double>{0.1, 0.7} : std::vector<double>{0.05, 0.1, 0.3, 0.7};
      parameters at, moving;
      at.rates.assign(rates.begin(), rates.end());
      std::vector<double> d_rates(C), d_alpha(C), d_bias(C);
      const auto log_time = [](index_t position) { return log(exact(position)); };

      const auto constant = ebb::constant_decay().bind(std::span<const double>(rates));
      check_parameters<T>(
          of, constant, at,
          [](const parameters& p, index_t, index_t, index_t c) {
            return exact(-p.rates[std::size_t(c)]);
          },
          {d_rates}, {{d_rates.data(), &moving.rates}}, moving);

      const auto taper = ebb::post_taper::absolute().bind(std::span<const double>(rates));
      at.alpha.assign(taper.alpha().begin(), taper.alpha().end());
      const auto tapered = [&](const parameters& p, index_t position, std::size_t c) {
        return exact(exp(exact(-p.alpha[c] * log_time(position))));
      };
      std::fill(d_rates.begin(), d_rates.end(), 0);
      check_parameters<T>(
          of, taper, at,
          [&](const parameters& p, index_t, index_t position, index_t c) {
            return exact(-p.rates[std::size_t(c)] * tapered(p, position, std::size_t(c)));
          },
          {d_rates, d_alpha}, {{d_rates.data(), &moving.rates}, {d_alpha.data(), &moving.alpha}},
          moving);

      ebb::array<double> raw(of.steps, static_cast<index_t>(C)), d_raw(raw.size());
      test::draws random(402);
      for (std::size_t n = 0; n < std::size_t(of.steps) * C; ++n)
        raw.data()[n] = random.uniform(-2, 1);
      at.raw.assign(raw.data(), raw.data() + std::size_t(of.steps) * C);
      at.bias.assign(C, exact(0.25));
      const std::vector<double> bias(C, 0.25);
      const auto selective =
          ebb::selective_decay(raw).with_bias(bias).bind(std::span<const double>(rates));
      std::fill(d_rates.begin(), d_rates.end(), 0);
      check_parameters<T>(
          of, selective, at,
          [&](const parameters& p, index_t t, index_t, index_t c) {
            const auto k = std::size_t(c);
            const exact x = p.raw[std::size_t(t) * C + k] + p.bias[k];
            return exact(-p.rates[k] * log1p(exact(exp(x))));
          },
          {.rates = d_rates, .raw = d_raw.view(), .bias = d_bias},
          {{d_rates.data(), &moving.rates},
           {d_bias.data(), &moving.bias},
           {d_raw.data(), &moving.raw}},
          moving);
    }
}

TEST_CASE("parameters of decays") {
  check_all_parameters<double>();
  check_all_parameters<float>();
}

}  // namespace
