// Zeros that should not be: a mean whose count is infinite, a loss that is exactly 0.
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

/// Whether a product with zeros made them: then they come from where the zeros come from.
bool multiplied_by_zero(const ObservedStep& step, const PlanNode& node) {
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
  if (origin == nullptr && !fp32_differs) return;  // zeros came in: a loss of 0 is right
  Cause cause;
  cause.kind = Kind::exact_zero_loss;
  const bool explained = origin != nullptr && std::any_of(causes.begin(), causes.end(), [&](const Cause& c) {
                           return c.node == origin->record.name && c.gravity != Gravity::note;
                         });
  cause.gravity = explained || fp32_differs ? Gravity::damage : Gravity::note;
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
  if (!explained && origin != nullptr && !fp32_differs) cause.what += "; a perfect fit looks the same";
  causes.push_back(std::move(cause));
}

constexpr double much_flushed = 0.05;   ///< of a weight's elements that are not zero
constexpr double much_missing = 0.01;   ///< of the weight, by its rms: what was flushed is at most the end of the range

/// Whether a product, or a factor, reads the copy: in a sum a weight that small is nothing beside the rest.
bool multiplies(const PlanView& plan, TensorId copy) {
  return std::any_of(plan.readers(copy).begin(), plan.readers(copy).end(), [&](std::size_t reader) {
    const PlanNode& node = plan.nodes()[reader];
    if (node.record.phase != Phase::forward) return false;
    if (node.record.operation == "mul" || node.record.operation == "embedding") return true;
    return is_product(node) && (node.inputs.size() < 3 || node.inputs[2] != copy);  // the third is a bias
  });
}

/// Copies of weights in a narrow format, of which elements became zero that count beside the others.
void flushed_weights(const Evidence& e, std::vector<Cause>& causes) {
  for (const ObservedStep& step : e.observed()) {
    for (const PlanNode& node : e.plan().nodes()) {
      if (node.record.operation != "cast" || node.record.phase != Phase::forward || node.outputs.empty()) continue;
      const TensorId copy = node.outputs.front();
      const TensorRecord* record = e.plan().tensor(copy);
      const Stat* stat = step.stat(copy);
      if (record == nullptr || record->role != TensorRole::weight || stat == nullptr || stat->flushed == 0) continue;
      const auto not_zero = static_cast<double>(stat->elements - stat->zero);
      const double share = not_zero > 0.0 ? static_cast<double>(stat->flushed) / not_zero : 0.0;
      const Format format = e.plan().format(copy);
      const double rms = stat->rms.value_or(stat->greatest);
      const double missing = rms > 0.0 ? std::sqrt(share) * info(format).flush_threshold / rms : 1.0;
      if (share < much_flushed || missing < much_missing || !multiplies(e.plan(), copy)) continue;
      const auto known = std::find_if(causes.begin(), causes.end(), [&](const Cause& c) {
        return c.kind == Kind::activation_below_range && c.node == node.record.name;
      });
      if (known != causes.end()) {
        ++known->steps_seen;
        continue;
      }
      Cause cause;
      cause.kind = Kind::activation_below_range;
      cause.gravity = Gravity::damage;
      cause.step = step.step;
      cause.node = node.record.name;
      cause.operation = node.record.operation;
      cause.phase = "forward";
      cause.tensor = e.plan().title(copy);
      cause.format = name(format);
      cause.what = fmt::format(
          "{} of the weight {} ({} of {} that are not 0) are zero in its {} copy: {} is the end of its range, the weight's "
          "rms is {}. The model computes with zeros in their place",
          percent(share), node.inputs.empty() || !node.inputs.front() ? cause.tensor : e.plan().title(*node.inputs.front()),
          stat->flushed, static_cast<std::int64_t>(not_zero), name(format), amount(info(format).flush_threshold),
          amount(rms));
      cause.facts.push_back(fact("flushed", "rounded to zero", static_cast<double>(stat->flushed),
                                 fmt::format("{} of {} ({})", stat->flushed, static_cast<std::int64_t>(not_zero),
                                             percent(share))));
      causes.push_back(std::move(cause));
    }
  }
}

}  // namespace

void silent_loss_causes(const Evidence& evidence, std::vector<Cause>& causes) {
  flushed_weights(evidence, causes);
  divisors(evidence, causes);
  zero_loss(evidence, causes);
}

}  // namespace ulpscope::reports
