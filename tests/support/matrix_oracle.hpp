// SPDX-License-Identifier: Apache-2.0
/// @file   support/matrix_oracle.hpp
/// @brief  The recurrences with matrix states in long double, with their majorants, and the check
///   against a form's bound.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <ebb/core/storage.hpp>
#include <ebb/recurrence/matrix.hpp>

#include "support/matrix_case.hpp"

namespace ebb::test {

/// A number, and the same from absolute values of all that made it.
struct sized {
  long double value = 0, majorant = 0;
};

/// What a call has to give.
struct matrix_truth {
  std::vector<sized> outputs;    ///< (B, T, H, V)
  std::vector<index_t> walked;   ///< (B, T): how many steps of its sequence so far; 0 in padding
  std::vector<sized> last;       ///< (B, S, H K V)
  std::vector<sized> snapshots;  ///< (B, M, H K V)
  std::vector<index_t> lengths;  ///< (S)
  long double largest = 1;       ///< finite number of the majorant, or 1

  void meet(long double x) {
    if (std::isfinite(x)) largest = std::max(largest, std::abs(x));
  }
};

/// The recurrence by its formulas, the decays as the form receives them.
template <class State, class Decay, class Data>
class matrix_oracle {
 public:
  matrix_oracle(const Decay& decay, const Data& data, const sequences<State>& where)
      : decay_(decay), data_(data), where_(where) {}

  matrix_truth run() {
    const auto n = [](index_t count) { return static_cast<std::size_t>(count); };
    const index_t B = data_.outputs.batches(), T = data_.outputs.steps();
    truth_.outputs.resize(n(B * T * heads_ * lanes_));
    truth_.walked.resize(n(B * T));
    truth_.last.resize(n(B * where_.count() * numbers_));
    truth_.snapshots.resize(n(B * static_cast<index_t>(where_.snapshot_steps.size()) * numbers_));
    for (index_t s = 0; s < where_.count(); ++s)
      truth_.lengths.push_back(where_.end(s, T) - where_.begin(s));
    for (index_t b = 0; b < B; ++b)
      for (index_t s = 0; s < where_.count(); ++s)
        for (index_t h = 0; h < heads_; ++h) walk(b, s, h);
    return truth_;
  }

 private:
  using Wide = long double;
  using row = std::vector<sized>;

  template <class T>
  static Wide wide(const T& x) {
    return static_cast<Wide>(static_cast<State>(x));
  }
  sized& state(index_t j, index_t i) { return state_[static_cast<std::size_t>(j * lanes_ + i)]; }

  template <class View>
  row read(const View& view, index_t b, index_t t, index_t h, std::optional<double> epsilon = {}) {
    const index_t group = heads_ / view.heads();
    row result(static_cast<std::size_t>(keys_));
    Wide square = epsilon ? static_cast<Wide>(*epsilon) : 0;
    for (index_t j = 0; j < keys_; ++j) {
      const Wide x = wide(view(b, t, h / group, j));
      result[static_cast<std::size_t>(j)] = {x, std::abs(x)};
      square += x * x;
    }
    if (epsilon)
      for (sized& x : result) x.value /= std::sqrt(square), x.majorant /= std::sqrt(square);
    for (const sized& x : result) truth_.meet(x.majorant);
    return result;
  }

  void walk(index_t b, index_t s, index_t h) {
    state_.assign(static_cast<std::size_t>(keys_ * lanes_), {});
    if (where_.initial_states.data() != nullptr)
      for (index_t c = 0; c < keys_ * lanes_; ++c) {
        const Wide x = where_.initial_states(b, s, h * keys_ * lanes_ + c);
        state_[static_cast<std::size_t>(c)] = {x, std::abs(x)};
        truth_.meet(x);
      }
    const index_t T = data_.outputs.steps();
    for (index_t t = where_.begin(s); t < where_.end(s, T); ++t) {
      if (!where_.resets.empty() && where_.resets[static_cast<std::size_t>(b * T + t)] != 0)
        state_.assign(state_.size(), {});
      truth_.walked[static_cast<std::size_t>(b * T + t)] = t - where_.begin(s) + 1;
      step(b, t, h, where_.first_position(b, s) + t - where_.begin(s));
      for (std::size_t m = 0; m < where_.snapshot_steps.size(); ++m)
        if (where_.snapshot_steps[m] == t)
          keep(truth_.snapshots,
               b * static_cast<index_t>(where_.snapshot_steps.size()) + static_cast<index_t>(m), h);
    }
    keep(truth_.last, b * where_.count() + s, h);
  }
  void keep(row& to, index_t entry, index_t h) const {
    std::copy(state_.begin(), state_.end(), to.begin() + entry * numbers_ + h * keys_ * lanes_);
  }

  std::vector<Wide> factors(index_t b, index_t t, index_t h, index_t position) const {
    const bool by_key = data_.decays == decay_per::key;
    std::vector<State> filled(static_cast<std::size_t>(by_key ? keys_ : 1));
    decay_.fill({b, t, by_key ? h * keys_ : h, position},
                strided_view<State>(filled.data(), 1, static_cast<index_t>(filled.size())));
    std::vector<Wide> result;
    for (index_t j = 0; j < keys_; ++j) {
      const Wide x = filled[static_cast<std::size_t>(by_key ? j : 0)];
      result.push_back(Decay::form == decay_form::log_factor ? std::exp(x) : x);
    }
    return result;
  }

