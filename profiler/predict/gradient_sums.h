// Gradients that meet in 16 bits because a 16-bit copy is used several times: fp32 has no copy, and no sum of that name.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "kernels/ops/rounding_counts.h"
#include "profiler/predict/plan_facts.h"

namespace ulpscope::profiler {

/// Results whose numbers, of every micro-batch, are asked for.
std::set<std::string> added_gradients(const engine::StepPlan& plan);
/// Magnitudes and exponents of such sums of the numbers in fp32, over the micro-batches, by the value's index; those whose addends are known.
std::map<std::int32_t, RoundingCounts> gradient_sums(const PlanFacts& facts);

}  // namespace ulpscope::profiler
