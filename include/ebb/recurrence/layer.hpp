// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/layer.hpp
/// @brief  A spectrum, a decay and a backend put together: whole sequences, pieces, single steps.
#pragma once

#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <ebb/recurrence/scan.hpp>
#include <ebb/spectrum/concept.hpp>

namespace ebb::inline EBB_ABI {

/// Where a running sequence stands: copy it to save, assign it to restore.
template <class State>
struct layer_state {
  std::vector<State> values;  ///< the state of each channel, (N)
  index_t next_position = 1;  ///< absolute 1-based position of the step to come
};

namespace detail {
// What a layer is made of, in sentences that come before any look at it.
template <class Decay, class Real>
constexpr bool is_layer_decay() {
  static_assert(scan_scalar<Real>,
                "ebb: the data must be float, double, complex of both, bfloat16 or half "
                "(scan_scalar)");
  if constexpr (scan_scalar<Real>) {
    using State = default_state_t<Real>;
    using Param = parameter_t<State>;
    if constexpr (!binds<Decay, Param>) {
      static_assert(!bound_decay<Decay, State>,
                    "ebb::layer: the decay is bound already; a layer takes the policy and binds it "
                    "to its own rates");
      static_assert(!spectrum_for<Decay, Param>,
                    "ebb::layer: the second argument is a spectrum; it must be a policy of decay");
      static_assert(!binds_some<Decay>,
                    "ebb::layer: this decay does not bind rates of the type that the data needs, "
                    "real for real data and complex for complex data");
    }
  }
  return true;
}

// The decay bound to rates of type Param; for what binds none a type that says so.
struct nothing_bound {};
template <class Decay, class Param>
auto bound_by(const Decay& decay, std::span<const Param> rates) {
  if constexpr (binds<Decay, Param>)
    return decay.bind(rates);
  else
    return nothing_bound{};
}
}  // namespace detail

/// A memory of N channels with fixed rates: h_t = a_t h_{t-1} + b_t.
///
///   memory(b, h)           a whole sequence, from position 1 and state 0
///   memory(b, h, state)    the next piece of a running sequence
///   memory.step(b, state)  its next step
///
/// With the default backend all three give the same bits.
///
/// Cost: construction O(N); calls as the backend; `start` allocates the state, nothing else does.
/// Accuracy: rates and decays as their policies state, in double for float data.
///
/// @tparam Real  element type of the data; the state is a default_state_t of it
template <class Spectrum, class Decay, class Backend, class Real>
class layer {
  static_assert(detail::is_layer_decay<Decay, Real>());

 public:
  using state_type = default_state_t<Real>;
  using parameter_type = detail::parameter_t<state_type>;
  using bound_type =
      decltype(detail::bound_by(std::declval<const Decay&>(), std::span<const parameter_type>()));

  static_assert(spectrum_for<Spectrum, parameter_type>,
                "ebb::layer: Spectrum is not a spectrum_for the parameters' type");
  static_assert(decay_for<Decay, parameter_type> && bound_decay<bound_type, state_type>,
                "ebb::layer: Decay is not a decay_for the parameters' type and Real");
  static_assert(scan_backend_for<Backend, bound_type, Real>,
                "ebb::layer: Backend is not a scan_backend_for this decay and Real");

  /// @param channels  N >= 0
  /// @throws domain_error when N < 0, and whatever spectrum and decay refuse.
  layer(const Spectrum& spectrum, const Decay& decay, index_t channels, Backend backend = {})
      : channels_(channels),
        bound_(detail::bound_by(
            decay, std::span<const parameter_type>(rates_of<parameter_type>(spectrum, channels)))),
        backend_(std::move(backend)) {}

  index_t channels() const { return channels_; }
  const bound_type& decay() const { return bound_; }
  /// For decays that read arrays of the caller: `memory.decay().read_from(array)` before the next
  /// piece or step. Not while another thread uses the layer.
  bound_type& decay() { return bound_; }
  const Backend& backend() const { return backend_; }

