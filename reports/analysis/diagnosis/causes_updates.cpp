// Updates that leave every value finite and do not do what was asked: rounded away, decay that never decays, scalars
// that became 0 or 1, no master weights.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/analysis/diagnosis/causes.h"
#include "reports/analysis/diagnosis/words.h"

namespace ulpscope::reports {
namespace {

/// From which share of updates rounded away on it is damage: weights in 16 bits, in fp32.
constexpr double much_lost_16bit = 0.10;
constexpr double much_lost = 0.50;

Format weight_format(const Evidence& e, const PlanNode& node) {
  return node.outputs.empty() ? Format::fp32 : e.plan().format(node.outputs.front());
}

double greatest_rate(const Evidence& e) {
  double rate = 0.0;
  for (const StepRecord& step : e.steps()) rate = std::max(rate, step.learning_rate.value_or(0.0));
  return rate;
}

struct Lost {
  const ObservedStep* step = nullptr;
  const PlanNode* worst = nullptr;
  double worst_share = 0.0;
  std::int64_t lost = 0, elements = 0;
  std::int64_t still = 0;    ///< their update is 0
  std::int64_t decay = 0;    ///< lost, but of weight decay alone
  std::int64_t tensors = 0;  ///< that lost any
};

/// Weights whose gradient (and momentum) is zero, as it is stored; 0 where that is not known.
std::int64_t without_gradient(const ObservedStep& step, const PlanNode& node, const Stat& update) {
  const Stat* moves = node.outputs.size() > 1 ? step.stat(node.outputs[1])
                      : node.inputs.front()   ? step.stat(*node.inputs.front())
                                              : nullptr;
  return moves == nullptr || moves->elements != update.elements ? 0 : moves->stored_zero();
}

/// Of these weight decay alone moves some, and that it is lost is said there.
std::int64_t decay_only(const ObservedStep& step, const PlanNode& node, const Stat& update) {
  if (number(node, "weight_decay").value_or(0.0) <= 0.0) return 0;
  return std::min(update.lost, without_gradient(step, node, update));
}

/// Weights that were not finite before the update: no update moves them, and none is lost.
std::int64_t beyond_update(const ObservedStep& step, const PlanNode& node, const Stat& update) {
  const auto before = node.inputs.size() > 2 ? node.inputs[2] : std::nullopt;
  const Stat* weight = before ? step.stat(*before) : nullptr;
  if (weight == nullptr || weight->elements != update.elements) return update.nan + update.infinite();
  return weight->bad();
}

/// Of the first observed step in which much was lost; `steps` counts them.
Lost find_lost(const Evidence& e, std::int64_t& steps) {
  Lost first;
  for (const ObservedStep& step : e.observed()) {
    const StepRecord* record = e.step(step.step);
    if (record != nullptr && record->skipped) continue;
    Lost now{.step = &step};
    for (const PlanNode& node : e.plan().nodes()) {
      if (!is_optimizer(node) || node.outputs.empty() || node.inputs.empty()) continue;
      const Stat* stat = step.stat(node.outputs.front());
      if (stat == nullptr || stat->elements == 0) continue;
      const std::int64_t beyond = beyond_update(step, node, *stat), finite = stat->elements - beyond;
      if (finite <= 0) continue;
      now.elements += finite;
      const std::int64_t decayed = decay_only(step, node, *stat);
      const std::int64_t gone = std::max<std::int64_t>(0, stat->lost - decayed - beyond);
      if (number(node, "weight_decay").value_or(0.0) <= 0.0) now.still += std::min(finite - gone, without_gradient(step, node, *stat));
      now.lost += gone;
      now.decay += decayed;
      now.tensors += gone > 0 ? 1 : 0;
      const double share = static_cast<double>(gone) / static_cast<double>(finite);
      if (share > now.worst_share) {
        now.worst_share = share;
        now.worst = &node;
      }
    }
    if (now.worst == nullptr) continue;
    const double share = static_cast<double>(now.lost) / static_cast<double>(now.elements);
    if (share < (is_16bit(weight_format(e, *now.worst)) ? much_lost_16bit : much_lost)) continue;
    ++steps;
    if (first.step == nullptr) first = now;
  }
  return first;
}

/// +1 or -1 where (nearly) all elements have that sign and one size; 0: both occur, or it is not known.
int common_sign(const Stat* stat) {
  if (stat == nullptr || !stat->mean || !stat->rms || std::fabs(*stat->mean) < 0.99 * *stat->rms) return 0;
  return *stat->mean > 0.0 ? 1 : *stat->mean < 0.0 ? -1 : 0;
}

/// What would move a weight of the usual size, held against the update.
void add_thresholds(const Evidence& e, const Lost& lost, Cause& cause) {
  const Format format = weight_format(e, *lost.worst);
  const auto before = lost.worst->inputs.size() > 2 ? lost.worst->inputs[2] : std::nullopt;
  const Stat* weight = before ? lost.step->stat(*before) : nullptr;  // as the step found it
  if (weight == nullptr) weight = lost.step->stat(lost.worst->outputs.front());
  const Stat* gradient = lost.worst->inputs.front() ? lost.step->stat(*lost.worst->inputs.front()) : nullptr;
  if (weight == nullptr || weight->greatest <= 0.0) return;
  const double size = weight->rms.value_or(weight->greatest);
  const double below = half_ulp_below(size, format), above = half_ulp_above(size, format);
  // An update leads away from 0 where weight and gradient have opposite signs.
  const int direction = common_sign(weight) * common_sign(gradient);
  const double half = direction < 0 ? above : below;
  cause.facts.push_back(
      fact("half_ulp", "half an ulp", half,
           fmt::format("{} {}, at a weight of {} (rms) in {}: what an update must exceed to move it", amount(half),
                       direction < 0 ? "away from 0" : "towards 0", amount(size), name(format)),
           Provenance::computed));
  if (direction == 0)
    cause.facts.push_back(fact("half_ulp_above", "away from 0", above, amount(above), Provenance::computed));
  const double at_most = direction < 0 ? half_ulp_above(weight->greatest, format) : half_ulp_below(weight->greatest, format);
  if (at_most > half)
    cause.facts.push_back(fact(
        "half_ulp_greatest", "at the greatest weight", at_most,
        fmt::format("{} at {}: the largest weights lose their updates first", amount(at_most), amount(weight->greatest)),
        Provenance::computed));
  const StepRecord* record = e.step(lost.step->step);
  const double rate = record != nullptr ? record->learning_rate.value_or(0.0) : 0.0;
  if (rate <= 0.0) return;
  const bool adam = lost.worst->record.operation == "adamw";
  if (!adam &&
      (gradient == nullptr || gradient->greatest <= 0.0 || number(*lost.worst, "momentum").value_or(0.0) > 0.0))
    return;
  const double update = adam ? rate : rate * gradient->greatest;
  cause.facts.push_back(fact("update", "update", update,
                             fmt::format("at most about {} (lr {}{})", amount(update), amount(rate),
                                         adam ? ", adamw moves by about lr" : " x greatest gradient"),
                             Provenance::computed));
  cause.facts.push_back(
      fact("ratio", "update / half an ulp", update / half, amount(update / half), Provenance::computed));
  const std::string side = direction == 0 ? "" : direction < 0 ? ", away from 0" : ", towards 0";
  if (update > half) {
    // Half an ulp away from 0 is never the less of the two.
    const bool one_way = direction == 0 && update <= above;
    cause.what += fmt::format("; the largest update (about {}) would move a weight of the usual size{} (half an ulp at {} is {}{}): ",
                              amount(update), one_way ? " towards 0" : side, amount(size), amount(half),
                              one_way ? fmt::format("), and not away from it ({}", amount(above)) : "");
    cause.what += one_way ? "lost are updates away from 0, smaller ones or those of larger weights, and which is not recorded"
                          : "lost are smaller updates or larger weights, and which is not recorded";
    return;
  }
  cause.facts.push_back(fact("needed_lr", "lr that would begin to move it", rate * half / update,
                             fmt::format("above {}", amount(rate * half / update)), Provenance::computed));
  cause.what += fmt::format("; the update is about {}, half an ulp at {} is {}{}", amount(update), amount(size), amount(half), side);
}

void lost_updates(const Evidence& e, std::vector<Cause>& causes) {
  std::int64_t steps = 0;
  const Lost lost = find_lost(e, steps);
  if (lost.step == nullptr) return;
  const Format format = weight_format(e, *lost.worst);
  Cause cause;
  cause.kind = Kind::update_lost;
  // What one step loses the next ones get: on average, or from the compensation.
  const std::string rounding = e.setting("update_rounding");
  const bool made_up_for = rounding == "stochastic" || rounding == "kahan";
  cause.gravity = is_16bit(format) && !made_up_for ? Gravity::damage : Gravity::note;
  cause.step = lost.step->step;
  cause.steps_seen = steps;
  cause.node = lost.worst->record.name;
  cause.operation = lost.worst->record.operation;
  cause.phase = "update";
  cause.tensor = e.plan().title(lost.worst->outputs.front());
  cause.format = name(format);
  const double share = static_cast<double>(lost.lost) / static_cast<double>(lost.elements);
  const std::int64_t moved = lost.elements - lost.lost - lost.decay - lost.still;
  cause.what =
      fmt::format("{} of the updates ({} of {}) were rounded away in step {}: {} of {} weights in {} moved",
                  percent(share), lost.lost, lost.elements, shown(lost.step->step), moved, lost.elements, name(format));
  if (lost.still > 0) cause.what += fmt::format("; of {} the update is 0", lost.still);
  if (lost.decay > 0)
    cause.what += fmt::format("; of {} more, which have no gradient, weight decay was rounded away", lost.decay);
  if (made_up_for) cause.what += fmt::format("; {} rounding makes up for that in later steps", rounding);
  cause.facts.push_back(fact("lost_updates", "updates rounded away", static_cast<double>(lost.lost),
                             fmt::format("{} of {} in {}", lost.lost, lost.elements, counted(lost.tensors, "tensor"))));
  cause.facts.push_back(fact("share", "share", share, percent(share)));
  if (!made_up_for) add_thresholds(e, lost, cause);
  causes.push_back(std::move(cause));
}

void no_master(const Evidence& e, std::vector<Cause>& causes) {
  std::vector<std::string> names;
  std::int64_t count = 0;
  std::string format;
  for (const PlanNode& node : e.plan().nodes()) {
    if (!is_optimizer(node) || !is_16bit(weight_format(e, node)) || node.inputs.size() < 3 || !node.inputs[2]) continue;
    names.push_back(e.plan().title(*node.inputs[2]));
    count += elements(node.record.inputs[2].shape);
    format = name(weight_format(e, node));
  }
  if (names.empty()) return;
  const bool lost =
      std::any_of(causes.begin(), causes.end(), [](const Cause& c) { return c.kind == Kind::update_lost && c.gravity <= Gravity::damage; });
  Cause cause;
  cause.kind = Kind::no_master_weights;
  cause.gravity = lost ? Gravity::damage : Gravity::note;
  cause.format = format;
  std::string list;
  for (std::size_t i = 0; i < names.size() && i < 4; ++i) list += (i > 0 ? ", " : "") + names[i];
  if (names.size() > 4) list += fmt::format(" and {} more", names.size() - 4);
  cause.what =
      fmt::format("{} of weights {} {} without an fp32 master copy ({}): this is pure {}, not mixed precision{}",
                  counted(std::ssize(names), "tensor"), names.size() == 1 ? "is" : "are", format, list, format,
                  lost ? ", and updates are lost for it" : "");
  cause.facts.push_back(fact("tensors", "tensors", static_cast<double>(names.size()), list));
  cause.facts.push_back(fact("master_copy_bytes", "a master copy costs", 4.0 * static_cast<double>(count),
                             fmt::format("+4 bytes a parameter = {} bytes", 4 * count), Provenance::computed));
  causes.push_back(std::move(cause));
}

/// Weights that decay alone would have moved and did not, as counted, in the first observed step with any.
struct DecayLost {
  std::int64_t lost = 0, elements = 0;
};

DecayLost counted_decay(const Evidence& e) {
  for (const ObservedStep& step : e.observed()) {
    const StepRecord* record = e.step(step.step);
    if (record != nullptr && record->skipped) continue;
    DecayLost now;
    for (const PlanNode& node : e.plan().nodes())
      if (const Stat* stat = is_optimizer(node) && !node.outputs.empty() && !node.inputs.empty() ? step.stat(node.outputs.front()) : nullptr) {
        now.lost += decay_only(step, node, *stat);
        now.elements += stat->elements;
      }
    if (now.lost > 0) return now;
  }
  return {};
}

void lost_decay(const Evidence& e, std::vector<Cause>& causes) {
  // Weights are not rounded to nearest there: what one step loses lands on average, or from the compensation.
  if (const std::string rounding = e.setting("update_rounding"); rounding == "stochastic" || rounding == "kahan") return;
  const double rate = greatest_rate(e);
  for (const PlanNode& node : e.plan().nodes()) {
    const double decay = number(node, "weight_decay").value_or(0.0);
    if (node.record.operation != "adamw" || decay <= 0.0 || rate <= 0.0) continue;
    const Format format = weight_format(e, node);
    const double half = info(format).unit_roundoff / 2;  // half an ulp relative to the value, where it is least
    if (rate * decay >= half) continue;
    // Where the decayed weight is not rounded by itself, decay is part of an update that lands: but for weights without a gradient.
    const bool by_itself = !is_16bit(format) || node.attributes.value("each_operation", false);
    const DecayLost alone = by_itself ? DecayLost{} : counted_decay(e);
    if (!by_itself && alone.lost == 0) continue;
    const double share = by_itself ? 1.0 : static_cast<double>(alone.lost) / static_cast<double>(alone.elements);
    Cause cause;
    cause.kind = Kind::weight_decay_lost;
    cause.gravity = is_16bit(format) && share >= much_lost_16bit ? Gravity::damage : Gravity::note;
    cause.node = node.record.name;
    cause.operation = node.record.operation;
    cause.phase = "update";
    cause.format = name(format);
    cause.what = fmt::format(
        "weight decay does nothing{}: lr x decay = {} x {} = {} is less than half an ulp in {} ({} of the weight)",
        by_itself ? "" : fmt::format(" to {} of {}, whose gradient is 0", alone.lost, counted(alone.elements, "weight")),
        amount(rate), amount(decay), amount(rate * decay), name(format), amount(half));
    if (!by_itself) {
      cause.what += "; to the others it is part of an update that is rounded once";
      cause.facts.push_back(fact("weights", "weights that decay alone would move, and does not", static_cast<double>(alone.lost),
                                 fmt::format("{} of {} ({})", alone.lost, alone.elements, percent(share))));
    }
    cause.facts.push_back(fact("lr_decay", "lr x decay", rate * decay, amount(rate * decay), Provenance::computed));
    cause.facts.push_back(
        fact("needed_decay", "decay that would act", half / rate, fmt::format("above {}", amount(half / rate)), Provenance::computed));
    cause.facts.push_back(fact("half_ulp", "half an ulp, relative", half, amount(half), Provenance::computed));
    causes.push_back(std::move(cause));
    return;  // all weights are alike in this
  }
}

bool has(const std::vector<Cause>& causes, Kind kind) {
  return std::any_of(causes.begin(), causes.end(), [&](const Cause& c) { return c.kind == kind; });
}

void scalars(const Evidence& e, std::vector<Cause>& causes) {
  for (const PlanNode& node : e.plan().nodes()) {
    if (!is_optimizer(node)) continue;
    if (Cause cause; !has(causes, Kind::beta_vanished)) {
      cause.what = vanished_betas(e, node, cause.facts);
      cause.kind = Kind::beta_vanished;
      cause.gravity = Gravity::damage;
      cause.node = node.record.name;
      cause.operation = node.record.operation;
      cause.phase = "update";
      cause.format = e.setting("scalar_format");
      if (!cause.what.empty()) causes.push_back(std::move(cause));
    }
    const Number kept = number(node, "epsilon");
    const bool each = node.attributes.value("each_operation", false);
    const Format format = node.outputs.size() > 2 ? e.plan().format(node.outputs[2]) : weight_format(e, node);  // in which it is added to the second moment's root
    const double asked = e.numeric_setting("epsilon").value_or(kept.value_or(0.0));
    if (!kept || asked <= 0.0 || has(causes, Kind::epsilon_vanished)) continue;
    if (*kept != 0.0 && !(each && *kept <= info(format).flush_threshold)) continue;
    Cause cause;
    cause.kind = Kind::epsilon_vanished;
    cause.gravity = Gravity::note;
    cause.node = node.record.name;
    cause.operation = node.record.operation;
    cause.phase = "update";
    cause.format = *kept == 0.0 ? e.setting("scalar_format") : name(format);
    cause.what = fmt::format(
        "epsilon {} is 0 in {}: the first v that is 0 makes a division by zero (in the steps observed none did)",
        amount(asked), cause.format);
    causes.push_back(std::move(cause));
  }
}

}  // namespace

void silent_update_causes(const Evidence& evidence, std::vector<Cause>& causes) {
  lost_updates(evidence, causes);
  no_master(evidence, causes);
  lost_decay(evidence, causes);
  scalars(evidence, causes);
}

}  // namespace ulpscope::reports
