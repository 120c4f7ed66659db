// What a GPU's own samples say of the conditions under which it was timed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reports/analysis/figure.h"
#include "reports/run_file/records.h"

namespace ulpscope::reports {

/// Bits of DeviceSample::throttle_reasons (nvmlClocksEventReason… of nvml.h; part of NVML's ABI).
namespace throttle_bit {
inline constexpr std::int64_t idle = 0x1;               ///< nothing to do
inline constexpr std::int64_t application = 0x2;        ///< clocks that somebody set: steady, and lower than they could be
inline constexpr std::int64_t power_cap = 0x4;
inline constexpr std::int64_t hardware = 0x8;           ///< one of the two below, or the power supply's
inline constexpr std::int64_t sync_boost = 0x10;        ///< held down to the slowest GPU of a group
inline constexpr std::int64_t software_thermal = 0x20;
inline constexpr std::int64_t hardware_thermal = 0x40;
inline constexpr std::int64_t power_brake = 0x80;
inline constexpr std::int64_t display = 0x100;
}  // namespace throttle_bit

/// Whether any reason but idleness and clocks that were set holds the clock down.
bool slowed_down(std::int64_t reasons);
/// "power cap, temperature (hardware)"; "bit 0x4000" for one that is not known here; empty for 0.
std::string throttle_words(std::int64_t reasons);
/// How often each reason was there: "power cap (7), temperature (hardware) (2)".
std::string throttle_summary(const std::vector<std::int64_t>& samples);

/// Of the samples of one phase. Clocks, power and temperature: median, least and greatest [measured]; unknown where the GPU did not say.
struct GpuCondition {
  std::string phase{};     ///< "timing": when the steps were timed; "training"
  std::int64_t samples = 0;
  Figure core_clock_mhz{};
  Figure memory_clock_mhz{};
  Figure power_watts{};
  Figure temperature_celsius{};
  Figure slowed{};         ///< share of the samples in which the clock was held down [counted]
  std::string why{};       ///< throttle_summary of those
};

GpuCondition gpu_condition(const std::vector<DeviceSample>& samples);

}  // namespace ulpscope::reports
