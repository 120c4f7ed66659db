#include "reports/analysis/report_curves.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace ulpscope::reports {
namespace {

constexpr std::int64_t page = 4096;

/// One bucket of a band as it is filled.
struct Filling {
  std::int64_t first = INT64_MAX, last = -1;
  double low = HUGE_VAL, high = -HUGE_VAL;
  Number seconds = 0.0;  ///< sum over the seeds
  std::int64_t seeds = 0;
};

void add_seed(const ReportRun& run, std::int64_t width, std::map<std::int64_t, Filling>& buckets) {
  Number elapsed = 0.0;
  std::int64_t latest = -1;
  for (StepRange range{.limit = page};;) {
    const std::vector<StepRecord> steps = run.reader->steps(run.run.id, range);
    for (const StepRecord& step : steps) {
      elapsed = elapsed && step.wall_seconds ? Number(*elapsed + *step.wall_seconds) : Number();
      if (!step.loss || !std::isfinite(*step.loss)) continue;
      Filling& bucket = buckets[step.step / width];
      bucket.first = std::min(bucket.first, step.step);
      bucket.last = std::max(bucket.last, step.step);
      bucket.low = std::min(bucket.low, *step.loss);
      bucket.high = std::max(bucket.high, *step.loss);
      if (step.step / width == latest) continue;
      latest = step.step / width;
      ++bucket.seeds;
      bucket.seconds = bucket.seconds && elapsed ? Number(*bucket.seconds + *elapsed) : Number();
    }
    if (std::ssize(steps) < page) return;
    range.first = steps.back().step + 1;
  }
}

SeedBand band_of(const std::vector<const ReportRun*>& seeds, std::int64_t most) {
  std::int64_t steps = 1;
  for (const ReportRun* run : seeds) steps = std::max(steps, run->steps);
  const std::int64_t width = (steps + most - 1) / most;
  std::map<std::int64_t, Filling> buckets;
  for (const ReportRun* run : seeds) add_seed(*run, width, buckets);
  SeedBand band{.tag = seeds.front()->tag, .seeds = std::ssize(seeds)};
  for (const auto& [index, bucket] : buckets) {
    BandPoint point{bucket.first, bucket.last, bucket.low, bucket.high, bucket.seconds, bucket.seeds};
    if (point.seconds) *point.seconds /= static_cast<double>(bucket.seeds);
    band.points.push_back(point);
  }
  return band;
}

}  // namespace

CurvesSection curves_section(const std::vector<ReportRun>& runs, std::int64_t buckets) {
  CurvesSection section;
  std::map<std::string, std::vector<const ReportRun*>> fp32;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    section.runs.push_back({.run = i, .series = read_series(*runs[i].reader, runs[i].run, buckets)});
    if (runs[i].mode == "fp32") fp32[runs[i].tag].push_back(&runs[i]);
  }
  for (const auto& [tag, seeds] : fp32)
    if (seeds.size() > 1) section.bands.push_back(band_of(seeds, buckets));
  return section;
}

}  // namespace ulpscope::reports
