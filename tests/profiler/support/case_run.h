// Runs an experiment in one mode and keeps what its expectations may ask for.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/topics.h"
#include "kernels/ops/rounding_counts.h"
#include "profiler/experiment/experiment_file.h"

namespace ulpscope::profiler::testing {

/// A value to be read after a step.
struct Wanted {
  std::string value;
  std::int64_t step = 0;
};

class CaseRun {
 public:
  /// Trains all steps (or until the run stops) with every node observed, then evaluates.
  CaseRun(Experiment experiment, const std::string& mode, const std::vector<Wanted>& wanted);

  std::int64_t steps() const { return static_cast<std::int64_t>(results_.size()); }
  const engine::StepResult& result(std::int64_t step) const { return results_.at(static_cast<std::size_t>(step)); }
  const std::vector<float>& value(const std::string& name, std::int64_t step) const;
  /// Of the first output of a node.
  const RoundingCounts& counts(const std::string& node, std::int64_t step) const;

  std::int64_t skips() const;
  std::int64_t losses_not_finite() const;
  float greatest_scale() const;
  double evaluation() const { return evaluation_; }   ///< NaN too if there was none
  /// The first node in order of execution with a result that is not finite, in the first step that has one; "" if none has.
  const std::string& first_not_finite() const { return first_not_finite_; }
  const std::vector<std::string>& with_gradient() const { return with_gradient_; }
  const std::vector<std::string>& without_gradient() const { return without_gradient_; }
  const std::vector<std::string>& non_standard() const { return non_standard_; }

 private:
  std::vector<engine::StepResult> results_;
  std::map<std::pair<std::string, std::int64_t>, std::vector<float>> values_;
  std::map<std::pair<std::string, std::int64_t>, RoundingCounts> counts_;
  double evaluation_ = 0.0;
  std::string first_not_finite_;
  std::vector<std::string> with_gradient_, without_gradient_, non_standard_;
};

}  // namespace ulpscope::profiler::testing
