// SPDX-License-Identifier: Apache-2.0
/// @file   support/matrix_vjp_oracle.hpp
/// @brief  The loss of a matrix recurrence in a wide type, and its gradients with their majorants.
#pragma once

#include <algorithm>
#include <vector>

#include <ebb/core/numeric.hpp>

#include "support/matrix_vjp_problem.hpp"

namespace ebb::test {

/// A number and the same expression on absolute values.
template <class Wide>
struct bounded {
  Wide value = Wide(0), size = Wide(0);

  bounded() = default;
  explicit bounded(const Wide& x) : value(x), size(x < 0 ? Wide(-x) : x) {}
  bounded(const Wide& x, const Wide& majorant) : value(x), size(majorant) {}

  friend bounded operator+(const bounded& x, const bounded& y) {
    return {Wide(x.value + y.value), Wide(x.size + y.size)};
  }
  friend bounded operator-(const bounded& x, const bounded& y) {
    return {Wide(x.value - y.value), Wide(x.size + y.size)};
  }
  friend bounded operator*(const bounded& x, const bounded& y) {
    return {Wide(x.value * y.value), Wide(x.size * y.size)};
  }
  bounded& operator+=(const bounded& y) { return *this = *this + y; }
  bounded& operator-=(const bounded& y) { return *this = *this - y; }
};

/// A function of the wide type, applied to a number of either kind; positive ones only.
template <class Wide>
Wide inverse_root(const Wide& x) {
  using detail::sqrt;
  return Wide(Wide(1) / Wide(sqrt(x)));
}
template <class Wide>
bounded<Wide> inverse_root(const bounded<Wide>& x) {
  return bounded<Wide>(inverse_root(x.value));
}
template <class Wide>
Wide decay_from(const Wide& filled, bool log) {
  using detail::exp;
  if (!log) return filled;
  return filled < Wide(-1e30) ? Wide(0) : Wide(exp(filled));
}
template <class Wide>
bounded<Wide> decay_from(const bounded<Wide>& filled, bool log) {
  return bounded<Wide>(decay_from(filled.value, log));
}

template <class To, class From>
matrix_arrays<To> widened_arrays(const matrix_vjp_case& of, const matrix_arrays<From>& from) {
  matrix_arrays<To> all = arrays_of<To>(of, To(0));
  const auto copy = [](const head_array<From>& one, head_array<To>& two) {
    for (std::size_t n = 0; n < one.numbers.size(); ++n) two.numbers[n] = To(one.numbers[n]);
  };
  copy(from.queries, all.queries), copy(from.keys, all.keys), copy(from.values, all.values);
  copy(from.weights, all.weights), copy(from.removals, all.removals);
  copy(from.corrections, all.corrections), copy(from.skip, all.skip);
  copy(from.decays, all.decays), copy(from.weighed, all.weighed), copy(from.initial, all.initial);
  copy(from.outputs, all.outputs), copy(from.finals, all.finals);
  copy(from.snapshots, all.snapshots);
  return all;
}

/// One head of one sequence, step by step as the formulas have it. Both delta rules are
/// S_t = (diag(w) + u z^T) S + c k v^T here, the gated one by z = w * k, u = -c k.
template <class N>
class matrix_head {
 public:
  using vector = std::vector<N>;

  matrix_head(const matrix_vjp_case& of, matrix_arrays<N>& in, index_t b, index_t s, index_t h)
      : of_(of), in_(in), b_(b), s_(s), h_(h), where_(of.where<double>()) {
    begin_ = where_.begin(s), end_ = where_.end(s, of.steps);
  }

  struct step {
    vector q, k, z, u, w, v, before, after;
    N c{}, q_root{}, k_root{}, z_root{};
    bool reset = false;
  };

  /// All steps, with the states before and after them.
  std::vector<step> walk() {
    const std::size_t K = static_cast<std::size_t>(of_.keys);
    const std::size_t V = static_cast<std::size_t>(of_.values);
    std::vector<step> steps;
    vector state = state_of(in_.initial, s_);
    for (index_t t = begin_; t < end_; ++t) {
      step now;
      now.reset = where_.resets_at(b_, t, of_.steps);
      if (now.reset) state.assign(K * V, N{});
      now.before = state;
      now.q = row(in_.queries, t, of_.unit_queries, now.q_root);
      now.k = row(in_.keys, t, of_.unit_keys, now.k_root);
      now.v = row(in_.values, t);
      now.c = weight(t);
      for (index_t j = 0; j < of_.keys; ++j) {
        const N& filled = in_.decays(b_, t, h_, of_.decays == decay_per::head ? 0 : j);
        now.w.push_back(now.reset ? N{} : decay_from(filled, of_.logs));
      }
      now.z.resize(K), now.u.resize(K);
      if (of_.corrected()) {
        N none{};
        now.z = row(in_.removals, t, of_.unit_removals, now.z_root);
        now.u = row(in_.corrections, t, {}, none);
      }
      for (std::size_t j = 0; j < K; ++j) {
        if (of_.rule == matrix_rule::rates) now.u[j] = N{} - now.u[j] * now.z[j];
        if (of_.rule == matrix_rule::gated)
          now.z[j] = now.w[j] * now.k[j], now.u[j] = N{} - now.c * now.k[j];
      }
      vector seen(V);
      for (std::size_t j = 0; j < K; ++j)
        for (std::size_t i = 0; i < V; ++i) seen[i] += now.z[j] * state[j * V + i];
      for (std::size_t j = 0; j < K; ++j)
        for (std::size_t i = 0; i < V; ++i)
          state[j * V + i] =
              now.w[j] * state[j * V + i] + now.u[j] * seen[i] + now.c * (now.k[j] * now.v[i]);
      now.after = state;
      steps.push_back(now);
    }
    return steps;
  }

