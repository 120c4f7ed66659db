#include "profiler/experiment/load_data.h"

#include <string_view>
#include <vector>

#include "engine/graph/operator.h"
#include "kernels/error.h"

namespace ulpscope::profiler {

bool makes_own_data(const Experiment& experiment) {
  const auto* graph = std::get_if<engine::GraphConfig>(&experiment.model);
  return graph != nullptr && engine::has_own_data(*graph);
}

namespace {

/// The node that reads an input as numbers of something: labels, tokens.
const engine::Node* reader_of(const engine::Model& model, std::size_t input, std::string_view op) {
  if (input >= model.inputs.size()) return nullptr;
  for (const engine::Node& node : model.graph.nodes())
    if (node.op->name == op && node.inputs.size() > 1 && node.inputs[1].index == model.inputs[input].index) return &node;
  return nullptr;
}

/// A batch is made once, and labels and tokens are held against what reads them: what does not fit shows before anything is
/// trained.
void check_inputs(const engine::Dataset& data, const Experiment& experiment) {
  const engine::Model model = engine::build_model(experiment.model, experiment.train.batch, true);
  std::vector<std::vector<std::byte>> memory;
  std::vector<Tensor> inputs;
  for (const engine::ValueId v : model.inputs) {
    const engine::Value& value = model.graph.value(v);
    memory.emplace_back(static_cast<std::size_t>(value.shape.elements() * storage_bytes(value.format)));
    inputs.emplace_back(memory.back().data(), value.format, value.shape);
  }
  data.training_batch({static_cast<std::uint64_t>(experiment.run.seed), 0, 0}, inputs);
  if (const engine::Node* const loss = reader_of(model, 1, "cross_entropy"))
    data.check_labels(model.graph.value(loss->inputs[0]).shape[-1], loss->attributes.integer_or("ignore_index", -100));
  if (const engine::Node* const table = reader_of(model, 0, "embedding"))
    data.check_tokens(model.graph.value(table->inputs[0]).shape[0]);
}

/// The sizes that the data decide; classes that the experiment gives stay.
void fit(engine::ModelConfig& model, const engine::Dataset& data, std::int64_t classes) {
  engine::fit_to_data(model, *data.example());
  if (classes <= 0) return;
  std::visit([&](auto& config) {
    if constexpr (requires { config.classes; }) config.classes = classes;
  }, model);
}

std::unique_ptr<engine::Dataset> load_examples(Experiment& experiment) {
  const DataSettings& settings = experiment.data;
  if (!settings.paths.empty()) throw UsageError("data.path and data.features are both given: train on a text or on features");
  auto data = engine::load_arrays(settings.features, settings.labels, {settings.held_out, settings.scale, settings.shift});
  fit(experiment.model, *data, settings.classes);
  check_inputs(*data, experiment);
  return data;
}

/// Tokens of the model's vocabulary, in windows as of a text.
std::unique_ptr<engine::Dataset> draw_tokens(const Experiment& experiment) {
  if (!experiment.data.paths.empty() || !experiment.data.features.empty())
    throw UsageError("data.random and data.path or data.features are both given: train on a text, on features or on random tokens");
  std::int64_t vocabulary = 0;
  std::visit([&](const auto& config) {
    if constexpr (requires { config.vocabulary; }) vocabulary = config.vocabulary;
  }, experiment.model);
  if (vocabulary == 0) throw UsageError("data.random: this model reads no tokens of a vocabulary; gpt, llama, encoder and mlp do");
  auto data = engine::random_tokens(vocabulary, engine::text_options(experiment.model, experiment.data.held_out));
  check_inputs(*data, experiment);
  return data;
}

}  // namespace

std::unique_ptr<engine::Dataset> load_data(Experiment& experiment) {
  if (makes_own_data(experiment)) {
    if (!experiment.data.paths.empty() || !experiment.data.features.empty() || experiment.data.random)
      throw UsageError("data.path, data.features and data.random do not go with inputs that have values: leave one of them out");
    return engine::make_graph_data(std::get<engine::GraphConfig>(experiment.model));
  }
  if (experiment.data.random) return draw_tokens(experiment);
  if (!experiment.data.features.empty()) return load_examples(experiment);
  if (!experiment.data.labels.empty()) throw UsageError("data.labels is given, but no data.features");
  if (experiment.data.paths.empty())
    throw UsageError("there is no data to train on: set data.path in the experiment file, or give --data PATH");
  return engine::load_text(experiment.data.paths, engine::text_options(experiment.model, experiment.data.held_out));
}

}  // namespace ulpscope::profiler
