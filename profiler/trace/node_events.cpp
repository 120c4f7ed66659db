#include "profiler/trace/node_events.h"

namespace ulpscope::profiler {

NodeEvents::NodeEvents(Device& device, engine::Topics& topics, Faults& faults, std::int32_t nodes, std::int64_t first, std::int64_t every, std::function<bool()> wanted)
    : device_(device), faults_(faults), first_(first), every_(every), wanted_(std::move(wanted)), sums_(nodes) {
  on_step_begin_ = topics.step_begin.subscribe([this](const engine::StepBegin& step) {
    if (!step.observed) faults_.guard("node events", [&] { begin_step(step.iteration); });
  });
  on_step_end_ = topics.step_end.subscribe([this](const engine::StepResult&) { faults_.guard("node events", [&] { end_step(); }); });
  on_node_begin_ = topics.node_begin.subscribe([this](const engine::NodeEvent& event) {
    faults_.guard("node events", [&] { spans_.push_back({event.attempt == 0 ? event.node.index : -1, device_.record_event(), nullptr}); });
  });
  on_node_end_ = topics.node_end.subscribe([this](const engine::NodeEvent&) {
    faults_.guard("node events", [&] {
      if (!spans_.empty()) spans_.back().end = device_.record_event();
    });
  });
  on_node_begin_.pause();
  on_node_end_.pause();
}

void NodeEvents::begin_step(std::int64_t iteration) {
  spans_.clear();   // of a step that threw
  if (iteration < first_ || (iteration - first_) % every_ != 0 || !wanted_()) return;
  sampling_ = true;
  on_node_begin_.resume();
  on_node_end_.resume();
}

void NodeEvents::end_step() {
  if (!sampling_) return;
  sampling_ = false;
  on_node_begin_.pause();
  on_node_end_.pause();
  device_.synchronize();
  ++sampled_steps_;
  for (const Span& span : spans_)
    if (span.end != nullptr) sums_.add(span.node, 1e-3 * device_.milliseconds_between(*span.begin, *span.end));
  spans_.clear();
}

std::vector<reports::NodeTiming> NodeEvents::timings(reports::RunId run, reports::Provenance provenance) const {
  return sums_.timings(run, sampled_steps_, provenance);
}

}  // namespace ulpscope::profiler
