#include "profiler/trace/nvtx_ranges.h"

namespace ulpscope::profiler {

const char* nvtx::name(Category category) {
  constexpr const char* names[] = {"run", "phase", "step", "pass", "node"};
  return names[static_cast<std::uint32_t>(category) - 1];
}

NvtxRange::NvtxRange(nvtx::Category category, const std::string& name) : open_(nvtx::attached()) {
  if (open_) nvtx::push(category, nvtx::registered(name.c_str()));
}
NvtxRange::NvtxRange(nvtx::Category category, const std::string& name, std::int64_t payload) : open_(nvtx::attached()) {
  if (open_) nvtx::push(category, nvtx::registered(name.c_str()), payload);
}
NvtxRange::~NvtxRange() {
  if (open_) nvtx::pop();
}

NvtxRanges::NvtxRanges(engine::Topics& topics, const engine::Graph& graph) : graph_(graph) {
  if (!nvtx::attached()) return;
  for (const engine::Node& node : graph.nodes()) nodes_.push_back(nvtx::registered(node.name.c_str()));
  for (const engine::Phase phase : {engine::Phase::forward, engine::Phase::backward, engine::Phase::unscale, engine::Phase::update})
    passes_.push_back(nvtx::registered(engine::name(phase)));
  step_ = nvtx::registered("step");
  on_step_begin_ = topics.step_begin.subscribe([this](const engine::StepBegin& step) { begin_step(step.iteration); });
  on_node_begin_ = topics.node_begin.subscribe([this](const engine::NodeEvent& event) { begin_node(event); });
  on_node_end_ = topics.node_end.subscribe([this](const engine::NodeEvent&) { end_node(); });
  on_step_end_ = topics.step_end.subscribe([this](const engine::StepResult&) { end_step(); });
}

// A step that threw has left its ranges open.
NvtxRanges::~NvtxRanges() { end_step(); }

void NvtxRanges::begin_step(std::int64_t iteration) {
  end_step();
  iteration_ = iteration;
  in_step_ = true;
  nvtx::push(nvtx::Category::step, step_, iteration);
}

void NvtxRanges::begin_node(const engine::NodeEvent& event) {
  if (!in_step_) return;   // a rehearsal
  const int phase = static_cast<int>(graph_.node(event.node).phase);
  if (phase != pass_ || event.micro_batch != micro_batch_ || event.attempt != attempt_) {
    end_pass();
    pass_ = phase;
    micro_batch_ = event.micro_batch;
    attempt_ = event.attempt;
    nvtx::push(nvtx::Category::pass, passes_[static_cast<std::size_t>(phase)], iteration_);
  }
  in_node_ = true;
  nvtx::push(nvtx::Category::node, nodes_[static_cast<std::size_t>(event.node.index)], iteration_);
}

void NvtxRanges::end_node() {
  if (!in_node_) return;
  in_node_ = false;
  nvtx::pop();
}

void NvtxRanges::end_pass() {
  end_node();
  if (pass_ < 0) return;
  pass_ = -1;
  nvtx::pop();
}

void NvtxRanges::end_step() {
  end_pass();
  if (!in_step_) return;
  in_step_ = false;
  nvtx::pop();
}

}  // namespace ulpscope::profiler
