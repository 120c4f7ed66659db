// What changes values that outlive a step: running statistics (ema), their commit, and the sum of gradients over micro-batches.
// All work in place, so none is computed again by checkpointing or moved by fusion.
#include "engine/graph/operator.h"
#include "engine/ops/families.h"
#include "kernels/ops/params.h"

namespace ulpscope::engine {
namespace {

/// The first so many inputs are what is overwritten.
std::vector<ValueType> types_of(const Graph& graph, const Node& node, std::size_t first, std::size_t count) {
  std::vector<ValueType> types;
  for (std::size_t i = first; i < first + count; ++i) {
    const Value& v = graph.value(node.inputs[i]);
    types.push_back({v.shape, v.format});
  }
  return types;
}

void expect_alike(const Graph& graph, const Node& node) {
  if (!(input_of(graph, node, 0).shape == input_of(graph, node, 1).shape)) refuse(graph, node, "takes two values of one shape");
}

/// Inputs: a buffer, and what is mixed in: buffer = (1 - momentum) buffer + momentum x, in the forward pass of training.
Operator ema() {
  Operator op;
  op.name = "ema";
  op.min_inputs = op.max_inputs = 2;
  op.infer = [](const Graph& graph, const Node& node) {
    expect_alike(graph, node);
    if (graph.value(graph.memory_owner(node.inputs[0])).role != Role::buffer) refuse(graph, node, "its first input must be a buffer");
    node.attributes.number("momentum");
    return types_of(graph, node, 0, 1);
  };
  op.in_place = {0};
  op.differentiable_outputs = 0;
  op.flops = per_output_element(3);
  op.launches = [](const Graph& graph, const Node& node, const LaunchOptions&) -> std::vector<LaunchPlan> {
    LaunchPlan plan = simple_launch("ema", graph, node);
    plan.set_params(EmaParams{node.attributes.number("momentum")});
    return {plan};
  };
  return op;
}

/// Inputs: the gradient of one micro-batch, the accumulator.
Operator accumulate() {
  Operator op;
  op.name = "accumulate";
  op.internal = true;
  op.min_inputs = op.max_inputs = 2;
  op.infer = [](const Graph& graph, const Node& node) {
    expect_alike(graph, node);
    return types_of(graph, node, 1, 1);
  };
  op.in_place = {1};
  op.flops = per_output_element(1);
  op.launches = [](const Graph& graph, const Node& node, const LaunchOptions&) -> std::vector<LaunchPlan> {
    LaunchPlan plan = simple_launch("accumulate", graph, node);
    plan.set_params(AccumulateParams{node.attributes.flag_or("early_unscale", false)});
    return {plan};
  };
  return op;
}

/// Inputs: a buffer as the step left it, and its value at the last commit.
Operator commit_buffer() {
  Operator op;
  op.name = "commit_buffer";
  op.internal = true;
  op.min_inputs = op.max_inputs = 2;
  op.infer = [](const Graph& graph, const Node& node) {
    expect_alike(graph, node);
    return types_of(graph, node, 0, 2);
  };
  op.in_place_all = true;
  op.launches = [](const Graph& graph, const Node& node, const LaunchOptions&) -> std::vector<LaunchPlan> {
    LaunchPlan plan = simple_launch("commit_buffer", graph, node);
    plan.in.clear();   // both are read and written
    return {plan};
  };
  return op;
}

}  // namespace

void add_persistent(OperatorTable& table) {
  table.add(ema());
  table.add(accumulate());
  table.add(commit_buffer());
}

}  // namespace ulpscope::engine
