#include "reports/analysis/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "reports/analysis/statistics.h"

namespace ulpscope::reports {
namespace {

std::string seeds(int n) { return n == 1 ? "1 seed" : fmt::format("{} seeds", n); }

// Losses that are not finite leave no interval.
Judgement judge_not_finite(Judgement judgement, int bad_mode, int bad_reference, std::string_view metric,
                           std::string_view against) {
  const int n = judgement.pairs;
  if (bad_reference > 0) {
    judgement.reason = fmt::format("{}'s own {} is not finite under {} of {}", against, metric, bad_reference, seeds(n));
    return judgement;
  }
  judgement.reason = fmt::format("its {} is not finite under {} of {}, {}'s always is", metric, bad_mode, seeds(n), against);
  if (n < least_pairs)
    judgement.reason += fmt::format("; a verdict needs {} seeds", least_pairs);
  else if (bad_mode == n)
    judgement.verdict = Verdict::worse;
  return judgement;
}

}  // namespace

std::string_view name(Verdict verdict) {
  static constexpr std::array<std::string_view, 5> names{"reference", "inside", "better", "worse", "undecided"};
  return names[static_cast<std::size_t>(verdict)];
}

Judgement judge(const std::vector<SeedPair>& pairs, const std::vector<double>& reference, std::string_view metric,
                std::string_view against) {
  Judgement judgement{.pairs = static_cast<int>(pairs.size()), .reference_spread = standard_deviation(reference)};
  if (pairs.empty()) {
    judgement.reason = fmt::format("no seed was finished both in {} and in this mode", against);
    return judgement;
  }
  std::vector<double> differences;
  int bad_mode = 0;
  int bad_reference = 0;
  for (const SeedPair& pair : pairs) {
    differences.push_back(pair.mode - pair.reference);
    bad_mode += std::isfinite(pair.mode) ? 0 : 1;
    bad_reference += std::isfinite(pair.reference) ? 0 : 1;
  }
  judgement.difference = mean(differences);
  if (bad_mode + bad_reference > 0) return judge_not_finite(judgement, bad_mode, bad_reference, metric, against);

  const auto interval = mean_interval(differences);
  if (interval) {
    judgement.low = interval->low;
    judgement.high = interval->high;
  }
  const std::string difference = fmt::format("{} {:+.3g} against {}", metric, *judgement.difference, against);
  const double band = judgement.reference_spread.value_or(0.0);
  if (judgement.pairs < least_pairs) {
    judgement.reason = fmt::format("{}, on {}; a verdict needs {}", difference, seeds(judgement.pairs), least_pairs);
    return judgement;
  }
  if (!std::isfinite(band)) {
    judgement.reason = fmt::format("{}; an fp32 seed without a finite loss leaves no band to judge by", difference);
    return judgement;
  }
  if (!interval) {
    judgement.reason = fmt::format("{}; the differences are too large for an interval", difference);
    return judgement;
  }
  const char* place = "partly beyond";
  if (interval->low >= -band && interval->high <= band) {
    judgement.verdict = Verdict::inside;
    place = "within";
  } else if (interval->high < -band || interval->low > band) {
    judgement.verdict = interval->high < -band ? Verdict::better : Verdict::worse;
    place = "wholly beyond";
  }
  judgement.reason = fmt::format(
      "{} (95 % interval {:+.3g} to {:+.3g}, {}), {} ±{:.3g}, one standard deviation between "
      "fp32 seeds",
      difference, interval->low, interval->high, seeds(judgement.pairs), place, band);
  return judgement;
}

}  // namespace ulpscope::reports
