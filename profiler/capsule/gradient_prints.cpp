#include "profiler/capsule/gradient_prints.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "engine/data/draw.h"
#include "engine/graph/operator.h"

namespace ulpscope::profiler {
namespace {

constexpr std::uint32_t quiet_nan = 0x7fc00000u;

using engine::Graph;
using engine::Node;
using engine::ValueId;

const Node* unscaling(const Graph& graph) {
  for (std::int32_t n = 0; n < graph.node_count(); ++n)
    if (graph.node(engine::NodeId{n}).op->name == "unscale_check") return &graph.node(engine::NodeId{n});
  return nullptr;
}

/// The parameter that an optimizer changes by the gradient.
std::string parameter_of(const Graph& graph, ValueId gradient) {
  for (std::int32_t n = 0; n < graph.node_count(); ++n) {
    const Node& node = graph.node(engine::NodeId{n});
    if (node.phase != engine::Phase::update || node.inputs.empty() || node.inputs.front() != gradient) continue;
    for (const ValueId input : node.inputs)
      if (graph.value(input).role == engine::Role::parameter) return graph.value(input).name;
  }
  return graph.value(gradient).name;
}

const GradientPrint* find(const std::vector<GradientPrint>& prints, const std::string& parameter) {
  const auto found =
      std::find_if(prints.begin(), prints.end(), [&](const GradientPrint& p) { return p.parameter == parameter; });
  return found == prints.end() ? nullptr : &*found;
}

}  // namespace

std::string print_of(const std::vector<float>& elements) {
  engine::Fnv1a sum;
  for (const float element : elements) {
    const std::uint32_t bits = std::isnan(element) ? quiet_nan : std::bit_cast<std::uint32_t>(element);
    for (int shift = 0; shift < 32; shift += 8) sum.byte(static_cast<std::uint8_t>(bits >> shift));
  }
  return fmt::format("{:016x}", sum.value());
}

GradientPrinter::GradientPrinter(engine::Topics& topics, const engine::Trainer& trainer) : trainer_(trainer) {
  const Graph& graph = trainer.plan().graph;
  const Node* const unscale = unscaling(graph);
  if (unscale == nullptr) return;
  std::vector<std::pair<std::int32_t, std::size_t>> order;
  for (std::size_t i = 0; i < unscale->inputs.size(); ++i)
    order.emplace_back(graph.value(unscale->inputs[i]).producer.index, i);
  std::sort(order.begin(), order.end());
  for (const auto& place : order) {
    const ValueId gradient = unscale->outputs[place.second];
    gradients_.push_back({graph.value(gradient).name, parameter_of(graph, gradient)});
  }
  on_node_ = topics.node_end.subscribe([this, unscale](const engine::NodeEvent& event) {
    if (event.attempt != 0 || &trainer_.plan().graph.node(event.node) != unscale) return;
    prints_.clear();
    for (const Gradient& g : gradients_) prints_.push_back({g.parameter, print_of(trainer_.read(g.value))});
  });
}

GradientComparison compare(const std::vector<GradientPrint>& recorded, const std::vector<GradientPrint>& here) {
  GradientComparison result;
  result.recorded = !recorded.empty();
  if (!result.recorded) return result;
  const auto differs = [&](const std::string& parameter) {
    ++result.different;
    if (result.first_different.empty()) result.first_different = parameter;
  };
  for (const GradientPrint& print : here) {
    ++result.compared;
    const GradientPrint* const there = find(recorded, print.parameter);
    if (there == nullptr || there->print != print.print) differs(print.parameter);
  }
  for (const GradientPrint& print : recorded)
    if (find(here, print.parameter) == nullptr) {
      ++result.compared;
      differs(print.parameter);
    }
  return result;
}

}  // namespace ulpscope::profiler
