// One step of an experiment in fp32, nothing committed: the ranges of everything it computes, and the numbers of what
// is asked for.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/train/trainer.h"
#include "kernels/ops/rounding_counts.h"

namespace ulpscope::profiler {

struct Rehearsal {
  engine::StepResult result;
  std::map<std::string, RoundingCounts> ranges;  ///< by name of the value, over the micro-batches
  std::map<std::string, std::vector<float>>
      values;  ///< of the first micro-batch: constants, float inputs, those asked for
  std::map<std::string, std::vector<float>> weights;    ///< by parameter
  std::map<std::string, std::vector<float>> gradients;  ///< by parameter, of the step; those the loss depends on
};

/// setup: of any mode of the experiment; it is run as in_fp32() makes it. wanted: names of results whose numbers are
/// kept.
Rehearsal rehearse_in_fp32(Device& device, const engine::Dataset& dataset, const engine::TrainerSetup& setup,
                           const std::set<std::string>& wanted);

}  // namespace ulpscope::profiler