  /// The part of the loss that this head makes.
  N loss() {
    N sum{};
    const std::vector<step> steps = walk();
    const auto count = [](const vector& x) { return x.size(); };
    for (std::size_t r = 0; r < steps.size(); ++r) {
      const index_t t = begin_ + static_cast<index_t>(r);
      const vector out = cotangent(t);
      for (std::size_t i = 0; i < count(out); ++i) {
        N read{};
        for (std::size_t j = 0; j < count(steps[r].q); ++j)
          read += steps[r].q[j] * steps[r].after[j * count(out) + i];
        sum += out[i] * (N(of_.scale) * read + skip(i) * steps[r].v[i]);
      }
      if (const index_t m = where_.snapshot_of(t); m >= 0 && of_.snapshots_known)
        sum += inner(state_of(in_.snapshots, m), steps[r].after);
    }
    const vector last = steps.empty() ? state_of(in_.initial, s_) : steps.back().after;
    if (of_.finals_known) sum += inner(state_of(in_.finals, s_), last);
    return sum;
  }

  /// Adds the gradients of that part.
  void add(matrix_arrays<N>& to) {
    const std::size_t K = static_cast<std::size_t>(of_.keys);
    const std::size_t V = static_cast<std::size_t>(of_.values);
    const std::vector<step> steps = walk();
    vector g(K * V);
    if (of_.finals_known) g = state_of(in_.finals, s_);
    for (std::size_t r = steps.size(); r-- > 0;) {
      const index_t t = begin_ + static_cast<index_t>(r);
      const step& at = steps[r];
      if (const index_t m = where_.snapshot_of(t); m >= 0 && of_.snapshots_known) {
        const vector kept = state_of(in_.snapshots, m);
        for (std::size_t n = 0; n < g.size(); ++n) g[n] += kept[n];
      }
      const vector out = cotangent(t);
      vector dq(K), dk(K), dz(K), du(K), dw(K), dv(V), seen(V), fix(V);
      N dc{};
      for (std::size_t j = 0; j < K; ++j)
        for (std::size_t i = 0; i < V; ++i) {
          const std::size_t n = j * V + i;
          g[n] += N(of_.scale) * (at.q[j] * out[i]);
          seen[i] += at.z[j] * at.before[n];
          fix[i] += at.u[j] * g[n];
        }
      for (std::size_t j = 0; j < K; ++j)
        for (std::size_t i = 0; i < V; ++i) {
          const std::size_t n = j * V + i;
          dq[j] += N(of_.scale) * (at.after[n] * out[i]);
          dk[j] += at.c * (g[n] * at.v[i]);
          dv[i] += at.c * (at.k[j] * g[n]);
          dc += at.k[j] * (g[n] * at.v[i]);
          dw[j] += g[n] * at.before[n];
          du[j] += g[n] * seen[i];
          dz[j] += at.before[n] * fix[i];
        }
      for (std::size_t i = 0; i < V; ++i) {
        dv[i] += skip(i) * out[i];
        if (of_.skip > 0) skip_place(to.skip, i) += out[i] * at.v[i];
      }
      for (std::size_t j = 0; j < K; ++j) {
        if (of_.rule == matrix_rule::gated) {
          dk[j] += at.w[j] * dz[j] - at.c * du[j];
          dw[j] += at.k[j] * dz[j];
          dc -= at.k[j] * du[j];
        }
        if (of_.rule == matrix_rule::rates) {
          const N& rate = in_.corrections(b_, t, shared(in_.corrections), index_t(j));
          dz[j] -= rate * du[j];
          du[j] = N{} - at.z[j] * du[j];
        }
        const index_t slot = of_.decays == decay_per::head ? 0 : index_t(j);
        if (!at.reset) to.decays(b_, t, h_, slot) += of_.logs ? at.w[j] * dw[j] : dw[j];
      }
      put(to.queries, t, dq, of_.unit_queries, at.q, at.q_root);
      put(to.keys, t, dk, of_.unit_keys, at.k, at.k_root);
      put(to.values, t, dv, {}, at.v, N{});
      if (of_.corrected()) {
        put(to.removals, t, dz, of_.unit_removals, at.z, at.z_root);
        put(to.corrections, t, du, {}, at.u, N{});
      }
      if (of_.weights)
        to.weights(b_, t, h_, 0) += of_.weighing ? in_.weighed(b_, t, h_, 0) * dc : dc;
      if (of_.weighing)
        to.weighed(b_, t, h_, 0) += of_.weights ? in_.weights(b_, t, h_, 0) * dc : dc;
      for (std::size_t j = 0; j < K; ++j)
        for (std::size_t i = 0; i < V; ++i) {
          N& x = g[j * V + i];
          x = at.reset ? N{} : at.w[j] * x + at.z[j] * fix[i];
        }
    }
    for (std::size_t n = 0; n < g.size(); ++n) to.initial(b_, s_, h_, index_t(n)) += g[n];
  }

