#include "reports/hardware/support.h"

#include <fmt/format.h>

namespace ulpscope::reports {
namespace {

ModeSupport fp32_support(const Gpu& gpu) { return {Support::native, "without matrix units", Rate::fp32, gpu.peak_of(Rate::fp32)}; }

ModeSupport tf32_support(const Gpu& gpu) {
  const Number& peak = gpu.peak_of(Rate::tf32);
  const Number& fp32 = gpu.peak_of(Rate::fp32);
  if (!gpu.fma_of(Rate::tf32))
    return {Support::no_effect, fmt::format("compute capability {} has no tf32: it runs as fp32", capability_text(gpu.capability)), Rate::fp32, fp32};
  if (peak && fp32 && *peak < least_gain * *fp32)
    return {Support::no_gain, fmt::format("its peak ({:.9g} TFLOP/s) is fp32's: an error without a gain", *peak), Rate::tf32, peak};
  return {Support::native, "matrix units", Rate::tf32, peak};
}

ModeSupport fp16_support(const Gpu& gpu) {
  const Number& peak = gpu.peak_of(Rate::fp16);
  if (gpu.fma_of(Rate::fp16)) return {Support::native, "matrix units, sums in fp32", Rate::fp16, peak};
  return {Support::emulated,
          fmt::format("no matrix units: products with fp32 sums run at fp32's rate at best{}",
                      gpu.fma_of(Rate::fp16_vector) ? "; vectors in fp16 alone are faster, storage in 16 bits helps where memory limits" : ""),
          Rate::fp32, gpu.peak_of(Rate::fp32)};
}

ModeSupport bf16_support(const Gpu& gpu) {
  if (gpu.fma_of(Rate::bf16)) return {Support::native, "matrix units, sums in fp32", Rate::bf16, gpu.peak_of(Rate::bf16)};
  return {Support::emulated, fmt::format("compute capability {} has no bf16: emulated through fp32, slower than fp32", capability_text(gpu.capability)),
          Rate::fp32, gpu.peak_of(Rate::fp32)};
}

ModeSupport fp8_support(const Gpu& gpu) {
  if (gpu.fma_of(Rate::fp8)) return {Support::native, "matrix units, sums in fp32", Rate::fp8, gpu.peak_of(Rate::fp8)};
  return {Support::absent, fmt::format("compute capability {} has no fp8 (from 8.9 on)", capability_text(gpu.capability)), Rate::fp8, {}};
}

}  // namespace

std::string_view name(Support support) {
  switch (support) {
    case Support::native: return "native";
    case Support::no_gain: return "no gain";
    case Support::no_effect: return "no effect";
    case Support::emulated: return "emulated";
    case Support::absent: return "absent";
    case Support::unknown: return "unknown";
  }
  return "";
}

ModeSupport product_support(const Gpu& gpu, std::string_view format) {
  const auto rate = rate_of(format);
  if (!rate) return {Support::unknown, fmt::format("nothing is known of {} there", format), Rate::fp32, {}};
  if (*rate == Rate::fp32) return fp32_support(gpu);
  ModeSupport found;
  if (*rate == Rate::tf32) found = tf32_support(gpu);
  else if (*rate == Rate::fp16) found = fp16_support(gpu);
  else if (*rate == Rate::bf16) found = bf16_support(gpu);
  else found = fp8_support(gpu);
  // What the hardware has follows from the compute capability; how fast it is does not: a device that is not in the table, a user's
  // table without that rate.
  const int from = *rate == Rate::fp16 ? 70 : *rate == Rate::fp8 ? 89 : 80;
  if (gpu.fma_of(*rate) || gpu.capability < from) return found;
  if (*rate == Rate::fp16) {
    // Turing is sold with matrix units (RTX 20, T4) and without (GTX 16): its capability does not say which.
    if (gpu.capability == 75) return {Support::unknown, "some parts of compute capability 7.5 have no matrix units (GTX 16), and no rate with them is given", *rate, {}};
    if (gpu.fma_of(Rate::fp16_vector)) return {Support::unknown, "a rate of fp16 vectors alone is given: whether it has matrix units is not known", *rate, {}};
  }
  return {Support::native, "matrix units by its compute capability; their rate is not known", *rate, {}};
}

ModeSupport how_it_runs(const Gpu& gpu, std::string_view mode) {
  for (const char* lower : {"fp16", "bf16", "fp8"}) {
    if (!mode.starts_with(lower)) continue;
    const std::string_view rest = mode.substr(std::string_view(lower).size());
    if (rest.empty() || rest == "+tf32" || rest == "_pure") return product_support(gpu, lower);
  }
  if (mode == "fp32" || mode == "tf32") return product_support(gpu, mode);
  return {Support::unknown, fmt::format("\"{}\" is no mode of the table", mode), Rate::fp32, {}};
}

const std::vector<std::string>& known_modes() {
  static const std::vector<std::string> modes{"fp32", "tf32", "fp16", "bf16", "fp16+tf32", "bf16+tf32", "fp16_pure", "bf16_pure", "fp8"};
  return modes;
}

}  // namespace ulpscope::reports
