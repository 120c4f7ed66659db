#include "reports/analysis/diagnosis/causes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "reports/analysis/diagnosis/injections.h"
#include "reports/analysis/diagnosis/swallowed.h"
#include "reports/analysis/diagnosis/words.h"

namespace ulpscope::reports {
namespace {

/// Every float input is known, finite, and far from what squares into fp32's limit.
bool all_finite(const Suspect& s) {
  for (std::size_t i = 0; i < s.node().inputs.size(); ++i) {
    const auto& input = s.node().inputs[i];
    if (input && !is_float(s.evidence.plan().format(*input))) continue;
    const Stat* stat = s.input(i);
    if (stat == nullptr || stat->bad() > 0 || stat->greatest > 0x1p50) return false;
  }
  return true;
}

/// The least room that another 16-bit result of the step has, as a factor.
void add_others(const Suspect& s, Cause& cause) {
  double least = 0.0;
  std::string where;
  for (const auto& [id, stat] : s.step.all) {
    const Format format = s.evidence.plan().format(id);
    const PlanNode* made_by = s.evidence.plan().producer(id);
    if (!is_16bit(format) || stat.greatest <= 0.0 || made_by == nullptr || made_by == s.root.node) continue;
    if (stat.bad() > 0) continue;
    if (made_by->record.phase != s.node().record.phase) continue;
    const double room = limit(format) / stat.greatest;
    if (least == 0.0 || room < least) {
      least = room;
      where = s.evidence.plan().title(id);
    }
  }
  if (least > 0.0)
    cause.facts.push_back(fact(
        "others", "room elsewhere", least,
        fmt::format("the results of this pass in 16 bits that stayed finite have a factor of at least {:.3g} to their limit ({})",
                    least, where),
        Provenance::computed));
}

/// A number that the experiment file puts into the result or into what is read, in this very step.
void injected(const Suspect& s, Cause& cause) {
  const PlanView& plan = s.evidence.plan();
  for (const Injection& one : injections(s.evidence)) {
    if (one.step != s.step.step) continue;
    bool hit = one.value == s.title() || one.value == s.node().record.name;
    for (const auto& input : s.node().inputs)
      hit = hit || (input && (plan.title(*input) == one.value || plan.title(plan.uncast(*input)) == one.value));
    if (!hit) continue;
    if (!one.finite() && s.root.how == Root::How::arithmetic) {
      cause.kind = Kind::data_not_finite;
      cause.what = fmt::format("the experiment file sets {} to {} in step {} ([[inject]]): no arithmetic made it; {} "
                               "is the first to read it",
                               one.target(), one.number, shown(s.step.step), s.node().record.name);
    } else {
      cause.what += fmt::format("; the experiment file sets {} to {} in this step ([[inject]])", one.target(), one.number);
    }
    cause.facts.push_back(fact("injected", "injected", fmt::format("{} = {}", one.value, one.number)));
    return;
  }
}

/// A mean over nothing, a softmax over nothing: 0 / 0 from inputs that are finite.
Known empty_cause(const Suspect& s, Cause& cause) {
  if (s.root.how != Root::How::arithmetic || s.root.stat == nullptr || s.root.stat->nan == 0 || !all_finite(s))
    return Known::no;
  const PlanNode& node = s.node();
  const Stat* rows = node.outputs.size() > 1 ? s.step.stat(node.outputs[1], s.root.micro_batch) : nullptr;
  if (node.record.operation == "cross_entropy" && rows != nullptr && rows->bad() == 0) {
    cause.kind = Kind::zero_divisor;
    cause.what = fmt::format("{} (cross_entropy): the sums of all {} are finite, and their mean is NaN: it is taken over "
                             "no target at all (0 / 0). Every label of the batch is one that is ignored",
                             node.record.name, counted(rows->elements, "row"));
    return Known::yes;
  }
  if (node.record.operation == "attention" && node.attributes.value("key_mask", false)) {
    cause.kind = Kind::zero_divisor;
    cause.what = fmt::format("{} (attention): {} of {} are NaN from finite queries and keys too small to overflow: the "
                             "mask leaves these rows no position to look at (0 / 0), as a sequence of padding alone does",
                             node.record.name, s.root.stat->nan, counted(s.root.stat->elements, "element"));
    return Known::yes;
  }
  if (node.record.operation == "masked_mean") {
    const TensorRecord* result = s.evidence.plan().tensor(s.root.tensor);
    const std::int64_t columns = result == nullptr || result->shape.empty() ? 0 : result->shape.back();
    if (columns <= 0) return Known::no;
    cause.kind = Kind::zero_divisor;
    cause.what = fmt::format("{} (masked_mean): {} of {} are NaN from finite elements: the mask of these sequences is set nowhere, and their mean is one over no position at all (0 / 0)",
                             node.record.name, s.root.stat->nan / columns, counted(s.root.stat->elements / columns, "mean"));
    cause.facts.push_back(fact("empty", "sequences without a position", static_cast<double>(s.root.stat->nan / columns),
                               fmt::format("{} of {}", s.root.stat->nan / columns, s.root.stat->elements / columns), Provenance::inferred));
    return Known::yes;
  }
  return Known::no;
}

void unknown_cause(const Suspect& s, Cause& cause) {
  cause.kind = Kind::unknown;
  const char* const inputs =
      s.root.inputs_known ? "finite inputs" : "inputs that are finite as far as they were observed";
  const std::string result = s.root.stat == nullptr ? "sums inside" : counted(s.root.stat->bad(), "element");
  cause.what = fmt::format("{} ({}) has a result that is not finite ({}) from {}; nothing recorded tells why",
                           s.node().record.name, s.node().record.operation, result, inputs);
}

void add_common(const Suspect& s, Cause& cause) {
  const PlanView& plan = s.evidence.plan();
  cause.step = s.step.step;
  cause.tensor = s.title();
  if (const TensorRecord* record = plan.tensor(s.root.tensor)) cause.format = record->format;
  if (s.root.node != nullptr) {
    cause.node = s.node().record.name;
    cause.operation = s.node().record.operation;
    cause.phase = std::string(name(s.node().record.phase));
    cause.operands = operands_of(s.evidence, s.step, s.node(), s.root.micro_batch);
  }
  cause.chain = s.chain.nodes;
  cause.reaches = s.chain.reaches();
}

void add_counts(const Suspect& s, Cause& cause) {
  if (s.root.stat == nullptr) return;
  const Stat& stat = *s.root.stat;
  const Provenance how = stat.provenance;
  const bool rounding = s.root.how == Root::How::rounding;
  const std::int64_t here = rounding ? stat.overflowed : stat.bad();
  if (here > 0) {
    std::string text = fmt::format("{} of {}", here, counted(stat.elements, "element"));
    if (stat.bad() > here)
      text += fmt::format(" ({} more were not finite before they were rounded)", stat.bad() - here);
    cause.facts.push_back(fact("not_finite", "not finite", static_cast<double>(here), text, how));
  }
  if (rounding)
    cause.facts.push_back(fact("greatest_magnitude", "before rounding", stat.greatest,
                               held_against_limit(stat.greatest, s.output_format()), how));
  if (s.chain.zeroed_in != nullptr)
    cause.facts.push_back(fact("zeroed", "exact zeros", static_cast<double>(s.chain.zeroed),
                               fmt::format("{} results of {}", s.chain.zeroed, s.chain.zeroed_in->record.name)));
  if (s.root.node != nullptr && s.root.micro_batch > 0)
    cause.facts.push_back(fact("micro_batch", "micro-batch", static_cast<double>(s.root.micro_batch),
                               fmt::format("{} (from 0)", s.root.micro_batch)));
}

constexpr std::array families{source_cause,    empty_cause, mask_cause,  norm_cause,    reduction_cause,
                              optimizer_cause, scale_cause, domain_cause, divisor_cause, range_cause};

}  // namespace

const Stat* Suspect::input(std::size_t i) const {
  if (root.node == nullptr || i >= root.node->inputs.size() || !root.node->inputs[i]) return nullptr;
  return step.stat(*root.node->inputs[i], root.micro_batch);
}

std::optional<Cause> cause_of(const Suspect& suspect) {
  Cause cause;
  add_common(suspect, cause);
  add_counts(suspect, cause);
  Known known = Known::no;
  for (const auto family : families) {
    if ((suspect.root.how == Root::How::source) != (family == source_cause)) continue;
    known = family(suspect, cause);
    // A mask whose infinity leaves something else behind than the mask itself is none.
    if (known == Known::contained && suspect.chain.fate == Fate::differs) known = Known::no;
    if (known != Known::no) break;
  }
  if (known == Known::contained) return std::nullopt;
  if (known == Known::no) unknown_cause(suspect, cause);
  if (suspect.root.node != nullptr) injected(suspect, cause);
  tell_swallowed(suspect, cause);
  if (cause.kind == Kind::activation_too_large) add_others(suspect, cause);
  if (!suspect.root.inputs_known)
    cause.facts.push_back(fact("inputs_known", "inputs", "not all of them were observed: the fault may begin earlier"));
  return cause;
}

Format attribute_format(const PlanNode& node, const char* attribute) {
  return parse_format(word(node, attribute)).value_or(Format::fp32);
}

Format sum_format(const PlanNode& node) {
  const Format accumulate = attribute_format(node, "accumulate");
  return accumulate != Format::fp32 ? accumulate : attribute_format(node, "scalar");
}

std::int64_t reduced_elements(const PlanNode& node) {
  if (node.record.inputs.empty() || node.record.outputs.empty()) return 1;
  const auto& shape = node.record.inputs.front().shape;
  const std::int64_t all = elements(shape);
  if (node.record.operation == "cross_entropy") return shape.empty() || shape.back() == 0 ? 1 : all / shape.back();
  const std::int64_t results = std::max<std::int64_t>(elements(node.record.outputs.front().shape), 1);
  return std::max<std::int64_t>(all / results, 1);
}

}  // namespace ulpscope::reports
