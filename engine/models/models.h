// The named models: each builds the forward graph of one training step, up to the loss.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/data/dataset.h"
#include "engine/graph/graph.h"
#include "engine/models/graph_model.h"

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
  bool tied = false;                   ///< the head reads the embedding's table
};

/// Decoder as Llama's: rotary positions, RMS norm, SwiGLU, grouped-query attention, no biases.
struct LlamaConfig {
  std::int64_t context = 64;
  std::int64_t vocabulary = 256;
  std::int64_t width = 128;
  std::int64_t layers = 4;
  std::int64_t heads = 4;
  std::int64_t kv_heads = 2;           ///< heads of keys and values, each shared by heads / kv_heads
  std::int64_t hidden = 352;           ///< of the gated part: about 8/3 of the width
  double dropout = 0.0;
  std::string attention = "fused";     ///< as GptConfig
  bool tied = false;                   ///< as GptConfig
};

/// Classifies a sequence of tokens: learned positions, pre-norm, GELU, attention that leaves out the padding.
struct EncoderConfig {
  std::int64_t context = 64;
  std::int64_t vocabulary = 256;
  std::int64_t width = 128;
  std::int64_t layers = 2;
  std::int64_t heads = 4;
  std::int64_t classes = 256;          ///< 256: the next byte of a text
  std::int64_t pad = 0;                ///< the token that is padding: nobody sees it. A sequence of nothing else gives NaN
  std::string pooling = "mean";        ///< "mean" of the tokens that are no padding; "first" token
  double dropout = 0.0;
  std::string attention = "fused";     ///< as GptConfig
};

/// A small residual network: batch norm, ReLU, average pool, linear head. Reads features, fp32 [batch, shape…].
struct CnnConfig {
  std::vector<std::int64_t> shape{1, 28, 28};   ///< of one example: [channels, length] or [channels, height, width]
  std::int64_t channels = 16;          ///< of the first block; each further one has twice as many at half the resolution
  std::int64_t blocks = 2;             ///< of two convolutions each
  std::int64_t kernel = 3;             ///< size of the convolutions; odd
  std::int64_t classes = 10;
};

using ModelConfig = std::variant<MlpConfig, GptConfig, GraphConfig, LlamaConfig, EncoderConfig, CnnConfig>;

/// "mlp", "gpt", "graph", "llama", "encoder", "cnn".
std::string_view name(const ModelConfig& config);
const std::vector<std::string>& model_names();
/// Defaults of a named model. Throws UsageError naming the nearest model and listing them all.
ModelConfig default_model(std::string_view name);

/// Throws UsageError for sizes that do not fit (width not divisible by heads, zero layers …), naming the key.
/// With training false, dropout is left out.
Model build_model(const ModelConfig& config, std::int64_t batch, bool training);

/// Sizes that the data decide: a cnn's shape, unless the given one has as many elements (MNIST's [28, 28] as 1x28x28), and,
/// where there are labels, its classes; an encoder's context and classes. Throws
/// UsageError where the features do not fit the kind of model.
void fit_to_data(ModelConfig& config, const Example& example);

/// What the text dataset must provide for this model.
/// Throws UsageError for a model that does not read text.
TextOptions text_options(const ModelConfig& config, double held_out);

}  // namespace ulpscope::engine
