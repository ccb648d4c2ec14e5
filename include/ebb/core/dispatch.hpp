// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/core/dispatch.hpp
/// @brief  Which instructions this file was compiled for, which this processor has, and the best
///   of several compiled versions of one function. cmake/ebb-dispatch.cmake makes the versions.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <string_view>

#include <ebb/core/error.hpp>

#if defined(__x86_64__) && __has_include(<cpuid.h>)
#include <cpuid.h>
#endif

namespace ebb::inline EBB_ABI {

/// The levels of the x86-64 psABI, each with all instructions of the one before: -march=x86-64,
/// x86-64-v2 (SSE4.2), -v3 (AVX2, fused multiply-adds), -v4 (AVX-512 F, BW, CD, DQ, VL). Other
/// processors have the baseline alone.
enum class isa_level { baseline, v2, v3, v4 };

/// As -march has it: "x86-64", "x86-64-v2" ... Of other processors "baseline".
constexpr std::string_view name_of(isa_level level) {
  switch (level) {
    case isa_level::v2:
      return "x86-64-v2";
    case isa_level::v3:
      return "x86-64-v3";
    case isa_level::v4:
      return "x86-64-v4";
    case isa_level::baseline:
      break;
  }
#if defined(__x86_64__)
  return "x86-64";
#else
  return "baseline";
#endif
}

/// The highest level all of whose vector instructions the flags of this file allow. In the sources
/// of ebb_add_dispatched() it is the level that they are being compiled for.
inline constexpr isa_level compiled_level =
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512CD__) && \
    defined(__AVX512DQ__) && defined(__AVX512VL__) && defined(__FMA__)
    isa_level::v4;
#elif defined(__AVX2__) && defined(__FMA__) && defined(__F16C__) && defined(__BMI2__)
    isa_level::v3;
#elif defined(__SSE4_2__) && defined(__POPCNT__)
    isa_level::v2;
#else
    isa_level::baseline;
#endif

namespace detail {

// What decides the level: registers of the CPUID leaves 1, 7 and 0x80000001, and XCR0, which says
// the state of which registers the operating system keeps for a thread.
struct processor_flags {
  unsigned leaf1_ecx = 0, leaf7_ebx = 0, extended_ecx = 0, kept_state = 0;
};

// The bits of each level, as the psABI lists them (System V ABI AMD64, table 3.1).
inline constexpr processor_flags flags_of_level[] = {
    {0, 0, 0, 0},
    // SSE3, SSSE3, CMPXCHG16B, SSE4.1, SSE4.2, POPCNT; LAHF
    {1u | 1u << 9 | 1u << 13 | 1u << 19 | 1u << 20 | 1u << 23, 0, 1u, 0},
    // FMA, MOVBE, OSXSAVE, AVX, F16C; BMI1, AVX2, BMI2; LZCNT; the state of xmm and ymm
    {1u << 12 | 1u << 22 | 1u << 27 | 1u << 28 | 1u << 29, 1u << 3 | 1u << 5 | 1u << 8, 1u << 5,
     0x6},
    // AVX512F, DQ, CD, BW, VL; the state of masks, zmm0-15 and zmm16-31
    {0, 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31, 0, 0xe0}};

constexpr bool has_all(unsigned value, unsigned bits) { return (value & bits) == bits; }

constexpr isa_level level_of(const processor_flags& has) {
  auto level = isa_level::baseline;
  for (const isa_level next : {isa_level::v2, isa_level::v3, isa_level::v4}) {
    const processor_flags& needs = flags_of_level[static_cast<int>(next)];
    if (!has_all(has.leaf1_ecx, needs.leaf1_ecx) || !has_all(has.leaf7_ebx, needs.leaf7_ebx) ||
        !has_all(has.extended_ecx, needs.extended_ecx) ||
        !has_all(has.kept_state, needs.kept_state))
      break;
    level = next;
  }
  return level;
}

inline processor_flags flags_of_processor() {
  processor_flags flags;
#if defined(__x86_64__) && __has_include(<cpuid.h>)
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d)) flags.leaf1_ecx = c;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) flags.leaf7_ebx = b;
  if (__get_cpuid(0x80000001u, &a, &b, &c, &d)) flags.extended_ecx = c;
  if (has_all(flags.leaf1_ecx, 1u << 27)) {  // OSXSAVE: XGETBV may be asked
    unsigned low = 0;
    [[maybe_unused]] unsigned high = 0;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    flags.kept_state = low;
  }
#endif
  return flags;
}

// No more than a text asks for, if there is one.
inline isa_level level_at_most(isa_level level, const char* text) {
  if (text == nullptr || *text == '\0') return level;
  for (const isa_level wanted : {isa_level::baseline, isa_level::v2, isa_level::v3, isa_level::v4})
    if (text == name_of(wanted)) return std::min(level, wanted);
  require_domain(std::string_view(text) == "baseline", "dispatch",
                 "EBB_MAX_LEVEL must be x86-64, x86-64-v2, x86-64-v3, x86-64-v4 or baseline", text);
  return isa_level::baseline;
}

}  // namespace detail

/// The highest level whose instructions this processor has and whose registers its operating system
/// keeps. Cost: four CPUID instructions, each an exit to the hypervisor on a virtual machine.
inline isa_level processor_level() { return detail::level_of(detail::flags_of_processor()); }

/// processor_level(), or less where the environment variable EBB_MAX_LEVEL names a lower one.
/// @throws domain_error where it names none
inline isa_level allowed_level() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): asked once, as the C library is asked everywhere
  return detail::level_at_most(processor_level(), std::getenv("EBB_MAX_LEVEL"));
}

/// One function compiled for one level.
template <class Function>
struct compiled_version {
  isa_level level;
  Function* function;
};

/// The version of the highest level that is at most `highest`.
/// @throws domain_error where there is none
template <class Function>
Function* best_version(std::initializer_list<compiled_version<Function>> versions,
                       isa_level highest = allowed_level()) {
  const compiled_version<Function>* best = nullptr;
  for (const compiled_version<Function>& version : versions)
    if (version.level <= highest && (best == nullptr || version.level > best->level))
      best = &version;
  detail::require_domain(best != nullptr, "dispatch",
                         "this program was compiled for higher levels than this processor has, or "
                         "than EBB_MAX_LEVEL allows",
                         name_of(highest));
  return best->function;
}

}  // namespace ebb::inline EBB_ABI
