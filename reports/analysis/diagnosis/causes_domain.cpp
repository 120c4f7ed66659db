// Roots and logarithms of negative numbers: NaN from inputs that are finite. Where the negative number comes from is told as far as the
// records of the same step show it: no operation, a difference that rounding is as large as, or a sum that may have any sign.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "reports/analysis/diagnosis/averages.h"
#include "reports/analysis/diagnosis/causes.h"
#include "reports/analysis/diagnosis/words.h"

namespace ulpscope::reports {
namespace {

/// Half ulps of the larger operand: a difference that is no larger may be of any sign, whatever the numbers were that rounding made its
/// operands of.
constexpr double lost_in_rounding = 8.0;
constexpr int way_up = 4;  ///< averages, one on top of the other

bool is_square(const PlanView& plan, const PlanNode& node) {
  return node.record.operation == "mul" && node.inputs.size() == 2 && node.inputs[0] && node.inputs[1] &&
         plan.uncast(*node.inputs[0]) == plan.uncast(*node.inputs[1]);
}

bool same_shape(const PlanView& plan, TensorId a, TensorId b) {
  const TensorRecord *one = plan.tensor(a), *other = plan.tensor(b);
  return one != nullptr && other != nullptr && one->shape == other->shape;
}

/// E[x^2] - E[x]^2: never negative but for rounding.
bool is_variance(const PlanView& plan, const PlanNode& difference) {
  if (difference.record.operation != "sub" || difference.inputs.size() != 2 || !difference.inputs[0] || !difference.inputs[1]) return false;
  const std::optional<TensorId> of_squares = averaged(plan, *difference.inputs[0]);
  const PlanNode* squares = of_squares ? plan.producer(*of_squares) : nullptr;
  const PlanNode* square = plan.producer(plan.uncast(*difference.inputs[1]));
  if (squares == nullptr || square == nullptr || !is_square(plan, *squares) || !is_square(plan, *square)) return false;
  return averaged(plan, *square->inputs[0]) == plan.uncast(*squares->inputs[0]) && same_shape(plan, *difference.inputs[0], *difference.inputs[1]);
}

/// The coarsest format that operations of this step rounded the number to, on its way through averages; none: nothing did.
std::optional<Format> rounded_in(const PlanView& plan, TensorId tensor) {
  std::optional<Format> format;
  const auto take = [&](TensorId id) {
    if (plan.producer(id) == nullptr || !is_float(plan.format(id))) return;
    if (!format || info(plan.format(id)).unit_roundoff > info(*format).unit_roundoff) format = plan.format(id);
  };
  take(tensor);
  for (int i = 0; i < way_up; ++i) {
    const PlanNode* node = plan.producer(plan.uncast(tensor));
    if (node == nullptr) break;
    take(plan.uncast(tensor));
    const std::string& op = node->record.operation;
    const bool averages = op == "mean" || op == "sum" || op == "scale" || op == "div" || op.starts_with("avg_pool");
    if (!averages || node->inputs.empty() || !node->inputs.front()) break;
    tensor = *node->inputs.front();
    take(tensor);
  }
  return format;
}

/// A difference (or a sum of numbers of both signs) of operands that are larger than it.
void tell_difference(const Suspect& s, const PlanNode& maker, double greatest, Cause& cause) {
  const PlanView& plan = s.evidence.plan();
  const bool variance = is_variance(plan, maker);
  cause.what += variance ? fmt::format(". {} is a variance computed as E[x^2] - E[x]^2, which only rounding makes negative; 0 is left where the numbers are equal, or differ by less than rounding", maker.record.name)
                         : fmt::format(". {} ({}) makes them", maker.record.name, maker.record.operation);
  if (variance)
    cause.facts.push_back(fact("variance", "variance", fmt::format("{} = {} - {}: a mean of squares less the square of the mean", maker.record.name,
                                                                   plan.title(*maker.inputs[0]), plan.title(*maker.inputs[1]))));
  const Stat* a = maker.inputs[0] ? s.step.stat(*maker.inputs[0], s.root.micro_batch) : nullptr;
  const Stat* b = maker.inputs[1] ? s.step.stat(*maker.inputs[1], s.root.micro_batch) : nullptr;
  if (a == nullptr || b == nullptr) return;
  const double operand = std::max(a->greatest, b->greatest);
  cause.what += fmt::format(": its operands reach {} and {} in magnitude, the difference {}", amount(a->greatest), amount(b->greatest), amount(greatest));
  std::optional<Format> format = rounded_in(plan, *maker.inputs[0]);
  if (const std::optional<Format> other = rounded_in(plan, *maker.inputs[1]); other && (!format || info(*other).unit_roundoff > info(*format).unit_roundoff)) format = other;
  if (!format || !(operand > 0.0)) return;   // a difference of numbers that nothing rounded is what it is
  const double half = half_ulp_above(operand, *format);
  if (!variance && greatest > lost_in_rounding * half) return;
  cause.what += fmt::format("; {} rounds numbers of that size by up to {}: where they are of that size they cancel, and rounding decides what is left", name(*format), amount(half));
  cause.facts.push_back(fact("cancellation", "half an ulp of the operands", half,
                             fmt::format("{} at {} in {}; the difference reaches {}", amount(half), amount(operand), name(*format), amount(greatest)), Provenance::inferred));
}

}  // namespace

void tell_cancelled(const Suspect& s, TensorId zero, Cause& cause) {
  const PlanView& plan = s.evidence.plan();
  const PlanNode* maker = plan.producer(plan.uncast(zero));
  for (int i = 0; i < way_up && maker != nullptr && (maker->record.operation == "sqrt" || maker->record.operation == "scale") && !maker->inputs.empty() && maker->inputs.front(); ++i)
    maker = plan.producer(plan.uncast(*maker->inputs.front()));
  if (maker == nullptr || maker->outputs.empty() || !is_variance(plan, *maker)) return;
  const Stat* difference = s.step.stat(maker->outputs.front(), s.root.micro_batch);
  if (difference == nullptr || difference->stored_zero() == 0) return;
  cause.facts.push_back(fact("made_by", "made by", maker->record.name));
  tell_difference(s, *maker, difference->greatest, cause);
}

Known domain_cause(const Suspect& s, Cause& cause) {
  const std::string& op = s.node().record.operation;
  const bool root = op == "sqrt" || op == "rsqrt";
  if (s.root.how != Root::How::arithmetic || (!root && op != "log") || s.root.stat == nullptr || s.root.stat->nan == 0) return Known::no;
  const Stat* read = s.input(0);
  if (read == nullptr || read->bad() > 0 || !s.root.inputs_known) return Known::no;
  const PlanView& plan = s.evidence.plan();
  const std::int64_t count = s.root.stat->nan;
  cause.kind = Kind::outside_domain;
  cause.what = fmt::format("{} ({}, {}): {} of {} {} NaN, from numbers that are finite: {} {} negative, and there is no {} of those", s.node().record.name, op,
                           name(s.node().record.phase), count, counted(s.root.stat->elements, "element"), count == 1 ? "is" : "are",
                           count == read->elements ? "all that it reads" : fmt::format("{} of what it reads", count), count == 1 ? "is" : "are", root ? "root" : "logarithm");
  cause.facts.push_back(fact("negative", "negative numbers", static_cast<double>(count), fmt::format("{} of {}: of those alone comes a NaN", count, read->elements),
                             Provenance::inferred));
  const TensorId tensor = plan.uncast(*s.node().inputs.front());
  const PlanNode* maker = plan.producer(tensor);
  if (maker == nullptr) {
    cause.what += fmt::format("; {} comes in so: no arithmetic of this step made them", plan.title(tensor));
  } else if ((maker->record.operation == "sub" || maker->record.operation == "add") && maker->inputs.size() == 2 && !maker->outputs.empty()) {
    tell_difference(s, *maker, read->greatest, cause);
  } else {
    cause.what += fmt::format("; {} ({}) made them", maker->record.name, maker->record.operation);
  }
  if (maker != nullptr) cause.facts.push_back(fact("made_by", "made by", maker->record.name));
  if (s.evidence.scales() && s.node().record.phase == Phase::forward) cause.what += ". The loss scale has no part in it: lowering it cannot help";
  return Known::yes;
}

}  // namespace ulpscope::reports
