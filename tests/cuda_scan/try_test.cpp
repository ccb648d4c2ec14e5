// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include "support/emulated_scan.hpp"
#include "support/scan_boundary.hpp"
using namespace ebb; using namespace ebb::test;
TEST_CASE("try") {
  using B = emulated_scan<small_tiles>;
  ebb::array<float> in(300,5), a(300,5), out(300,5);
  for (index_t t=0;t<300;++t) for (index_t k=0;k<5;++k) in(t,k)=float((t*7+k)%5-2), a(t,k)=(t+k)%3==0?-1:1;
  scan(a, in, out, B{});
  ebb::array<float> right(300,5); scan(a,in,right);
  CHECK(same_bits(out,right));
  ebb::array<float,channel_major> inc(300,5), ac(300,5), outc(300,5);
  for (index_t t=0;t<300;++t) for (index_t k=0;k<5;++k) inc(t,k)=in(t,k), ac(t,k)=a(t,k);
  scan(ac, inc, outc, B{});
  bool same=true; for (index_t t=0;t<300;++t) for (index_t k=0;k<5;++k) same=same&&outc(t,k)==right(t,k);
  CHECK(same);
}
