// Which step of a trace a moment lies in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "profiler/import/trace.h"

namespace ulpscope::profiler {

/// A step: its iteration, and its range on the host and, where it is known, on the device. Nanoseconds of the trace's clock.
struct Step {
  std::int64_t iteration = 0, start = 0, end = 0;
  std::optional<std::pair<std::int64_t, std::int64_t>> device{};
};

/// Ranges whose name begins with the prefix, in the order of time; by the numbers that the names end in where these rise, else counted from 0.
std::vector<Step> find_steps(const Trace& trace, const std::string& prefix);

/// The step with this moment of the host in it; null: none.
const Step* at(const std::vector<Step>& steps, std::int64_t moment);

/// Where the steps lie on the device. What two of them claim is the earlier one's.
class OnDevice {
 public:
  /// The steps must outlive it.
  explicit OnDevice(const std::vector<Step>& steps);
  /// Null: no step has this moment of the device.
  const Step* find(std::int64_t moment) const;

 private:
  struct Part {
    std::int64_t start, end;
    const Step* step;
  };
  std::vector<Part> list_;
};

}  // namespace ulpscope::profiler
