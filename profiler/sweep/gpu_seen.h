// What a GPU said of itself while something was timed.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "profiler/trace/gpu_watch.h"
#include "reports/analysis/gpu_condition.h"

namespace ulpscope::profiler {

class GpuSeen {
 public:
  /// make: a watch over the GPU that hands what it reads to the sink. None: nothing is watched, `unknown` says why.
  explicit GpuSeen(const std::function<std::unique_ptr<GpuWatch>(const Sink&)>& make, std::string unknown = {});

  /// From here to finish() it is looked at, once a second and at once.
  void begin();
  void finish();

  /// After finish(). None: it was not looked at, or said nothing.
  std::optional<reports::GpuCondition> condition() const;
  /// What is unknown of it, and why; empty: nothing.
  const std::string& unknown() const { return unknown_; }
  const std::vector<reports::DeviceSample>& samples() const { return samples_; }

 private:
  void take(const reports::Record& record);

  std::string unknown_;
  std::vector<reports::DeviceSample> samples_;
  std::unique_ptr<GpuWatch> watch_;   ///< first to go: it hands on to the rest
};

}  // namespace ulpscope::profiler
