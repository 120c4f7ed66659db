#include "reports/analysis/recorded_ranges.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "kernels/scaling/loss_scaler.h"
#include "reports/analysis/scaled_tensors.h"

namespace ulpscope::reports {
namespace {

constexpr std::size_t rows_at_a_time = 1024;   ///< a row is some kilobytes
/// Products and sums of what is smaller stay within fp32.
constexpr double harmless_in_fp32 = 0x1p56;

std::set<TensorId> unscaled(const PlanView& plan) {
  std::set<TensorId> list;
  for (const PlanNode& node : plan.nodes())
    if (node.record.operation == "unscale_check")
      for (const auto& input : node.inputs)
        if (input) list.insert(*input);
  return list;
}

}  // namespace

RecordedRanges::RecordedRanges(const RunFileReader& reader, const Evidence& evidence) : loss_(evidence.plan().loss()) {
  const std::set<TensorId> parameters = unscaled(evidence.plan());
  for (const ScaledTensor& tensor : scaled_tensors(evidence.plan())) {
    if (is_view(*tensor.node)) continue;   // has no range of its own
    places_.emplace(tensor.id, tensors_.size());
    tensors_.push_back({info(tensor.format).overflow_threshold, parameters.contains(tensor.id)});
    narrow_sums_ = narrow_sums_ || tensor.node->inner.has_value();
  }
  for (const StepRecord& record : evidence.steps()) {
    Step& step = steps_.emplace_back();
    step.record = &record;
    step.scale = static_cast<float>(record.loss_scale.value_or(1.0));
  }
  for (std::size_t begin = 0; begin < steps_.size(); begin += rows_at_a_time) {
    const std::size_t end = std::min(begin + rows_at_a_time, steps_.size());
    std::size_t i = begin;
    for (const RangeRecord& row : reader.ranges(evidence.run().id, {.first = steps_[begin].record->step, .end = steps_[end - 1].record->step + 1})) {
      while (i < end && steps_[i].record->step < row.step) ++i;
      if (i < end && steps_[i].record->step == row.step) take(steps_[i], row);
    }
  }
}

void RecordedRanges::take(Step& step, const RangeRecord& row) const {
  step.recorded = true;
  step.complete = std::isfinite(step.scale) && step.scale > 0.0f;
  step.reach.resize(tensors_.size());
  const bool finite = step.record->finite;   // gradients alone are looked at: what was not finite beside them, such as the loss, skips no step
  step.hopeless = !finite && step.record->loss && !std::isfinite(*step.record->loss);
  for (const TensorRange& range : row.tensors) {
    if (!finite && loss_ == range.tensor && (range.not_finite || range.overflowed)) step.hopeless = true;
    const auto place = places_.find(range.tensor);
    if (place == places_.end()) continue;
    const bool known = finite || !range.not_finite;
    step.reach[place->second] = {range.greatest_magnitude, known, range.overflowed};
    if (!known) step.complete = false;
  }
  step.hopeless = step.hopeless || hopeless(step);
}

/// Not finite, although no rounding made it so and nothing comes near the end of fp32: it has nothing to do with the scale.
bool RecordedRanges::hopeless(const Step& step) const {
  if (step.record->finite || step.complete || narrow_sums_) return false;
  return std::none_of(step.reach.begin(), step.reach.end(), [](const Reach& r) { return r.overflowed || static_cast<double>(r.greatest) >= harmless_in_fp32; });
}

bool RecordedRanges::beyond(const Step& step, std::size_t tensor, double scale) const {
  const Reach& reach = step.reach[tensor];
  const auto recorded = static_cast<double>(step.scale), greatest = static_cast<double>(reach.greatest);
  if (greatest * (scale / recorded) >= tensors_[tensor].limit) return true;
  return tensors_[tensor].unscaled && greatest / recorded >= tensors_[tensor].limit;
}

RecordedRanges::Answer RecordedRanges::overflows(std::size_t i, float scale) const {
  const Step& step = steps_[i];
  if (scale == step.scale) return {!step.record->finite, Basis::recorded};
  if (!std::isfinite(scale) || !std::isfinite(scaling::inverse(scale))) return {true, Basis::projected};
  if (step.hopeless) return {true, Basis::projected};
  if (!step.record->finite && scale > step.scale) return {true, Basis::projected};
  const auto at = static_cast<double>(scale);
  bool known = step.recorded;
  for (std::size_t t = 0; step.recorded && t < tensors_.size(); ++t) {
    if (beyond(step, t, at)) return {true, Basis::projected};   // of what is not whole, the finite elements are known at least
    known = known && step.reach[t].known;
  }
  if (known) return {false, Basis::projected};
  const Step* other = nearest_complete(i);
  if (other == nullptr) return {false, Basis::unknown};
  for (std::size_t t = 0; t < tensors_.size(); ++t)
    if (!(step.recorded && step.reach[t].known) && beyond(*other, t, at)) return {true, Basis::inferred};
  return {false, Basis::inferred};
}

/// Of two as near, the earlier.
const RecordedRanges::Step* RecordedRanges::nearest_complete(std::size_t i) const {
  for (std::size_t distance = 1; distance < steps_.size(); ++distance) {
    if (distance <= i && steps_[i - distance].complete) return &steps_[i - distance];
    if (i + distance < steps_.size() && steps_[i + distance].complete) return &steps_[i + distance];
  }
  return nullptr;
}

bool RecordedRanges::empty() const {
  return std::none_of(steps_.begin(), steps_.end(), [](const Step& s) { return s.recorded; });
}
std::int64_t RecordedRanges::without_range() const {
  return std::count_if(steps_.begin(), steps_.end(), [](const Step& s) { return !s.recorded; });
}
std::int64_t RecordedRanges::incomplete() const {
  return std::count_if(steps_.begin(), steps_.end(), [](const Step& s) { return s.recorded && !s.complete; });
}
std::int64_t RecordedRanges::never_finite() const {
  return std::count_if(steps_.begin(), steps_.end(), [](const Step& s) { return s.hopeless; });
}

}  // namespace ulpscope::reports
