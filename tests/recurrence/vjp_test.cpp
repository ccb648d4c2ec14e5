// SPDX-License-Identifier: Apache-2.0
// The gradients of the scan: exact cases, the definition within derived bounds, pieces, refusals.
#include <doctest/doctest.h>

#include <complex>
#include <limits>
#include <string>
#include <vector>

#include "support/vjp_contract.hpp"

namespace {

using ebb::channel_major;
using ebb::direction;
using ebb::extents;
using ebb::index_t;
using ebb::input_gain;
using ebb::scan_cotangents;
using ebb::scan_gradients;
using ebb::sequences;
using ebb::strided_view;
using ebb::time_major;
namespace test = ebb::test;

template <class T>
ebb::array<T> column(const std::vector<T>& values) {
  ebb::array<T> result(static_cast<index_t>(values.size()), 1);
  for (index_t t = 0; t < result.steps(); ++t) result(t, 0) = values[static_cast<std::size_t>(t)];
  return result;
}
template <class T>
std::vector<T> list(const ebb::array<T>& values) {
  return {values.data(), values.data() + values.steps()};
}

/// The gradients of one channel from factors a.
template <class T>
struct single {
  std::vector<T> inputs, decays, initial;

  single(const std::vector<T>& a, const std::vector<T>& b, T h_0, const std::vector<T>& dh,
         T d_final, direction order = direction::forward) {
    const auto factors = column(a), in = column(b), given = column(dh), last = column<T>({d_final});
    const auto start = column<T>({h_0});
    auto out = in, db = in, da = column(std::vector<T>(a.size())), d_start = start;
    const sequences<T> where{.initial_states = start.view()};
    ebb::scan(factors, in, out, where, {order});
    const auto decay = ebb::stored_factors(factors);
    typename decltype(decay)::gradients sums{da.view()};
    ebb::scan_vjp(factors, in, out,
                  scan_cotangents<T>{.outputs = given.view(), .final_states = last.view()},
                  scan_gradients<T, decltype(sums)>{
                      .inputs = db.view(), .initial_states = d_start.view(), .decay = &sums},
                  where, {order});
    inputs = list(db), decays = list(da), initial = list(d_start);
  }
};

TEST_CASE_TEMPLATE("small cases are exact", T, float, double) {
  using values = std::vector<T>;
  const values a{T(.5), T(.25), T(.125)}, b{1, 2, 3}, ones{1, 1, 1};
  const single<T> plain(a, b, 4, ones, 0);
  CHECK(plain.inputs == values{T(1.28125), T(1.125), 1});
  CHECK(plain.decays == values{T(5.125), T(3.375), T(2.75)});
  CHECK(plain.initial == values{T(0.640625)});
  const single<T> with_final(a, b, 4, ones, 10);
  CHECK(with_final.inputs == values{T(1.59375), T(2.375), 11});
  CHECK(with_final.decays == values{T(6.375), T(7.125), T(30.25)});
  CHECK(with_final.initial == values{T(0.796875)});
  const single<T> turned({T(.125), T(.25), T(.5)}, {3, 2, 1}, 4, ones, 10, direction::reverse);
  CHECK(turned.inputs == values{11, T(2.375), T(1.59375)});
  CHECK(turned.decays == values{T(30.25), T(7.125), T(6.375)});
  CHECK(turned.initial == values{T(0.796875)});
  // No division by a: a decay of 0 has a gradient too.
  CHECK(single<T>({1, 0, 1}, b, 0, ones, 0).decays == values{0, 2, 2});
}

// L = Re(conj(g) h): its slopes along the real and the imaginary axis are the two components.
TEST_CASE("complex gradients are the slopes of a real loss") {
  using complex = std::complex<double>;
  const complex a(0, 0.5), h_0(4, 2), b(1, 1), g(1, 2);
  const single<complex> got({a}, {b}, h_0, {g}, 0);
  const auto loss = [&](complex x, complex h, complex y) {
    return std::real(std::conj(g) * (x * h + y));
  };
  const complex i(0, 1);
  const auto slope = [&](const auto& at) {
    return complex(at(complex(1)) - at(complex(0)), at(i) - at(complex(0)));
  };
  CHECK(got.inputs[0] == slope([&](complex x) { return loss(a, h_0, b + x); }));
  CHECK(got.decays[0] == slope([&](complex x) { return loss(a + x, h_0, b); }));
  CHECK(got.initial[0] == slope([&](complex x) { return loss(a, h_0 + x, b); }));
  CHECK(got.decays[0] == complex(8, 6));
}

using real_rows = test::vjp_config<float, float, time_major, time_major, time_major>;
using real_columns = test::vjp_config<double, double, channel_major, channel_major, channel_major>;
using wide_states = test::vjp_config<float, double, time_major, channel_major, time_major>;

TEST_CASE_TEMPLATE("every gradient is the definition's", Config, real_rows, real_columns,
                   wide_states) {
  test::check_vjp_contract<Config>();
}

// The gradients of one quantity only, and what is left out counts as zero.
TEST_CASE("members may be left out") {
  const extents size{1, 5, 3};
  const auto logs = test::random_logs<double, time_major>(size, 41);
  const auto in = test::random_inputs<double, time_major>(size, 42);
  const auto decay = ebb::stored_logs(logs);
  ebb::array<double> out(size), zeros(size), given = in;
  const ebb::array<double> no_states(1, 3), last = column<double>({0});
  ebb::scan(decay, in, out);
  const auto all = [&](const scan_cotangents<double>& cotangents) {
    std::vector<ebb::array<double>> results(3, ebb::array<double>(size));
    results[1] = ebb::array<double>(1, 3);
    decltype(decay)::gradients sums{results[2].view()};
    ebb::scan_vjp(
        decay, in, out, cotangents,
        scan_gradients<double, decltype(sums)>{results[0].view(), results[1].view(), &sums});
    return results;
  };
  const auto complete = all({in.view(), no_states.view()});
  const auto brief = all({.outputs = in.view()});
  for (std::size_t i = 0; i < 3; ++i) CHECK(test::same_bits(complete[i], brief[i]));
  const auto nothing = all({});
  CHECK(test::same_bits(nothing[0], zeros));

  ebb::array<double> inputs(size), initial(1, 3);
  ebb::scan_vjp(decay, out, out, scan_cotangents<double>{.outputs = in.view()},
                scan_gradients<double>{.inputs = inputs.view()});
  CHECK(test::same_bits(inputs, brief[0]));
  ebb::scan_vjp(decay, out, out, scan_cotangents<double>{.outputs = in.view()},
                scan_gradients<double>{.initial_states = initial.view()});
  CHECK(test::same_bits(initial, brief[1]));
}

// Parameters' gradients are added to what is there; a zero stride sums over its steps.
TEST_CASE("decay gradients accumulate") {
  const extents size{2, 4, 3};
  const auto row = test::random_factors<float, time_major>({1, 1, 3}, 51);
  const auto in = test::random_inputs<float, time_major>(size, 52);
  const strided_view<const float> repeated(row.data(), size, {0, 0});
  ebb::array<float> out(size), copied(size), each(size), sum(1, 3);
  for (index_t b = 0; b < 2; ++b)
    for (index_t t = 0; t < 4; ++t)
      for (index_t k = 0; k < 3; ++k) copied(b, t, k) = row(0, k), each(b, t, k) = 8;
  for (index_t k = 0; k < 3; ++k) sum(0, k) = 100;
  ebb::scan(repeated, in, out);
  const auto one = ebb::stored_factors(repeated);
  decltype(one)::gradients sums{strided_view<float>(sum.data(), size, {0, 0})};
  const scan_cotangents<float> cotangents{.outputs = in.view()};
  ebb::scan_vjp(repeated, in, out, cotangents,
                scan_gradients<float, decltype(sums)>{.decay = &sums});
  decltype(sums) separate{each.view()};
  ebb::scan_vjp(copied, in, out, cotangents,
                scan_gradients<float, decltype(sums)>{.decay = &separate});
  for (index_t k = 0; k < 3; ++k) {
    double total = 100, size_of_all = 100;
    for (index_t b = 0; b < 2; ++b)
      for (index_t t = 0; t < 4; ++t) {
        total += static_cast<double>(each(b, t, k)) - 8;
        size_of_all += std::abs(static_cast<double>(each(b, t, k))) + 8;
      }
    // Eight additions here, and one where 8 was there before.
    CHECK(std::abs(static_cast<double>(sum(0, k)) - total) <= 10 * 0x1p-24 * size_of_all);
    CHECK(std::abs(total - 100) > 1e-3);
  }
}

// Slow channels keep their timescale: of the systematic error of a rounded decay a tenth at most.
TEST_CASE("slow decays stay slow on the way back") {
  const index_t steps = 200000;
  const double rate = 1e-5;
  const std::vector<double> rates{rate};
  const auto decay = ebb::constant_decay().bind(std::span<const double>(rates));
  ebb::array<float> data(steps, 1), inputs(steps, 1), last(1, 1);
  last(0, 0) = 1;
  ebb::scan_vjp(decay, data, data, scan_cotangents<float>{.final_states = last.view()},
                scan_gradients<float>{.inputs = inputs.view()});
  const auto exact = std::exp(-rate * static_cast<double>(steps - 1));
  const auto rounded = std::pow(static_cast<double>(std::exp(-1e-5f)), double(steps - 1));
  CHECK(std::abs(rounded / exact - 1) > 1e-3);
  CHECK(std::abs(static_cast<double>(inputs(0, 0)) / exact - 1) <
        std::abs(rounded / exact - 1) / 5);
}

// A reset lets nothing through, in either direction of the walk.
TEST_CASE_TEMPLATE("nothing leaks through a reset", T, float, std::complex<double>) {
  using Real = ebb::real_of_t<T>;
  const T nan(std::numeric_limits<Real>::quiet_NaN()), inf(std::numeric_limits<Real>::infinity());
  for (const direction order : {direction::forward, direction::reverse}) {
    const bool forward = order == direction::forward;
    const auto turned = [&](std::vector<T> values) {
      if (!forward) std::reverse(values.begin(), values.end());
      return column(values);
    };
    // The state is NaN before the third step, whose decay is NaN and whose gradient infinite.
    const auto logs = turned({T(-1), T(0), nan, T(0)}), in = turned({T(1), nan, T(1), T(1)});
    const auto given = turned({T(1), T(1), T(1), inf});
    std::vector<std::uint8_t> flags{0, 0, 1, 1};
    if (!forward) std::reverse(flags.begin(), flags.end());
    ebb::array<T> out(4, 1), inputs(4, 1), filled(4, 1), initial(1, 1);
    const sequences<T> where{.resets = flags};
    const auto decay = ebb::stored_logs(logs);
    typename decltype(decay)::gradients sums{filled.view()};
    // The forward scan multiplies the erased state by the NaN; the reset counts for the way back.
    ebb::scan(decay, in, out, where, {order});
    ebb::scan_vjp(decay, in, out, scan_cotangents<T>{.outputs = given.view()},
                  scan_gradients<T, decltype(sums)>{inputs.view(), initial.view(), &sums}, where,
                  {order});
    const auto at = [&](const ebb::array<T>& values, index_t i) {
      return values(forward ? i : 3 - i, 0);
    };
    CHECK(at(inputs, 1) == T(1));
    CHECK(at(inputs, 2) == T(1));
    CHECK(at(inputs, 0) == T(2));
    CHECK(at(filled, 1) == at(out, 0));
    CHECK(at(filled, 2) == T(0));
    CHECK(at(filled, 3) == T(0));
    // Two steps and the step to the state before, at most 16 roundings each.
    const Real right = 2 * std::exp(Real(-1));
    CHECK(std::abs(initial(0, 0) - right) <= 25 * std::numeric_limits<Real>::epsilon() * right);
  }
}

// The gradient at the state between two pieces goes from the later to the earlier one.
TEST_CASE_TEMPLATE("pieces give the whole", Axis, time_major, channel_major) {
  const extents size{2, 150, 20};
  const index_t cut = 67;
  using Config = test::vjp_config<float, float, Axis, Axis, Axis>;
  const auto in = test::random_inputs<float, Axis>(size, 61);
  const auto given = test::random_inputs<float, Axis>(size, 62);
  const auto last = test::random_inputs<float, time_major>({2, 1, 20}, 63);
  const auto start = test::random_inputs<float, time_major>({2, 1, 20}, 64);
  test::for_each_decay<Config>(size, [&](const auto& inner) {
    using Decay = std::remove_cvref_t<decltype(inner)>;
    if constexpr (Decay::kind != ebb::decay_kind::stored) {
      const test::observed<Decay, float> decay{inner};
      using Sums = typename test::observed<Decay, float>::gradients;
      for (const direction order : {direction::forward, direction::reverse}) {
        ebb::array<float, Axis> out(size), whole(size), parts(size);
        ebb::array<float> whole_filled(size), part_filled(size), between(start.size());
        ebb::array<float> whole_start(start.size()), carried = last;
        sequences<float> where{.initial_states = start.view()};
        ebb::scan(decay, in, out, where, {order});
        Sums sums{whole_filled.view()};
        ebb::scan_vjp(
            decay, in, out, scan_cotangents<float, float, Axis>{given.view(), last.view()},
            scan_gradients<float, Sums, float, Axis>{whole.view(), whole_start.view(), &sums},
            where, {order});
        const bool forward = order == direction::forward;
        for (index_t b = 0; b < 2; ++b)
          for (index_t k = 0; k < 20; ++k) between(b, 0, k) = out(b, forward ? cut - 1 : cut, k);
        for (const bool later : {true, false}) {
          const bool upper = later == forward;
          const index_t begin = upper ? cut : 0, count = upper ? size.steps - cut : cut;
          const std::vector<index_t> first{1 + begin, 1 + begin};
          Sums part{part_filled.view().steps_from(begin, count)};
          ebb::scan_vjp(
              decay, in.view().steps_from(begin, count),
              std::as_const(out).view().steps_from(begin, count),
              scan_cotangents<float, float, Axis>{given.view().steps_from(begin, count),
                                                  std::as_const(carried).view()},
              scan_gradients<float, Sums, float, Axis>{parts.view().steps_from(begin, count),
                                                       carried.view(), &part},
              sequences<float>{.first_positions = first,
                               .initial_states = later ? strided_view<const float>(between.view())
                                                       : start.view()},
              {order});
        }
        // The carry is rounded at the cut, once more than in the whole: the bound counts two sums
        // of cotangents a step, of which the whole has used one. The later piece is the same.
        sequences<float> whole_where{.initial_states = start.view()};
        const scan_cotangents<float, float, Axis> all{given.view(), last.view()};
        const auto truth =
            test::vjp_truth_of<long double>(decay, in.view(), all, whole_where, order);
        test::check_expected("inputs", std::as_const(parts).view(), truth.inputs, 0.0f);
        test::check_expected("filled", std::as_const(part_filled).view(), truth.filled, 0.0f);
        test::check_expected("initial", std::as_const(carried).view(), truth.initial, 0.0f);
        const index_t begin = forward ? cut : 0, count = forward ? size.steps - cut : cut;
        CHECK(test::same_bits(parts.view().steps_from(begin, count),
                              whole.view().steps_from(begin, count)));
        CHECK(test::same_bits(part_filled.view().steps_from(begin, count),
                              whole_filled.view().steps_from(begin, count)));
      }
    }
  });
}

struct fixture {
  std::vector<float> memory = std::vector<float>(400, -3.0f);
  strided_view<float> place{memory.data(), {1, 5, 4}, {0, 8}};
  ebb::array<float> in{5, 4}, a{5, 4}, out{5, 4}, given{5, 4}, states{1, 4};

