// The models, and the pieces they are built of.
#pragma once

#include <cstdint>
#include <string>

#include "engine/models/models.h"

namespace ulpscope::engine {

Model build_gpt(const GptConfig& config, std::int64_t batch, bool training);
Model build_mlp(const MlpConfig& config, std::int64_t batch);

/// Throw UsageError naming the key of the experiment file.
void require_positive(const char* key, std::int64_t value);
void require_vocabulary(std::int64_t vocabulary);

/// Node `name`, parameters name.weight [outputs, inputs] and name.bias (zero).
ValueId add_linear(Graph& graph, const std::string& name, ValueId x, std::int64_t outputs, const Initial& weight, bool bias = true);
/// Node `name`, parameters name.weight (ones) and name.bias (zeros); epsilon 1e-5.
ValueId add_layer_norm(Graph& graph, const std::string& name, ValueId x);

}  // namespace ulpscope::engine
