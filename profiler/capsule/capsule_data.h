// The batch of a capsule as a dataset: the same in every step, nothing held out.
#pragma once

#include <memory>

#include "engine/data/dataset.h"
#include "profiler/capsule/capsule.h"

namespace ulpscope::profiler {

/// model: the capsule's, whose inputs the batches have to fit. Throws UsageError "PATH: …" where they do not. The
/// capsule must outlive the dataset.
std::unique_ptr<engine::Dataset> capsule_data(const Capsule& capsule, const engine::Model& model,
                                              const std::string& path);

/// The inputs of a step as tensors of a file.
std::vector<std::vector<engine::NamedTensor>> batches_of_step(const engine::Dataset& dataset,
                                                              const engine::StepPlan& plan, std::uint64_t seed,
                                                              std::int64_t iteration);

}  // namespace ulpscope::profiler