  void step(index_t b, index_t t, index_t h, index_t position) {
    const row q = read(data_.queries, b, t, h, data_.unit_queries);
    const row k = read(data_.keys, b, t, h, data_.unit_keys);
    Wide c = data_.weights.left_out() ? Wide(1) : wide(data_.weights(b, t, h, 0));
    if constexpr (requires { decay_.weigh(block_origin{}, strided_view<State>{}); }) {
      State weight{};
      decay_.weigh({b, t, h, position}, strided_view<State>(&weight, 1, 1));
      c *= static_cast<Wide>(weight);
    }
    const std::vector<Wide> w = factors(b, t, h, position);
    row z, u;
    if constexpr (requires { data_.removals; }) {
      if (data_.removals.left_out()) {
        // z = w * k and u = -c k.
        z = u = k;
        for (std::size_t j = 0; j < z.size(); ++j) {
          z[j] = {k[j].value * w[j], k[j].majorant * std::abs(w[j])};
          u[j] = {-c * k[j].value, std::abs(c) * k[j].majorant};
        }
      } else {
        z = read(data_.removals, b, t, h, data_.unit_removals);
        if (data_.rates.left_out()) {
          u = read(data_.corrections, b, t, h);
        } else {
          u = read(data_.rates, b, t, h);
          for (std::size_t j = 0; j < u.size(); ++j)
            u[j] = {-u[j].value * z[j].value, u[j].majorant * z[j].majorant};
        }
      }
    }
    for (index_t i = 0; i < lanes_; ++i) {
      const Wide v = wide(data_.values(b, t, h, i));
      sized seen, out;
      for (std::size_t j = 0; j < z.size(); ++j) {
        const sized& x = state(static_cast<index_t>(j), i);
        seen.value += z[j].value * x.value;
        seen.majorant += z[j].majorant * x.majorant;
      }
      for (index_t j = 0; j < keys_; ++j) {
        const auto n = static_cast<std::size_t>(j);
        sized& x = state(j, i);
        x.value = w[n] * x.value + c * k[n].value * v;
        x.majorant = std::abs(w[n]) * x.majorant + std::abs(c * v) * k[n].majorant;
        if (!u.empty()) {
          x.value += u[n].value * seen.value;
          x.majorant += u[n].majorant * seen.majorant;
        }
        out.value += q[n].value * x.value;
        out.majorant += q[n].majorant * x.majorant;
        truth_.meet(x.majorant);
      }
      const Wide scale = static_cast<Wide>(data_.scale);
      out = {scale * out.value, std::abs(scale) * out.majorant};
      if (!data_.skip.empty()) {
        const bool by_head = static_cast<index_t>(data_.skip.size()) == heads_;
        const Wide D = wide(data_.skip[static_cast<std::size_t>(by_head ? h : h * lanes_ + i)]);
        out.value += D * v;
        out.majorant += std::abs(D * v);
      }
      truth_.outputs[static_cast<std::size_t>(
          ((b * data_.outputs.steps() + t) * heads_ + h) * lanes_ + i)] = out;
      for (const Wide x : {c, v, out.majorant, seen.majorant}) truth_.meet(x);
    }
  }

  const Decay& decay_;
  const Data& data_;
  const sequences<State>& where_;
  const index_t heads_ = data_.outputs.heads(), keys_ = data_.keys.width(),
                lanes_ = data_.outputs.width();
  const index_t numbers_ = heads_ * keys_ * lanes_;
  row state_;
  matrix_truth truth_;
};

template <class Decay, class Data, class State>
matrix_truth truth_of(const Decay& decay, const Data& data, const sequences<State>& where) {
  return matrix_oracle<State, Decay, Data>(decay, data, where).run();
}

/// n of the form's bound.
template <class Form>
double matrix_roundings(index_t steps, index_t keys, bool corrected) {
  if constexpr (requires { Form::error_bound(steps, keys, corrected); })
    return Form::error_bound(steps, keys, corrected);
  else
    return Form::error_bound(steps, keys);
}

/// |got - right| over ((1 + u)^n - 1) M and what else may be off:
/// * the oracle, by 2 K + 17 roundings of its own a step, as derived for the forms;
/// * products that underflow, by the smallest subnormal d each. A step forms 8 (K + 4) of them for
///   an element at the most, in each of which d is multiplied by three numbers that are no larger
///   than the largest of the call, steps of a group included;
/// * the rounding to T, where it is narrower than the state.
/// What is no finite number must not be one in `got` either.
template <class State, class T>
double matrix_error(const T& got, const sized& right, double roundings, index_t steps, index_t keys,
                    long double largest) {
  using Part = std::numeric_limits<State>;
  using Stored = std::numeric_limits<T>;
  if (!std::isfinite(right.value))
    return std::isfinite(static_cast<State>(got)) ? std::numeric_limits<double>::infinity() : 0;
  const double n = roundings, u = static_cast<double>(Part::epsilon()) / 2;
  const auto K = static_cast<long double>(keys), t = static_cast<long double>(steps + 1);
  const long double growth = std::expm1(n * std::log1p(u));
  long double allowed = growth * right.majorant;
  allowed += (2 * K + 17) * t * std::numeric_limits<long double>::epsilon() * right.majorant;
  allowed +=
      8 * (K + 4) * t * static_cast<long double>(Part::denorm_min()) * largest * largest * largest;
  const long double size = std::abs(right.value) + allowed;
  if (sizeof(T) < sizeof(State)) {
    if (size > static_cast<long double>(static_cast<double>(Stored::max()))) return 0;
    allowed += size * static_cast<long double>(static_cast<double>(Stored::epsilon()) / 2) +
               static_cast<long double>(static_cast<double>(Stored::denorm_min()));
  }
  const long double error =
      std::abs(static_cast<long double>(static_cast<State>(got)) - right.value);
  if (!std::isfinite(error)) return std::numeric_limits<double>::infinity();
  return error == 0 ? 0 : static_cast<double>(error / allowed);
}

}  // namespace ebb::test
