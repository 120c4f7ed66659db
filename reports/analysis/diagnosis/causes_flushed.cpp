// Values of the forward pass, squares inside norms and copies of weights that became zero although they count: nothing is
// infinite, and what follows computes with zeros in their place.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/analysis/diagnosis/causes.h"
#include "reports/analysis/diagnosis/words.h"

namespace ulpscope::reports {
namespace {

constexpr double much_missing = 0.01;    ///< of a sum, or of a tensor by its rms
constexpr double much_of_norm = 0.10;    ///< of the mean square and its epsilon: 5 % of the norm's result
constexpr double half = 0.5;             ///< of a result's elements that are not zero
constexpr double much_of_weight = 0.05;  ///< of a weight's

/// The cause of that node, counted once more; none if it is not known yet.
bool known(const ObservedStep& step, const std::string& node, Kind kind, std::vector<Cause>& causes) {
  const auto found =
      std::find_if(causes.begin(), causes.end(), [&](const Cause& c) { return c.kind == kind && c.node == node; });
  if (found == causes.end()) return false;
  if (found->step && *found->step != step.step) ++found->steps_seen;
  return true;
}

Cause begin(const ObservedStep& step, const PlanNode& node, Kind kind, Format format) {
  Cause cause;
  cause.kind = kind;
  cause.gravity = Gravity::damage;
  cause.step = step.step;
  cause.node = node.record.name;
  cause.operation = node.record.operation;
  cause.phase = std::string(name(node.record.phase));
  cause.format = name(format);
  return cause;
}

/// Elements of the inputs whose squares (or which themselves) are summed; 0 if they were not observed.
std::int64_t addends(const ObservedStep& step, const PlanNode& node) {
  const bool all = node.record.operation == "global_norm";
  std::int64_t n = 0;
  for (std::size_t i = 0; i < node.inputs.size() && (all || i == 0); ++i)
    if (const Stat* stat = node.inputs[i] ? step.stat(*node.inputs[i]) : nullptr) n += stat->elements;
  return n;
}

/// Of the gradients, by their rms: what a norm without rounding would be.
double true_norm(const ObservedStep& step, const PlanNode& node) {
  double squares = 0.0;
  for (const auto& input : node.inputs)
    if (const Stat* stat = input ? step.stat(*input) : nullptr; stat != nullptr && stat->rms)
      squares += *stat->rms * *stat->rms * static_cast<double>(stat->elements);
  return std::sqrt(squares);
}

/// Whether zeros in place of what is missing change what the norm makes.
bool matters(const ObservedStep& step, const PlanNode& node, Format format) {
  if (node.record.operation == "global_norm") {
    const double most = number(node, "max_norm").value_or(0.0);
    return most > 0.0 && true_norm(step, node) > most;
  }
  if (!is_norm(node)) return true;
  // A flushed square is at most the end of the range, and so is their mean: beside a larger epsilon it is nothing.
  const double epsilon = std::fabs(number(node, "epsilon").value_or(0.0));
  return info(format).flush_threshold >= much_of_norm * epsilon;
}

void inner_addends(const ObservedStep& step, const PlanNode& node, std::vector<Cause>& causes) {
  const Stat* inner = node.inner ? step.stat(*node.inner) : nullptr;
  const Format format = attribute_format(node, "accumulate");
  if (inner == nullptr || inner->flushed == 0 || format == Format::fp32) return;
  const double missing = inner->error_greatest.value_or(0.0);
  const bool global = node.record.operation == "global_norm", squares = global || is_norm(node);
  const Kind kind = node.record.phase == Phase::forward ? Kind::activation_below_range : Kind::gradient_below_range;
  if (missing < much_missing || known(step, node.record.name, kind, causes)) return;
  Cause cause = begin(step, node, kind, format);
  const std::int64_t all = addends(step, node), not_zero = std::max(all - inner->zero, inner->flushed);
  const char* const what = squares ? "squares" : "addends";
  const std::string share =
      all > 0 ? fmt::format("{} of the {} ({} of {} that are not 0)",
                            percent(static_cast<double>(inner->flushed) / static_cast<double>(not_zero)), what,
                            inner->flushed, not_zero)
              : fmt::format("{} {}", inner->flushed, what);
  cause.what = fmt::format(
      "{} ({}): {} below range inside the {}: {} were rounded to zero in {}, which its {} kept in (at or below {}); of "
      "one sum {} is missing",
      node.record.name, node.record.operation, kind == Kind::activation_below_range ? "activation" : "gradient",
      squares ? "norm" : "sum", share, name(format), squares ? "squares are" : "sum is",
      amount(info(format).flush_threshold), percent(missing));
  if (!matters(step, node, format)) {
    cause.gravity = Gravity::note;
    if (global)
      cause.what += fmt::format("; the gradients need no clipping (their norm is about {}), so that only the number is wrong",
                                amount(true_norm(step, node)));
    else
      cause.what += fmt::format("; the epsilon {} outweighs it", amount(number(node, "epsilon").value_or(0.0)));
  } else if (global) {
    cause.what += fmt::format("; by their rms the norm is about {}, and clipping, which needs it, does not act",
                              amount(true_norm(step, node)));
  } else if (squares) {
    cause.what += ": its result is too large, without a NaN or an inf";
  }
  cause.facts.push_back(fact("flushed", std::string(what) + " rounded to zero", static_cast<double>(inner->flushed), share));
  cause.facts.push_back(fact("missing", "missing at most", missing, fmt::format("{} of one sum", percent(missing))));
  const Stat* in = node.inputs.empty() || !node.inputs.front() ? nullptr : step.stat(*node.inputs.front());
  if (squares && in != nullptr && in->least > 0.0)
    cause.facts.push_back(fact("least_input", "least input", in->least,
                               fmt::format("{}, squared {}; squares vanish at or below {}", amount(in->least),
                                           amount(in->least * in->least),
                                           amount(std::sqrt(info(format).flush_threshold)))));
  causes.push_back(std::move(cause));
}

double share_flushed(const Stat& stat) {
  const std::int64_t was = stat.elements - stat.zero;
  return was <= 0 ? 0.0 : static_cast<double>(stat.flushed) / static_cast<double>(was);
}

/// Of the tensor's rms, at most: what was flushed is at most the end of the range.
double share_missing(const Stat& stat, Format format) {
  const double rms = stat.rms.value_or(stat.greatest);
  return rms > 0.0 ? std::sqrt(share_flushed(stat)) * info(format).flush_threshold / rms : 1.0;
}

/// A sum with something far larger: what vanished would not have been seen in it.
bool drowns(const PlanView& plan, const ObservedStep& step, TensorId tensor, Format format, int depth) {
  const auto& readers = plan.readers(tensor);
  bool any = false;
  for (const std::size_t reader : readers) {
    const PlanNode& node = plan.nodes()[reader];
    const std::string& op = node.record.operation;
    if (node.record.phase != Phase::forward) continue;
    any = true;
    bool here = false;
    if (op == "add" || op == "sub")
      for (const auto& input : node.inputs)
        if (const Stat* other = input && *input != tensor ? step.stat(*input) : nullptr)
          here = here || other->rms.value_or(other->greatest) * much_missing > info(format).flush_threshold;
    const bool passes = is_view_or_cast(node) || op == "mean" || op == "dropout";
    if (!here && passes && depth > 0 && !node.outputs.empty())
      here = drowns(plan, step, node.outputs.front(), format, depth - 1);
    if (!here) return false;
  }
  return any;
}

/// Results that the loss scale does not multiply (those of the forward pass, and what the backward pass computes of them alone) of which half
/// and more vanished, and nothing that is large beside it is left.
void unscaled_results(const Evidence& e, const ObservedStep& step, const PlanNode& node, std::vector<Cause>& causes) {
  if (node.record.phase == Phase::update || node.record.operation == "scale_loss" || node.attributes.contains("recomputes")) return;
  for (const TensorId id : node.outputs) {
    const Stat* stat = e.plan().carries_scale(id) ? nullptr : step.stat(id);
    const Format format = e.plan().format(id);
    const TensorRecord* record = e.plan().tensor(id);
    if (stat == nullptr || record == nullptr || record->role == TensorRole::weight || !is_16bit(format)) continue;
    if (share_flushed(*stat) < half || share_missing(*stat, format) < much_of_norm || stat->bad() > 0) continue;
    if (!e.plan().feeds_loss(node) || known(step, node.record.name, Kind::activation_below_range, causes)) continue;
    const bool drowned = drowns(e.plan(), step, id, format, 4);
    Cause cause = begin(step, node, Kind::activation_below_range, format);
    cause.tensor = e.plan().title(id);
    const std::int64_t was = stat->elements - stat->zero;
    cause.what = fmt::format(
        "{} ({}, {}): {} of its results ({} of {} that are not 0) were rounded to zero in {}: {} is the end of its "
        "range, their rms is {}",
        node.record.name, node.record.operation, name(node.record.phase), percent(share_flushed(*stat)), stat->flushed, was, name(format),
        amount(info(format).flush_threshold), amount(stat->rms.value_or(stat->greatest)));
    cause.what += drowned ? "; what they are added to is far larger" : ". What follows computes with zeros in their place";
    if (drowned) cause.gravity = Gravity::note;
    cause.operands = operands_of(e, step, node, 0);
    cause.facts.push_back(fact("flushed", "rounded to zero", static_cast<double>(stat->flushed),
                               fmt::format("{} of {}", stat->flushed, was)));
    causes.push_back(std::move(cause));
  }
}

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
void weight_copies(const Evidence& e, const ObservedStep& step, const PlanNode& node, std::vector<Cause>& causes) {
  if (node.record.operation != "cast" || node.record.phase != Phase::forward || node.outputs.empty()) return;
  const TensorId copy = node.outputs.front();
  const TensorRecord* record = e.plan().tensor(copy);
  const Stat* stat = step.stat(copy);
  if (record == nullptr || record->role != TensorRole::weight || stat == nullptr || stat->flushed == 0) return;
  const Format format = e.plan().format(copy);
  const double share = share_flushed(*stat);
  if (share < much_of_weight || share_missing(*stat, format) < much_missing || !multiplies(e.plan(), copy)) return;
  if (known(step, node.record.name, Kind::activation_below_range, causes)) return;
  Cause cause = begin(step, node, Kind::activation_below_range, format);
  cause.tensor = e.plan().title(copy);
  const std::int64_t was = stat->elements - stat->zero;
  cause.what = fmt::format(
      "{} of the weight {} ({} of {} that are not 0) are zero in its {} copy: {} is the end of its range, the weight's "
      "rms is {}. The model computes with zeros in their place",
      percent(share), node.inputs.empty() || !node.inputs.front() ? cause.tensor : e.plan().title(*node.inputs.front()),
      stat->flushed, was, name(format), amount(info(format).flush_threshold),
      amount(stat->rms.value_or(stat->greatest)));
  cause.facts.push_back(fact("flushed", "rounded to zero", static_cast<double>(stat->flushed),
                             fmt::format("{} of {} ({})", stat->flushed, was, percent(share))));
  causes.push_back(std::move(cause));
}

/// Running variances that became zero: training does not read them, evaluation divides by the root of epsilon alone.
void running_variance(const Evidence& e, const ObservedStep& step, const PlanNode& node, std::vector<Cause>& causes) {
  if (node.record.operation != "ema" || node.outputs.empty() || node.inputs.size() < 2 || !node.inputs[1]) return;
  const TensorId variance = e.plan().uncast(*node.inputs[1]);
  const PlanNode* const norm = e.plan().producer(variance);
  if (norm == nullptr || norm->record.operation != "batch_norm" || norm->outputs.size() < 4 || norm->outputs[3] != variance) return;
  const Stat* stat = step.stat(node.outputs.front());
  const Format format = e.plan().format(node.outputs.front());
  const double epsilon = std::fabs(number(*norm, "epsilon").value_or(1e-5));
  if (stat == nullptr || !is_16bit(format) || share_flushed(*stat) < half || info(format).flush_threshold < much_of_norm * epsilon) return;
  if (known(step, node.record.name, Kind::activation_below_range, causes)) return;
  Cause cause = begin(step, node, Kind::activation_below_range, format);
  cause.tensor = e.plan().title(node.outputs.front());
  const std::int64_t was = stat->elements - stat->zero;
  cause.what = fmt::format(
      "running statistics: {} of the variances in {} ({} of {} that are not 0) were rounded to zero in {} (at or below {}). Training does not read them; "
      "evaluation divides by the root of an epsilon of {} alone",
      percent(share_flushed(*stat)), cause.tensor, stat->flushed, was, name(format), amount(info(format).flush_threshold), amount(epsilon));
  cause.facts.push_back(fact("flushed", "rounded to zero", static_cast<double>(stat->flushed), fmt::format("{} of {}", stat->flushed, was)));
  causes.push_back(std::move(cause));
}

}  // namespace

void silent_flushed_causes(const Evidence& evidence, std::vector<Cause>& causes) {
  for (const ObservedStep& step : evidence.observed())
    for (const PlanNode& node : evidence.plan().nodes()) {
      inner_addends(step, node, causes);
      unscaled_results(evidence, step, node, causes);
      weight_copies(evidence, step, node, causes);
      running_variance(evidence, step, node, causes);
    }
}

}  // namespace ulpscope::reports
