// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/cuda/map.hpp
/// @brief  Steps taken at once: the maps h -> a h + b of a scan on a GPU, and their composition.
#pragma once

#include <complex>
#include <concepts>
#include <limits>

#include <ebb/core/scalar.hpp>
#include <ebb/decay/weight.hpp>
#include <ebb/recurrence/backend/cuda/context.hpp>

namespace ebb::inline EBB_ABI::detail::gpu {

/// What states the kernels have.
template <class State>
concept device_state = std::same_as < real_of_t<State>,
float > || std::same_as<real_of_t<State>, double>;

/// The map h -> A h + b, or, where it is a cut, h -> b for every h, NaN and infinity included.
///
///   A = u^exponent a           factors
///   A = u^exponent (whole + a) complex log-decays; whole = 1 where |A - 1| <= 1/2, else 0
///   A = u^exponent a, a >= 0, or 1 + a, a < 0   real log-decays, 1 + a in [1/2, 1)
///
/// u = 2^-48 of float, 2^-384 of double: a product of decays that no number of the type holds may
/// still meet a state of 10^30. What `exponent` = 7 stands for changes no finite state and leaves
/// an infinite one infinite; -7 is the other way round. a - 1 is kept for what is near 1, as in
/// decay/weight.hpp.
template <class State>
struct step_map {
  State a;
  State b;
  int exponent;
  bool whole;
  bool cut;
};

/// x y and x y + z; complex: by components, two operations each.
EBB_NO_EXEC_CHECK template <class Context, class T>
EBB_DEVICE T times(Context& c, const T& x, const T& y) {
  if constexpr (is_complex<T>)
    return T(c.multiply_add(x.real(), y.real(), -(x.imag() * y.imag())),
             c.multiply_add(x.real(), y.imag(), x.imag() * y.real()));
  else
    return x * y;
}
EBB_NO_EXEC_CHECK template <class Context, class T>
EBB_DEVICE T times_plus(Context& c, const T& x, const T& y, const T& z) {
  if constexpr (is_complex<T>)
    return T(c.multiply_add(x.real(), y.real(), c.multiply_add(-x.imag(), y.imag(), z.real())),
             c.multiply_add(x.real(), y.imag(), c.multiply_add(x.imag(), y.real(), z.imag())));
  else
    return c.multiply_add(x, y, z);
}
template <class T>
EBB_DEVICE T plus(const T& x, const T& y) {
  if constexpr (is_complex<T>)
    return T(x.real() + y.real(), x.imag() + y.imag());
  else
    return x + y;
}
/// x times a real number.
template <class T>
EBB_DEVICE T by_real(const T& x, real_of_t<T> factor) {
  if constexpr (is_complex<T>)
    return T(x.real() * factor, x.imag() * factor);
  else
    return x * factor;
}
/// |x|, or the larger |component|.
template <class T>
EBB_DEVICE real_of_t<T> size_of(const T& x) {
  if constexpr (is_complex<T>) {
    const auto re = size_of(x.real()), im = size_of(x.imag());
    return re < im ? im : re;
  } else {
    return x < 0 ? -x : x;
  }
}

/// The algebra of such maps.
///
/// Accuracy (docs/accuracy.md): a state that comes out of any tree of compositions has the bound of
/// the scan step by step.
///
/// @tparam Cuts  whether there may be cuts; if not, none is looked for
template <device_state State, decay_form Form, bool Cuts>
struct map_algebra {
  using Real = real_of_t<State>;
  using map = step_map<State>;
  using weight = step_weight_t<State, Form>;
  static constexpr bool logs = Form == decay_form::log_factor;
  /// Whether `whole` counts.
  static constexpr bool turns = logs && is_complex<State>;
  static constexpr Real unit =
      std::same_as<Real, float> ? static_cast<Real>(0x1p-48) : static_cast<Real>(0x1p-384);
  static constexpr int most = 7;

  /// h -> h.
  static EBB_DEVICE map identity() {
    if constexpr (turns)
      return {State(0), State(0), 0, true, false};
    else
      return {State(1), State(0), 0, false, false};
  }
  static EBB_DEVICE weight identity_weight() {
    if constexpr (turns)
      return {State(0), Real(1)};
    else
      return State(1);
  }
  /// The map of one step.
  static EBB_DEVICE map of(const weight& w, const State& b, bool cut) {
    map m{State(0), b, 0, false, cut};
    if constexpr (turns) {
      m.a = w.value;
      m.whole = w.whole > 0;
    } else {
      m.a = w;
    }
    settle(m);
    return m;
  }

  /// The input as it enters the state: gain b.
  EBB_NO_EXEC_CHECK template <input_gain Gain, class Context>
  static EBB_DEVICE State gained(Context& c, const weight& w, const State& b) {
    if constexpr (Gain == input_gain::one)
      return b;
    else if constexpr (turns)
      return times(c, State((w.whole > 0 ? 0 : 1) - w.value.real(), -w.value.imag()), b);
    else if constexpr (is_complex<State>)
      return times(c, State(1 - w.real(), -w.imag()), b);
    else
      return (logs && w < 0 ? -w : 1 - w) * b;
  }

  /// One step: A h + b, b with its gain.
  EBB_NO_EXEC_CHECK template <class Context>
  static EBB_DEVICE State step(Context& c, const weight& w, const State& h, const State& b) {
    if constexpr (turns)
      return moved(c, w.value, w.whole > 0, h, b);
    else
      return moved(c, w, false, h, b);
  }