  template <class Call>
  void refuses(const std::string& text, Call call) {
    INFO(text);
    std::string got = "nothing thrown";
    try {
      call();
    } catch (const ebb::shape_error& error) {
      got = error.what();
    }
    CHECK(got.substr(0, text.size()) == text);
    CHECK(memory == std::vector<float>(400, -3.0f));
  }
};

using to = scan_gradients<float>;
using known = scan_cotangents<float>;

TEST_CASE_FIXTURE(fixture, "what does not fit is refused before anything is written") {
  const to all{.inputs = place};
  refuses("scan_vjp: need in and out of one shape (batches, steps, channels of each), got 1, 4, 4,",
          [&] { ebb::scan_vjp(a, ebb::array<float>(4, 4), out, known{}, all); });
  refuses("stored_decay: need decays of the data's shape",
          [&] { ebb::scan_vjp(ebb::array<float>(5, 3), in, out, known{}, all); });
  const std::vector<index_t> beyond{0, 6};
  refuses("scan_vjp: need offsets in 0 .. steps",
          [&] { ebb::scan_vjp(a, in, out, known{}, all, sequences<float>{.offsets = beyond}); });
  ebb::array<float> narrow(5, 3), row(1, 3);
  refuses("scan_vjp: need output cotangents of the shape of out (got, then wanted), got 1, 5, 3",
          [&] { ebb::scan_vjp(a, in, out, known{.outputs = narrow.view()}, all); });
  refuses(
      "scan_vjp: need final-state cotangents of shape (batches, sequences, channels) (got, then "
      "wanted), got 1, 1",
      [&] { ebb::scan_vjp(a, in, out, known{.final_states = row.view()}, all); });
  refuses(
      "scan_vjp: need snapshot cotangents of shape (batches, snapshot steps, channels) (got, then "
      "wanted), got 1,",
      [&] { ebb::scan_vjp(a, in, out, known{.snapshots = row.view()}, all); });
  refuses("scan_vjp: need input gradients of the shape of out (got, then wanted), got 1, 4, 4",
          [&] { ebb::scan_vjp(a, in, out, known{}, to{.inputs = place.steps_from(0, 4)}); });
  refuses(
      "scan_vjp: need initial-state gradients of shape (batches, sequences, channels) (got, then "
      "wanted), got 1, 5",
      [&] { ebb::scan_vjp(a, in, out, known{}, to{.initial_states = place}); });
  const std::vector<double> rates{1, 2, 3, 4};
  const auto constant = ebb::constant_decay().bind(std::span<const double>(rates));
  std::vector<double> three(3);
  decltype(constant)::gradients sums{three};
  refuses("constant_decay: need one gradient per channel (got, channels), got 3, 4", [&] {
    ebb::scan_vjp(constant, in, out, known{},
                  scan_gradients<float, decltype(sums)>{.inputs = place, .decay = &sums});
  });
  const auto stored = ebb::stored_factors(a);
  decltype(stored)::gradients values{narrow.view()};
  refuses("stored_decay: need gradients of the data's shape", [&] {
    ebb::scan_vjp(stored, in, out, known{},
                  scan_gradients<float, decltype(values)>{.inputs = place, .decay = &values});
  });
}

TEST_CASE_FIXTURE(fixture, "an empty array of the wrong shape is not left out") {
  ebb::array<float> none({1, 0, 4}), others({3, 0, 7});
  const to all{.inputs = place};
  refuses("scan_vjp: need output cotangents of the shape of out (got, then wanted), got 1, 0, 4",
          [&] { ebb::scan_vjp(a, in, out, known{.outputs = none.view()}, all); });
  refuses("scan_vjp: need final-state cotangents of shape",
          [&] { ebb::scan_vjp(a, in, out, known{.final_states = none.view()}, all); });
  refuses("scan_vjp: need snapshot cotangents of shape",
          [&] { ebb::scan_vjp(a, in, out, known{.snapshots = others.view()}, all); });
  refuses("scan_vjp: need input gradients of the shape of out (got, then wanted), got 1, 0, 4",
          [&] { ebb::scan_vjp(a, in, out, known{}, to{.inputs = none.view()}); });
  refuses("scan_vjp: need initial-state gradients of shape", [&] {
    ebb::scan_vjp(a, in, out, known{}, to{.inputs = place, .initial_states = none.view()});
  });
  const std::vector<index_t> padding{2};
  CHECK_NOTHROW(ebb::scan_vjp(
      a, in, out, known{.final_states = none.view(), .snapshots = none.view()},
      to{.inputs = place, .initial_states = none.view()}, sequences<float>{.offsets = padding}));
}

TEST_CASE_FIXTURE(fixture, "snapshots may be left out, as they are not looked at") {
  const std::vector<index_t> kept{1, 4};
  ebb::array<float> d_snapshots(2, 4), snapshots(2, 4), inputs(5, 4), same(5, 4);
  for (index_t i = 0; i < 8; ++i) d_snapshots.data()[i] = float(i + 1);
  const known cotangents{.snapshots = d_snapshots.view()};
  ebb::scan_vjp(a, in, out, cotangents, to{.inputs = inputs.view()},
                sequences<float>{.snapshot_steps = kept, .snapshots = snapshots.view()});
  ebb::scan_vjp(a, in, out, cotangents, to{.inputs = same.view()},
                sequences<float>{.snapshot_steps = kept});
  CHECK(test::same_bits(inputs, same));
  CHECK(inputs(4, 3) == 8);
  refuses("scan_vjp: need snapshots of shape", [&] {
    ebb::scan_vjp(
        a, in, out, cotangents, to{.inputs = place},
        sequences<float>{.snapshot_steps = kept, .snapshots = snapshots.view().steps_from(0, 1)});
  });
}

TEST_CASE_FIXTURE(fixture, "initial states that the scan has overwritten do for inputs only") {
  ebb::array<float> state(1, 4), d_state(1, 4), inputs(5, 4), values(5, 4);
  const sequences<float> where{.initial_states = state.view(), .final_states = state.view()};
  const auto stored = ebb::stored_factors(a);
  using sums = decltype(stored)::gradients;
  sums decays{values.view()}, decays_there{place};
  refuses("scan_vjp: need initial states as they were, apart from the final states", [&] {
    ebb::scan_vjp(stored, in, out, known{},
                  scan_gradients<float, sums>{.inputs = place, .decay = &decays_there}, where);
  });
  CHECK_NOTHROW(ebb::scan_vjp(
      a, in, out, known{}, to{.inputs = inputs.view(), .initial_states = d_state.view()}, where));
  CHECK_NOTHROW(ebb::scan_vjp(stored, in, out, known{},
                              scan_gradients<float, sums>{.decay = &decays},
                              sequences<float>{.initial_states = state.view()}));
}

TEST_CASE_FIXTURE(fixture, "memory shared otherwise than allowed is refused") {
  using view = strided_view<float>;
  const view shifted(memory.data() + 1, {1, 5, 4}, {0, 8});
  const view repeated(memory.data(), {1, 5, 4}, {0, 0});
  const view inside(memory.data() + 8, 1, 4), apart(memory.data() + 200, 1, 4),
      nearly(memory.data() + 201, 1, 4);
  const to all{.inputs = place};
  refuses("scan_vjp: need gradients whose elements do not share memory",
          [&] { ebb::scan_vjp(a, in, out, known{}, to{.inputs = repeated}); });
  const std::string inputs_apart = "scan_vjp: need input gradients apart from in, out and all";
  refuses(inputs_apart, [&] { ebb::scan_vjp(a, place, out, known{}, all); });
  refuses(inputs_apart, [&] { ebb::scan_vjp(a, in, shifted, known{}, all); });
  refuses(inputs_apart, [&] { ebb::scan_vjp(a, in, out, known{.final_states = inside}, all); });
  refuses(inputs_apart, [&] {
    ebb::scan_vjp(a, in, out, known{}, to{.inputs = place, .initial_states = inside});
  });
  refuses(inputs_apart, [&] {
    ebb::scan_vjp(a, in, out, known{}, all, sequences<float>{.initial_states = inside});
  });
  refuses("scan_vjp: need initial-state gradients apart from in, out and the other states", [&] {
    ebb::scan_vjp(a, in, out, known{.outputs = place}, to{.initial_states = inside});
  });
  refuses("scan_vjp: need input gradients to be the output cotangents, or apart from them",
          [&] { ebb::scan_vjp(a, in, out, known{.outputs = shifted}, all); });
  refuses("scan_vjp: need initial-state gradients to be the final-state cotangents, or apart", [&] {
    ebb::scan_vjp(a, in, out, known{.final_states = apart}, to{.initial_states = nearly});
  });
  refuses("scan_vjp: need the decay's data apart from input and initial-state gradients",
          [&] { ebb::scan_vjp(shifted, in, out, known{}, all); });
  const auto stored = ebb::stored_factors(a);
  using sums = decltype(stored)::gradients;
  sums shared{place}, over_decays{a.view()};
  const std::string decays_apart =
      "scan_vjp: need the gradients of the decay apart from all other data";
  refuses(decays_apart, [&] {
    ebb::scan_vjp(stored, in, out, known{},
                  scan_gradients<float, sums>{.inputs = place, .decay = &shared});
  });
  refuses(decays_apart, [&] {
    ebb::scan_vjp(stored, in, out, known{}, scan_gradients<float, sums>{.decay = &over_decays});
  });
  // Spans of parameters, in whatever there is.
  using row = strided_view<double>;
  std::vector<double> wide(60, -3.0), apart_sums(4);
  const row data(wide.data(), 5, 4), other(wide.data() + 20, 5, 4), third(wide.data() + 40, 5, 4);
  const row first(apart_sums.data(), 1, 4);
  const std::vector<double> rates{1, 2, 3, 4};
  const auto taper = ebb::post_taper::absolute().bind(std::span<const double>(rates));
  using taper_sums = decltype(taper)::gradients;
  const auto refuses_span = [&](std::span<double> d_rates, std::span<double> d_alpha) {
    taper_sums shared_span{d_rates, d_alpha};
    refuses(decays_apart, [&] {
      ebb::scan_vjp(
          taper, data, other, scan_cotangents<double>{.outputs = third},
          scan_gradients<double, taper_sums>{.initial_states = first, .decay = &shared_span});
    });
    CHECK(wide == std::vector<double>(60, -3.0));
  };
  const std::span<double> all_wide(wide), four(apart_sums);
  for (const std::size_t begin : {std::size_t{3}, std::size_t{22}, std::size_t{56}}) {
    refuses_span(all_wide.subspan(begin, 4), {});
    refuses_span({}, all_wide.subspan(begin, 4));
  }
  refuses_span(four, {});
  std::vector<double> five(5);
  refuses_span(std::span(five).first(4), std::span(five).last(4));
  const test::observed<decltype(stored), float, input_gain::one_minus_decay> average{stored};
  using observed_sums = decltype(average)::gradients;
  observed_sums observed{place};
  refuses("scan_vjp: need in as it was, apart from out, where the gain is 1 - a", [&] {
    ebb::scan_vjp(average, out, out, known{},
                  scan_gradients<float, observed_sums>{.decay = &observed});
  });
  CHECK_NOTHROW(ebb::scan_vjp(average, out, out, known{}, all));
  CHECK_NOTHROW(ebb::scan_vjp(a, in, out, known{.outputs = place}, all));
}

}  // namespace
