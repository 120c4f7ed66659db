#include "tests/device/same_steps.h"

#include <algorithm>
#include <cmath>

#include "kernels/error.h"
#include "reports/analysis/diagnosis/evidence.h"
#include "reports/analysis/recorded_ranges.h"

namespace ulpscope::test {
namespace {

using reports::RunFileReader;
using reports::RunRecord;

bool near_limit(const reports::RecordedRanges& ranges, std::size_t i) {
  constexpr float tenth = 1.1f;
  return ranges.overflows(i, ranges.scale(i) * tenth).overflow != ranges.overflows(i, ranges.scale(i) / tenth).overflow;
}

double relative_difference(const reports::Number& a, const reports::Number& b) {
  if (!a || !b) return a.has_value() == b.has_value() ? 0.0 : HUGE_VAL;
  if (!std::isfinite(*a) || !std::isfinite(*b)) return std::isfinite(*a) == std::isfinite(*b) ? 0.0 : HUGE_VAL;
  const double size = std::max(std::fabs(*a), std::fabs(*b));
  return size == 0.0 ? 0.0 : std::fabs(*a - *b) / size;
}

SameSteps compare(const RunFileReader& file_a, const RunRecord& run_a, const RunFileReader& file_b, const RunRecord& run_b) {
  const reports::Evidence a(file_a, run_a), b(file_b, run_b);
  const reports::RecordedRanges ranges_a(file_a, a), ranges_b(file_b, b);
  SameSteps result;
  result.mode = run_a.mode;
  result.seed = run_a.seed;
  result.tolerance = loss_tolerance(run_a.mode);
  const std::size_t count = std::min(a.steps().size(), b.steps().size());
  result.steps = static_cast<std::int64_t>(count);
  for (std::size_t i = 0; i < count; ++i) {
    const reports::StepRecord &of_a = a.steps()[i], &of_b = b.steps()[i];
    const std::int64_t step = of_a.step;
    if (!result.near_limit && ((!ranges_a.empty() && near_limit(ranges_a, i)) || (!ranges_b.empty() && near_limit(ranges_b, i)))) result.near_limit = step;
    const double difference = relative_difference(of_a.loss, of_b.loss);
    result.greatest_difference = std::max(result.greatest_difference, difference);
    const bool free = result.near_limit.has_value();   // from here on both may go their own ways
    if (!result.skip_differs && of_a.skipped != of_b.skipped) {
      result.skip_differs = step;
      if (!free) result.wrong = "step " + std::to_string(step + 1) + " is skipped by one and not by the other, and no gradient is within 10 % of its limit";
    }
    const bool close = i < static_cast<std::size_t>(close_steps) && !result.skip_differs;
    if (close && !result.loss_differs && !(difference <= result.tolerance)) {
      result.loss_differs = step;
      if (result.wrong.empty()) result.wrong = "losses of step " + std::to_string(step + 1) + " lie " + std::to_string(difference) + " apart";
    }
  }
  if (count == 0 || a.steps().size() != b.steps().size())
    result.wrong = std::to_string(a.steps().size()) + " and " + std::to_string(b.steps().size()) + " steps";
  return result;
}

}  // namespace

double loss_tolerance(const std::string& mode) {
  if (mode == "fp32") return 2e-6;
  return mode.starts_with("bf16") ? 1.6e-2 : 2e-3;
}

std::vector<SameSteps> same_steps(const RunFileReader& a, const RunFileReader& b) {
  std::vector<SameSteps> all;
  const std::vector<RunRecord> others = b.runs();
  for (const RunRecord& run : a.runs()) {
    const auto other = std::find_if(others.begin(), others.end(), [&](const RunRecord& r) { return r.mode == run.mode && r.seed == run.seed; });
    if (other != others.end()) all.push_back(compare(a, run, b, *other));
  }
  if (all.empty()) throw UsageError(a.path() + " and " + b.path() + " have no mode and seed in common");
  return all;
}

}  // namespace ulpscope::test
