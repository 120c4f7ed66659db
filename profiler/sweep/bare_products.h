// The products of a step alone, by the device's library, each by itself and several times in a row: what a step would take that were
// nothing but its products, or a little less: their operands may lie in caches.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/device.h"
#include "profiler/sweep/step_products.h"
#include "profiler/sweep/timed_product.h"
#include "reports/analysis/figure.h"
#include "reports/analysis/time_peaks.h"

namespace ulpscope::profiler {

struct BareJob {
  Device& device;
  struct Mode {
    std::string name;
    StepProducts products;
    reports::Provenance provenance = reports::Provenance::measured;
  };
  std::vector<Mode> modes;
  std::int64_t rounds = 7;
};

struct BareProduct {
  StepProduct product;
  reports::Figure seconds{};    ///< of one of them: median and quartiles of the rounds
  std::string problem{};        ///< why it has no time
  std::string invalid{};        ///< why its time cannot be true
};
struct BareTimes {
  std::string mode;
  double flops = 0.0, left_out = 0.0;
  /// Of all products of a step: in each round every one is timed once, and counted as often as a step has it; median, quartiles and
  /// standard deviation of the rounds. Unknown if one of them has no time, or one that cannot be true.
  reports::Figure seconds{};
  std::string why{};            ///< why they are unknown
  bool by_device = false;       ///< between events of the device; else by the host's clock
  std::vector<BareProduct> products{};
};

/// What the rounds that are whole say. timed: in the order of the mode's products. peaks: of a GPU in the table.
BareTimes bare_times_of(const BareJob::Mode& mode, std::span<TimedProduct* const> timed, std::size_t rounds, const std::optional<reports::DevicePeaks>& peaks);

/// Bytes that the greatest operands take together.
std::int64_t bare_bytes(const BareJob& job);

/// Products that several modes have alike are timed once for all. told: once each has been warmed up, how many there are and about how many
/// seconds the rounds take; stop: asked after every sample, true ends it after the rounds that are whole. peaks: asked for when all is timed.
std::vector<BareTimes> bare_times(const BareJob& job, const std::function<void(std::size_t products, double seconds)>& told, const std::function<bool()>& stop,
                                  const std::function<std::optional<reports::DevicePeaks>()>& peaks = {});

}  // namespace ulpscope::profiler
