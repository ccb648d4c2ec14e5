// SPDX-License-Identifier: Apache-2.0
/// @file   support/model_oracle.hpp
/// @brief  The models by their published formulas, in long double, and calls of the library's in
///   one piece, in pieces and step by step.
#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <ebb/core/array.hpp>
#include <ebb/core/head_view.hpp>
#include <ebb/core/sequences.hpp>

namespace ebb::test {

using wide = long double;
using wide_row = std::vector<wide>;

/// Dense (batch, time, head, width) data of its own.
template <class T>
class tensor {
 public:
  explicit tensor(const head_extents& size)
      : size_(size),
        values_(static_cast<std::size_t>(size.batches * size.steps * size.heads * size.width)) {}
  /// Uniform random numbers in [low, high).
  tensor(const head_extents& size, std::mt19937_64& random, double low, double high)
      : tensor(size) {
    for (T& x : values_)
      x = static_cast<T>(low + (high - low) * static_cast<double>(random() >> 11) * 0x1p-53);
  }
  head_view<T> view() { return {values_.data(), size_}; }
  head_view<const T> view() const { return {values_.data(), size_}; }
  wide operator()(index_t b, index_t t, index_t h, index_t i) const {
    return static_cast<wide>(view()(b, t, h, i));
  }
  wide_row row(index_t b, index_t t, index_t h) const {
    wide_row result;
    for (index_t i = 0; i < size_.width; ++i) result.push_back((*this)(b, t, h, i));
    return result;
  }
  const std::vector<T>& values() const { return values_; }

