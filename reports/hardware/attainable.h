// What share of a GPU's peaks work of a kind and size reaches, and how long a launch of it takes: the roofline with a launch cost.
//
//   seconds of a launch = max(FLOPs ÷ (peak × share), bytes ÷ (bandwidth × share), launch cost)
//
// Every share has a range. The defaults below are assumptions, said to be so wherever a time rests on them:
//   products with matrix units   0.60, from 0.30 to what others reached with the best shapes on this part (MAMF of stas00/ml-engineering:
//                                A100 271 of 312, H100 794 of 989.4, B200 1745 of 2250 TFLOP/s), where nobody says A100's 0.869
//   attention 0.40 (0.20 … 0.70), convolution 0.50 (0.25 … 0.80), products in fp32 0.80 (0.50 … 0.95), bandwidth 0.75 (0.50 … 0.93)
//   of launches that would take under 10 µs at the peaks half of the share and of its lower end, under 100 µs 0.8 of them: they end
//   before the device is full
//   a launch 5 µs (3 … 10): kernels of a launch-bound step take 4 µs on average in published traces
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "reports/hardware/gpu.h"

namespace ulpscope::reports {

enum class WorkClass : std::uint8_t { matrix_units, attention, convolution, fp32_products, memory };
inline constexpr int work_class_count = 5;
/// By what it would take at the peaks: under 10 µs, under 100 µs, more.
enum class WorkSize : std::uint8_t { small, medium, large };
inline constexpr int work_size_count = 3;
std::string_view name(WorkClass value);  ///< "matrix_units"
std::string_view name(WorkSize value);
WorkSize size_of(double ideal_seconds);

/// low ≤ likely ≤ high. Of a share, high is fast; of seconds, low is.
struct Spread {
  double low = 0.0, likely = 0.0, high = 0.0;
};

struct Share {
  Spread spread{};
  std::int64_t samples = 0;  ///< measured launches it was fitted to; 0: assumed
  Number error{};            ///< of the fit: median of |sample ÷ likely − 1|
};

struct Attainable {
  std::array<std::array<Share, work_size_count>, work_class_count> share{};  ///< by class, then size
  Share launch{};                                                           ///< seconds

  const Share& of(WorkClass work, WorkSize size) const { return share[static_cast<std::size_t>(work)][static_cast<std::size_t>(size)]; }
};
Attainable assumed(const Gpu& gpu);

/// What has to be done in one launch.
struct Work {
  WorkClass product = WorkClass::memory;  ///< memory: no product
  Number product_peak{};                  ///< TFLOP/s there, of the product's format
  Rate rate = Rate::fp32;                 ///< that is its
  double product_flops = 0.0;
  double other_flops = 0.0;               ///< in fp32
  double bytes = 0.0;
};

enum class Limit : std::uint8_t { products, memory, launch };
std::string_view name(Limit value);

struct LaunchSeconds {
  Spread seconds{};
  Limit limit = Limit::launch;  ///< of the likely time
  WorkClass work = WorkClass::memory;  ///< whose share the likely time rests on; of no meaning where the launch cost decides
  WorkSize size = WorkSize::small;
  bool known = false;           ///< false: a peak or the bandwidth is not known
};
LaunchSeconds seconds_of(const Work& work, const Gpu& gpu, const Attainable& attainable);

/// At the peaks; nothing if one that is needed is unknown.
Number ideal_seconds(const Work& work, const Gpu& gpu);
/// Whether FLOPs or bytes decide at the peaks.
bool limited_by_products(const Work& work, const Gpu& gpu);

}  // namespace ulpscope::reports
