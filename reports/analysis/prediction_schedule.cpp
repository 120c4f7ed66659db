// A learning rate that skipped steps move, too: how far ahead it will be.
#include <fmt/format.h>

#include <algorithm>

#include "kernels/scaling/loss_scaler.h"
#include "reports/analysis/diagnosis/words.h"
#include "reports/analysis/prediction_parts.h"

namespace ulpscope::reports {
namespace {

/// In the first n steps.
bool moves(const std::vector<double>& rates, std::int64_t n) {
  const auto end = rates.begin() + std::min<std::int64_t>(n, std::ssize(rates));
  return std::adjacent_find(rates.begin(), end, [](double a, double b) { return a != b; }) != end;
}

}  // namespace

void foresee_schedule(const PredictionInput& input, const ModePrediction& p, std::vector<Foreseen>& found) {
  if (!input.scaled || !scaling::is_dynamic(input.policy) || !moves(input.rates, std::ssize(input.rates))) return;
  const std::int64_t skips = std::min(p.first_skips.value_or(most_first_skips), input.steps.value_or(most_first_skips));
  Foreseen f{.kind = std::string(name(Kind::schedule_ahead)), .order = -1};
  if (!moves(input.rates, skips + 1)) {
    f.what = "the schedule counts skipped steps, too: each that is skipped while the learning rate changes moves it ahead of the weights; none of the first steps is foreseen to be";
  } else {
    f.gravity = Gravity::damage;
    f.what = fmt::format("the schedule counts skipped steps, too: after {} it is {} ahead of the weights", counted(skips, "skipped step"), skips);
    f.facts.push_back(fact("skipped", "skipped steps", static_cast<double>(skips), fmt::format("{}", skips), Provenance::projected));
    if (skips < std::ssize(input.rates)) {
      const double first = input.rates[static_cast<std::size_t>(skips)];
      f.what += fmt::format("; the optimizer's first real step (step {}) will use lr {} instead of {}", shown(skips), amount(first), amount(input.rates.front()));
      f.facts.push_back(fact("first_lr", "lr of the first applied step", first, fmt::format("{}; {} by applied steps", amount(first), amount(input.rates.front())), Provenance::projected));
    }
  }
  found.push_back(std::move(f));
}

}  // namespace ulpscope::reports
