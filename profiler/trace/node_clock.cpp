#include "profiler/trace/node_clock.h"

#include <algorithm>
#include <limits>

namespace ulpscope::profiler {

NodeClock::NodeClock(engine::Topics& topics, Faults& faults, std::int32_t nodes, std::int64_t first, std::int64_t every)
    : faults_(faults), first_(first), every_(every), sums_(nodes) {
  on_step_begin_ = topics.step_begin.subscribe(
      [this](const engine::StepBegin& step) {
        if (!step.observed) faults_.guard("node clock", [&] { begin_step(step.iteration); });
      });
  on_step_end_ = topics.step_end.subscribe([this](const engine::StepResult&) { pause(); });
  on_node_begin_ = topics.node_begin.subscribe([this](const engine::NodeEvent&) { begin_ = Clock::now(); });
  on_node_end_ = topics.node_end.subscribe([this](const engine::NodeEvent& event) {
    if (event.attempt == 0) end_node(event);
  });
  pause();
}

// Subscriptions that come and go would allocate in the middle of a step.
void NodeClock::pause() {
  on_node_begin_.pause();
  on_node_end_.pause();
}

void NodeClock::begin_step(std::int64_t iteration) {
  if (iteration < first_ || (iteration - first_) % every_ != 0) return;
  ++sampled_steps_;
  on_node_begin_.resume();
  on_node_end_.resume();
}

void NodeClock::end_node(const engine::NodeEvent& event) {
  const Clock::time_point end = Clock::now();
  sums_.add(event.node.index, std::chrono::duration<double>(end - begin_).count());
}

std::vector<reports::NodeTiming> NodeClock::timings(reports::RunId run, reports::Provenance provenance) const {
  return sums_.timings(run, sampled_steps_, provenance);
}

double NodeClock::own_seconds() const {
  const std::int64_t readings = 2 * sums_.calls();
  // The least of several batches: what a reading costs, not what else went on.
  constexpr int batch = 100;
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 10; ++i) {
    const Clock::time_point begin = Clock::now();
    Clock::time_point last = begin;
    for (int j = 0; j < batch; ++j) last = Clock::now();
    least = std::min(least, std::chrono::duration<double>(last - begin).count() / batch);
  }
  return least * static_cast<double>(readings);
}

}  // namespace ulpscope::profiler
