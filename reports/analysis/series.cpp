#include "reports/analysis/series.h"

#include <algorithm>
#include <utility>

#include "reports/run_file/counter_rows.h"

namespace ulpscope::reports {

SeriesBuilder::SeriesBuilder(const RunRecord& run, std::int64_t buckets)
    : run_(run.id),
      time_(run.time_provenance),
      buckets_(buckets),
      loss_(buckets),
      scale_(buckets),
      norm_(buckets),
      rate_(buckets),
      seconds_(buckets),
      elapsed_(buckets) {}

void SeriesBuilder::settle(const Latest& latest, Thinning& seconds, std::vector<CountedTime>& counted) {
  if (latest.counted)
    counted.push_back({latest.step, latest.elapsed, latest.wall_seconds});
  else
    seconds.add(latest.step, latest.wall_seconds, latest.elapsed);
}

void SeriesBuilder::add(const StepRecord& step, bool counted) {
  sum_ = sum_ && step.wall_seconds ? Number(*sum_ + *step.wall_seconds) : Number();
  loss_.add(step.step, step.loss, sum_);
  scale_.add(step.step, step.loss_scale, sum_);
  norm_.add(step.step, step.gradient_norm, sum_);
  rate_.add(step.step, step.learning_rate, sum_);
  if (latest_) settle(*latest_, seconds_, counted_);
  latest_ = {step.step, step.wall_seconds, sum_, counted};
  elapsed_.add(step.step, sum_, sum_);
  if (step.skipped) skipped_.push_back({step.step, sum_});
  ++steps_;
  next_ = step.step + 1;
}

bool SeriesBuilder::read_on(const RunFileReader& reader) {
  constexpr std::int64_t page = 4096;  // rows in memory at a time
  bool more = false;
  for (;;) {
    const std::vector<StepRecord> steps = reader.steps(run_, {.first = next_, .limit = page});
    const std::set<std::int64_t> counted = counted_steps(reader.completeness(), run_);   // after the steps: it has all but the last one's
    if (latest_ && !latest_->counted && counted.contains(latest_->step)) more = latest_->counted = true;
    more = more || !steps.empty();
    for (const StepRecord& step : steps) add(step, counted.contains(step.step));
    if (static_cast<std::int64_t>(steps.size()) < page) return more;
  }
}

namespace {

/// Elapsed at the end of a step, on the line between the points that were kept; 0 before the first.
Number seconds_at(const Curve& elapsed, std::int64_t step) {
  const auto after = std::find_if(elapsed.points.begin(), elapsed.points.end(), [&](const SeriesPoint& p) { return p.step >= step; });
  if (step < 0) return 0.0;
  if (after == elapsed.points.end()) return std::nullopt;
  if (after->step == step || after == elapsed.points.begin()) return after->value;
  const SeriesPoint& before = *(after - 1);
  const double share = static_cast<double>(step - before.step) / static_cast<double>(after->step - before.step);
  return before.value + share * (after->value - before.value);
}

}  // namespace

RunSeries SeriesBuilder::series(const std::vector<EvaluationRecord>& evaluations) const {
  Thinning held_out(buckets_);
  const Curve elapsed = elapsed_.curve();
  Thinning seconds = seconds_;
  std::vector<CountedTime> counted = counted_;
  if (latest_) settle(*latest_, seconds, counted);
  for (const EvaluationRecord& evaluation : evaluations) {
    if (evaluation.split == "held_out") held_out.add(evaluation.step, evaluation.loss, seconds_at(elapsed, evaluation.step - 1));
  }
  return {.run = run_,
          .loss = loss_.curve(),
          .loss_scale = scale_.curve(),
          .gradient_norm = norm_.curve(),
          .learning_rate = rate_.curve(),
          .step_seconds = seconds.curve(),
          .elapsed_seconds = elapsed,
          .held_out_loss = held_out.curve(),
          .skipped = skipped_,
          .time = time_,
          .counted = std::move(counted)};
}

RunSeries read_series(const RunFileReader& reader, const RunRecord& run, std::int64_t buckets) {
  SeriesBuilder builder(run, buckets);
  builder.read_on(reader);
  return builder.series(reader.evaluations(run.id));
}

}  // namespace ulpscope::reports
