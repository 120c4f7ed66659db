// Values that are not finite before the first operation of a step: weights, running statistics, data.
#include <fmt/format.h>

#include "reports/analysis/diagnosis/causes.h"
#include "reports/analysis/diagnosis/words.h"

namespace ulpscope::reports {
namespace {

/// The last observed step before this one in which the tensor was finite, and the first in which it was not.
std::string since(const Suspect& s) {
  const ObservedStep* good = nullptr;
  for (const ObservedStep& step : s.evidence.observed()) {
    if (step.step >= s.step.step) break;
    const Stat* stat = step.stat(s.root.tensor);
    if (stat != nullptr && stat->bad() == 0) good = &step;
  }
  return good == nullptr ? "" : fmt::format("; in step {} it was finite", shown(good->step));
}

}  // namespace

Known source_cause(const Suspect& s, Cause& cause) {
  const TensorRecord* record = s.evidence.plan().tensor(s.root.tensor);
  if (record == nullptr) return Known::no;
  const Stat& stat = *s.root.stat;
  const std::string count = fmt::format("{} of {} of {}", stat.bad(), counted(stat.elements, "element"), record->name);
  switch (record->role) {
    case TensorRole::weight:
    case TensorRole::master_weight:
      cause.kind = Kind::weights_poisoned;
      cause.what = fmt::format("{} {} not finite before step {} begins{}: no loss scale and no format helps", count,
                               stat.bad() == 1 ? "is" : "are", shown(s.step.step), since(s));
      return Known::yes;
    case TensorRole::buffer:
      cause.kind = Kind::buffers_poisoned;
      cause.what = fmt::format("{} (running statistics) {} not finite before step {} begins{}: {} in a running average "
                               "never leaves, and evaluation, which reads it, is broken from here",
                               count, stat.bad() == 1 ? "is" : "are", shown(s.step.step), since(s), stat.nan > 0 ? "a NaN" : "an infinity");
      return Known::yes;
    case TensorRole::optimizer_state:
      cause.kind = Kind::update_overflowed;
      cause.what = fmt::format("{} (optimizer state) {} not finite before step {} begins{}", count,
                               stat.bad() == 1 ? "is" : "are", shown(s.step.step), since(s));
      if (second_moment_alone(s)) {
        cause.what += ": an infinite second moment makes updates of 0, and its weights stand still";
        cause.reaches = "the updates of these weights, as zeros";
        cause.facts.push_back(fact("state", "of the optimizer", "second moment", Provenance::counted));
      }
      return Known::yes;
    case TensorRole::input: {
      // A mask of -inf is a mask as long as every row keeps a score.
      const PlanNode* softmax = next_of(s.evidence.plan(), s.root.tensor, {"softmax", "attention"}, 8);
      if (softmax != nullptr && stat.nan + stat.positive_infinite == 0 && !softmax->outputs.empty()) {
        const Stat* result = s.step.stat(softmax->outputs.front(), s.root.micro_batch);
        if (result != nullptr && result->nan == 0) return Known::contained;
        cause.kind = Kind::mask_constant_out_of_range;
        cause.what = fmt::format("{} {} -inf, and rows of {} are left without a finite score", count,
                                 stat.bad() == 1 ? "is" : "are", softmax->record.name);
        return Known::yes;
      }
      cause.kind = Kind::data_not_finite;
      cause.what = fmt::format("{} (data or a constant) {} not finite: it is so before any arithmetic", count,
                               stat.bad() == 1 ? "is" : "are");
      return Known::yes;
    }
    default:
      break;
  }
  cause.kind = Kind::unknown;
  cause.what = fmt::format("{} {} not finite before the step's first operation; what made it so was not recorded",
                           count, stat.bad() == 1 ? "is" : "are");
  return Known::yes;
}

}  // namespace ulpscope::reports