  /// Whole sequences, one per batch entry.
  /// @throws shape_error unless the data has N channels; else as ebb::scan.
  template <class In, class Out>
  void operator()(const In& in, Out&& out) const {
    check_channels(as_view(in).channels(), as_view(out).channels());
    scan(bound_, in, std::forward<Out>(out), sequences<state_type>{}, {}, backend_);
  }

  /// Sequences as described.
  /// @throws shape_error unless the data has N channels; else as ebb::scan.
  template <class In, class Out, class State>
  void operator()(const In& in, Out&& out, const sequences<State>& where,
                  const scan_options& options = {}) const {
    check_channels(as_view(in).channels(), as_view(out).channels());
    scan(bound_, in, std::forward<Out>(out), where, options, backend_);
  }

  /// The next steps of a running sequence.
  /// @throws shape_error unless data and state have N channels and the data one batch entry; else
  ///   as ebb::scan.
  template <class In, class Out>
  void operator()(const In& in, Out&& out, layer_state<state_type>& state) const {
    check_channels(as_view(in).channels(), as_view(out).channels());
    check_state(state);
    detail::require_shape(as_view(in).batches() == 1 && as_view(out).batches() == 1, "layer",
                          "need one batch entry for a running state (in, out)",
                          as_view(in).batches(), as_view(out).batches());
    const strided_view<state_type> values(state.values.data(), 1, channels_);
    const index_t steps = as_view(out).steps();
    sequences<state_type> where;
    where.first_positions = std::span<const index_t>(&state.next_position, 1);
    where.initial_states = values;
    where.final_states = values;
    scan(bound_, in, std::forward<Out>(out), where, {}, backend_);
    state.next_position += steps;
  }

  /// The state before the first step.
  /// @param first_position  absolute position of the first step, 1 <= t <= 2^62
  /// @throws domain_error outside this domain.
  layer_state<state_type> start(index_t first_position = 1) const {
    detail::require_domain(first_position >= 1 && first_position <= (index_t{1} << 62), "layer",
                           "need a first position in 1 .. 2^62", first_position);
    return {std::vector<state_type>(static_cast<std::size_t>(channels_)), first_position};
  }

  /// One step: state.values becomes h_t, and h its rounding to the type of the data.
  /// @param b  (N)
  /// @param h  (N), may be b itself; left out where data and state have one type
  /// @throws shape_error unless all have N channels, or where b and h overlap otherwise.
  void step(std::span<const Real> b, std::span<Real> h, layer_state<state_type>& state) const {
    check_channels(static_cast<index_t>(b.size()), static_cast<index_t>(h.size()));
    check_state(state);
    ebb::step(bound_, state.next_position, b, h, std::span<state_type>(state.values), backend_);
    ++state.next_position;
  }
  void step(std::span<const Real> b,
            layer_state<state_type>& state) const requires std::same_as<Real, state_type> {
    check_channels(static_cast<index_t>(b.size()), channels_);
    check_state(state);
    ebb::step(bound_, state.next_position, b, std::span<state_type>(state.values), backend_);
    ++state.next_position;
  }

 private:
  // The layer knows its channels, so that a decay without a `check` of its own is safe as well.
  void check_channels(index_t in, index_t out) const {
    detail::require_shape(in == channels_ && out == channels_, "layer",
                          "need data of this layer's channels (in, out, the layer's)", in, out,
                          channels_);
  }
  void check_state(const layer_state<state_type>& state) const {
    const auto got = static_cast<index_t>(state.values.size());
    detail::require_shape(got == channels_, "layer",
                          "need a state of this layer (its channels, the layer's)", got, channels_);
  }

  index_t channels_;
  bound_type bound_;
  Backend backend_;
};

/// A layer for data of type Real.
///
/// @param channels  N >= 0
/// @throws domain_error when N < 0, and whatever spectrum and decay refuse.
template <class Real, class Spectrum, class Decay, class Backend = rows>
layer<Spectrum, Decay, Backend, Real> make_layer(const Spectrum& spectrum, const Decay& decay,
                                                 index_t channels, Backend backend = {}) {
  return {spectrum, decay, channels, std::move(backend)};
}

}  // namespace ebb::inline EBB_ABI
