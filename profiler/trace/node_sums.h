// Calls and seconds of nodes, summed over the steps that were sampled.
#pragma once

#include <cstdint>
#include <vector>

#include "reports/run_file/records.h"

namespace ulpscope::profiler {

class NodeSums {
 public:
  explicit NodeSums(std::int32_t nodes) : sums_(static_cast<std::size_t>(nodes)) {}

  /// Allocates nothing. A node that is none of the plan's is left out.
  void add(std::int32_t node, double seconds) {
    if (node < 0 || static_cast<std::size_t>(node) >= sums_.size()) return;
    Sum& sum = sums_[static_cast<std::size_t>(node)];
    ++sum.calls;
    sum.seconds += seconds;
  }

  std::int64_t calls() const {
    std::int64_t calls = 0;
    for (const Sum& sum : sums_) calls += sum.calls;
    return calls;
  }

  /// Of every node that ran.
  std::vector<reports::NodeTiming> timings(reports::RunId run, std::int64_t sampled_steps, reports::Provenance provenance) const {
    std::vector<reports::NodeTiming> list;
    for (std::size_t node = 0; node < sums_.size(); ++node) {
      if (sums_[node].calls == 0) continue;
      reports::NodeTiming timing;
      timing.run = run;
      timing.node = static_cast<reports::NodeId>(node);
      timing.sampled_steps = sampled_steps;
      timing.calls = sums_[node].calls;
      timing.seconds = sums_[node].seconds;
      timing.provenance = provenance;
      list.push_back(timing);
    }
    return list;
  }

 private:
  struct Sum {
    std::int64_t calls = 0;
    double seconds = 0.0;
  };
  std::vector<Sum> sums_;
};

}  // namespace ulpscope::profiler
