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
    if (step.look == nullptr) {
      step.run();
    } else {
      run_observed(step, topics, execution);
    }
    for (const auto& work : step.after) work(execution);
    if (announce) topics.node_end.publish(event);
  }
}

void Program::run_observed(const Step& step, Topics& topics, const Execution& execution) {
  const Look& look = *step.look;
  for (const Look::Output& output : look.outputs) clear_counts(*output.counts);
  if (look.inner != nullptr) *look.inner = RoundingCounts{};
  step.run();
  if (look.inner != nullptr)
    topics.tensor.publish({step.lead, ValueId{}, execution.iteration, execution.micro_batch, execution.attempt, look.inner.get(), true});
  for (const Look::Output& output : look.outputs)
    topics.tensor.publish({output.node, output.value, execution.iteration, execution.micro_batch, execution.attempt, output.counts.get()});
}

void Program::observe(const std::function<bool(const Node&)>& which) {
  if (!which) {
    put_on_ranges();
    for (Step& step : steps_) step.closer = Look{};
    observation_.reset();
    return;
  }
  const Wanted wanted = [&](const Node& node, ValueId value) {
    if (which(node)) return Counted::everything;
    return in_range_ && in_range_(node, value) ? Counted::range : Counted::nothing;
  };
  for (Step& step : steps_) step.look = nullptr;
  try {
    for (Step& step : steps_) step.closer = look_at(step, wanted);
    make_room(observation_, bytes_of(&Step::closer));
    for (Step& step : steps_) step.put_on(step.closer, observation_.data());
  } catch (...) {   // launches point to what was looked at before, which is gone
    observe(nullptr);
    throw;
  }
}

void Program::observe_ranges(const std::function<bool(const Node&, ValueId)>& which) {
  in_range_ = which;
  for (Step& step : steps_) step.look = nullptr;
  for (Step& step : steps_)
    step.ranges = look_at(step, [&](const Node& node, ValueId value) { return which && which(node, value) ? Counted::range : Counted::nothing; });
  make_room(range_memory_, bytes_of(&Step::ranges));
  put_on_ranges();
}

void Program::put_on_ranges() {
  for (Step& step : steps_) step.put_on(step.ranges, range_memory_.data());
}

std::size_t Program::bytes_of(Look Step::*look) const {
  std::size_t bytes = 0;
  for (const Step& step : steps_)
    if (step.fused != nullptr) bytes = std::max(bytes, step.fused->observation_bytes((step.*look).counts));
  return bytes;
}

void Program::make_room(Buffer& buffer, std::size_t bytes) {
  if (bytes == buffer.bytes()) return;
  buffer.reset();
  if (bytes > 0) buffer = Buffer(device_, bytes);
}

void Program::after(NodeId node, std::function<void(const Execution&)> work) {
  for (Step& step : steps_)
    if (std::find(step.nodes.begin(), step.nodes.end(), node) != step.nodes.end()) step.after.push_back(std::move(work));
}

/// Outputs of the launches are those of the node, in order; a split has one launch for each, a join several for one.
Program::Look Program::look_at(const Step& step, const Wanted& wanted) const {
  Look look;
  if (!step.launches()) return look;
  bool closely = false;
  std::vector<std::vector<RoundingCounts*>> by_node;
  for (const NodeId id : step.nodes) {
    const Node& node = graph_.node(id);
    std::vector<RoundingCounts*>& of_node = by_node.emplace_back();
    for (const ValueId value : node.outputs) {
      const Counted counted = is_float(graph_.value(value).format) ? wanted(node, value) : Counted::nothing;   // indices are not rounded
      closely = closely || counted == Counted::everything;
      of_node.push_back(nullptr);
      if (counted == Counted::nothing) continue;
      look.outputs.push_back({id, value, std::make_unique<RoundingCounts>()});
      of_node.back() = look.outputs.back().counts.get();
      of_node.back()->range_only = counted == Counted::range;
    }
  }
  // A node that keeps such a sum is launched alone (passes/fusion.cpp).
  if (closely && step.fused == nullptr && has_narrow_sum(graph_.node(step.lead))) look.inner = std::make_unique<RoundingCounts>();
  if (look.outputs.empty()) return look;
  if (step.fused != nullptr && step.fused->counted_launches() == by_node.size()) {
    look.counts = std::move(by_node);
  } else if (step.fused != nullptr) {
    std::vector<RoundingCounts*>& all = look.counts.emplace_back();
    for (const auto& of_node : by_node) all.insert(all.end(), of_node.begin(), of_node.end());
  }
  std::size_t first_output = 0;
  for (const std::unique_ptr<Call>& call : step.calls) {
    std::vector<RoundingCounts*>& counts = look.counts.emplace_back();
    for (std::size_t i = 0; i < call->outputs(); ++i)
      counts.push_back(by_node.front()[std::min(first_output + i, by_node.front().size() - 1)]);
    first_output += call->outputs();
  }
  return look;
}

void Program::Step::put_on(const Look& chosen, void* memory) {
  look = chosen.outputs.empty() && chosen.inner == nullptr ? nullptr : &chosen;
  if (fused != nullptr) fused->count(chosen.counts, memory);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const bool counted = i < chosen.counts.size();
    calls[i]->count(counted ? chosen.counts[i].data() : nullptr);
    calls[i]->launch().inner = chosen.inner.get();
  }
}

}  // namespace ulpscope::engine
