// Which bad steps are run again under observation: the first of each kind, then at growing intervals, so that a run in which
// every step is bad does not crawl.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

namespace ulpscope::profiler {

class ReplayPolicy {
 public:
  /// To be told of every bad step, once; of a good one nothing is kept. Kinds: the loss is not finite; it is, and a gradient is not.
  /// True for the 1st, 2nd, 4th, 8th … step of a kind.
  bool wanted(float loss, bool finite) {
    if (finite && std::isfinite(loss)) return false;
    const std::int64_t n = ++seen_[std::isfinite(loss) ? 0 : 1];
    return (n & (n - 1)) == 0;
  }

 private:
  std::array<std::int64_t, 2> seen_{};
};

}  // namespace ulpscope::profiler
