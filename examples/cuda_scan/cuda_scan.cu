// SPDX-License-Identifier: Apache-2.0
// A scan, its gradients and matrix states on a GPU, and the same on the processor.
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <span>
#include <vector>

#include <ebb/ebb.hpp>
#include <ebb/recurrence/backend/cuda.hpp>

namespace {

int run() {
  const ebb::index_t batches = 4, steps = 5000, channels = 96;
  const auto rates = ebb::rates_of<double>(ebb::geometric_spectrum::timescales(1, 4096), channels);
  const auto decay = ebb::post_taper::relative(4096).bind(std::span<const double>(rates));
  ebb::array<float> inputs({batches, steps, channels}), states(inputs.size());
  for (ebb::index_t i = 0; i < batches * steps * channels; ++i)
    inputs.data()[i] = static_cast<float>(i % 17 - 8);

  // [scan]
  const ebb::device_array<float> b(inputs);  // copies in the memory of the GPU
  ebb::device_array<float> h(inputs.size());
  ebb::scan(decay, b, h, ebb::cuda{});  // returns at once; the default stream works
  h.copy_to(states);                    // in the order of that stream
  cudaStreamSynchronize(nullptr);
  // [scan]

  // On the processor; both are within their bounds of the exact states, and each has rounded log a.
  ebb::array<float> here(inputs.size()), sizes(inputs.size()), most(inputs.size());
  ebb::scan(decay, inputs, here);
  for (ebb::index_t i = 0; i < batches * steps * channels; ++i)
    sizes.data()[i] = std::abs(inputs.data()[i]);
  ebb::scan(decay, sizes, most);
  const double bound =
      (ebb::cuda::error_bound(steps) + ebb::rows::error_bound(steps) + 20.0 * steps) * 0x1p-24;
  int failures = 0;
  for (ebb::index_t i = 0; i < batches * steps * channels; ++i) {
    const double apart = std::abs(double{states.data()[i]} - double{here.data()[i]});
    failures += !(apart <= bound * double{most.data()[i]});
  }

  // [gradients]
  const ebb::device_array<float> dh(inputs);  // as if the loss were what the inputs say
  ebb::device_array<float> db(inputs.size());
  const std::vector<double> zeros(channels);
  ebb::device_array<double> d_rates(ebb::strided_view<const double>(zeros.data(), 1, channels));
  decltype(decay)::gradients sums{
      .rates = {d_rates.data(), static_cast<std::size_t>(channels)}};  // on the GPU too
  ebb::scan_vjp(decay, b, h, ebb::scan_cotangents<float>{.outputs = dh.view()},
                ebb::scan_gradients<float, decltype(sums)>{.inputs = db.view(), .decay = &sums},
                ebb::sequences<float>{}, {}, ebb::cuda{});
  // [gradients]
  std::vector<double> rates_there(channels), rates_here(channels), rates_most(channels);
  d_rates.copy_to(ebb::strided_view<double>(rates_there.data(), 1, channels));
  cudaStreamSynchronize(nullptr);
  const auto gradients_of_rates = [&](const auto& loss, const auto& from, std::vector<double>& to) {
    decltype(decay)::gradients own{.rates = to};
    ebb::scan_vjp(decay, from, from, ebb::scan_cotangents<float>{.outputs = loss.view()},
                  ebb::scan_gradients<float, decltype(own)>{.decay = &own});
  };
  gradients_of_rates(inputs, here, rates_here);
  gradients_of_rates(sizes, most, rates_most);
  for (std::size_t k = 0; k < rates_there.size(); ++k)
    failures += !(std::abs(rates_there[k] - rates_here[k]) <= 4 * bound * std::abs(rates_most[k]));

  // [matrix]
  cudaStream_t stream = nullptr;
  cudaStreamCreate(&stream);
  ebb::cuda_workspace workspace;  // keeps what calls need besides their data
  const ebb::cuda gpu(stream, workspace);

  const ebb::index_t heads = 4, keys = 16, values = 24;
  const std::vector<double> slow{0.001, 0.01, 0.1, 1};
  const auto by_head = ebb::constant_decay().bind(std::span<const double>(slow));
  ebb::outer_data<float> data;
  data.queries = {b.data(), {1, steps, 1, keys}};  // device pointers in views of heads
  data.keys = {b.data() + steps * keys, {1, steps, 1, keys}};
  data.values = {b.data() + 2 * steps * keys, {1, steps, heads, values}};
  ebb::device_array<float> o(steps, heads * values);
  data.outputs = {o.data(), {1, steps, heads, values}};
  ebb::outer(by_head, data, gpu);
  // [matrix]
  ebb::array<float> outputs(steps, heads * values), right(steps, heads * values);
  o.copy_to(outputs, stream);
  cudaStreamSynchronize(stream);
  cudaStreamDestroy(stream);

  data.queries = {inputs.data(), {1, steps, 1, keys}};
  data.keys = {inputs.data() + steps * keys, {1, steps, 1, keys}};
  data.values = {inputs.data() + 2 * steps * keys, {1, steps, heads, values}};
  data.outputs = {right.data(), {1, steps, heads, values}};
  ebb::outer(by_head, data);
  // |k|, |q|, |v| <= 8, and a decay sums up to 1 / (1 - a) <= 1001 steps of them.
  const double largest = 8.0 * 8.0 * 8.0 * keys * 1001;
  const double between = (ebb::cuda::error_bound(steps, keys, false) +
                          ebb::sequential::error_bound(steps, keys, false)) *
                         0x1p-24;
  for (ebb::index_t i = 0; i < steps * heads * values; ++i)
    failures +=
        !(std::abs(double{outputs.data()[i]} - double{right.data()[i]}) <= between * largest);

  std::printf("%s\n", failures == 0 ? "ok" : "FAILED");
  return failures == 0 ? 0 : 1;
}

}  // namespace

int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::printf("skipped: no GPU\n");
    return 77;
  }
  try {
    return run();
  } catch (const std::exception& error) {
    std::printf("FAILED: %s\n", error.what());
    return 1;
  }
}
