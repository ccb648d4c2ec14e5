// SPDX-License-Identifier: Apache-2.0
#include <ebb/ebb.hpp>

struct no_form {
  static constexpr ebb::decay_kind kind = ebb::decay_kind::position;
  using gradients = ebb::no_gradients;
  template <class Block>
  void fill(const ebb::block_origin&, const Block&) const {}
};

void call(ebb::array<float>& b, ebb::array<float>& h) { ebb::scan(no_form{}, b, h); }
