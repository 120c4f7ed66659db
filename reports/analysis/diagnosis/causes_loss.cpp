// Zeros that should not be: a mean whose count is infinite, a loss or a gradient that is exactly 0; a loss that stands still.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "reports/analysis/diagnosis/causes.h"
#include "reports/analysis/diagnosis/words.h"

namespace ulpscope::reports {
namespace {

bool all_zero(const Stat* stat) {
  return stat != nullptr && stat->elements > 0 && stat->stored_zero() == stat->elements;
}

/// Every float input is observed, and one of them is not all zero.
bool something_goes_in(const Evidence& e, const ObservedStep& step, const PlanNode& node) {
  bool something = false;
  for (const auto& input : node.inputs) {
    if (input && !is_float(e.plan().format(*input))) continue;
    const Stat* stat = input ? step.stat(*input) : nullptr;
    if (stat == nullptr) return false;
    something = something || !all_zero(stat);
  }
  return something;
}

/// Whether a product with zeros, or a division of them, made them: then they come from where the zeros come from.
bool multiplied_by_zero(const ObservedStep& step, const PlanNode& node) {
  const bool divides = node.record.operation == "div" || node.record.operation == "expand";
  if (divides) return !node.inputs.empty() && node.inputs.front() && all_zero(step.stat(*node.inputs.front()));
  if (!is_product(node) && node.record.operation != "mul") return false;
  return std::any_of(node.inputs.begin(), node.inputs.end(),
                     [&](const auto& input) { return input && all_zero(step.stat(*input)); });
}

/// From the loss upwards: the first operation that makes exact zeros of something else; none if the zeros come in.
const PlanNode* origin_of_zero(const Evidence& e, const ObservedStep& step, TensorId tensor, std::set<TensorId>& seen) {
  const PlanNode* node = e.plan().producer(tensor);
  if (node == nullptr || !seen.insert(tensor).second || !all_zero(step.stat(tensor))) return nullptr;
  for (const auto& input : node->inputs)
    if (input && all_zero(step.stat(*input)))
      if (const PlanNode* found = origin_of_zero(e, step, *input, seen)) return found;
  return something_goes_in(e, step, *node) && !multiplied_by_zero(step, *node) ? node : nullptr;
}

const PlanNode* origin_of_zero(const Evidence& e, const ObservedStep& step, TensorId tensor) {
  std::set<TensorId> seen;
  return origin_of_zero(e, step, tensor, seen);
}

/// Means whose count does not fit the format it is kept in, and whose result is 0 for that reason.
void divisors(const Evidence& e, std::vector<Cause>& causes) {
  for (const ObservedStep& step : e.observed()) {
    for (const PlanNode& node : e.plan().nodes()) {
      const Format format = attribute_format(node, "scalar");
      const double n = static_cast<double>(reduced_elements(node));
      if (!is_mean(node) || format == Format::fp32 || n < limit(format) || node.outputs.empty() ||
          !all_zero(step.stat(node.outputs.front())))
        continue;
      if (!something_goes_in(e, step, node)) continue;
      if (std::any_of(causes.begin(), causes.end(),
                      [&](const Cause& c) { return c.kind == Kind::divisor_overflowed && c.node == node.record.name; }))
        continue;
      Cause cause;
      cause.kind = Kind::divisor_overflowed;
      cause.gravity = Gravity::damage;
      cause.step = step.step;
      cause.node = node.record.name;
      cause.operation = node.record.operation;
      cause.phase = std::string(name(node.record.phase));
      cause.tensor = e.plan().title(node.outputs.front());
      cause.format = name(format);
      cause.what =
          fmt::format("{}: the divisor N = {} is inf in {}: the result is silently 0, whatever its elements are",
                      node.record.name, amount(n), name(format));
      cause.operands = operands_of(e, step, node, 0);
      cause.facts.push_back(fact("count", "count", n, held_against_limit(n, format), Provenance::computed));
      const auto loss = e.plan().loss();
      if (loss && (node.outputs.front() == *loss || origin_of_zero(e, step, *loss) == &node))
        cause.reaches = "the loss, which is exactly 0";
      causes.push_back(std::move(cause));
    }
  }
}

std::string not_observed(std::int64_t step) {
  return fmt::format("; step {} was not observed, so where that begins is not known: run it again with observe.every = 1",
                     shown(step));
}

/// The first operation of the step that makes exact zeros of something else.
const PlanNode* first_zeros(const Evidence& e, const ObservedStep& step) {
  for (const PlanNode& node : e.plan().nodes()) {
    if (node.record.phase == Phase::update) break;
    const Stat* stat = node.outputs.empty() ? nullptr : step.stat(node.outputs.front());
    if (!all_zero(stat) || (is_view_or_cast(node) && stat->flushed == 0)) continue;
    if (e.plan().feeds_loss(node) && something_goes_in(e, step, node) && !multiplied_by_zero(step, node)) return &node;
  }
  return nullptr;
}

/// A gradient norm of exactly 0 beside a loss that is not: nothing was learned in that step, and nothing overflowed.
void zero_gradient(const Evidence& e, std::vector<Cause>& causes) {
  std::vector<std::int64_t> zeros;
  bool fp32_too = e.fp32 != nullptr, fp32_differs = false;
  for (const StepRecord& step : e.steps()) {
    if (!step.finite || step.skipped || !step.gradient_norm || *step.gradient_norm != 0.0) continue;
    if (!step.loss || *step.loss == 0.0) continue;  // a perfect fit; or said of the loss
    zeros.push_back(step.step);
    const StepRecord* twin = e.fp32 != nullptr ? e.fp32->step(step.step) : nullptr;
    fp32_too = fp32_too && twin != nullptr && twin->gradient_norm && *twin->gradient_norm == 0.0;
    fp32_differs = fp32_differs || (twin != nullptr && twin->gradient_norm && *twin->gradient_norm != 0.0);
  }
  if (zeros.empty()) return;
  const bool explained = std::any_of(causes.begin(), causes.end(), [&](const Cause& c) {
    const bool there = c.step && std::find(zeros.begin(), zeros.end(), *c.step) != zeros.end();
    return (there && c.gravity <= Gravity::damage) || c.operation == "global_norm";
  });
  if (explained) return;
  Cause cause;
  cause.kind = Kind::no_gradient;
  cause.gravity = fp32_too ? Gravity::note : Gravity::damage;
  cause.step = zeros.front();
  cause.steps_seen = std::ssize(zeros);
  cause.what = fmt::format("the gradient norm is exactly 0 in {} of {} (first in step {}), where the loss is {}: nothing is "
                           "learned there",
                           zeros.size(), counted(std::ssize(e.steps()), "step"), shown(zeros.front()),
                           amount(*e.step(zeros.front())->loss));
  if (fp32_too) cause.what += "; fp32's is, too";
  if (fp32_differs) cause.what += "; fp32's is not";
  const ObservedStep* seen = nullptr;
  for (const std::int64_t step : zeros)
    if (seen == nullptr) seen = e.observed_step(step);
  const PlanNode* origin = seen != nullptr ? first_zeros(e, *seen) : nullptr;
  if (seen == nullptr) cause.what += not_observed(zeros.front());
  // In fp32 it is the model's doing: units that are off or saturated. In another mode only fp32's run of the same tells.
  const bool flushed = origin != nullptr && seen->stat(origin->outputs.front())->flushed > 0;
  const bool always = std::ssize(zeros) + std::count_if(e.steps().begin(), e.steps().end(), [](const StepRecord& s) { return s.skipped; }) ==
                      std::ssize(e.steps());
  if (e.run().mode == "fp32" || fp32_too) {
    cause.gravity = Gravity::note;
    cause.what += "; that is the model's doing, not the precision's";
  } else if (always && !flushed && !fp32_differs) {
    cause.gravity = Gravity::note;
    cause.what += "; whether that is the model's doing or the precision's is not known: an fp32 run beside it (run.modes) would tell";
  }
  if (origin != nullptr) {
    cause.node = origin->record.name;
    cause.operation = origin->record.operation;
    cause.phase = std::string(name(origin->record.phase));
    cause.what += fmt::format("; zeros begin in {} ({}), whose inputs are not zero", origin->record.name,
                              origin->record.operation);
    cause.operands = operands_of(e, *seen, *origin, 0);
  }
  cause.facts.push_back(fact("zero_norm", "steps with a norm of 0", static_cast<double>(zeros.size()),
                             fmt::format("{} of {}", zeros.size(), e.steps().size())));
  causes.push_back(std::move(cause));
}

constexpr std::int64_t standing_still = 4;   ///< steps with the same bits
/// Of the loss, over those steps, to first order: in fp32; where results are stored in 16 bits, whose steps are coarse.
constexpr double should_move = 1e-4, should_move_16bit = 2e-2;

bool in_16bit(const PlanView& plan) {
  return std::any_of(plan.nodes().begin(), plan.nodes().end(), [&](const PlanNode& node) {
    const bool narrow = attribute_format(node, "accumulate") != Format::fp32 || attribute_format(node, "scalar") != Format::fp32;
    return narrow || (!node.outputs.empty() && is_16bit(plan.format(node.outputs.front())));
  });
}

/// A loss in fp32 with the same bits in many applied steps whose gradients are not small.
void frozen_loss(const Evidence& e, std::vector<Cause>& causes) {
  if (!e.plan().loss() || e.plan().format(*e.plan().loss()) != Format::fp32) return;
  const auto& steps = e.steps();
  const double clip = e.numeric_setting("clip").value_or(0.0);
  std::size_t best = 0, best_begin = 0;
  double moved = 0.0;
  const double enough = in_16bit(e.plan()) ? should_move_16bit : should_move;
  for (std::size_t i = 0, begin = 0; i < steps.size(); ++i) {
    const auto plain = [](const StepRecord& s) { return s.loss && std::isfinite(*s.loss) && *s.loss != 0.0 && !s.skipped; };
    if (i == begin || !plain(steps[i]) || !plain(steps[i - 1]) || *steps[i].loss != *steps[i - 1].loss) {
      begin = i;
      moved = 0.0;
    } else {
      const StepRecord& before = steps[i - 1];
      double norm = before.gradient_norm.value_or(0.0);
      const double step = clip > 0.0 ? std::min(norm, clip) : norm;
      if (std::isfinite(norm)) moved += before.learning_rate.value_or(0.0) * (e.run().optimizer == "sgd" ? step * norm : step);
    }
    if (i - begin + 1 > best && moved > enough * std::fabs(steps[i].loss.value_or(0.0))) {
      best = i - begin + 1;
      best_begin = begin;
    }
  }
  if (static_cast<std::int64_t>(best) < standing_still) return;
  const bool explained =
      std::any_of(causes.begin(), causes.end(), [](const Cause& c) { return c.kind == Kind::update_lost; });
  if (explained) return;
  const StepRecord& first = steps[best_begin];
  const StepRecord* twin = e.fp32 != nullptr ? e.fp32->step(first.step + 1) : nullptr;
  const StepRecord* before = e.fp32 != nullptr ? e.fp32->step(first.step) : nullptr;
  Cause cause;
  cause.kind = Kind::unknown;
  cause.gravity = twin != nullptr && before != nullptr && twin->loss == before->loss ? Gravity::note : Gravity::damage;
  cause.step = first.step;
  cause.steps_seen = static_cast<std::int64_t>(best);
  cause.what = fmt::format("the loss is {} to the last bit in {} from step {} on, though gradients and learning rate are not "
                           "0: the updates do not reach it",
                           amount(*first.loss), counted(static_cast<std::int64_t>(best), "step"), shown(first.step));
  if (e.observed_step(first.step) == nullptr) cause.what += not_observed(first.step);
  causes.push_back(std::move(cause));
}

void zero_loss(const Evidence& e, std::vector<Cause>& causes) {
  std::int64_t zeros = 0;
  std::optional<std::int64_t> first;
  bool fp32_differs = false;
  for (const StepRecord& step : e.steps()) {
    if (!step.loss || *step.loss != 0.0) continue;
    ++zeros;
    if (!first) first = step.step;
    const StepRecord* twin = e.fp32 != nullptr ? e.fp32->step(step.step) : nullptr;
    fp32_differs = fp32_differs || (twin != nullptr && twin->loss && *twin->loss != 0.0);
  }
  if (zeros == 0) return;
  const PlanNode* origin = nullptr;
  const ObservedStep* seen = nullptr;
  for (const ObservedStep& step : e.observed()) {
    const StepRecord* record = e.step(step.step);
    if (record == nullptr || !record->loss || *record->loss != 0.0 || !e.plan().loss()) continue;
    seen = &step;
    origin = origin_of_zero(e, step, *e.plan().loss());
    break;
  }
  const bool isolated = zeros < std::ssize(e.steps());
  // Zeros came in, or a loss of 0 is what fp32 has: right. So it is where every step has it and none was looked at.
  if (origin == nullptr && !fp32_differs && (seen != nullptr || !isolated || e.fp32 != nullptr)) return;
  Cause cause;
  cause.kind = Kind::exact_zero_loss;
  const bool explained = origin != nullptr && std::any_of(causes.begin(), causes.end(), [&](const Cause& c) {
                           return c.node == origin->record.name && c.gravity != Gravity::note;
                         });
  cause.gravity = explained || fp32_differs || origin == nullptr ? Gravity::damage : Gravity::note;
  cause.step = first;
  cause.steps_seen = zeros;
  cause.what = fmt::format("the loss is exactly 0 in {} of {}", zeros, counted(std::ssize(e.steps()), "step"));
  if (fp32_differs) cause.what += ", and not in fp32";
  if (origin != nullptr) {
    cause.node = origin->record.name;
    cause.operation = origin->record.operation;
    cause.phase = std::string(name(origin->record.phase));
    cause.what += fmt::format("; the zero begins in {} ({}), whose inputs are not zero", origin->record.name,
                              origin->record.operation);
    cause.operands = operands_of(e, *seen, *origin, 0);
  }
  if (seen == nullptr) cause.what += not_observed(*first);
  if (!explained && origin != nullptr && !fp32_differs) cause.what += "; a perfect fit looks the same";
  causes.push_back(std::move(cause));
}

}  // namespace

void silent_loss_causes(const Evidence& evidence, std::vector<Cause>& causes) {
  divisors(evidence, causes);
  zero_loss(evidence, causes);
  zero_gradient(evidence, causes);
  frozen_loss(evidence, causes);
}

}  // namespace ulpscope::reports