  /// A h + b, or b.
  EBB_NO_EXEC_CHECK template <class Context>
  static EBB_DEVICE State apply(Context& c, map m, const State& h) {
    if (Cuts && m.cut) return m.b;
    if (m.exponent == 0) return moved(c, m.a, m.whole, h, m.b);
    // Nothing overflows that need not: |a| <= 1 before small powers, >= 1 before large ones.
    const bool small = m.exponent > 0;
    if (small && size_of(m.a) > 1) m.a = by_real(m.a, unit), --m.exponent;
    if (!small && size_of(m.a) < 1) m.a = by_real(m.a, 1 / unit), ++m.exponent;
    State p = times(c, m.a, h);
    const Real by = small ? unit : 1 / unit;
    for (int i = small ? m.exponent : -m.exponent; i > 0; --i) p = by_real(p, by);
    if constexpr (is_complex<State>)
      return plus(p, m.b);
    else
      return c.multiply_add(p, Real(1), m.b);  // no product to be fused with the sum
  }

  /// The map that does `first`, then `second`.
  EBB_NO_EXEC_CHECK template <class Context>
  static EBB_DEVICE map then(Context& c, const map& first, const map& second) {
    if (Cuts && second.cut) return second;
    map m = multiplied(c, first, second);
    m.b = apply(c, second, first.b);
    m.cut = first.cut;
    return m;
  }

 private:
  // Powers of u taken off or added, where a has left [u, 1/u]: one after a product of two that are
  // in it, three for a subnormal number. Zero, infinity and NaN stay.
  static EBB_DEVICE void settle(map& m) {
    if (logs && (m.whole || (!turns && real_part(m.a) < 0))) return;
    Real size = size_of(m.a);
    while (size < unit && size > 0) {
      m.a = by_real(m.a, 1 / unit);
      size *= 1 / unit;
      m.exponent = m.exponent < most ? m.exponent + 1 : most;
    }
    while (size > 1 / unit && size <= std::numeric_limits<Real>::max()) {
      m.a = by_real(m.a, unit);
      size *= unit;
      m.exponent = m.exponent > -most ? m.exponent - 1 : -most;
    }
  }

  EBB_NO_EXEC_CHECK template <class Context>
  static EBB_DEVICE State moved(Context& c, const State& a, bool whole, const State& h,
                                const State& b) {
    const State fast = times_plus(c, a, h, b);
    if constexpr (turns) {
      return whole ? plus(h, fast) : fast;
    } else if constexpr (logs && !is_complex<State>) {
      if (!(a < 0)) return fast;
      const State slow = h + fast;
      return slow == slow ? slow : h + b;  // an infinite state meets its own decrement
    } else {
      return fast;
    }
  }

  // The product of the factors; b and cut are not set.
  EBB_NO_EXEC_CHECK template <class Context>
  static EBB_DEVICE map multiplied(Context& c, const map& f, const map& g) {
    map m{State(0), State(0), f.exponent + g.exponent, false, false};
    m.exponent = m.exponent > most ? most : m.exponent < -most ? -most : m.exponent;
    if constexpr (turns) {
      if (f.whole && g.whole) {
        m.a = times_plus(c, f.a, g.a, plus(f.a, g.a));
        m.whole = m.a.real() * m.a.real() + m.a.imag() * m.a.imag() <= Real(0.25);
        if (m.whole) return m;
        m.a = times(c, State(1 + f.a.real(), f.a.imag()), State(1 + g.a.real(), g.a.imag()));
      } else if (f.whole) {
        m.a = times_plus(c, f.a, g.a, g.a);
      } else if (g.whole) {
        m.a = times_plus(c, g.a, f.a, f.a);
      } else {
        m.a = times(c, f.a, g.a);
      }
    } else if constexpr (logs && !is_complex<State>) {
      if (f.a < 0 && g.a < 0) {
        m.a = c.multiply_add(f.a, g.a, f.a + g.a);
        if (m.a >= Real(-0.5)) return m;
        m.a = (1 + f.a) * (1 + g.a);
        return m;
      }
      // 1 changes nothing, and leaves what is near 1 its digits.
      if (f.a < 0) {
        m.a = g.a == 1 && g.exponent == 0 ? f.a : c.multiply_add(f.a, g.a, g.a);
      } else if (g.a < 0) {
        m.a = f.a == 1 && f.exponent == 0 ? g.a : c.multiply_add(g.a, f.a, f.a);
      } else {
        m.a = f.a * g.a;
      }
    } else {
      m.a = times(c, f.a, g.a);
    }
    settle(m);
    return m;
  }
};

/// A map with its small members in one word: how it lies in shared memory and goes from lane to
/// lane.
template <class State>
struct packed_map {
  State a, b;
  word32 rest;

  static EBB_DEVICE packed_map of(const step_map<State>& m) {
    return {m.a, m.b,
            static_cast<word32>(m.exponent + 8) | (m.whole ? 16u : 0u) | (m.cut ? 32u : 0u)};
  }
  EBB_DEVICE step_map<State> map() const {
    return {a, b, static_cast<int>(rest & 15u) - 8, (rest & 16u) != 0, (rest & 32u) != 0};
  }
};

/// The map of lane - d, and of a lane.
EBB_NO_EXEC_CHECK template <class Context, class State>
EBB_DEVICE step_map<State> map_from_below(Context& c, const step_map<State>& m, int d) {
  const auto p = packed_map<State>::of(m);
  return packed_map<State>{c.shuffle_up(p.a, d), c.shuffle_up(p.b, d), c.shuffle_up(p.rest, d)}
      .map();
}
EBB_NO_EXEC_CHECK template <class Context, class State>
EBB_DEVICE step_map<State> map_of_lane(Context& c, const step_map<State>& m, int lane) {
  const auto p = packed_map<State>::of(m);
  return packed_map<State>{c.shuffle(p.a, lane), c.shuffle(p.b, lane), c.shuffle(p.rest, lane)}
      .map();
}

}  // namespace ebb::inline EBB_ABI::detail::gpu
