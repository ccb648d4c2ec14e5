// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <string_view>

#include <ebb/core/dispatch.hpp>

namespace {

using ebb::isa_level;
using ebb::detail::processor_flags;

// What processors of each level say of themselves.
constexpr processor_flags first_of_all{};
constexpr processor_flags nehalem{0x0098e3bdu, 0, 0x1, 0};
constexpr processor_flags haswell{0x7ffafbffu, 0x000027abu, 0x21, 0x7};
constexpr processor_flags skylake_server{0x7ffefbffu, 0xd39ffffbu, 0x121, 0xe7};

int lowest_of_all() { return 0; }
int third() { return 3; }
int fourth() { return 4; }

}  // namespace

TEST_CASE("a processor has the level of which it has every instruction and register") {
  CHECK((ebb::detail::level_of(first_of_all) == isa_level::baseline));
  CHECK((ebb::detail::level_of(nehalem) == isa_level::v2));
  CHECK((ebb::detail::level_of(haswell) == isa_level::v3));
  CHECK((ebb::detail::level_of(skylake_server) == isa_level::v4));
}

TEST_CASE("each bit of a level is needed for it") {
  for (const isa_level level : {isa_level::v2, isa_level::v3, isa_level::v4}) {
    const processor_flags& needs = ebb::detail::flags_of_level[static_cast<int>(level)];
    const auto below = static_cast<isa_level>(static_cast<int>(level) - 1);
    int bits = 0;
    for (const auto member : {&processor_flags::leaf1_ecx, &processor_flags::leaf7_ebx,
                              &processor_flags::extended_ecx, &processor_flags::kept_state})
      for (unsigned bit = 1; bit != 0; bit <<= 1) {
        if ((needs.*member & bit) == 0) continue;
        processor_flags lacking = skylake_server;
        lacking.*member &= ~bit;
        CHECK((ebb::detail::level_of(lacking) == below));
        ++bits;
      }
    CHECK(bits == (level == isa_level::v2 ? 7 : level == isa_level::v3 ? 11 : 8));
  }
}

TEST_CASE("an operating system that keeps no wide registers takes their levels away") {
  processor_flags old_system = skylake_server;
  old_system.kept_state = 0x3;
  CHECK((ebb::detail::level_of(old_system) == isa_level::v2));
  old_system.kept_state = 0x7;
  CHECK((ebb::detail::level_of(old_system) == isa_level::v3));
}

TEST_CASE("this processor runs what this test was compiled for") {
  CHECK((ebb::compiled_level <= ebb::processor_level()));
#if defined(__x86_64__) && defined(__GNUC__)
  // Those that both compilers can ask for.
  const bool v2 = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt");
  const bool v3 = v2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                  __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                  __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512cd");
  const isa_level asked = v4   ? isa_level::v4
                          : v3 ? isa_level::v3
                          : v2 ? isa_level::v2
                               : isa_level::baseline;
  CHECK((ebb::processor_level() == asked));
#endif
}

TEST_CASE("a text lowers the level and never raises it") {
  CHECK((ebb::detail::level_at_most(isa_level::v3, nullptr) == isa_level::v3));
  CHECK((ebb::detail::level_at_most(isa_level::v3, "") == isa_level::v3));
  CHECK((ebb::detail::level_at_most(isa_level::v3, "x86-64-v2") == isa_level::v2));
  CHECK((ebb::detail::level_at_most(isa_level::v3, "x86-64-v4") == isa_level::v3));
  CHECK((ebb::detail::level_at_most(isa_level::v3, "baseline") == isa_level::baseline));
  CHECK((ebb::detail::level_at_most(isa_level::v3, ebb::name_of(isa_level::baseline).data()) ==
         isa_level::baseline));
  CHECK_THROWS_AS(ebb::detail::level_at_most(isa_level::v3, "avx2"), ebb::domain_error);
}

TEST_CASE("the best version is the highest one allowed, in whatever order they are listed") {
  using function = int();
  const auto chosen = [](isa_level highest) {
    return ebb::best_version<function>(
        {{isa_level::v3, &third}, {isa_level::v4, &fourth}, {isa_level::baseline, &lowest_of_all}},
        highest)();
  };
  CHECK(chosen(isa_level::baseline) == 0);
  CHECK(chosen(isa_level::v2) == 0);
  CHECK(chosen(isa_level::v3) == 3);
  CHECK(chosen(isa_level::v4) == 4);
  CHECK_THROWS_AS(ebb::best_version<function>({{isa_level::v3, &third}}, isa_level::v2),
                  ebb::domain_error);
}

TEST_CASE("names are those of -march") {
  CHECK(ebb::name_of(isa_level::v3) == "x86-64-v3");
  CHECK(ebb::name_of(isa_level::v4) == std::string_view("x86-64-v4"));
}