 private:
  index_t shared(const head_array<N>& array) const { return h_ / (of_.heads / array.size.heads); }
  vector row(const head_array<N>& array, index_t t) const {
    vector result;
    for (index_t j = 0; j < array.size.width; ++j) result.push_back(array(b_, t, shared(array), j));
    return result;
  }
  vector row(const head_array<N>& array, index_t t, const std::optional<double>& epsilon,
             N& root) const {
    vector result = row(array, t);
    if (!epsilon) return result;
    N square(*epsilon);
    for (const N& x : result) square += x * x;
    root = inverse_root(square);
    for (N& x : result) x = root * x;
    return result;
  }
  // y = s x, s = (|x|^2 + epsilon)^(-1/2):  dx_i = s dy_i - s^3 x_i (x . dy).
  void put(head_array<N>& to, index_t t, vector d, const std::optional<double>& epsilon,
           const vector& unit, const N& root) const {
    if (epsilon) {
      const N along = inner(unit, d);
      for (std::size_t j = 0; j < d.size(); ++j) d[j] = root * (d[j] - unit[j] * along);
    }
    for (std::size_t j = 0; j < d.size(); ++j) to(b_, t, shared(to), index_t(j)) += d[j];
  }
  N weight(index_t t) const {
    N c(1);
    if (of_.weights) c = in_.weights(b_, t, h_, 0);
    return of_.weighing ? c * in_.weighed(b_, t, h_, 0) : c;
  }
  vector cotangent(index_t t) const {
    return of_.outputs_known ? row(in_.outputs, t) : vector(std::size_t(of_.values));
  }
  vector state_of(const head_array<N>& array, index_t s) const {
    vector result;
    for (index_t n = 0; n < of_.keys * of_.values; ++n) result.push_back(array(b_, s, h_, n));
    return result;
  }
  template <class Array>
  auto& skip_place(Array& skip, std::size_t i) const {
    const index_t at = of_.skip == of_.heads ? h_ : h_ * of_.values + index_t(i);
    return skip.numbers[std::size_t(at)];
  }
  N skip(std::size_t i) const { return of_.skip > 0 ? skip_place(in_.skip, i) : N{}; }
  static N inner(const vector& x, const vector& y) {
    N sum{};
    for (std::size_t n = 0; n < x.size(); ++n) sum += x[n] * y[n];
    return sum;
  }

  const matrix_vjp_case& of_;
  matrix_arrays<N>& in_;
  index_t b_, s_, h_, begin_ = 0, end_ = 0;
  sequences<double> where_;
};

/// sum of cotangents times what the recurrence writes.
template <class Wide>
Wide matrix_loss(const matrix_vjp_case& of, matrix_arrays<Wide>& in) {
  Wide sum(0);
  for (index_t b = 0; b < of.batches; ++b)
    for (index_t s = 0; s < of.count(); ++s)
      for (index_t h = 0; h < of.heads; ++h) sum += matrix_head<Wide>(of, in, b, s, h).loss();
  return sum;
}

/// Its gradients, and the same sums of products on absolute values.
template <class Wide>
matrix_arrays<bounded<Wide>> matrix_truth(const matrix_vjp_case& of,
                                          const matrix_arrays<double>& numbers) {
  using number = bounded<Wide>;
  matrix_arrays<number> in = arrays_of<number>(of, number());
  const matrix_arrays<Wide> wide = widened_arrays<Wide>(of, numbers);
  in = widened_arrays<number>(of, wide);
  matrix_arrays<number> to = arrays_of<number>(of, number());
  for (index_t b = 0; b < of.batches; ++b)
    for (index_t s = 0; s < of.count(); ++s)
      for (index_t h = 0; h < of.heads; ++h) matrix_head<number>(of, in, b, s, h).add(to);
  return to;
}

}  // namespace ebb::test
