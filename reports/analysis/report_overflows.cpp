#include "reports/analysis/report_overflows.h"

#include <algorithm>
#include <map>

#include "reports/analysis/diagnosis/plan_view.h"
#include "reports/analysis/diagnosis/remedy_trials.h"

namespace ulpscope::reports {
namespace {

constexpr std::int64_t page = 4096;

/// Of one tensor, over the micro-batches.
struct Seen {
  std::int64_t bad = 0;
  Number greatest{};
};
using SeenTensors = std::map<TensorId, Seen>;

SeenTensors seen_in(const ReportRun& run, std::int64_t step) {
  const std::vector<TensorStatsRecord> rows = run.reader->tensor_stats(run.run.id, {.first = step, .end = step + 1});
  const bool replay = std::any_of(rows.begin(), rows.end(), [](const TensorStatsRecord& r) { return r.observation == "replay"; });
  SeenTensors seen;
  for (const TensorStatsRecord& row : rows) {
    if (row.step != step || row.observation != (replay ? "replay" : "sampled")) continue;
    Seen& tensor = seen[row.tensor];
    tensor.bad += row.nan.value_or(0) + row.positive_infinite.value_or(0) + row.negative_infinite.value_or(0) + row.overflowed.value_or(0);
    if (row.greatest_magnitude) tensor.greatest = std::max(tensor.greatest.value_or(0.0), *row.greatest_magnitude);
  }
  return seen;
}

bool bad(const SeenTensors& seen, TensorId tensor) {
  const auto found = seen.find(tensor);
  return found != seen.end() && found->second.bad > 0;
}

void name_tensor(const PlanView& plan, const SeenTensors& seen, TensorId id, OverflowEvent& event) {
  event.tensor = plan.title(id);
  if (const TensorRecord* tensor = plan.tensor(id)) event.format = tensor->format;
  event.not_finite = seen.at(id).bad;
  event.greatest_magnitude = seen.at(id).greatest;
}

/// The first operation that made it of values that were finite, as far as they were observed; or what the step read was not finite.
void find_origin(const PlanView& plan, const SeenTensors& seen, OverflowEvent& event) {
  for (const auto& [id, tensor] : plan.tensors())
    if (!tensor.node && bad(seen, id)) return name_tensor(plan, seen, id, event);
  for (const PlanNode& node : plan.nodes()) {
    if (is_view(node)) continue;
    const bool was_bad = std::any_of(node.inputs.begin(), node.inputs.end(), [&](const auto& in) { return in && bad(seen, *in); });
    if (was_bad) continue;
    std::vector<TensorId> made = node.outputs;
    if (node.inner) made.insert(made.begin(), *node.inner);
    for (const TensorId id : made) {
      if (!bad(seen, id)) continue;
      event.operation = node.record.operation;
      event.node = node.record.name;
      event.phase = name(node.record.phase);
      return name_tensor(plan, seen, id, event);
    }
  }
}

void add_events(const std::vector<ReportRun>& runs, std::size_t index, std::int64_t most, OverflowsSection& section) {
  const ReportRun& run = runs[index];
  std::int64_t& total = section.total.emplace_back(0);
  std::optional<PlanView> plan;
  for (StepRange range{.limit = page};;) {
    const std::vector<StepRecord> steps = run.reader->steps(run.run.id, range);
    for (const StepRecord& step : steps) {
      if (step.finite || ++total > most) continue;
      OverflowEvent event{.run = index, .step = step.step, .loss = step.loss, .loss_scale = step.loss_scale, .skipped = step.skipped};
      const SeenTensors seen = seen_in(run, step.step);
      event.observed = !seen.empty();
      if (event.observed && run.run.plan) {
        if (!plan) plan.emplace(*run.reader, *run.run.plan);
        find_origin(*plan, seen, event);
      }
      section.events.push_back(std::move(event));
    }
    if (std::ssize(steps) < page) return;
    range.first = steps.back().step + 1;
  }
}

/// Verified before not tried before refuted.
int stamp_rank(MendStatus status) { return status == MendStatus::verified ? 0 : status == MendStatus::refuted ? 2 : 1; }

OverflowCause told(std::size_t index, const ReportRun& run, const std::vector<MendRecord>& mends, const Cause& cause) {
  OverflowCause result{.run = index, .cause = cause};
  int best = 3;
  for (const Remedy& remedy : cause.remedies) {
    const MendRecord* const trial = trial_for(remedy, cause, run.run.id, mends);
    const MendStatus status = trial != nullptr ? trial->status : MendStatus::not_tried;
    if (stamp_rank(status) >= best) continue;
    best = stamp_rank(status);
    result.stamp = status == MendStatus::not_tried ? "not tried" : name(status);
    result.change = remedy.change;
    result.status = remedy.status;
  }
  return result;
}

}  // namespace

OverflowsSection overflows_section(const std::vector<ReportRun>& runs, const std::vector<Diagnosis>& diagnoses, std::int64_t most_events) {
  OverflowsSection section;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    add_events(runs, i, most_events, section);
    const RunDiagnosis* diagnosis = diagnosis_of(runs[i], diagnoses);
    if (diagnosis == nullptr) continue;
    const std::vector<MendRecord> mends = runs[i].reader->mends();
    for (const Cause& cause : diagnosis->causes) section.causes.push_back(told(i, runs[i], mends, cause));
  }
  for (OverflowEvent& event : section.events)
    for (std::size_t i = 0; i < section.causes.size() && !event.cause; ++i) {
      const OverflowCause& cause = section.causes[i];
      const bool here = event.node.empty() ? cause.cause.step == event.step : cause.cause.node == event.node;
      if (cause.run == event.run && here) event.cause = i;
    }
  return section;
}

}  // namespace ulpscope::reports
