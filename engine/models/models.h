// The named models: each builds the forward graph of one training step, up to the loss.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/data/dataset.h"
#include "engine/graph/graph.h"

namespace ulpscope::engine {

/// A forward graph and its loss (a scalar). Inputs in the order the dataset fills them.
struct Model {
  Graph graph;
  std::vector<ValueId> inputs;
  ValueId loss;
  std::int64_t tokens_per_batch = 0;   ///< predicted targets
};

/// Next byte from the `context` bytes before it: embedding, hidden layers, logits.
struct MlpConfig {
  std::int64_t context = 16;
  std::int64_t vocabulary = 256;
  std::int64_t embedding = 16;
  std::int64_t width = 256;
  std::int64_t layers = 2;             ///< hidden layers
  std::string activation = "gelu";     ///< gelu, relu, tanh
};

/// Decoder: learned positions, pre-norm, GELU, causal attention.
struct GptConfig {
  std::int64_t context = 64;
  std::int64_t vocabulary = 256;
  std::int64_t width = 128;
  std::int64_t layers = 4;
  std::int64_t heads = 4;
  double dropout = 0.0;
  std::string attention = "fused";     ///< "fused": one operator of autocast's lower list; "composed": its parts
};

using ModelConfig = std::variant<MlpConfig, GptConfig>;

/// "mlp", "gpt".
std::string_view name(const ModelConfig& config);
const std::vector<std::string>& model_names();
/// Defaults of a named model. Throws UsageError naming the nearest model and listing them all.
ModelConfig default_model(std::string_view name);

/// Throws UsageError for sizes that do not fit (width not divisible by heads, zero layers …), naming the key.
/// With training false, dropout is left out.
Model build_model(const ModelConfig& config, std::int64_t batch, bool training);

/// What the text dataset must provide for this model.
TextOptions text_options(const ModelConfig& config, double held_out);

}  // namespace ulpscope::engine
