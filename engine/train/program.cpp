#include "engine/train/program.h"

#include <algorithm>

namespace ulpscope::engine {

Program::Program(Device& device, const Graph& graph, const MemoryPlan& plan, void* arena,
                 const std::function<void*(ValueId)>& address, StepState* state, const LaunchOptions& options)
    : graph_(graph) {
  const auto located = [&](const Operand& operand) {
    Tensor tensor = operand.view;
    tensor.data = static_cast<std::byte*>(address(operand.value)) + operand.offset * storage_bytes(tensor.format);
    return tensor;
  };
  for (std::int32_t n = 0; n < graph.node_count(); ++n) {
    const Node& node = graph.node(NodeId{n});
    Step step;
    step.node = NodeId{n};
    step.phase = node.phase;
    if (node.op->launches) {
      for (LaunchPlan& launch_plan : node.op->launches(graph, node, options)) {
        Call call;
        call.kernel = &device.kernels().find(launch_plan.kernel, compute_format(launch_plan));
        for (const Operand& o : launch_plan.in) call.in.push_back(located(o));
        for (const Operand& o : launch_plan.out) call.out.push_back(located(o));
        call.params = std::move(launch_plan.params);
        call.launch.state = state;
        call.launch.threads = device.description().threads;
        call.launch.stream = device.stream();
        const Placement& workspace = plan.workspace[static_cast<std::size_t>(n)];
        if (workspace.bytes > 0) call.launch.workspace = static_cast<std::byte*>(arena) + workspace.offset;
        step.calls.push_back(std::move(call));
      }
    }
    steps_.push_back(std::move(step));
  }
  // Addresses of the vectors are final only now.
  for (Step& step : steps_) {
    for (Call& call : step.calls) {
      call.launch.in = call.in.data();
      call.launch.in_count = static_cast<int>(call.in.size());
      call.launch.out = call.out.data();
      call.launch.out_count = static_cast<int>(call.out.size());
      call.launch.params = call.params.empty() ? nullptr : call.params.data();
    }
  }
}

void Program::run(Phase phase, Topics& topics, const Execution& execution) {
  const bool announce = !topics.node_begin.silent() || !topics.node_end.silent();
  for (Step& step : steps_) {
    if (step.phase != phase || step.calls.empty()) continue;
    const NodeEvent event{step.node, execution.iteration, execution.micro_batch, execution.attempt};
    if (announce) topics.node_begin.publish(event);
    if (step.counts.empty()) {
      for (Call& call : step.calls) call.kernel->run(call.launch);
    } else {
      run_observed(step, topics, execution);
    }
    if (announce) topics.node_end.publish(event);
  }
}

void Program::run_observed(Step& step, Topics& topics, const Execution& execution) {
  for (const auto& counts : step.counts) *counts = RoundingCounts{};
  for (Call& call : step.calls) call.kernel->run(call.launch);
  const std::vector<ValueId>& outputs = graph_.node(step.node).outputs;
  for (std::size_t i = 0; i < step.counts.size(); ++i)
    topics.tensor.publish({step.node, outputs[i], execution.iteration, execution.micro_batch, execution.attempt,
                           step.counts[i].get()});
}

void Program::observe(const std::function<bool(const Node&)>& which) {
  for (Step& step : steps_) {
    const Node& node = graph_.node(step.node);
    const bool wanted = which && which(node) && !step.calls.empty();
    step.counts.clear();
    if (wanted)
      for (std::size_t i = 0; i < node.outputs.size(); ++i) step.counts.push_back(std::make_unique<RoundingCounts>());
    std::size_t first_output = 0;
    for (Call& call : step.calls) {
      call.counts.clear();
      // Outputs of the launches are those of the node, in order; a split has one launch for each, a join several for one.
      for (std::size_t i = 0; wanted && i < call.out.size(); ++i)
        call.counts.push_back(step.counts[std::min(first_output + i, step.counts.size() - 1)].get());
      first_output += call.out.size();
      call.launch.counts = wanted ? call.counts.data() : nullptr;
    }
  }
}

}  // namespace ulpscope::engine
