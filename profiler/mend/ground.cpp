#include "profiler/mend/ground.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "engine/graph/operator.h"
#include "engine/models/models.h"
#include "engine/passes/overrides.h"
#include "engine/passes/rewrites.h"

namespace ulpscope::profiler {
namespace {

void add_name(std::vector<std::string>& names, const std::string& name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

}  // namespace

Ground::Ground(const Experiment& experiment, const engine::Graph& step, const reports::RunDiagnosis& found, Surroundings around)
    : experiment_(experiment),
      step_(step),
      found_(found),
      around_(std::move(around)),
      model_(engine::rewrite(engine::build_model(experiment.model, experiment.train.batch, true).graph, experiment.train.rewrites, true)) {}

const engine::Node* Ground::model_node(const std::string& name) const {
  for (const engine::Node& node : model_.nodes())
    if (node.name == name) return &node;
  return nullptr;
}

void Ground::collect_readers(const engine::Graph& step, engine::ValueId value, std::vector<std::string>& to) const {
  for (const engine::Node& node : step.nodes())
    if (std::find(node.inputs.begin(), node.inputs.end(), value) != node.inputs.end() && node.phase != engine::Phase::unscale &&
        node.phase != engine::Phase::update)
      collect(step, node, to);
}

void Ground::collect(const engine::Graph& step, const engine::Node& node, std::vector<std::string>& to) const {
  if (model_node(node.name) != nullptr) return add_name(to, node.name);
  if (node.of && node.phase == engine::Phase::backward) {
    const engine::Node& forward = step.node(node.of);
    collect(step, forward, to);
    // The gradient of a cast is in the format of what was cast: that of whoever makes it.
    const bool cast = model_node(forward.name) == nullptr && !forward.inputs.empty();
    if (const engine::NodeId maker = cast ? step.value(forward.inputs.front()).producer : engine::NodeId{}) collect(step, step.node(maker), to);
    return;
  }
  if (node.phase == engine::Phase::forward)
    for (const engine::ValueId output : node.outputs) collect_readers(step, output, to);
}

std::vector<std::string> Ground::model_nodes(const std::string& place, const engine::Graph& step) const {
  std::vector<std::string> names;
  for (const engine::Node& node : step.nodes())
    if (node.name == place && node.phase != engine::Phase::unscale && node.phase != engine::Phase::update) collect(step, node, names);
  if (names.empty() && step.contains(place) && !step.value(step.find(place)).producer) collect_readers(step, step.find(place), names);
  return names;
}

std::string Ground::maker(const std::string& place) const {
  for (const engine::Node& node : step_.nodes()) {
    if (node.name != place) continue;
    if (model_node(node.name) != nullptr) return node.name;
    const engine::NodeId source = node.op->name == "cast" && node.phase == engine::Phase::forward ? step_.value(node.inputs.front()).producer : engine::NodeId{};
    return source && model_node(step_.node(source).name) != nullptr ? step_.node(source).name : "";
  }
  return "";
}

const reports::Fact* find_fact(const reports::Cause& cause, std::string_view key) {
  const auto found = std::find_if(cause.facts.begin(), cause.facts.end(), [&](const reports::Fact& f) { return f.key == key; });
  return found == cause.facts.end() ? nullptr : &*found;
}

bool beyond_fp32(const reports::Cause& cause) { return find_fact(cause, "beyond_fp32") != nullptr; }

std::vector<const reports::Cause*> Ground::causes() const {
  std::vector<const reports::Cause*> list;
  for (const reports::Cause& cause : found_.causes)
    if (cause.gravity <= reports::Gravity::damage) list.push_back(&cause);
  return list;
}

namespace {

/// What an override of the experiment asks of the node, in fp32: it wins over train.keep_fp32.
engine::Override back_to_fp32(const Experiment& experiment, const std::string& node) {
  engine::Override back;
  back.nodes = node;
  const engine::OverrideFormat fp32{false, Format::fp32};
  if (engine::find_override(experiment.train.overrides, node, &engine::Override::compute) != nullptr) back.compute = fp32;
  if (engine::find_override(experiment.train.overrides, node, &engine::Override::output) != nullptr) back.output = fp32;
  return back;
}

}  // namespace

void keep_in_fp32(Experiment& experiment, const std::vector<std::string>& nodes) {
  for (const std::string& node : nodes) {
    experiment.train.keep_fp32.push_back(node);
    const engine::Override back = back_to_fp32(experiment, node);
    if (back.compute || back.output) experiment.train.overrides.push_back(back);
  }
}

std::string keep_in_fp32_keys(const Experiment& experiment, const std::vector<std::string>& nodes) {
  std::string keys = fmt::format("train.keep_fp32={}", fmt::join(nodes, ",")), tables;
  for (const std::string& node : nodes) {
    const engine::Override back = back_to_fp32(experiment, node);
    if (back.compute || back.output)
      tables += fmt::format("{}{{nodes = \"{}\"{}{}}}", tables.empty() ? "" : ", ", node, back.compute ? ", compute = \"fp32\"" : "", back.output ? ", output = \"fp32\"" : "");
  }
  return tables.empty() ? keys : fmt::format("{}, and behind the file's own overrides: override = [{}]", keys, tables);
}

}  // namespace ulpscope::profiler
