#include "profiler/probes/range_probe.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/graph/operator.h"

namespace ulpscope::profiler {

RangeProbe::RangeProbe(engine::Topics& topics, const engine::Graph& graph, engine::ValueId loss, Sink sink, Faults& faults, reports::RunId run)
    : sink_(std::move(sink)), faults_(faults), run_(run), place_(static_cast<std::size_t>(graph.value_count()), -1) {
  for (std::int32_t i = 0; i < graph.value_count(); ++i) {
    const engine::Value& value = graph.value(engine::ValueId{i});
    if (!value.producer || !graph.node(value.producer).op->launches) continue;   // a view is not rounded: nothing is counted of it
    const bool backward = graph.node(value.producer).phase == engine::Phase::backward;
    if (!is_float(value.format) || !(backward || i == loss.index)) continue;
    place_[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(now_.size());
    now_.push_back({.tensor = static_cast<reports::TensorId>(i)});
  }
  for (std::size_t i = 0; i < prepared_rows; ++i) rows_.push_back(std::make_shared<std::vector<reports::TensorRange>>(now_));
  on_begin_ = topics.step_begin.subscribe([this](const engine::StepBegin&) {
    seen_ = 0;
    for (reports::TensorRange& range : now_) range = {.tensor = range.tensor};
  });
  on_tensor_ = topics.tensor.subscribe([this](const engine::TensorEvent& event) { see(event); });
  on_end_ = topics.step_end.subscribe(
      [this](const engine::StepResult& result) { faults_.guard("range probe", [&] { end(result.iteration); }); });
}

void RangeProbe::see(const engine::TensorEvent& event) {
  if (event.attempt != 0 || event.inner || !event.value || !event.node) return;
  const std::int32_t place = place_[static_cast<std::size_t>(event.value.index)];
  if (place < 0) return;
  reports::TensorRange& range = now_[static_cast<std::size_t>(place)];
  const RoundingCounts& counts = *event.counts;
  range.greatest_magnitude = std::max(range.greatest_magnitude, static_cast<float>(counts.greatest_magnitude));
  range.not_finite = range.not_finite || finite_elements(counts) != counts.elements;
  range.overflowed = range.overflowed || counts.overflowed > 0;
  ++seen_;
}

/// A copy of the pointer counts with acquire and release, so that what the writer read is over before the row is used again.
RangeProbe::Row& RangeProbe::free_row() {
  const Row held = rows_[next_];
  if (held.use_count() > 2) rows_.insert(rows_.begin() + static_cast<std::ptrdiff_t>(next_), std::make_shared<std::vector<reports::TensorRange>>(now_));
  Row& row = rows_[next_];
  next_ = (next_ + 1) % rows_.size();
  return row;
}

void RangeProbe::end(std::int64_t step) {
  if (seen_ == 0) return;
  Row& row = free_row();
  std::copy(now_.begin(), now_.end(), row->begin());
  ++steps_;
  sink_(reports::RangeRecord{.run = run_, .step = step, .tensors = reports::TensorRanges(row)});
}

void RangeProbe::record() const {
  reports::CompletenessRecord record;
  record.run = run_;
  record.kind = "note";
  record.subject = "ranges";
  record.count = steps_;
  record.detail = fmt::format("steps in which the range of {} tensors was recorded", now_.size());
  sink_(record);
}

}  // namespace ulpscope::profiler
