#include "engine/models/models.h"

#include <fmt/format.h>

#include "engine/models/builders.h"
#include "kernels/error.h"
#include "kernels/nearest.h"

namespace ulpscope::engine {

std::string_view name(const ModelConfig& config) {
  static constexpr std::string_view names[] = {"mlp", "gpt", "graph", "llama", "encoder", "cnn"};   // in the variant's order
  static_assert(std::size(names) == std::variant_size_v<ModelConfig>);
  return names[config.index()];
}

const std::vector<std::string>& model_names() {
  static const std::vector<std::string> names{"gpt", "llama", "encoder", "cnn", "mlp", "graph"};
  return names;
}

ModelConfig default_model(std::string_view name) {
  if (name == "gpt") return GptConfig{};
  if (name == "mlp") return MlpConfig{};
  if (name == "graph") return GraphConfig{};
  if (name == "llama") return LlamaConfig{};
  if (name == "encoder") return EncoderConfig{};
  if (name == "cnn") return CnnConfig{};
  throw UsageError(fmt::format("unknown model '{}', did you mean '{}'? Models: {}", name, nearest(name, model_names()),
                               fmt::join(model_names(), ", ")));
}

Model build_model(const ModelConfig& config, std::int64_t batch, bool training) {
  require_positive("train.batch", batch);
  if (const auto* gpt = std::get_if<GptConfig>(&config)) return build_gpt(*gpt, batch, training);
  if (const auto* graph = std::get_if<GraphConfig>(&config)) return build_graph(*graph, batch, training);
  if (const auto* llama = std::get_if<LlamaConfig>(&config)) return build_llama(*llama, batch, training);
  if (const auto* encoder = std::get_if<EncoderConfig>(&config)) return build_encoder(*encoder, batch, training);
  if (const auto* cnn = std::get_if<CnnConfig>(&config)) return build_cnn(*cnn, batch, training);
  return build_mlp(std::get<MlpConfig>(config), batch);
}

TextOptions text_options(const ModelConfig& config, double held_out) {
  TextOptions options;
  options.held_out = held_out;
  if (const auto* gpt = std::get_if<GptConfig>(&config)) {
    options.context = gpt->context;
    options.targets = TextTargets::every_position;
  } else if (const auto* graph = std::get_if<GraphConfig>(&config)) {
    set_text_options(*graph, options);
  } else if (const auto* llama = std::get_if<LlamaConfig>(&config)) {
    options.context = llama->context;
    options.targets = TextTargets::every_position;
  } else if (const auto* encoder = std::get_if<EncoderConfig>(&config)) {
    if (encoder->classes < 256 || encoder->vocabulary < 256)
      throw UsageError(fmt::format("an encoder that reads text predicts the next byte: model.classes and model.vocabulary must be at "
                                   "least 256, not {} and {}; or give it data.features and data.labels",
                                   encoder->classes, encoder->vocabulary));
    options.context = encoder->context;
    options.targets = TextTargets::next_byte;
  } else if (std::holds_alternative<CnnConfig>(config)) {
    throw UsageError("a cnn reads no text: give it data.features and data.labels");
  } else {
    options.context = std::get<MlpConfig>(config).context;
    options.targets = TextTargets::next_byte;
  }
  return options;
}

void fit_to_data(ModelConfig& config, const Example& example) {
  const std::vector<std::int64_t> shape(example.features.dim.begin(), example.features.dim.begin() + example.features.rank);
  if (auto* cnn = std::get_if<CnnConfig>(&config)) {
    const Shape given{std::span<const std::int64_t>(cnn->shape)};
    if (given.elements() != example.features.elements()) {   // else the features are seen under the shape that is given
      if (shape.size() == 1)
        throw UsageError(fmt::format("model.shape {} does not hold the {} features of an example", fmt::join(cnn->shape, "x"), shape[0]));
      cnn->shape = shape;
    }
    if (example.classes > 0) cnn->classes = example.classes;
  } else if (auto* encoder = std::get_if<EncoderConfig>(&config)) {
    if (shape.size() != 1 || !example.whole_numbers)
      throw UsageError("an encoder takes tokens: features [length] of whole numbers, not " + to_string(example.features));
    encoder->context = shape[0];
    if (example.classes > 0) encoder->classes = example.classes;
  }
}

void require_positive(const char* key, std::int64_t value) {
  if (value < 1) throw UsageError(fmt::format("{} must be at least 1, not {}", key, value));
}

void require_vocabulary(std::int64_t vocabulary) {
  if (vocabulary < 256)
    throw UsageError(fmt::format("model.vocabulary must be at least 256 (tokens are bytes), not {}", vocabulary));
}

void require_heads(std::int64_t width, std::int64_t heads) {
  require_positive("model.heads", heads);
  if (width % heads != 0) throw UsageError(fmt::format("model.width {} is not divisible by model.heads {}", width, heads));
}

void require_dropout(double rate) {
  if (!(rate >= 0.0 && rate < 1.0)) throw UsageError(fmt::format("model.dropout must lie in [0, 1), not {}", rate));
}

void require_attention(const std::string& attention) {
  if (attention != "fused" && attention != "composed")
    throw UsageError(fmt::format("unknown model.attention '{}'. Choices: fused, composed", attention));
}

ValueId add_linear(Graph& graph, const std::string& name, ValueId x, std::int64_t outputs, const Initial& weight, bool bias) {
  const std::int64_t inputs = graph.value(x).shape[-1];
  std::vector<ValueId> in{x, graph.add_parameter(name + ".weight", Shape{outputs, inputs}, weight)};
  if (bias) in.push_back(graph.add_parameter(name + ".bias", Shape{outputs}, {Initial::Kind::zeros, 0.0, {}}));
  return graph.apply("linear", name, std::move(in));
}

ValueId add_layer_norm(Graph& graph, const std::string& name, ValueId x) {
  const Shape row{graph.value(x).shape[-1]};
  const ValueId gain = graph.add_parameter(name + ".weight", row, {Initial::Kind::ones, 0.0, {}});
  const ValueId bias = graph.add_parameter(name + ".bias", row, {Initial::Kind::zeros, 0.0, {}});
  return graph.apply("layer_norm", name, {x, gain, bias}, {{"epsilon", 1e-5}});
}

ValueId add_rms_norm(Graph& graph, const std::string& name, ValueId x) {
  const ValueId gain = graph.add_parameter(name + ".weight", Shape{graph.value(x).shape[-1]}, {Initial::Kind::ones, 0.0, {}});
  return graph.apply("rms_norm", name, {x, gain}, {{"epsilon", 1e-5}});
}

}  // namespace ulpscope::engine
