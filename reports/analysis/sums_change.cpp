#include "reports/analysis/sums_change.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "reports/analysis/compare_figures.h"
#include "reports/analysis/order_of_sums.h"
#include "reports/analysis/statistics.h"

namespace ulpscope::reports {
namespace {

std::string base_of(const std::string& mode) { return mode.substr(0, mode.find('@')); }

const RunFileReader* find_reader(const std::vector<const RunFileReader*>& readers, const std::string& path) {
  const auto found = std::find_if(readers.begin(), readers.end(), [&](const RunFileReader* reader) { return reader->path() == path; });
  return found == readers.end() ? nullptr : *found;
}

/// The steps of two runs that have the same number, in order.
std::vector<std::pair<StepRecord, StepRecord>> common_steps(const std::vector<StepRecord>& a, const std::vector<StepRecord>& b) {
  std::map<std::int64_t, const StepRecord*> of_b;
  for (const StepRecord& step : b) of_b[step.step] = &step;
  std::vector<std::pair<StepRecord, StepRecord>> both;
  for (const StepRecord& step : a)
    if (const auto twin = of_b.find(step.step); twin != of_b.end()) both.emplace_back(step, *twin->second);
  return both;
}

Number relative(const Number& a, const Number& b) {
  if (!a || !b || !std::isfinite(*a) || !std::isfinite(*b) || *b == 0.0) return std::nullopt;
  return *a / *b - 1.0;
}

template <class T>
void keep_least(std::optional<T>& least, const T& value) {
  if (!least || value < *least) least = value;
}

/// The pairs of seeds, added up.
class Steps {
 public:
  explicit Steps(SumsChange& change) : change_(change) {}

  void add(const std::vector<StepRecord>& mode, const std::vector<StepRecord>& against) {
    std::vector<double> norms;
    bool one_run = true;  // until one of them alone skips a step
    for (const auto& [a, b] : common_steps(mode, against)) {
      skipped_ += a.skipped ? 1 : 0;
      skipped_against_ += b.skipped ? 1 : 0;
      if (a.loss && b.loss && one_run) add_bits(a.step, ulps_between(*a.loss, *b.loss));
      if (const Number change = relative(a.gradient_norm, b.gradient_norm); change && !a.skipped && !b.skipped) {
        norms.push_back(*change);
        if (a.step == 0 && std::fabs(*change) >= std::fabs(first_.value_or(0.0))) first_ = *change;
      }
      if (a.skipped != b.skipped) {
        one_run = false;
        keep_least(change_.other_skips, a.step);
      }
    }
    if (const auto of_seed = mean(norms)) seeds_.push_back(*of_seed);
    ++runs_;
  }

  void finish() {
    if (runs_ == 0) return;
    const auto counted = [&](std::int64_t n) { return Figure{.value = static_cast<double>(n), .samples = runs_, .provenance = Provenance::counted}; };
    change_.skipped = counted(skipped_);
    change_.skipped_against = counted(skipped_against_);
    if (first_) change_.first_gradient_norm = {.value = first_, .provenance = Provenance::computed};
    if (seeds_.empty()) return;
    change_.gradient_norm = {.value = mean(seeds_), .spread = standard_deviation(seeds_), .samples = std::ssize(seeds_), .provenance = Provenance::computed};
    if (const auto interval = mean_interval(seeds_)) {
      change_.gradient_norm.low = interval->low;
      change_.gradient_norm.high = interval->high;
    }
  }

 private:
  void add_bits(std::int64_t step, double ulps) {
    if (ulps == 0.0) return;
    if (!change_.differs_from || step < *change_.differs_from) {
      change_.differs_from = step;
      change_.first_ulps = ulps;
    } else if (step == *change_.differs_from) {
      change_.first_ulps = std::max(*change_.first_ulps, ulps);
    }
    change_.greatest_ulps = std::max(change_.greatest_ulps.value_or(0.0), ulps);
  }

  SumsChange& change_;
  std::int64_t skipped_ = 0, skipped_against_ = 0, runs_ = 0;
  Number first_{};
  std::vector<double> seeds_;
};

SumsChange change_of(const std::vector<const RunFileReader*>& readers, const ModeResult& mode, const ModeResult& against, const ModeResult* fp32) {
  SumsChange change{.tag = mode.tag, .mode = mode.mode, .against = against.mode};
  change.judgement = judge_sums(mode, against, fp32, change.metric);
  change.loss = {.value = change.judgement.difference, .spread = change.judgement.reference_spread, .low = change.judgement.low, .high = change.judgement.high, .samples = change.judgement.pairs};
  if (change.judgement.difference) change.loss.provenance = Provenance::computed;
  Steps steps(change);
  for (const RunResult& run : mode.runs)
    for (const RunResult& twin : against.runs) {
      const RunFileReader *a = find_reader(readers, run.file), *b = find_reader(readers, twin.file);
      if (twin.run.seed != run.run.seed || a == nullptr || b == nullptr) continue;
      steps.add(a->steps(run.run.id), b->steps(twin.run.id));
    }
  steps.finish();
  return change;
}

}  // namespace

std::vector<SumsChange> sums_changes(const std::vector<const RunFileReader*>& readers, const std::vector<ModeResult>& modes) {
  std::vector<SumsChange> changes;
  for (std::size_t i = 0; i < modes.size(); ++i) {
    const ModeResult& mode = modes[i];
    if (mode.sums.empty()) continue;
    const auto fp32 = std::find_if(modes.begin(), modes.end(), [&](const ModeResult& m) { return m.mode == "fp32" && m.tag == mode.tag; });
    for (std::size_t k = 0; k < modes.size(); ++k) {
      const ModeResult& against = modes[k];
      const bool earlier_unit = !against.sums.empty() && k < i;
      if (against.tag != mode.tag || base_of(against.mode) != base_of(mode.mode) || !(against.sums.empty() || earlier_unit)) continue;
      changes.push_back(change_of(readers, mode, against, fp32 == modes.end() ? nullptr : &*fp32));
    }
  }
  return changes;
}

}  // namespace ulpscope::reports
