// Norms over rows and the global norm of the gradients: squares and sums that overflow inside, out of sight of whoever
// looks at results, and the zeros that come of it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/analysis/diagnosis/causes.h"
#include "reports/analysis/diagnosis/words.h"

namespace ulpscope::reports {
namespace {

/// Rows whose reciprocal root became 0, of all rows: the second result of rms_norm (third of layer_norm), or a whole
/// row of zeros in the first.
void add_rows(const Suspect& s, Cause& cause) {
  const PlanNode& node = s.node();
  const TensorRecord* first = node.outputs.empty() ? nullptr : s.evidence.plan().tensor(node.outputs.front());
  if (first == nullptr || first->shape.empty() || first->shape.back() <= 0) return;
  const Stat* rows = node.outputs.size() > 1 ? s.step.stat(node.outputs.back(), s.root.micro_batch) : nullptr;
  const Stat* result = s.step.stat(node.outputs.front(), s.root.micro_batch);
  std::int64_t zero = 0, all = 0;
  if (rows != nullptr) {
    zero = rows->stored_zero();
    all = rows->elements;
  } else if (result != nullptr) {
    zero = result->stored_zero() / first->shape.back();
    all = result->elements / first->shape.back();
  }
  if (all == 0) return;
  if (zero > 0)
    cause.what += fmt::format(
        "; its reciprocal is 0, and {} of {} became exactly zero: no NaN, no inf, nothing a check of results sees",
        zero, counted(all, "row"));
  cause.facts.push_back(
      fact("zero_rows", "rows forced to zero", static_cast<double>(zero), fmt::format("{} of {}", zero, all)));
}

Known global_norm(const Suspect& s, Cause& cause) {
  double greatest = 0.0;
  std::int64_t elements = 0;
  for (std::size_t i = 0; i < s.node().inputs.size(); ++i)
    if (const Stat* stat = s.input(i)) {
      if (stat->bad() > 0) return Known::no;
      greatest = std::max(greatest, stat->greatest);
      elements += stat->elements;
    }
  const Format format = sum_format(s.node());
  const double max_norm = number(s.node(), "max_norm").value_or(0.0);
  cause.kind = Kind::clip_overflowed;
  cause.what =
      fmt::format("the gradients are finite (greatest {}), the computation of their norm overflowed in {}: {}^2 = {}",
                  amount(greatest), name(format), amount(greatest), amount(greatest * greatest));
  if (max_norm > 0.0)
    cause.what += fmt::format("; norm inf, coefficient {} / inf = 0: healthy gradients were erased", amount(max_norm));
  if (max_norm > 0.0) cause.reaches = "every update, through the clip coefficient";
  std::int64_t steps = 0;
  for (const StepRecord& step : s.evidence.steps())
    if (step.finite && step.gradient_norm && std::isinf(*step.gradient_norm)) ++steps;
  if (steps > 0)
    cause.facts.push_back(fact("steps", "steps with an infinite norm", static_cast<double>(steps),
                               fmt::format("{} of {}", steps, s.evidence.steps().size())));
  cause.facts.push_back(fact("greatest_gradient", "greatest gradient", greatest,
                             fmt::format("{}, of {}", amount(greatest), counted(elements, "element"))));
  cause.facts.push_back(fact("square", "its square", greatest * greatest,
                             held_against_limit(greatest * greatest, format), Provenance::computed));
  return Known::yes;
}

}  // namespace

Known norm_cause(const Suspect& s, Cause& cause) {
  if (s.node().record.operation == "global_norm")
    return s.root.how == Root::How::rounding ? Known::no : global_norm(s, cause);
  if (!is_norm(s.node())) return Known::no;
  const Stat* x = s.input(0);
  const Format format = sum_format(s.node());
  if (s.root.how == Root::How::inner) {
    const double greatest = x != nullptr ? x->greatest : std::sqrt(s.root.inner->greatest);
    const bool square = greatest * greatest >= limit(format);
    cause.kind = Kind::norm_overflowed;
    cause.what =
        square ? fmt::format("{}: the square of {} is {}, more than {} holds, so the sum of squares is inf",
                             s.node().record.name, amount(greatest), amount(greatest * greatest), name(format))
               : fmt::format(
                     "{}: the sum of squares leaves {} on the way (greatest square {}, greatest partial sum {})",
                     s.node().record.name, name(format), amount(greatest * greatest), amount(s.root.inner->greatest));
    cause.facts.push_back(fact("greatest_input", "greatest input", greatest,
                               fmt::format("{}; the largest whose square fits {} is below {}", amount(greatest),
                                           name(format), amount(std::sqrt(limit(format))))));
    cause.facts.push_back(
        fact("inner_overflowed", "overflows inside", static_cast<double>(s.root.inner->overflowed),
             fmt::format("{} roundings of squares and partial sums in {}", s.root.inner->overflowed, name(format))));
    add_rows(s, cause);
    if (s.root.stat != nullptr && s.root.stat->bad() == 0) cause.reaches = "what follows, as finite zeros";
    return Known::yes;
  }
  if (s.root.how != Root::How::arithmetic) return Known::no;
  const Number epsilon = number(s.node(), "epsilon");
  if (epsilon && std::fabs(*epsilon) <= info(format).flush_threshold) {
    cause.kind = Kind::epsilon_vanished;
    cause.what = fmt::format("{} divides by the root of a variance of 0 plus an epsilon of {}, which is 0 in {}",
                             s.node().record.name, amount(*epsilon), name(format));
    cause.facts.push_back(fact("epsilon", "epsilon", *epsilon,
                               fmt::format("{}; {} rounds to zero at or below {}", amount(*epsilon), name(format),
                                           amount(info(format).flush_threshold)),
                               Provenance::computed));
    return Known::yes;
  }
  return Known::no;
}

}  // namespace ulpscope::reports
