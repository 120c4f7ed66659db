// The data an experiment trains on.
#pragma once

#include <memory>

#include "engine/data/dataset.h"
#include "profiler/experiment/experiment.h"

namespace ulpscope::profiler {

/// Whether the model makes its own batches: a graph whose inputs have values.
bool makes_own_data(const Experiment& experiment);

/// A model whose sizes the data decide is fitted to them. Throws UsageError if there is none, and for data that cannot be read or does not fit the model.
std::unique_ptr<engine::Dataset> load_data(Experiment& experiment);

}  // namespace ulpscope::profiler