 private:
  head_extents size_;
  std::vector<T> values_;
};

/// Steps of one batch entry of a view; a view that is left out stays so.
template <class T>
head_view<T> part(const head_view<T>& view, index_t b, index_t t, index_t count) {
  if (view.left_out()) return view;
  return {view.pointer(b, t, 0), {1, count, view.heads(), view.width()}, view.stride()};
}

inline wide wide_sigma(wide x) { return 1 / (1 + std::exp(-x)); }
inline wide wide_softplus(wide x) {
  return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
}
inline wide wide_dot(const wide_row& x, const wide_row& y) {
  wide sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
  return sum;
}
inline wide_row scaled(wide_row x, wide by) {
  for (wide& value : x) value *= by;
  return x;
}

/// What a model does at a step of a head: S = M S + k v^T, y = q^T S + skip * v.
struct model_step {
  std::vector<wide_row> M{}, M_size{};  ///< K x K, and a matrix at least as large in size
  wide_row k, v, q;
  wide decay_error = 0;  ///< largest |log w| times the relative error of log w in u
};

/// M = diag(w) + u z^T; what is not negative in it, in size.
inline void set_transition(model_step& step, const wide_row& w, const wide_row& u,
                           const wide_row& z) {
  const std::size_t K = w.size();
  step.M.assign(K, wide_row(K, 0));
  step.M_size = step.M;
  for (std::size_t i = 0; i < K; ++i)
    for (std::size_t j = 0; j < K; ++j) {
      const wide fix = u.empty() ? 0 : u[i] * z[j];
      step.M[i][j] = (i == j ? w[i] : 0) + fix;
      step.M_size[i][j] = (i == j ? std::abs(w[i]) : 0) + std::abs(fix);
    }
}

/// Outputs of one head, [t][i], and how large their errors may be in units of u.
struct model_truth {
  std::vector<wide_row> y, limit;
};

/// @param steps        T
/// @param at           step t of the head as a model_step
/// @param form_bound   n of the form, for T steps and K keys
template <class At>
model_truth truth_of_head(index_t steps, double form_bound, const At& at) {
  model_truth truth;
  std::vector<wide_row> S, size;
  wide roundings = form_bound + 32;  // and those of dt, the gate and the like
  for (index_t t = 0; t < steps; ++t) {
    const model_step step = at(t);
    const std::size_t K = step.k.size(), V = step.v.size();
    if (S.empty()) S.assign(K, wide_row(V, 0)), size = S;
    auto next = S, next_size = size;
    for (std::size_t j = 0; j < K; ++j)
      for (std::size_t i = 0; i < V; ++i) {
        next[j][i] = step.k[j] * step.v[i];
        next_size[j][i] = std::abs(next[j][i]);
        for (std::size_t l = 0; l < K; ++l) {
          next[j][i] += step.M[j][l] * S[l][i];
          next_size[j][i] += step.M_size[j][l] * size[l][i];
        }
      }
    S = next, size = next_size;
    roundings += step.decay_error;
    truth.y.emplace_back(V, 0);
    truth.limit.emplace_back(V, 0);
    for (std::size_t i = 0; i < V; ++i) {
      for (std::size_t j = 0; j < K; ++j) {
        truth.y.back()[i] += step.q[j] * S[j][i];
        truth.limit.back()[i] += std::abs(step.q[j]) * size[j][i];
      }
      truth.limit.back()[i] *= roundings;
    }
  }
  return truth;
}

/// The outputs of a head within their bounds, which leave room for less than everything.
template <class T>
void check_head(const tensor<T>& got, const model_truth& truth, index_t b, index_t h) {
  const wide u = static_cast<wide>(std::numeric_limits<T>::epsilon()) / 2;
  for (std::size_t t = 0; t < truth.y.size(); ++t)
    for (std::size_t i = 0; i < truth.y[t].size(); ++i) {
      const wide error =
          std::abs(got(b, static_cast<index_t>(t), h, static_cast<index_t>(i)) - truth.y[t][i]);
      INFO("b " << b << ", t " << t << ", h " << h << ", i " << i);
      CHECK(static_cast<double>(error) <= static_cast<double>(truth.limit[t][i] * u));
    }
}

/// Relative error of log w as filled, in u of T: rounded once from double; in double `of_double`.
template <class T>
double filled_error(double of_double) {
  return std::is_same_v<T, double> ? of_double : 1 + of_double * 0x1p-29;
}

/// Runs a model whole, in two pieces, and in a piece and then steps; each is handed to `check`.
///
/// @param size   of the outputs
/// @param state  H K V
/// @param run    run(part, outputs, sequences<T>): part(view) cuts an input for this call
/// @param step   step(part, outputs, position, state)
template <class T, class Run, class Step, class Check>
void each_way(const head_extents& size, index_t state, index_t first_position, const Run& run,
              const Step& step, const Check& check) {
  const std::vector<index_t> firsts(static_cast<std::size_t>(size.batches), first_position);
  tensor<T> whole(size);
  sequences<T> all;
  all.first_positions = firsts;
  run([](const auto& view) { return view; }, whole.view(), all);
  check(whole);

  for (const index_t cut : {index_t{1}, size.steps / 2, size.steps - 1}) {
    tensor<T> pieces(size), stepped(size);
    for (index_t b = 0; b < size.batches; ++b) {
      array<T> states(1, state);
      const auto piece = [&](tensor<T>& to, index_t from, index_t count) {
        const index_t position = first_position + from;
        sequences<T> where;
        where.first_positions = {&position, 1};
        if (from > 0) where.initial_states = states.view();
        where.final_states = states.view();
        run([&](const auto& view) { return part(view, b, from, count); },
            part(to.view(), b, from, count), where);
      };
      piece(pieces, 0, cut);
      piece(pieces, cut, size.steps - cut);
      piece(stepped, 0, cut);
      for (index_t t = cut; t < size.steps; ++t)
        step([&](const auto& view) { return part(view, b, t, 1); }, part(stepped.view(), b, t, 1),
             first_position + t, std::span<T>(states.data(), static_cast<std::size_t>(state)));
    }
    check(pieces);
    check(stepped);
  }
}

}  // namespace ebb::test
