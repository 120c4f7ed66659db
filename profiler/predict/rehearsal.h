// One step of an experiment in fp32, nothing committed: the ranges of everything it computes, and the numbers of what
// is asked for.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/train/trainer.h"
#include "kernels/ops/rounding_counts.h"

namespace ulpscope::profiler {

/// Where a step in fp32 stops being finite: the first operation that makes an infinity or a NaN from finite numbers, or what the
/// step reads that is not finite.
struct NotFinite {
  std::string node{};  ///< of the model; empty: the step reads it
  std::string operation{}, phase{};
  std::string tensor{};
  std::string role{};  ///< of what is read: "parameter", "buffer", "input"
  std::int64_t order = 0;
  std::int64_t elements = 0, not_finite = 0;
  double greatest_input = 0.0;  ///< magnitude
};

struct Rehearsal {
  engine::StepResult result;
  std::optional<NotFinite> first_not_finite;  ///< where loss and gradients are not all finite; none: it was not found
  std::map<std::string, RoundingCounts> ranges;  ///< by name of the value, over the micro-batches
  std::map<std::string, std::vector<float>>
      values;  ///< of the first micro-batch: constants, float inputs, those asked for
  std::map<std::string, std::vector<std::vector<float>>> every;   ///< of every micro-batch, one after the other: those asked for
  std::map<std::string, std::vector<float>> weights;    ///< by parameter
  std::map<std::string, std::vector<float>> gradients;  ///< by parameter, of the step; those the loss depends on
};

/// setup: of any mode of the experiment; it is run as in_fp32() makes it. wanted: names of results whose numbers are
/// kept; wanted_of_every: of every micro-batch. stop: asked after every node; true ends it in the middle of the step: Interrupted is thrown. May be null.
Rehearsal rehearse_in_fp32(Device& device, const engine::Dataset& dataset, const engine::TrainerSetup& setup,
                           const std::set<std::string>& wanted, const std::set<std::string>& wanted_of_every,
                           const std::function<bool()>& stop = {});

}  // namespace ulpscope::profiler
