// SPDX-License-Identifier: Apache-2.0
// NaN and infinity in what one head of one batch entry reads: the gradients of the others keep
// their bits.
#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <vector>

#include <ebb/core/executor.hpp>
#include <ebb/decay/stored.hpp>
#include <ebb/recurrence/backend/sequential_threads.hpp>
#include <ebb/recurrence/matrix_vjp.hpp>

#include "support/scan_oracle.hpp"

namespace {

using ebb::head_extents;
using ebb::head_view;
using ebb::index_t;
using ebb::strided_view;

enum class rule { outer, gated, corrections, rates };

constexpr index_t B = 2, T = 37, H = 2, K = 3;

/// Data that no two heads share, of V values.
template <class Real>
struct problem {
  index_t V;
  std::vector<Real> queries, keys, values, weights, removals, corrections, decays, outputs, given;

  problem(index_t lanes, bool by_key) : V(lanes) {
    ebb::test::draws random(static_cast<std::uint64_t>(lanes));
    const auto draw = [&](std::vector<Real>& to, index_t width, double low) {
      for (index_t i = 0; i < B * T * H * width; ++i)
        to.push_back(static_cast<Real>(random.uniform(low, 1)));
    };
    draw(queries, K, -1), draw(keys, K, -1), draw(values, V, -1), draw(weights, 1, 0);
    draw(removals, K, -1), draw(corrections, K, 0), draw(decays, by_key ? K : 1, 0.5);
    draw(outputs, V, 0), draw(given, V, -1);
  }
  std::vector<std::vector<Real>*> arrays() {
    return {&queries, &keys, &values, &weights, &removals, &corrections, &decays, &given};
  }

  /// All gradients, one array after the other.
  template <class Form>
  std::vector<std::vector<Real>> gradients(rule how, bool by_key, const Form& form) {
    const head_extents rows{B, T, H, K}, lanes{B, T, H, V}, one{B, T, H, 1};
    std::vector<std::vector<Real>> result;
    for (const auto* array : arrays()) result.emplace_back(array->size());
    const index_t width = H * (by_key ? K : 1);
    const auto decay = ebb::stored_factors(strided_view<const Real>(decays.data(), {B, T, width}));
    typename std::remove_cvref_t<decltype(decay)>::gradients sums{
        strided_view<Real>(result[6].data(), {B, T, width})};
    const ebb::matrix_cotangents<Real> known{.outputs = {given.data(), lanes}};
    ebb::matrix_gradients<Real, decltype(sums)> asked{.queries = {result[0].data(), rows},
                                                      .keys = {result[1].data(), rows},
                                                      .values = {result[2].data(), lanes},
                                                      .weights = {result[3].data(), one},
                                                      .decay = &sums};
    const auto fill = [&](auto& data) {
      data.queries = {queries.data(), rows}, data.keys = {keys.data(), rows};
      data.values = {values.data(), lanes}, data.weights = {weights.data(), one};
      data.outputs = {outputs.data(), lanes};
      data.decays = by_key ? ebb::decay_per::key : ebb::decay_per::head;
    };
    if (how == rule::outer) {
      ebb::outer_data<Real> data;
      fill(data);
      ebb::outer_vjp(decay, data, known, asked, {}, form);
      return result;
    }
    ebb::delta_data<Real> data;
    fill(data);
    if (how != rule::gated) {
      data.removals = {removals.data(), rows}, asked.removals = {result[4].data(), rows};
      (how == rule::rates ? data.rates : data.corrections) =
          head_view<const Real>(corrections.data(), rows);
      (how == rule::rates ? asked.rates : asked.corrections) =
          head_view<Real>(result[5].data(), rows);
    }
    ebb::delta_vjp(decay, data, known, asked, {}, form);
    return result;
  }
};

template <class Real, class Form>
void check_isolation(rule how, bool by_key, index_t lanes, const Form& form) {
  problem<Real> given(lanes, by_key);
  const auto right = given.gradients(how, by_key, form);
  for (const Real bad :
       {std::numeric_limits<Real>::quiet_NaN(), std::numeric_limits<Real>::infinity()})
    for (std::size_t a = 0; a < given.arrays().size(); ++a) {
      std::vector<Real>& poisoned = *given.arrays()[a];
      const std::size_t width = poisoned.size() / (B * T * H), step = 20;
      Real& number = poisoned[step * H * width];  // batch entry 0, head 0
      const Real before = number;
      number = bad;
      const auto got = given.gradients(how, by_key, form);
      number = before;
      int changed = 0;
      for (std::size_t n = 0; n < got.size(); ++n) {
        const std::size_t of_head = got[n].size() / (B * T * H);
        for (std::size_t i = 0; i < got[n].size(); ++i) {
          const std::size_t h = i / of_head % H, b = i / of_head / H / T;
          if (h != 0 || b != 0) changed += got[n][i] == right[n][i] ? 0 : 1;
        }
      }
      INFO("array " << a << ", " << lanes << " lanes");
      CHECK(changed == 0);
    }
}

TEST_CASE_TEMPLATE("NaN and infinity stay in their head and batch entry", Real, float, double) {
  for (const rule how : {rule::outer, rule::gated, rule::corrections, rule::rates})
    for (const bool by_key : {false, true})
      for (const index_t lanes : {1, 3, 4, 17}) {
        CAPTURE(static_cast<int>(how));
        CAPTURE(by_key);
        check_isolation<Real>(how, by_key, lanes, ebb::sequential{});
      }
}

TEST_CASE("on several threads") {
  const ebb::sequential_threads<> form(2, 1);
  check_isolation<float>(rule::rates, true, 3, form);
}

}  // namespace
