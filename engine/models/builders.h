// The models, and the pieces they are built of.
#pragma once

#include <cstdint>
#include <string>

#include "engine/models/models.h"

namespace ulpscope::engine {

Model build_gpt(const GptConfig& config, std::int64_t batch, bool training);
Model build_llama(const LlamaConfig& config, std::int64_t batch, bool training);
Model build_encoder(const EncoderConfig& config, std::int64_t batch, bool training);
Model build_cnn(const CnnConfig& config, std::int64_t batch, bool training);
Model build_mlp(const MlpConfig& config, std::int64_t batch);
/// Throws UsageError naming the place of the node in the experiment file, the mistake and the valid choices.
Model build_graph(const GraphConfig& config, std::int64_t batch, bool training);

/// Throw UsageError for indices that are given in the file, or those of a text (bytes), and that a table or loss has no row for.
void check_graph_indices(const GraphConfig& config, const Graph& graph);
void check_text_indices(const GraphConfig& config, const Graph& graph);

/// A graph whose inputs come from a text: tokens [batch, context], then targets [batch, context] or [batch]. Throws UsageError
/// for other inputs.
void set_text_options(const GraphConfig& config, TextOptions& options);

/// Throw UsageError naming the key of the experiment file.
void require_positive(const char* key, std::int64_t value);
void require_vocabulary(std::int64_t vocabulary);
void require_heads(std::int64_t width, std::int64_t heads);   ///< the latter divides the former
void require_dropout(double rate);
void require_attention(const std::string& attention);

/// Node `name`, parameters name.weight [outputs, inputs] and name.bias (zero).
ValueId add_linear(Graph& graph, const std::string& name, ValueId x, std::int64_t outputs, const Initial& weight, bool bias = true);
/// Node `name`, parameters name.weight (ones) and name.bias (zeros); epsilon 1e-5.
ValueId add_layer_norm(Graph& graph, const std::string& name, ValueId x);

/// Node `name`, parameter name.weight (ones); epsilon 1e-5.
ValueId add_rms_norm(Graph& graph, const std::string& name, ValueId x);

struct AttentionOptions {
  std::int64_t heads = 1;
  std::int64_t kv_heads = 1;   ///< divides heads
  bool causal = true;
  double dropout = 0.0;
  bool fused = true;           ///< one operator; else composed of its parts
  bool training = true;        ///< probabilities are kept
  ValueId visible, hidden;     ///< i32 [B, T]: keys that are no padding (fused), that are (composed); none: all are seen
};

/// q [B, T, heads * D], k and v [B, T, kv_heads * D] → [B, T, heads * D]; node `name`, or nodes below it.
ValueId add_attention(Graph& graph, const std::string& name, ValueId q, ValueId k, ValueId v, const AttentionOptions& options);

}  // namespace ulpscope::engine
