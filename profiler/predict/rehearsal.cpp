#include "profiler/predict/rehearsal.h"

#include "engine/graph/operator.h"
#include "profiler/experiment/in_fp32.h"

namespace ulpscope::profiler {

Rehearsal rehearse_in_fp32(Device& device, const engine::Dataset& dataset, const engine::TrainerSetup& setup,
                           const std::set<std::string>& wanted) {
  Rehearsal rehearsal;
  engine::Topics topics;
  engine::Trainer trainer(device, dataset, in_fp32(setup, device), topics);
  const engine::Graph& graph = trainer.plan().graph;
  const auto listening = topics.tensor.subscribe([&](const engine::TensorEvent& event) {
    if (event.inner || !event.value) return;
    const engine::Value& value = graph.value(event.value);
    merge_counts(rehearsal.ranges[value.name], *event.counts);
    const bool source = value.role == engine::Role::constant || value.role == engine::Role::input;
    if (event.micro_batch == 0 && (source || wanted.contains(value.name)))
      rehearsal.values[value.name] = trainer.read(value.name);
  });
  rehearsal.result = trainer.rehearse([](const engine::Node&) { return true; });
  // Unscaled gradients wait in memory for the update.
  for (const engine::Node& node : graph.nodes()) {
    if (node.phase != engine::Phase::update || (node.op->name != "adamw" && node.op->name != "sgd")) continue;
    const std::string& parameter = graph.value(node.inputs.at(2)).name;
    rehearsal.weights[parameter] = trainer.read(parameter);
    rehearsal.gradients[parameter] = trainer.read(graph.value(node.inputs.at(0)).name);
  }
  return rehearsal;
}

}  // namespace ulpscope::profiler
