// SPDX-License-Identifier: Apache-2.0
// The kernels of `simd` by themselves, one kind an object: EBB_FUSED_KIND 0, 1, 2. They have no
// product whose sum is not fused with it (check.cmake).
#include <ebb/recurrence/backend/simd.hpp>

using kernel = ebb::simd<>::kernel;
using ebb::decay_form;
constexpr auto gain = ebb::input_gain::one;

// Taking their addresses compiles them.
#if EBB_FUSED_KIND == 0  // stored factors
extern const auto of_float = &kernel::rows<decay_form::factor, gain, float, float>;
extern const auto of_double = &kernel::rows<decay_form::factor, gain, double, double>;
#elif EBB_FUSED_KIND == 1  // constant decays: weights of log-decays, made before
extern const auto of_float = &kernel::rows<decay_form::log_factor, gain, float, float>;
extern const auto of_double = &kernel::rows<decay_form::log_factor, gain, double, double>;
#else  // tapers in flight: polynomials in log-time, of the degrees from position 1024 on
extern const auto of_float = &kernel::log_time<4, gain, float, float>;
extern const auto of_double = &kernel::log_time<10, gain, double, double>;
#endif
