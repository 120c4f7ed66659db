#include "reports/analysis/gpu_condition.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "reports/analysis/statistics.h"

namespace ulpscope::reports {
namespace {

struct Word {
  std::int64_t bit;
  const char* text;
};
constexpr std::array<Word, 9> words{{{throttle_bit::idle, "idle"},
                                     {throttle_bit::application, "clocks that were set"},
                                     {throttle_bit::power_cap, "power cap"},
                                     {throttle_bit::hardware, "hardware slow-down"},
                                     {throttle_bit::sync_boost, "sync boost"},
                                     {throttle_bit::software_thermal, "temperature (software)"},
                                     {throttle_bit::hardware_thermal, "temperature (hardware)"},
                                     {throttle_bit::power_brake, "power brake"},
                                     {throttle_bit::display, "display clocks"}}};

/// Bits of a set of reasons, lowest first.
std::vector<std::int64_t> bits_of(std::int64_t reasons) {
  std::vector<std::int64_t> bits;
  for (int i = 0; i < 62; ++i)
    if ((reasons >> i & 1) != 0) bits.push_back(std::int64_t{1} << i);
  return bits;
}

std::string word(std::int64_t bit) {
  for (const Word& w : words)
    if (w.bit == bit) return w.text;
  return fmt::format("bit {:#x}", bit);
}

constexpr std::int64_t harmless = throttle_bit::idle | throttle_bit::application;

Figure over(const std::vector<DeviceSample>& samples, Number DeviceSample::*member) {
  std::vector<double> values;
  for (const DeviceSample& s : samples)
    if (s.*member) values.push_back(*(s.*member));
  Figure f;
  if (values.empty()) return f;
  f.value = median(values);
  f.low = *std::min_element(values.begin(), values.end());
  f.high = *std::max_element(values.begin(), values.end());
  f.samples = std::ssize(values);
  f.provenance = Provenance::measured;
  return f;
}

}  // namespace

bool slowed_down(std::int64_t reasons) { return (reasons & ~harmless) != 0; }

std::string throttle_words(std::int64_t reasons) {
  std::string text;
  for (const std::int64_t bit : bits_of(reasons)) text += (text.empty() ? "" : ", ") + word(bit);
  return text;
}

std::string throttle_summary(const std::vector<std::int64_t>& samples) {
  std::int64_t all = 0;
  for (const std::int64_t reasons : samples) all |= reasons;
  std::string text;
  for (const std::int64_t bit : bits_of(all & ~harmless)) {
    const auto count = std::count_if(samples.begin(), samples.end(), [&](std::int64_t reasons) { return (reasons & bit) != 0; });
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", word(bit), count);
  }
  return text;
}

GpuCondition gpu_condition(const std::vector<DeviceSample>& samples) {
  GpuCondition condition;
  if (samples.empty()) return condition;
  condition.phase = samples.front().phase;
  condition.samples = std::ssize(samples);
  condition.core_clock_mhz = over(samples, &DeviceSample::core_clock_mhz);
  condition.memory_clock_mhz = over(samples, &DeviceSample::memory_clock_mhz);
  condition.power_watts = over(samples, &DeviceSample::power_watts);
  condition.temperature_celsius = over(samples, &DeviceSample::temperature_celsius);
  std::int64_t known = 0;
  std::vector<std::int64_t> slowed;
  for (const DeviceSample& s : samples) {
    if (!s.throttle_reasons) continue;
    ++known;
    if (slowed_down(*s.throttle_reasons)) slowed.push_back(*s.throttle_reasons);
  }
  if (known == 0) return condition;
  condition.slowed.value = static_cast<double>(slowed.size()) / static_cast<double>(known);
  condition.slowed.samples = known;
  condition.slowed.provenance = Provenance::counted;
  condition.why = throttle_summary(slowed);
  return condition;
}

}  // namespace ulpscope::reports
