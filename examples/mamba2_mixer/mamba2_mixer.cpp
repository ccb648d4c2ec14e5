// SPDX-License-Identifier: Apache-2.0
// The mixer of one layer of Mamba-2 180M, native and tapered: a prompt, then token by token, beside
// a plain loop over tokens. Weights and data are random; outputs are checked against double.
//
//   mamba2_mixer [length of the prompt, 512]
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <span>
#include <vector>

#include <ebb/ebb.hpp>

namespace {

using ebb::head_view;
using ebb::index_t;

constexpr index_t heads = 24, width = 64, states = 128, tokens = 64;
constexpr double horizon = 2048;      // the length of training
constexpr index_t longest = 1 << 17;  // about 2 GB of arrays

std::vector<float> random_numbers(index_t count, float low, float high, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> result;
  for (index_t i = 0; i < count; ++i)
    result.push_back(low + (high - low) * static_cast<float>(random() >> 8) * 0x1p-24f);
  return result;
}

// What a layer's projections and convolution would hand to the mixer, for all steps.
struct layer_inputs {
  index_t steps;
  std::vector<float> x, B, C, z, dt, D;

  explicit layer_inputs(index_t length)
      : steps(length),
        x(random_numbers(length * heads * width, -1, 1, 1)),
        B(random_numbers(length * states, -1, 1, 2)),
        C(random_numbers(length * states, -1, 1, 3)),
        z(random_numbers(length * heads * width, -3, 3, 4)),
        dt(random_numbers(length * heads, -2, 2, 5)),
        D(random_numbers(heads, 0.5f, 1.5f, 6)) {}

  head_view<const float> dt_view() const { return {dt.data(), {1, steps, heads, 1}}; }
  ebb::mamba2_arrays<float> arrays(std::vector<float>& y) const {
    return {.x = {x.data(), {1, steps, heads, width}},
            .B = {B.data(), {1, steps, 1, states}},
            .C = {C.data(), {1, steps, 1, states}},
            .y = {y.data(), {1, steps, heads, width}},
            .z = {z.data(), {1, steps, heads, width}},
            .D = D};
  }
};

// The same by the formula, token after token.
/// @param taper  exponents of t for each head; zeros: native
template <class Real>
std::vector<Real> plain_loop(const layer_inputs& in, const std::vector<double>& rates,
                             const std::vector<float>& bias, const std::vector<double>& taper) {
  std::vector<Real> state(static_cast<std::size_t>(heads * states * width)), y(in.x.size());
  for (index_t t = 0; t < in.steps; ++t)
    for (index_t h = 0; h < heads; ++h) {
      const auto head = static_cast<std::size_t>(h);
      const double raw = static_cast<double>(in.dt[static_cast<std::size_t>(t * heads + h)]) +
                         static_cast<double>(bias[head]);
      const double dt = std::log1p(std::exp(raw));
      const auto a = static_cast<Real>(std::exp(
          -rates[head] * dt * std::exp(-taper[head] * std::log(static_cast<double>(t + 1)))));
      const float* const x = in.x.data() + (t * heads + h) * width;
      const float* const z = in.z.data() + (t * heads + h) * width;
      Real* const out = y.data() + (t * heads + h) * width;
      std::fill_n(out, width, Real(0));
      for (index_t n = 0; n < states; ++n) {
        Real* const row = state.data() + (h * states + n) * width;
        const auto written = static_cast<Real>(dt) *
                             static_cast<Real>(in.B[static_cast<std::size_t>(t * states + n)]);
        const auto read = static_cast<Real>(in.C[static_cast<std::size_t>(t * states + n)]);
        for (index_t i = 0; i < width; ++i) {
          row[i] = a * row[i] + written * static_cast<Real>(x[i]);
          out[i] += read * row[i];
        }
      }
      for (index_t i = 0; i < width; ++i) {
        const auto gate = static_cast<Real>(z[i]);
        out[i] = (out[i] + static_cast<Real>(in.D[head]) * static_cast<Real>(x[i])) * gate /
                 (Real(1) + std::exp(-gate));
      }
    }
  return y;
}

template <class F>
double seconds(const F& f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Prefill and decode with a decay; the outputs against those in double. Whether they agree.
template <class Decay>
bool run(const char* name, const layer_inputs& in, index_t prompt, Decay decay,
         const std::vector<double>& rates, const std::vector<float>& bias,
         const std::vector<double>& taper) {
  std::vector<float> y(in.x.size());
  const auto all = in.arrays(y);
  const auto steps_of = [&](index_t first, index_t count) {
    auto part = all;
    part.x = all.x.steps_from(first, count), part.B = all.B.steps_from(first, count);
    part.C = all.C.steps_from(first, count), part.z = all.z.steps_from(first, count);
    part.y = all.y.steps_from(first, count);
    return part;
  };
  std::vector<float> state(static_cast<std::size_t>(heads * states * width));

  const double prefill = seconds([&] {
    // [prefill]
    // The whole prompt, from position 1 and state 0; the state after it is kept.
    ebb::sequences<float> where;
    where.final_states = {state.data(), 1, static_cast<index_t>(state.size())};
    decay.read_from(in.dt_view().steps_from(0, prompt).channels());
    ebb::mamba2(decay, steps_of(0, prompt), where);
    // [prefill]
  });
  const double decode = seconds([&] {
    // [decode]
    // Token by token, in place; positions go on counting.
    for (index_t t = prompt; t < prompt + tokens; ++t) {
      decay.read_from(in.dt_view().steps_from(t, 1).channels());
      ebb::step(decay, t + 1, steps_of(t, 1), std::span<float>(state));
    }
    // [decode]
  });

  std::vector<float> plain;
  const double loop = seconds([&] { plain = plain_loop<float>(in, rates, bias, taper); });
  const std::vector<double> truth = plain_loop<double>(in, rates, bias, taper);
  double largest = 0, error = 0;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    largest = std::max(largest, std::abs(truth[i]));
    const double one = std::abs(static_cast<double>(y[i]) - truth[i]);
    error = one <= error ? error : one;  // NaN is an error
  }
  const bool good = error <= 1e-5 * largest;
  std::printf(
      "%-8s prefill %7.0f tokens/s  decode %7.0f tokens/s  plain loop %7.0f tokens/s  "
      "error / max |y| %.1e  %s\n",
      name, static_cast<double>(prompt) / prefill, static_cast<double>(tokens) / decode,
      static_cast<double>(in.steps) / loop, error / largest, good ? "ok" : "FAILED");
  return good;
}
}  // namespace

