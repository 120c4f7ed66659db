#include "engine/train/program.h"

#include <algorithm>

namespace ulpscope::engine {

Program::Program(Device& device, const Graph& graph, const MemoryPlan& plan, void* arena,
                 const std::function<void*(ValueId)>& address, StepState* state, const LaunchOptions& options)
    : device_(device), graph_(graph) {
  const Locate locate = [&](const Operand& operand) {
    Tensor tensor = operand.view;
    if (!plan.values[static_cast<std::size_t>(operand.value.index)].stored) return tensor;
    tensor.data = static_cast<std::byte*>(address(operand.value)) + operand.offset * storage_bytes(tensor.format);
    return tensor;
  };
  for (std::int32_t n = 0; n < graph.node_count(); ++n) {
    const NodeId id{n};
    if (plan.fusion.runs_at(id) != n) continue;   // with its group, later
    const Node& node = graph.node(id);
    const Placement& place = plan.workspace[static_cast<std::size_t>(n)];
    void* workspace = place.bytes > 0 ? static_cast<std::byte*>(arena) + place.offset : nullptr;
    Step step;
    step.lead = id;
    step.phase = node.phase;
    step.nodes = {id};
    if (const FusionGroup* group = plan.fusion.group(id)) {
      step.lead = group->lead;
      step.nodes = group->nodes;
      step.fused = std::make_unique<FusedCall>(graph, device.kernels(), plan.fusion, *group, options, locate);
      step.fused->bind(state, device.description().threads, device.stream(), workspace);
    } else if (node.op->launches) {
      for (LaunchPlan& launch_plan : launch_plans(graph, node, options)) {
        auto call = std::make_unique<Call>(device.kernels(), std::move(launch_plan), locate);
        call->launch().state = state;
        call->launch().threads = device.description().threads;
        call->launch().stream = device.stream();
        call->launch().workspace = workspace;
        step.calls.push_back(std::move(call));
      }
    }
    steps_.push_back(std::move(step));
  }
}

void Program::Step::run() const {
  if (fused != nullptr) return fused->run();
  for (const std::unique_ptr<Call>& call : calls) call->run();
}

void Program::run(Phase phase, Topics& topics, const Execution& execution) {
  const bool announce = !topics.node_begin.silent() || !topics.node_end.silent();
  for (Step& step : steps_) {
    if (step.phase != phase || !step.launches()) continue;
    const NodeEvent event{step.lead, execution.iteration, execution.micro_batch, execution.attempt};
    if (announce) topics.node_begin.publish(event);
    if (step.counts.empty()) {
      step.run();
    } else {
      run_observed(step, topics, execution);
    }
    for (const auto& work : step.after) work(execution);
    if (announce) topics.node_end.publish(event);
  }
}

void Program::run_observed(Step& step, Topics& topics, const Execution& execution) {
  for (const auto& of_node : step.counts)
    for (const auto& counts : of_node) *counts = RoundingCounts{};
  step.run();
  for (std::size_t i = 0; i < step.counts.size(); ++i) {
    const std::vector<ValueId>& outputs = graph_.node(step.nodes[i]).outputs;
    for (std::size_t o = 0; o < step.counts[i].size(); ++o)
      topics.tensor.publish({step.nodes[i], outputs[o], execution.iteration, execution.micro_batch, execution.attempt,
                             step.counts[i][o].get()});
  }
}

void Program::observe(const std::function<bool(const Node&)>& which) {
  for (Step& step : steps_)
    if (step.launches()) observe(step, which);
}

void Program::after(NodeId node, std::function<void(const Execution&)> work) {
  for (Step& step : steps_)
    if (std::find(step.nodes.begin(), step.nodes.end(), node) != step.nodes.end()) step.after.push_back(std::move(work));
}

std::int64_t Program::observation_bytes() const {
  std::size_t bytes = 0;
  for (const Step& step : steps_)
    if (step.fused != nullptr) bytes += step.fused->observation_bytes();
  return static_cast<std::int64_t>(bytes);
}

void Program::observe(Step& step, const std::function<bool(const Node&)>& which) {
  std::vector<std::vector<RoundingCounts*>> pointers;
  bool any = false;
  step.counts.clear();
  for (const NodeId id : step.nodes) {
    const Node& node = graph_.node(id);
    const bool wanted = which && which(node);
    any = any || wanted;
    std::vector<std::unique_ptr<RoundingCounts>>& counts = step.counts.emplace_back();
    std::vector<RoundingCounts*>& of_node = pointers.emplace_back();
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const bool counted = wanted && is_float(graph_.value(node.outputs[i]).format);   // indices, which come last, are not rounded
      if (counted) counts.push_back(std::make_unique<RoundingCounts>());
      of_node.push_back(counted ? counts.back().get() : nullptr);
    }
  }
  if (!any) {
    step.counts.clear();
    pointers.clear();
  }
  if (step.fused != nullptr) return step.fused->count(device_, pointers);
  std::size_t first_output = 0;
  for (const std::unique_ptr<Call>& call : step.calls) {
    std::vector<RoundingCounts*> counts;
    // Outputs of the launches are those of the node, in order; a split has one launch for each, a join several for one.
    for (std::size_t i = 0; any && i < call->outputs(); ++i)
      counts.push_back(pointers.front()[std::min(first_output + i, pointers.front().size() - 1)]);
    first_output += call->outputs();
    call->count(std::move(counts));
  }
}

}  // namespace ulpscope::engine
