#include "profiler/probes/tensor_probe.h"

#include <fmt/format.h>

#include <cmath>

namespace ulpscope::profiler {
namespace {

reports::Number magnitude(double value) {
  if (value == 0.0) return std::nullopt;  // there is no such element
  return value;
}

reports::ExponentHistogram histogram_of(const RoundingCounts& counts) {
  int first = 0, end = histogram_bins;
  while (first < end && counts.histogram[first] == 0) ++first;
  while (end > first && counts.histogram[end - 1] == 0) --end;
  reports::ExponentHistogram histogram;
  histogram.first = first + histogram_lowest_exponent;
  for (int bin = first; bin < end; ++bin) histogram.counts.push_back(static_cast<std::uint64_t>(counts.histogram[bin]));
  return histogram;
}

const char* observation(std::int32_t attempt) { return attempt == 0 ? "sampled" : attempt == 1 ? "replay" : "rehearsal"; }

}  // namespace

reports::TensorStatsRecord tensor_stats(const RoundingCounts& counts) {
  reports::TensorStatsRecord record;
  record.elements = counts.elements;
  record.nan = counts.nan;
  record.positive_infinite = counts.positive_infinity;
  record.negative_infinite = counts.negative_infinity;
  record.zero = counts.zero;
  record.subnormal = counts.subnormal;
  record.flushed = counts.flushed;
  record.overflowed = counts.overflowed;
  record.least_magnitude = magnitude(counts.least_magnitude);
  record.greatest_magnitude = magnitude(counts.greatest_magnitude);
  if (const auto finite = static_cast<double>(finite_elements(counts)); finite > 0) {
    record.mean = counts.sum / finite;
    record.rms = std::sqrt(counts.sum_of_squares / finite);
  }
  // Elements that became infinite have no error.
  if (const auto both = static_cast<double>(finite_elements(counts) - counts.overflowed); both > 0) {
    record.rounding_error_rms = std::sqrt(counts.sum_of_squared_errors / both);
    record.rounding_error_greatest = counts.greatest_relative_error;
  }
  record.histogram = histogram_of(counts);
  return record;
}

reports::TensorId inner_sum_id(const engine::Graph& graph, engine::NodeId node) {
  return static_cast<reports::TensorId>(graph.value_count() + node.index);
}

TensorProbe::TensorProbe(engine::Topics& topics, const engine::Graph& graph, Sink sink, Faults& faults, reports::RunId run)
    : graph_(graph), sink_(std::move(sink)), faults_(faults), run_(run) {
  on_tensor_ = topics.tensor.subscribe(
      [this](const engine::TensorEvent& event) { faults_.guard("tensor probe", [&] { see(event); }); });
  on_begin_ = topics.step_begin.subscribe([this](const engine::StepBegin& step) { observed_steps_ += step.observed ? 1 : 0; });
  on_end_ = topics.step_end.subscribe([this](const engine::StepResult& result) {
    if (result.replay == engine::Replay::same || result.replay == engine::Replay::differs) ++replays_;
  });
}

void TensorProbe::see(const engine::TensorEvent& event) {
  if (event.counts->range_only) return;   // the range probe's
  reports::TensorStatsRecord record;
  if (event.inner) {
    record.elements = event.counts->elements;
    record.overflowed = event.counts->overflowed;
    record.lost_updates = event.counts->lost_updates;
    record.flushed = event.counts->flushed;
    record.zero = event.counts->zero;
    record.rounding_error_greatest = event.counts->greatest_relative_error;
    if (event.counts->sum_of_errors > 0.0) record.rounding_error_rms = event.counts->sum_of_errors;
    record.greatest_magnitude = magnitude(event.counts->greatest_magnitude);
    record.tensor = inner_sum_id(graph_, event.node);
  } else {
    record = tensor_stats(*event.counts);
    record.tensor = static_cast<reports::TensorId>(event.value.index);
    const engine::Role role = graph_.value(graph_.memory_owner(event.value)).role;
    const bool update = event.node && graph_.node(event.node).phase == engine::Phase::update && role == engine::Role::parameter;
    if (update || (event.node && role == engine::Role::accumulator))
      record.lost_updates = event.counts->lost_updates;
  }
  record.run = run_;
  record.step = event.iteration;
  record.micro_batch = event.micro_batch;
  record.observation = observation(event.attempt);
  if (error_) record.shadow_error = error_(event);
  ++rows_;
  sink_(std::move(record));
}

void TensorProbe::record() const {
  if (observed_steps_ == 0 && replays_ == 0) return;
  reports::CompletenessRecord record;
  record.run = run_;
  record.kind = "note";
  record.subject = "observed steps";
  record.count = observed_steps_;
  record.detail = fmt::format("and {} replayed; {} rows of statistics", replays_, rows_);
  sink_(record);
}

}  // namespace ulpscope::profiler
