// SPDX-License-Identifier: Apache-2.0
// Memory to order: how many channels does a power law tau^-beta need, and which?
//
//   design                                 two orders, checked against the direct sum
//   design BETA T TOLERANCE [FAMILY]       one order; FAMILY is two_ended, minimax or position_adaptive
//   design --tables                        the tables of docs/designing-memory.md (a minute)
//   design --picture FOLDER                errors by channels, FOLDER/design.svg and .png
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include <ebb/approx/design.hpp>
#include <ebb/approx/fit.hpp>
#include <ebb/approx/position_weights.hpp>
#include <ebb/ebb.hpp>

#include "command_line/usage.hpp"
#include "drawing/gnuplot.hpp"
#include "drawing/text.hpp"

namespace {

using ebb::index_t;
using ebb::approx::memory_family;
using ebb::approx::power_law;

// The response to an input x, by definition: y_t = x_t + sum over j < t of (t - j)^-beta x_j.
std::vector<double> direct(const std::vector<double>& x, double beta) {
  std::vector<double> y;
  for (std::size_t t = 0; t < x.size(); ++t) {
    double sum = x[t];
    for (std::size_t j = 0; j < t; ++j) sum += std::pow(double(t - j), -beta) * x[j];
    y.push_back(sum);
  }
  return y;
}

// The same by N channels and a readout; the largest difference over the sum of |x|.
template <class Layer, class Readout>
double worst_difference(const Layer& memory, const Readout& readout, index_t steps) {
  std::vector<double> x, row(static_cast<std::size_t>(memory.channels()));
  for (index_t t = 0; t < steps; ++t) x.push_back(std::sin(0.37 * double(t * t % 2011)));
  const std::vector<double> exact = direct(x, 0.5);
  auto state = memory.start();
  double worst = 0, size = 1;
  for (index_t t = 0; t < steps; ++t) {
    const double input = x[std::size_t(t)];
    std::fill(row.begin(), row.end(), input);
    memory.step(std::span<const double>(row), state);
    double y = 0;
    readout.apply(t + 1, std::span<const double>(state.values), std::span<const double>(&input, 1),
                  std::span<double>(&y, 1));
    worst = std::max(worst, std::abs(y - exact[std::size_t(t)]) / size);
    size += std::abs(input);
  }
  return worst;
}

int demonstrate() {
  // [order]
  const auto memory = ebb::approx::design(power_law(0.5), 1e4, 1e-4);
  std::cout << memory.summary() << '\n';  // 12 channels, 7.9e-5

  const auto bank = ebb::make_layer<double>(memory.sum.spectrum(), ebb::constant_decay{},
                                            memory.channels, ebb::rows{});
  double total = 0;
  for (const double c : memory.sum.weights) total += c;
  const ebb::linear_readout<double> y(1, memory.sum.weights, {1 - total});  // lag 0 counts 1
  // [order]

  // [positions]
  const ebb::two_ended_spectrum spectrum(1e4);
  const auto tapered =
      ebb::make_layer<double>(spectrum, ebb::two_ended_taper(spectrum), 16, ebb::rows{});
  const auto fit = ebb::approx::fit_position_weights(tapered.decay(), power_law(0.5),
                                                     {.last = 10000, .degree = 2});
  const auto z = fit.readout<double>(tapered.decay(), 1);
  // [positions]
  std::cout << "16 tapered channels, one readout: " << drawing::significant(fit.error, 2)
            << " at every position up to 10000, weights up to "
            << drawing::significant(fit.weights_l1, 2) << '\n';

  // [samples]
  std::vector<double> lags, values;  // of a response that somebody measured, say
  for (int i = 1; i <= 200; ++i) {
    lags.push_back(0.5 * i);
    values.push_back(std::pow(1 + lags.back(), -1.5));
  }
  const auto fitted = ebb::approx::fit(lags, values, 6, {.non_negative = true});
  std::cout << fitted.sum.channels() << " channels, off by " << fitted.error.upper << '\n';
  // [samples]

  const double fixed = worst_difference(bank, y, 4000);
  const double adaptive = worst_difference(tapered, z, 4000);
  std::cout << "against the direct sum over 4000 steps, for inputs of sum 1: "
            << drawing::significant(fixed, 2) << " and " << drawing::significant(adaptive, 2)
            << '\n';
  return fixed <= memory.error_upper && adaptive <= fit.error && fitted.error.upper < 1e-4 ? 0 : 1;
}

memory_family family_of(std::string_view name) {
  if (name == "two_ended") return memory_family::two_ended;
  if (name == "minimax") return memory_family::minimax;
  if (name == "position_adaptive") return memory_family::position_adaptive;
  throw command_line::usage_error("no such family: " + std::string(name));
}

double number(const char* text) {
  char* end = nullptr;
  const double value = std::strtod(text, &end);
  if (end == text || *end != 0) throw command_line::usage_error(std::string("no number: ") + text);
  return value;
}

int order(double beta, double horizon, double tolerance, memory_family family) {
  const auto made = ebb::approx::design(power_law(beta), horizon, tolerance, {.family = family});
  std::cout << made.summary() << '\n';
  if (made.channels == 0) return 1;
  std::cout << "one channel less: no error below " << drawing::significant(made.fewer_lower, 4)
            << "\nsum of |weights|: " << drawing::significant(made.weights_l1, 4)
            << "\nrate, weight:\n";
  for (std::size_t k = 0; k < made.rates.size(); ++k) {
    std::cout << "  " << drawing::shortest(made.rates[k]);
    if (k < made.sum.weights.size()) std::cout << "  " << drawing::shortest(made.sum.weights[k]);
    std::cout << '\n';
  }
  return 0;
}

std::string cell(memory_family family, double beta, double horizon, double tolerance) {
  const auto made = ebb::approx::design(power_law(beta), horizon, tolerance, {.family = family});
  return made.channels == 0 ? "-" : std::to_string(made.channels);
}

void tables() {
  std::cout << "| beta | T | tolerance | minimax | two_ended | position_adaptive |\n"
               "|---:|---:|---:|---:|---:|---:|\n";
  for (const double beta : {0.5, 1.0})
    for (const double horizon : {1e2, 1e4, 1e6})
      for (const double tolerance : {1e-2, 1e-4, 1e-6}) {
        std::cout << "| " << drawing::shortest(beta) << " | " << drawing::shortest(horizon) << " | "
                  << drawing::shortest(tolerance) << " | "
                  << cell(memory_family::minimax, beta, horizon, tolerance) << " | "
                  << cell(memory_family::two_ended, beta, horizon, tolerance) << " | "
                  << (horizon > 1e5 && tolerance < 1e-5
                          ? std::string("")
                          : cell(memory_family::position_adaptive, beta, horizon, tolerance))
                  << " |\n"
                  << std::flush;
      }
  std::cout
      << "\n| channels | degree | error for all t to 1e5, beta = 0.5 | sum of weights | beta = 1 "
         "| sum of weights |\n|---:|---:|---:|---:|---:|---:|\n";
  for (const index_t channels : {8, 16, 24, 32})
    for (const int degree : {0, 1, 2, 4, 6}) {
      const ebb::two_ended_spectrum spectrum(1e5);
      const auto rates = ebb::rates_of<double>(spectrum, channels);
      const auto taper = ebb::two_ended_taper(spectrum).bind(std::span<const double>(rates));
      std::cout << "| " << channels << " | " << degree;
      for (const double beta : {0.5, 1.0}) {
        const auto fit = ebb::approx::fit_position_weights(taper, power_law(beta),
                                                           {.last = 100000, .degree = degree});
        std::cout << " | " << drawing::significant(fit.error, 2) << " | "
                  << drawing::significant(fit.weights_l1, 2);
      }
      std::cout << " |\n" << std::flush;
    }
}

int picture(const std::string& folder) {
  std::vector<drawing::series> all;
  const double horizon = 1e4;
  const power_law target(0.5);
  const auto add = [&](const std::string& title, const auto& error_of) {
    drawing::series line{title, {}};
    for (index_t n = 2; n <= 28; n += 2) line.points.push_back({double(n), error_of(n)});
    all.push_back(std::move(line));
  };
  const auto geometric = [&](double fast, double slow) {
    return [&target, horizon, fast, slow](index_t n) {
      const ebb::approx::exponential_basis basis(
          ebb::geometric_spectrum::extended(horizon, fast, slow), n);
      return ebb::approx::best_weights(basis, target, ebb::approx::lag_set::continuous(horizon))
          .error_upper;
    };
  };
  add("geometric on [1, T]", geometric(0, 0));
  add("fast end extended, A = 2", geometric(2, 0));
  add("both ends, A = 2, B = 1", geometric(2, 1));
  add("tapered, all t, one readout", [&](index_t n) {
    const ebb::two_ended_spectrum spectrum(horizon);
    const auto rates = ebb::rates_of<double>(spectrum, n);
    const auto taper = ebb::two_ended_taper(spectrum).bind(std::span<const double>(rates));
    double least = HUGE_VAL;
    for (const int degree : {1, 2, 4, 6})
      least = std::min(least, ebb::approx::fit_position_weights(
                                  taper, target, {.last = index_t(horizon), .degree = degree})
                                  .error);
    return least;
  });
  const auto best = ebb::approx::minimax_chain(target, 28, horizon);
  add("minimax", [&](index_t n) { return best[std::size_t(n - 1)].error_upper; });
  const std::string body =
      "set logscale y\nset format y '10^{%L}'\nset xlabel 'channels'\n"
      "set ylabel 'largest error, tau^{-1/2}, T = 10^4'\nset key inside bottom left\n" +
      drawing::plot_command(all);
  const std::vector<drawing::picture> pictures{
      drawing::make_picture("design", drawing::data_blocks(all), body)};
  std::string problem;
  const auto drawn = drawing::draw(pictures, folder, problem);
  if (!problem.empty()) std::cerr << problem << '\n';
  return drawn.empty() ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  return command_line::status_of("design", [&] {
    const std::string_view first = argc > 1 ? argv[1] : "";
    const std::string usage =
        "usage: design [BETA T TOLERANCE [two_ended|minimax|position_adaptive]]\n"
        "       design --tables | --picture FOLDER";
    if (argc == 1) return demonstrate();
    if (argc == 2 && (first == "--help" || first == "-h"))
      throw command_line::help_wanted(usage + '\n');
    if (argc == 2 && first == "--tables") return tables(), 0;
    if (argc == 3 && first == "--picture") return picture(argv[2]);
    if (argc == 4 || argc == 5)
      return order(number(argv[1]), number(argv[2]), number(argv[3]),
                   argc == 5 ? family_of(argv[4]) : memory_family::two_ended);
    throw command_line::usage_error(usage);
  });
}
