// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/matrix.hpp
/// @brief  What the recurrences with matrix states work on, and what a form of them must offer.
#pragma once

#include <concepts>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include <ebb/core/head_view.hpp>
#include <ebb/core/scalar.hpp>
#include <ebb/core/sequences.hpp>
#include <ebb/decay/concept.hpp>
#include <ebb/recurrence/concept.hpp>

namespace ebb::inline EBB_ABI {

/// What has a decay of its own: a head, or each key channel of a head. It is the channel of the
/// bound decay: h, or h K + j.
enum class decay_per { head, key };

/// The arrays of the outer-product recurrence. For each head, with a state S of K x V,
///
///   S_t = diag(w_t) S_{t-1} + c_t k_t v_t^T        o_t = scale S_t^T q_t + D * v_t
///
/// | member         | shape         | meaning                                          | left out |
/// |----------------|---------------|--------------------------------------------------|----------|
/// | `queries`      | (B, T, Hq, K) | q; head h reads head h / (H / Hq), H % Hq = 0    | needed   |
/// | `keys`         | (B, T, Hk, K) | k; likewise                                      | needed   |
/// | `values`       | (B, T, H, V)  | v                                                | needed   |
/// | `outputs`      | (B, T, H, V)  | gets o; may be `values` itself                   | needed   |
/// | `weights`      | (B, T, H, 1)  | c, such as the step sizes of Mamba-2             | 1        |
/// | `skip`         | H or H V      | D by head or lane; float where T has 16 bits     | 0        |
/// | `scale`        |               | finite; 1/sqrt(K) in attention-like models       | 1        |
/// | `unit_queries` | epsilon >= 0  | q / sqrt(|q|^2 + epsilon) takes the place of q   | as given |
/// | `unit_keys`    | epsilon >= 0  | the same of k                                    | as given |
/// | `decays`       |               | whether w_t is a number a head or a vector of K  | head     |
///
/// Unit rows square in the state's type, without scaling first: the row's |q|^2 + epsilon must be a
/// normal number there, or the row is lost. Of float states 1.1e-19 <= |q| <= 1.8e19 (of double
/// 1.5e-154 <= |q| <= 1.3e154), from 0 on where epsilon is normal; a row of zeros with an epsilon of
/// 0, or one that rounds to 0, is NaN.
///
/// The factors w_t are not among them: they are what a bound decay fills. A bound decay may also
/// weigh: `decay.weigh(where, block)` fills a block of (steps x heads) that multiplies c_t.
template <class T>
struct outer_data {
  using value_type = T;
  head_view<const T> queries{}, keys{}, values{};
  head_view<T> outputs{};
  head_view<const T> weights{};
  std::span<const default_state_t<T>> skip{};
  double scale = 1;
  std::optional<double> unit_queries{}, unit_keys{};
  decay_per decays = decay_per::head;
};

/// The arrays of the delta rule: those of outer_data, and what corrects the state. With `removals`,
/// for each head,
///
///   S_t = (diag(w_t) + u_t z_t^T) S_{t-1} + c_t k_t v_t^T       o_t = scale S_t^T q_t + D * v_t
///
/// and without them the gated delta rule, which writes what the decayed state misses:
///
///   S_t = D_t + c_t k_t (v_t - D_t^T k_t)^T,   D_t = diag(w_t) S_{t-1}
///
/// that is z_t = w_t * k_t and u_t = -c_t k_t.
///
/// | member          | shape         | meaning                                       | left out   |
/// |-----------------|---------------|-----------------------------------------------|------------|
/// | `removals`      | (B, T, Hz, K) | z; head h reads head h / (H / Hz), H % Hz = 0 | gated rule |
/// | `corrections`   | (B, T, Hu, K) | u; likewise                                   | -r * z     |
/// | `rates`         | (B, T, Hr, K) | r; likewise; in place of `corrections`        |            |
/// | `unit_removals` | epsilon >= 0  | z / sqrt(|z|^2 + epsilon) in place of z       | as given   |
///
/// With unit keys and 0 <= c <= 1 (the gated rule), or unit z and one rate 0 <= r <= 1 for all keys
/// of a head, |w| <= 1, no step makes the state grow by more than it writes. Where each key has its
/// own rate a step may stretch it, by 2/sqrt(3) at the most where w = 1; outside of that it may
/// grow without bound, as the formula says.
template <class T>
struct delta_data {
  using value_type = T;
  head_view<const T> queries{}, keys{}, values{};
  head_view<T> outputs{};
  head_view<const T> weights{};
  head_view<const T> removals{}, corrections{}, rates{};
  std::span<const default_state_t<T>> skip{};
  double scale = 1;
  std::optional<double> unit_queries{}, unit_keys{}, unit_removals{};
  decay_per decays = decay_per::head;
};

/// Whether a bound decay also weighs what is written, by step and head. It may offer
/// `d.fill_and_weigh(where, block, weights)` besides: `fill` and `weigh` of one channel at once, for
/// decays by head.
template <class D, class Real>
concept weighing_decay = bound_decay<D, Real> &&
    requires(const D& d, const block_origin& where, strided_view<Real, time_major> block) {
  d.weigh(where, block);
};

namespace detail {

/// The decays of steps x heads, unless they are by key, and the weights of a weighing decay.
template <class Decay, class State>
void fill_and_weigh(const Decay& decay, const block_origin& where, bool by_head,
                    const strided_view<State>& decays,
                    [[maybe_unused]] const strided_view<State>& weights) {
  if constexpr (weighing_decay<Decay, State>) {
    if constexpr (requires { decay.fill_and_weigh(where, decays, weights); })
      if (by_head && weights.channels() == 1) return decay.fill_and_weigh(where, decays, weights);
    decay.weigh(where, weights);
  }
  if (by_head) decay.fill(where, decays);
}

template <class Data>
inline constexpr bool has_corrections = requires(const Data& data) {
  data.corrections;
};

/// Whether the data asks for the gated delta rule.
template <class Data>
constexpr bool is_gated([[maybe_unused]] const Data& data) {
  if constexpr (has_corrections<Data>)
    return data.removals.left_out();
  else
    return false;
}

/// B, T, H, K, V, and the channels of the state and of the decay.
struct matrix_shape {
  index_t batches, steps, heads, keys, values;

