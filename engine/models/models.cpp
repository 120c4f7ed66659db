#include "engine/models/models.h"

#include <fmt/format.h>

#include "engine/models/builders.h"
#include "kernels/error.h"
#include "kernels/nearest.h"

namespace ulpscope::engine {

std::string_view name(const ModelConfig& config) { return std::holds_alternative<GptConfig>(config) ? "gpt" : "mlp"; }

const std::vector<std::string>& model_names() {
  static const std::vector<std::string> names{"gpt", "mlp"};
  return names;
}

ModelConfig default_model(std::string_view name) {
  if (name == "gpt") return GptConfig{};
  if (name == "mlp") return MlpConfig{};
  throw UsageError(fmt::format("unknown model '{}', did you mean '{}'? Models: {}", name, nearest(name, model_names()),
                               fmt::join(model_names(), ", ")));
}

Model build_model(const ModelConfig& config, std::int64_t batch, bool training) {
  require_positive("train.batch", batch);
  if (const auto* gpt = std::get_if<GptConfig>(&config)) return build_gpt(*gpt, batch, training);
  return build_mlp(std::get<MlpConfig>(config), batch);
}

TextOptions text_options(const ModelConfig& config, double held_out) {
  TextOptions options;
  options.held_out = held_out;
  if (const auto* gpt = std::get_if<GptConfig>(&config)) {
    options.context = gpt->context;
    options.targets = TextTargets::every_position;
  } else {
    options.context = std::get<MlpConfig>(config).context;
    options.targets = TextTargets::next_byte;
  }
  return options;
}

void require_positive(const char* key, std::int64_t value) {
  if (value < 1) throw UsageError(fmt::format("{} must be at least 1, not {}", key, value));
}

void require_vocabulary(std::int64_t vocabulary) {
  if (vocabulary < 256)
    throw UsageError(fmt::format("model.vocabulary must be at least 256 (tokens are bytes), not {}", vocabulary));
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

}  // namespace ulpscope::engine
