#include "reports/hardware/gpu.h"

#include <fmt/format.h>

namespace ulpscope::reports {

const std::array<RateInfo, rate_count>& rates() {
  static constexpr std::array<RateInfo, rate_count> all{{
      {Rate::fp32, "fp32", "fp32", false},
      {Rate::tf32, "tf32", "tf32", true},
      {Rate::fp16, "fp16", "fp16, fp32 sums", true},
      {Rate::bf16, "bf16", "bf16, fp32 sums", true},
      {Rate::fp8, "fp8", "fp8, fp32 sums", true},
      {Rate::fp4, "fp4", "fp4", true},
      {Rate::fp16_sums_fp16, "fp16_sums_fp16", "fp16, fp16 sums", true},
      {Rate::fp8_sums_fp16, "fp8_sums_fp16", "fp8, fp16 sums", true},
      {Rate::fp16_vector, "fp16_vector", "fp16, vector", false},
  }};
  return all;
}

std::optional<Rate> rate_of(std::string_view format) {
  if (format == "fp32") return Rate::fp32;
  if (format == "tf32") return Rate::tf32;
  if (format == "fp16") return Rate::fp16;
  if (format == "bf16") return Rate::bf16;
  if (format == "fp8" || format.starts_with("e4m3") || format.starts_with("e5m2") || format.starts_with("fp8_")) return Rate::fp8;
  return std::nullopt;
}

Number Gpu::computed_peak(Rate rate) const {
  const Number& pairs = fma_of(rate);
  if (!pairs) return std::nullopt;
  const double mhz = rates()[static_cast<std::size_t>(rate)].matrix_units ? tensor_mhz.value_or(boost_mhz) : boost_mhz;
  return static_cast<double>(sms) * *pairs * 2.0 * mhz * 1e-6;
}

double Gpu::least_memory_bytes() const { return memory_bytes ? static_cast<double>(*memory_bytes) : 0.98e9 * memory_gb; }
double Gpu::greatest_memory_bytes() const { return memory_bytes ? static_cast<double>(*memory_bytes) : 0x1p30 * memory_gb; }

std::string capability_text(int capability) { return fmt::format("{}.{}", capability / 10, capability % 10); }

}  // namespace ulpscope::reports