  index_t state() const { return keys * values; }
  extents states() const { return {batches, steps, heads * keys * values}; }
  index_t decay_channels(decay_per decays) const {
    return decays == decay_per::head ? heads : heads * keys;
  }
  /// Elements of states times steps, of all sequences.
  template <class State>
  double work(const sequences<State>& where) const {
    const index_t covered =
        where.offsets.empty() ? steps : where.offsets.back() - where.offsets.front();
    return static_cast<double>(batches) * static_cast<double>(covered) *
           static_cast<double>(heads * state());
  }
};

template <class Data>
matrix_shape shape_of(const Data& data) {
  return {data.outputs.batches(), data.outputs.steps(), data.outputs.heads(), data.keys.width(),
          data.outputs.width()};
}

/// The head of a view with fewer heads that head h of `heads` reads.
template <class T>
index_t shared_head(const head_view<T>& view, index_t h, index_t heads) {
  if (view.heads() == heads) return h;
  return view.heads() == 1 ? 0 : h / (heads / view.heads());  // a division for each head shows
}

/// D of lane i of head h.
template <class Data>
auto skip_at(const Data& data, index_t h, index_t i) {
  const bool by_head = static_cast<index_t>(data.skip.size()) == data.outputs.heads();
  return data.skip[static_cast<std::size_t>(by_head ? h : h * data.outputs.width() + i)];
}

/// f(view, name) for every array of heads that is read.
template <class Data, class F>
void each_input(const Data& data, const F& f) {
  f(data.queries, "queries");
  f(data.keys, "keys");
  f(data.values, "values");
  f(data.weights, "weights");
  if constexpr (has_corrections<Data>) {
    f(data.removals, "removals");
    f(data.corrections, "corrections");
    f(data.rates, "rates");
  }
}

/// Refuses two arrays that share memory: "need one apart from other".
inline void require_apart(bool condition, std::string_view name, std::string_view one,
                          std::string_view other) {
  if (condition) return;
  std::string rule("need ");
  (rule += one) += " apart from ";
  require_shape(false, name, rule += other);
}

template <class Data>
void check_shapes(std::string_view name, const Data& data) {
  const matrix_shape size = shape_of(data);
  const auto shared = [&](const auto& view, std::string_view rule) {
    const bool fits =
        view.batches() == size.batches && view.steps() == size.steps && view.width() == size.keys &&
        (view.heads() == size.heads || (view.heads() > 0 && size.heads % view.heads() == 0));
    require_shape(fits, name, rule, view.batches(), view.steps(), view.heads(), view.width(),
                  size.batches, size.steps, size.heads, size.keys);
  };
  const auto needed = [&](const auto& view, std::string_view what) {
    if (view.left_out())
      require_shape(false, name, std::string("need ").append(what) + ", which were left out");
  };
  needed(data.queries, "queries");
  needed(data.keys, "keys");
  needed(data.values, "values");
  needed(data.outputs, "outputs");
  require_shape(data.values.size() == data.outputs.size(), name,
                "need values and outputs of one shape (batches, steps, heads, width of each)",
                data.values.batches(), data.values.steps(), data.values.heads(),
                data.values.width(), size.batches, size.steps, size.heads, size.values);
  shared(data.keys, "need keys (B, T, Hk, K) with H % Hk = 0 (got, then B, T, H, K)");
  shared(data.queries, "need queries (B, T, Hq, K) with H % Hq = 0 (got, then B, T, H, K)");
  const head_extents one{size.batches, size.steps, size.heads, 1};
  require_shape(data.weights.left_out() || data.weights.size() == one, name,
                "need weights (B, T, H, 1) (got, then B, T, H)", data.weights.batches(),
                data.weights.steps(), data.weights.heads(), data.weights.width(), size.batches,
                size.steps, size.heads);
  const auto unit = [&](const std::optional<double>& epsilon) {
    require_domain(!epsilon || (*epsilon >= 0 && *epsilon - *epsilon == 0), name,
                   "need 0 <= epsilon < inf for unit rows", epsilon.value_or(0));
  };
  unit(data.unit_queries);
  unit(data.unit_keys);
  if constexpr (has_corrections<Data>) {
    unit(data.unit_removals);
    if (is_gated(data)) {
      require_shape(data.corrections.left_out() && data.rates.left_out() && !data.unit_removals,
                    name, "need removals where there are corrections, rates or unit_removals");
    } else {
      require_shape(data.corrections.left_out() != data.rates.left_out(), name,
                    "need either corrections or rates beside removals");
      shared(data.removals, "need removals (B, T, Hz, K) with H % Hz = 0 (got, then B, T, H, K)");
      if (data.rates.left_out())
        shared(data.corrections,
               "need corrections (B, T, Hu, K) with H % Hu = 0 (got, then B, T, H, K)");
      else
        shared(data.rates, "need rates (B, T, Hr, K) with H % Hr = 0 (got, then B, T, H, K)");
    }
  }
  const std::size_t skips = data.skip.size();
  require_shape(
      skips == 0 || is_product(skips, size.heads, 1) || is_product(skips, size.heads, size.values),
      name, "need a skip of H or H V numbers, or none (got, then H, V)", skips, size.heads,
      size.values);
  require_domain(data.scale - data.scale == 0, name, "need a finite scale", data.scale);
}

template <class Data, class State>
void check_memory(std::string_view name, const Data& data, const sequences<State>& where) {
  const auto& out = data.outputs;
  require_shape(elements_apart(out), name, "need outputs that do not share memory");
  require_shape(elements_apart(where.final_states) && elements_apart(where.snapshots), name,
                "need final states and snapshots that do not share memory");
  const bool in_place = data.values.data() == out.data() && !out.empty();
  each_input(data, [&](const auto& view, std::string_view what) {
    if (&view == &data.values)
      require_shape(in_place ? strides_agree(view, out) : !overlap(view, out), name,
                    "need outputs apart from values, or values themselves");
    else
      require_apart(!overlap(view, out), name, "outputs", what);
    require_apart(!overlap(view, where.final_states), name, "final states", what);
    require_apart(!overlap(view, where.snapshots), name, "snapshots", what);
  });
  const strided_view<const default_state_t<typename Data::value_type>> skip(
      data.skip.data(), 1, static_cast<index_t>(data.skip.size()));
  require_shape(
      !overlap(out, skip) && !overlap(skip, where.final_states) && !overlap(skip, where.snapshots),
      name, "need the skip apart from outputs, final states and snapshots");
  require_shape(!overlap(out, where.final_states) && !overlap(out, where.snapshots) &&
                    !overlap(out, where.initial_states),
                name, "need outputs apart from the states");
  require_shape(!overlap(where.snapshots, where.initial_states) &&
                    !overlap(where.snapshots, where.final_states),
                name, "need snapshots apart from the other states");
  require_shape(same_memory(where.initial_states, where.final_states) ||
                    !overlap(where.initial_states, where.final_states),
                name, "need final states to be the initial ones, or apart from them");
}

/// Everything that a call promises to refuse before anything is written.
template <class Decay, class Data, class State>
void check_matrix(std::string_view name, const Decay& decay, const Data& data,
                  const sequences<State>& where) {
  check_shapes(name, data);
  const matrix_shape size = shape_of(data);
  const extents decays{size.batches, size.steps, size.decay_channels(data.decays)};
  if constexpr (requires { decay.check(decays); }) decay.check(decays);
  where.check(name, size.states());
  check_memory(name, data, where);
  if constexpr (requires { decay.view(); })
    require_shape(!overlap(data.outputs, decay.view()) &&
                      !overlap(decay.view(), where.final_states) &&
                      !overlap(decay.view(), where.snapshots),
                  name, "need the decay's data apart from outputs, final states and snapshots");
}
}  // namespace detail

/// A way to evaluate both recurrences with matrix states on one memory space.
///
///   f.run(decay, data, sequences)
///
///   decay      a bound_decay of H or H K channels, for the state's type
///   data       outer_data or delta_data, validated by the caller
///   sequences  where sequences begin and end; a state has H K V channels, head after head:
///              element (j, i) of head h is channel (h K + j) V + i
///   F::name, F::repeats (a determinism), and F::error_bound(steps, keys, corrected)
///
/// Contract, checked by tests/support/matrix_contract.hpp for every model: the outputs are the
/// o_t of the formulas, rounded to the type of the data; sequences, resets, snapshots, padding and
/// states in place mean what they mean to a scan (recurrence/concept.hpp); NaN and infinity go
/// where IEEE arithmetic takes them: a head, a lane of V and a sequence never see another's;
/// nothing of step t depends on later steps. The error of a state is within
/// ((1 + u)^n - 1) M, n = F::error_bound(steps, K, corrected), M the same recurrence on absolute
/// values, u the unit roundoff of the state, the decays taken as filled; of an output likewise;
/// barring overflow and underflow. `corrected`: whether it is the delta rule; a form may leave the
/// argument out, and means both then.
template <class F, class Decay, class Data, class State>
concept matrix_form_for = bound_decay<Decay, State> &&
    requires(const F& form, const Decay& decay, const Data& data, const sequences<State>& where) {
  { form.run(decay, data, where) } -> std::same_as<void>;
  { F::name } -> std::convertible_to<std::string_view>;
  { F::repeats } -> std::convertible_to<determinism>;
  { F::error_bound(index_t{1}, index_t{1}) } -> std::convertible_to<double>;
};

}  // namespace ebb::inline EBB_ABI
