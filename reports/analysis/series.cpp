#include "reports/analysis/series.h"

namespace ulpscope::reports {

RunSeries read_series(const RunFileReader& reader, const RunRecord& run, std::int64_t buckets) {
  constexpr std::int64_t page = 4096;  // rows in memory at a time
  Thinning loss(buckets), scale(buckets), norm(buckets), rate(buckets), seconds(buckets), elapsed(buckets);
  Thinning held_out(buckets);
  RunSeries result;
  result.run = run.id;
  result.time = run.time_provenance;
  Number sum = 0.0;
  for (StepRange range{.first = 0, .limit = page};;) {
    const std::vector<StepRecord> steps = reader.steps(run.id, range);
    for (const StepRecord& step : steps) {
      loss.add(step.step, step.loss);
      scale.add(step.step, step.loss_scale);
      norm.add(step.step, step.gradient_norm);
      rate.add(step.step, step.learning_rate);
      seconds.add(step.step, step.wall_seconds);
      sum = sum && step.wall_seconds ? Number(*sum + *step.wall_seconds) : Number();
      elapsed.add(step.step, sum);
      if (step.skipped) result.skipped.push_back(step.step);
    }
    if (static_cast<std::int64_t>(steps.size()) < page) break;
    range.first = steps.back().step + 1;
  }
  for (const EvaluationRecord& evaluation : reader.evaluations(run.id)) {
    if (evaluation.split == "held_out") held_out.add(evaluation.step, evaluation.loss);
  }
  result.loss = loss.curve();
  result.loss_scale = scale.curve();
  result.gradient_norm = norm.curve();
  result.learning_rate = rate.curve();
  result.step_seconds = seconds.curve();
  result.elapsed_seconds = elapsed.curve();
  result.held_out_loss = held_out.curve();
  return result;
}

}  // namespace ulpscope::reports