int main(int argc, char** argv) {  // NOLINT(bugprone-exception-escape): it is a failed example
  char* end = nullptr;
  const index_t prompt = argc > 1 ? std::strtol(argv[1], &end, 10) : 512;
  if (prompt < 1 || prompt > longest || (end != nullptr && *end != '\0') || argc > 2) {
    std::fprintf(stderr, "usage: mamba2_mixer [length of the prompt, 1 .. %td]\n", longest);
    return 2;
  }
  const layer_inputs in(prompt + tokens);

  // As the model is initialised: A uniform on [1, 16], dt log-uniform on [0.001, 0.1].
  std::vector<float> A_log, dt_bias;
  std::vector<double> native_rates;
  for (const float u : random_numbers(heads, 0, 1, 7)) {
    A_log.push_back(std::log(1 + 15 * u));
    native_rates.push_back(std::exp(static_cast<double>(A_log.back())));
  }
  for (const float u : random_numbers(heads, 0, 1, 8))
    dt_bias.push_back(ebb::inverse_softplus(0.001f * std::pow(100.0f, u)));
  // [native]
  const auto native =
      ebb::mamba2_decay(A_log, ebb::raw_steps<float>{.raw = in.dt_view(), .bias = dt_bias});
  // [native]

  // [tapered]
  // The learned parameters; here, those that the model starts from.
  const auto start = ebb::rates_of<double>(ebb::mamba2_post_initial(horizon), heads);
  const auto spectrum = ebb::ordered_spectrum<>::from_rates(std::span<const double>(start));
  const std::vector<float> bias(heads, ebb::inverse_softplus(0.05f));
  const auto tapered =
      ebb::mamba2_post_decay(spectrum, ebb::post_taper::absolute_by_gaps(horizon),
                             ebb::raw_steps<float>{.raw = in.dt_view(), .bias = bias});
  // [tapered]
  // Equal gaps: exponents fall linearly.
  std::vector<double> alpha;
  for (index_t h = 0; h < heads; ++h)
    alpha.push_back(static_cast<double>(heads - 1 - h) / static_cast<double>(heads - 1));

  bool good =
      run("native", in, prompt, native, native_rates, dt_bias, std::vector<double>(heads, 0.0));
  good = run("tapered", in, prompt, tapered, start, bias, alpha) && good;
  return good ? 0 : 1;
}
