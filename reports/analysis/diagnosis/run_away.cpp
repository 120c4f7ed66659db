#include "reports/analysis/diagnosis/run_away.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "reports/analysis/diagnosis/injections.h"
#include "reports/analysis/diagnosis/words.h"

namespace ulpscope::reports {
namespace {

constexpr double jump = 2.0;           ///< times the least loss so far: above it by its own magnitude
constexpr double near_zero = 1e-6;     ///< a loss that says nothing of how large it is: 1 stands in for it
constexpr double other_data = 8.0;     ///< times what an input held before
constexpr double grown = 100.0;        ///< times the first loss
constexpr std::int64_t steadily = 4;   ///< rises, of which that many come before a cause

struct OtherData {
  std::string name{};
  double factor = 0.0;
  std::int64_t step = 0;  ///< that was observed
};

/// An input that is far larger in the first observed step from `step` on than in those before. Of later ones none says anything of this one.
OtherData changed_data(const Evidence& e, std::int64_t step) {
  std::map<TensorId, double> before;
  for (const ObservedStep& observed : e.observed()) {
    for (const auto& [id, stat] : observed.all) {
      const TensorRecord* record = e.plan().tensor(id);
      if (record == nullptr || record->node || record->role != TensorRole::input || stat.greatest <= 0.0) continue;
      if (observed.step < step)
        before[id] = std::max(before[id], stat.greatest);
      else if (before[id] > 0.0 && stat.greatest >= other_data * before[id])
        return {record->name, stat.greatest / before[id], observed.step};
    }
    if (observed.step >= step) break;
  }
  return {};
}

/// The step before the first that more than doubles the least loss so far.
const StepRecord* before_jump(const Evidence& e) {
  double least = HUGE_VAL;
  for (std::size_t i = 0; i + 1 < e.steps().size(); ++i) {
    const Number now = e.steps()[i].loss, next = e.steps()[i + 1].loss;
    if (now && std::isfinite(*now)) least = std::min(least, *now);
    const double size = std::abs(least) < near_zero ? 1.0 : std::abs(least);   // it may be negative
    if (next && std::isfinite(*next) && least < HUGE_VAL && *next - least >= (jump - 1.0) * size) return now ? &e.steps()[i] : nullptr;
  }
  return nullptr;
}

/// How far a loss rises behind a step above the least until then: the logarithm of 1 + the rise in units of that least. None: it does not
/// come as far. Infinite: it ends in numbers that are not finite.
Number rise_behind(const std::vector<StepRecord>& steps, std::int64_t from, std::int64_t end) {
  double least = HUGE_VAL, most = -HUGE_VAL;
  for (const StepRecord& step : steps) {
    if (step.step > end || !step.loss) continue;
    if (!std::isfinite(*step.loss) && !step.skipped) return HUGE_VAL;
    if (!std::isfinite(*step.loss)) continue;
    double& extreme = step.step <= from ? least : most;
    extreme = step.step <= from ? std::min(least, *step.loss) : std::max(most, *step.loss);
  }
  if (!(least < HUGE_VAL) || !(most > -HUGE_VAL)) return std::nullopt;
  return std::log1p(std::max(most - least, 0.0) / (std::abs(least) < near_zero ? 1.0 : std::abs(least)));
}

/// Whether precision has a part in a rise behind this step, as far as that is known.
void blame(const Evidence& e, std::int64_t from, bool others, Cause& cause) {
  constexpr double alike = 0.5;  // of the logarithm: what grows at its own rate is not equal to the digit
  cause.kind = Kind::divergence;
  cause.gravity = Gravity::note;
  if (e.run().mode == "fp32") {
    cause.what += "; the run is fp32: no narrower format has a part in it";
    cause.facts.push_back(fact("part_of_precision", "part of precision", "none: the run is fp32", Provenance::inferred));
    return;
  }
  const std::int64_t end = e.steps().back().step;
  const Number own = rise_behind(e.steps(), from, end), twin = e.fp32 != nullptr ? rise_behind(e.fp32->steps(), from, end) : std::nullopt;
  if (own && twin && *twin >= alike * *own) {
    cause.what += "; fp32 in this file does the same: the mode's precision is not its cause";
    cause.facts.push_back(fact("part_of_precision", "part of precision", "none: fp32 in this file does the same", Provenance::inferred));
  } else if (own && twin) {
    cause.kind = Kind::unknown;
    cause.gravity = Gravity::damage;
    cause.what += "; fp32 in this file does not: something that the mode rounds has a part in it";
  } else if (e.observed().empty()) {
    cause.kind = Kind::unknown;
    cause.gravity = Gravity::damage;
    cause.what += "; nothing was observed inside the steps: whether precision has a part in it is not known, and an fp32 run in the same file would tell";
  } else {
    cause.what += fmt::format("; in the {} that {} observed {}, and an fp32 run in the same file would tell", counted(std::ssize(e.observed()), "step"),
                              e.observed().size() == 1 ? "was" : "were",
                              others ? "damage of precision was seen, which is told of besides and may have a part in it" : "nothing of precision was seen that makes it");
    cause.facts.push_back(fact("part_of_precision", "part of precision", others ? "unknown: see what else is told of" : "none was seen; an fp32 run in the same file would tell", Provenance::inferred));
  }
}

}  // namespace

std::string divergence_words(const std::vector<Cause>& causes) {
  const auto cause = std::find_if(causes.begin(), causes.end(), [](const Cause& c) { return c.kind == Kind::divergence; });
  if (cause == causes.end()) return "";
  const auto part = std::find_if(cause->facts.begin(), cause->facts.end(), [](const Fact& f) { return f.key == "part_of_precision"; });
  return part == cause->facts.end() ? "" : fmt::format("the loss ran away ({}); part of precision in it: {}", name(cause->kind), part->text);
}

void tell_run_away(const Evidence& e, bool others, Cause& cause) {
  cause.what = "the loss is finite and has run away";
  const StepRecord* from = before_jump(e);
  if (from == nullptr) {
    cause.what += "; it rises step by step";
    add_rate(e, cause);
    blame(e, e.steps().front().step, others, cause);
    return;
  }
  const StepRecord* to = from + 1;
  cause.step = to->step;
  const double last = e.steps().back().loss.value_or(NAN);
  const bool stays = last - *to->loss <= (jump - 1.0) * std::abs(*to->loss), back = last <= *from->loss;
  cause.what = fmt::format("the loss {}: {} in step {}, {} in step {}, {} in the last{}", stays ? "jumps" : "has run away",
                           amount(*from->loss), shown(from->step), amount(*to->loss), shown(to->step), amount(last),
                           back    ? "; it came back below where it was"
                           : stays ? "; it does not grow on from there"
                                   : "");
  cause.kind = Kind::divergence;
  cause.gravity = Gravity::note;
  for (const Injection& one : injections(e)) {
    if (one.step < from->step || one.step > to->step) continue;
    cause.what += fmt::format("; the experiment file sets {} to {} in step {} ([[inject]])", one.target(), one.number,
                              shown(one.step));
    cause.facts.push_back(fact("injected", "injected", fmt::format("{} = {}", one.value, one.number)));
    return;
  }
  const OtherData other = changed_data(e, to->step);
  if (!other.name.empty()) {
    const bool there = other.step == to->step;
    cause.what += there ? fmt::format("; the data changed there: {} holds {:.3g} times what it held before", other.name, other.factor)
                        : fmt::format("; step {} was not observed: in step {} {} holds {:.3g} times what it held before", shown(to->step),
                                      shown(other.step), other.name, other.factor);
    cause.facts.push_back(fact("sudden_data", "other data", other.factor, fmt::format("{}: {:.3g} times, in step {}", other.name, other.factor, shown(other.step))));
    if (there) return;
  }
  if (stays && !back) cause.what += ": other data look like this, or a learning rate that is too large";
  if (const Number rate = from->learning_rate) {
    cause.what += fmt::format("; the learning rate was {}", amount(*rate));
    cause.facts.push_back(fact("learning_rate", "learning rate", *rate, amount(*rate)));
  }
  if (e.observed_step(to->step) == nullptr && other.name.empty())
    cause.what += fmt::format("; step {} was not observed, so nothing more is known of it", shown(to->step));
  if (!back) blame(e, from->step, others, cause);
}

void add_rate(const Evidence& e, Cause& cause) {
  if (!injections(e).empty()) return;
  // Of a step after which nothing moved, the rate has no part in what comes next.
  Number rate;
  for (const StepRecord& step : e.steps())
    if ((!cause.step || step.step < *cause.step) && !step.skipped && step.learning_rate && *step.learning_rate > 0.0) rate = step.learning_rate;
  if (!rate) return;
  cause.facts.push_back(fact("learning_rate", "learning rate", *rate, fmt::format("{} in the last applied step before it; whether it has a part in this is not known", amount(*rate))));
}

void add_divergence(const Evidence& e, Cause& cause) {
  if (cause.gravity != Gravity::fatal || cause.phase != "forward" || !cause.step || !injections(e).empty()) return;
  if (cause.kind != Kind::activation_too_large && cause.kind != Kind::weight_too_large && cause.kind != Kind::unknown) return;
  const StepRecord* first = nullptr;
  const StepRecord* last = nullptr;
  std::int64_t rises = 0;
  for (const StepRecord& step : e.steps()) {
    if (step.step >= *cause.step || !step.loss || !std::isfinite(*step.loss)) continue;
    if (last != nullptr && *step.loss > *last->loss) ++rises;
    if (first == nullptr) first = &step;
    last = &step;
  }
  if (first == nullptr || *first->loss <= 0.0 || *last->loss < grown * *first->loss || rises < steadily) return;
  cause.what += fmt::format("; before that the loss grew from {} in step {} to {} in step {}: the training diverges",
                            amount(*first->loss), shown(first->step), amount(*last->loss), shown(last->step));
  if (const Number rate = last->learning_rate) {
    cause.what += fmt::format(", at a learning rate of {}", amount(*rate));
    cause.facts.push_back(fact("learning_rate", "learning rate", *rate, amount(*rate)));
  }
}

}  // namespace ulpscope::reports
