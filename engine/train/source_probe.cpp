#include "engine/train/source_probe.h"

namespace ulpscope::engine {

SourceProbe::SourceProbe(Device& device, const Graph& graph, const std::function<void*(ValueId)>& address) : device_(device) {
  for (std::int32_t i = 0; i < graph.value_count(); ++i) {
    const Value& value = graph.value(ValueId{i});
    // A committed buffer is the buffer itself until the forward pass overwrites that; an accumulator is overwritten first.
    if (value.producer || !is_float(value.format) || value.role == Role::committed_buffer || value.role == Role::accumulator) continue;
    sources_.push_back({ValueId{i}, Tensor(address(ValueId{i}), value.format, value.shape), value.role == Role::input});
  }
}

void SourceProbe::publish(Topics& topics, const Execution& execution) {
  if (topics.tensor.silent()) return;
  for (const Source& source : sources_) {
    if (execution.micro_batch != 0 && !source.batch) continue;
    counts_ = RoundingCounts{};
    RoundingCounts* const counts[] = {&counts_};
    Launch launch;
    launch.in = launch.out = &source.tensor;
    launch.in_count = launch.out_count = 1;
    launch.counts = counts;
    launch.threads = device_.description().threads;
    launch.stream = device_.stream();
    device_.kernels().find("observe", source.tensor.format == Format::fp64 ? Format::fp64 : Format::fp32).run(launch);
    topics.tensor.publish(
        {NodeId{}, source.value, execution.iteration, execution.micro_batch, execution.attempt, &counts_});
  }
}

}  // namespace ulpscope::engine
