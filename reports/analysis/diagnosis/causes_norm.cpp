// Norms over rows and the global norm of the gradients: squares and sums that overflow inside, out of sight of whoever
// looks at results, and the zeros that come of it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "reports/analysis/diagnosis/causes.h"
#include "reports/analysis/diagnosis/words.h"

namespace ulpscope::reports {
namespace {

/// rms_norm: y, rstd; layer_norm: y, mean, rstd; batch_norm: y, mean, rstd, variance.
std::size_t reciprocal_output(const PlanNode& node) { return node.record.operation == "rms_norm" ? 1 : 2; }

/// What a result becomes that is multiplied by 0.
const char* left_over(const PlanNode& node) { return node.record.operation == "rms_norm" ? "zero" : "the bias, whatever went in"; }

/// Rows whose reciprocal root became 0, of all rows (of channels); of rms_norm also a whole row of zeros in its result.
void add_rows(const Suspect& s, Cause& cause) {
  const PlanNode& node = s.node();
  const TensorRecord* first = node.outputs.empty() ? nullptr : s.evidence.plan().tensor(node.outputs.front());
  if (first == nullptr || first->shape.empty() || first->shape.back() <= 0) return;
  const std::size_t side = reciprocal_output(node);
  const Stat* rows = node.outputs.size() > side ? s.step.stat(node.outputs[side], s.root.micro_batch) : nullptr;
  const Stat* result = s.step.stat(node.outputs.front(), s.root.micro_batch);
  std::int64_t zero = 0, all = 0;
  if (rows != nullptr) {
    zero = rows->stored_zero();
    all = rows->elements;
  } else if (result != nullptr && node.record.operation == "rms_norm") {
    zero = result->stored_zero() / first->shape.back();
    all = result->elements / first->shape.back();
  }
  if (all == 0) return;
  if (zero > 0)
    cause.what += fmt::format(
        "; its reciprocal is 0, and {} of {} became exactly {}: no NaN, no inf, nothing a check of results sees",
        zero, counted(all, node.record.operation == "batch_norm" ? "channel" : "row"), left_over(node));
  cause.facts.push_back(
      fact("zero_rows", "rows forced to zero", static_cast<double>(zero), fmt::format("{} of {}", zero, all)));
}

/// The means of such rows are infinite: what is less the mean is, too, and times a reciprocal root of 0 it is NaN.
std::string through_the_mean(const Suspect& s, Format format) {
  const Stat& mean = *s.step.stat(s.node().outputs[1], s.root.micro_batch);
  return fmt::format("{}: the sum of the elements of a row, for its mean, leaves {}: {} came to {} before it was rounded; {} not finite (of {}), less such a mean every element is infinite "
                     "too, and times a reciprocal root of 0 it is NaN",
                     s.node().record.name, name(format), mean.bad() == mean.elements ? "it" : "it, or a square (less the mean),",
                     held_against_limit(s.root.inner->greatest, format), counted(mean.bad(), "mean"), mean.elements);
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
  const bool square = greatest * greatest >= limit(format);
  cause.what =
      fmt::format("the gradients are finite (greatest {}), the computation of their norm overflowed in {}: {}",
                  amount(greatest), name(format),
                  square ? fmt::format("{}^2 = {}", amount(greatest), amount(greatest * greatest))
                         : fmt::format("the sum of {} leaves the range, each of which fits (greatest {})",
                                       counted(elements, "square"), amount(greatest * greatest)));
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

bool all_zero(const Stat& stat) { return stat.elements > 0 && stat.zero == stat.elements; }

/// Of what the norm read. Known: finite, and not all zero.
struct NormInput {
  double greatest = 0.0;
  double length = 1.0;  ///< elements that share a sum
  Format format = Format::fp32;

  double square() const { return greatest * greatest; }
  /// The sum of squares may have left its format.
  bool could() const { return square() * length >= limit(format); }
};

std::optional<NormInput> norm_input(const ObservedStep& step, const PlanNode& node) {
  if (node.record.phase != Phase::forward || !is_norm(node) || node.outputs.empty()) return std::nullopt;
  const Stat* x = node.inputs.empty() || !node.inputs.front() ? nullptr : step.stat(*node.inputs.front());
  if (x == nullptr || x->elements == 0 || x->bad() > 0 || all_zero(*x)) return std::nullopt;
  NormInput in{.greatest = x->greatest, .format = sum_format(node)};
  const auto& shape = node.record.inputs.front().shape;
  const std::int64_t rows = node.record.outputs.size() > 1 ? elements(node.record.outputs[1].shape) : 0;
  if (rows > 0)
    in.length = static_cast<double>(elements(shape)) / static_cast<double>(rows);
  else if (!shape.empty())
    in.length = static_cast<double>(shape.back());
  return in;
}

/// What overflowed, by what went in.
std::string inside(const PlanNode& node, const NormInput& in) {
  const bool about_mean = node.record.operation != "rms_norm";
  if (in.square() >= limit(in.format))
    return fmt::format("the square of {}{} is {}, more than {} holds, so the sum of squares is inf", amount(in.greatest),
                       about_mean ? " (less the mean)" : "", amount(in.square()), name(in.format));
  return fmt::format("the sum of {:.0f} squares, the greatest of them {}, leaves {}: it is inf", in.length,
                     amount(in.square()), name(in.format));
}

/// Rows of which the reciprocal root is 0, and elements that became exactly 0 where nothing tells rows apart.
struct Erased {
  std::int64_t rows = 0, of = 0;
  TensorId tensor{};
};

/// The reciprocal root of a mean square is never 0 but for an infinite one: the side result of rows (channels) tells.
std::optional<Erased> erased(const ObservedStep& step, const PlanNode& node, const NormInput& in) {
  const std::size_t side = reciprocal_output(node);
  if (node.outputs.size() > side)
    if (const Stat* rstd = step.stat(node.outputs[side]); rstd != nullptr && rstd->bad() == 0) {
      if (rstd->zero == 0) return std::nullopt;
      return Erased{rstd->zero, rstd->elements, node.outputs[side]};
    }
  // Without it: zeros everywhere from what is not zero. A mean taken away, or a gain of 0, makes zeros, too.
  const Stat* y = step.stat(node.outputs.front());
  const Stat* gain = node.inputs.size() > 1 && node.inputs[1] ? step.stat(*node.inputs[1]) : nullptr;
  const bool has_gain = gain == nullptr ? node.inputs.size() < 2 : !all_zero(*gain);
  if (node.record.operation != "rms_norm" || y == nullptr || !all_zero(*y) || !has_gain || !in.could()) return std::nullopt;
  const auto rows = static_cast<std::int64_t>(static_cast<double>(y->elements) / in.length);
  return Erased{rows, rows, node.outputs.front()};
}

/// An infinite sum of squares that was not counted as it was made: its square was infinite before it was rounded, or the sum is kept in
/// fp32, whose additions are not watched. Its result is finite.
void swallowed(const Evidence& e, const ObservedStep& step, const PlanNode& node, std::set<std::string>& told,
               std::vector<Cause>& causes) {
  const std::optional<NormInput> in = norm_input(step, node);
  const std::optional<Erased> rows = in ? erased(step, node, *in) : std::nullopt;
  if (!rows) return;
  const auto known = std::find_if(causes.begin(), causes.end(), [&](const Cause& c) {
    return c.kind == Kind::norm_overflowed && c.node == node.record.name;
  });
  if (known != causes.end()) {
    known->steps_seen += told.contains(node.record.name) ? 1 : 0;  // others count their own
    return;
  }
  told.insert(node.record.name);
  Cause cause;
  cause.kind = Kind::norm_overflowed;
  cause.gravity = Gravity::damage;
  cause.step = step.step;
  cause.node = node.record.name;
  cause.operation = node.record.operation;
  cause.phase = std::string(name(node.record.phase));
  cause.tensor = e.plan().title(node.outputs.front());
  cause.format = name(in->format);
  const char* const unit = node.record.operation == "batch_norm" ? "channel" : "row";
  cause.what = fmt::format(
      "{}: {}; its reciprocal is 0, and {} of {} became exactly {}: no NaN, no inf, nothing a check of results sees",
      node.record.name, inside(node, *in), rows->rows, counted(rows->of, unit),
      left_over(node));
  cause.reaches = "what follows, as finite zeros";
  cause.operands = operands_of(e, step, node, 0);
  cause.facts.push_back(fact("greatest_input", "greatest input", in->greatest,
                             fmt::format("{}; the largest whose square fits {} is below {}", amount(in->greatest),
                                         name(in->format), amount(std::sqrt(limit(in->format))))));
  cause.facts.push_back(fact("square", "its square", in->square(), held_against_limit(in->square(), in->format), Provenance::computed));
  cause.facts.push_back(fact("zero_rows", fmt::format("{}s forced to zero", unit), static_cast<double>(rows->rows),
                             fmt::format("{} of {}, by {}", rows->rows, rows->of, e.plan().title(rows->tensor))));
  // Where fp32 does not hold the sum either, only smaller numbers help; a norm divides the factor out again.
  const double most = std::sqrt(limit(Format::fp32) / in->length);
  if (in->greatest >= most) {
    const double factor = std::exp2(-std::floor(std::log2(in->greatest / most)) - 1.0);
    cause.facts.push_back(fact("beyond_fp32", "factor that would fit", factor,
                               fmt::format("{} or less: the sum of squares is beyond fp32, too", scale_amount(factor)), Provenance::computed));
  }
  causes.push_back(std::move(cause));
}

}  // namespace

void silent_norm_causes(const Evidence& evidence, std::vector<Cause>& causes) {
  std::set<std::string> told;
  for (const ObservedStep& step : evidence.observed())
    for (const PlanNode& node : evidence.plan().nodes()) swallowed(evidence, step, node, told, causes);
}

bool mean_overflowed(const Suspect& s) {
  if (s.root.node == nullptr || s.node().record.operation != "layer_norm" || s.node().outputs.size() < 3) return false;
  const Stat* x = s.input(0);
  const Stat* mean = s.step.stat(s.node().outputs[1], s.root.micro_batch);
  return mean != nullptr && mean->bad() > 0 && x != nullptr && x->bad() == 0;
}

Known norm_cause(const Suspect& s, Cause& cause) {
  if (s.node().record.operation == "global_norm")
    return s.root.how == Root::How::rounding ? Known::no : global_norm(s, cause);
  if (!is_norm(s.node())) return Known::no;
  const Stat* x = s.input(0);
  const Format format = sum_format(s.node());
  if (s.root.how == Root::How::inner) {
    const double greatest = x != nullptr ? x->greatest : std::sqrt(s.root.inner->greatest);
    // Of a norm that takes the mean away the squares are of what is left: what was counted inside tells, not what went in.
    const bool about_mean = s.node().record.operation != "rms_norm";
    const bool square = !about_mean && greatest * greatest >= limit(format);
    cause.kind = Kind::norm_overflowed;
    cause.what =
        mean_overflowed(s) ? through_the_mean(s, format)
        : about_mean ? fmt::format("{}: the sums of a {} leave {} on the way: a square (less the mean) or a partial sum came to {} before it was rounded",
                                 s.node().record.name, s.node().record.operation == "batch_norm" ? "channel" : "row", name(format),
                                 held_against_limit(s.root.inner->greatest, format))
        : square ? fmt::format("{}: the square of {} is {}, more than {} holds, so the sum of squares is inf",
                             s.node().record.name, amount(greatest), amount(greatest * greatest), name(format))
               : fmt::format(
                     "{}: the sum of squares leaves {} on the way (greatest square {}, greatest partial sum {})",
                     s.node().record.name, name(format), amount(greatest * greatest), amount(s.root.inner->greatest));
    cause.facts.push_back(fact("greatest_input", "greatest input", greatest,
                               fmt::format("{}; the largest whose square fits {} is below {}", amount(greatest),
                                           name(format), amount(std::sqrt(limit(format))))));
    if (about_mean)
      cause.facts.push_back(fact("inner_greatest", "greatest square or partial sum", s.root.inner->greatest, held_against_limit(s.root.inner->greatest, format)));
    cause.facts.push_back(
        fact("inner_overflowed", "overflows inside", static_cast<double>(s.root.inner->overflowed),
             fmt::format("{} roundings of squares and partial sums in {}", s.root.inner->overflowed, name(format))));
    if (mean_overflowed(s)) return Known::yes;
    add_rows(s, cause);
    if (s.root.stat != nullptr && s.root.stat->bad() == 0) cause.reaches = "what follows, as finite zeros";
    return Known::yes;
  }
  if (s.root.how != Root::How::arithmetic) return Known::no;
  // A mean that is infinite while every element is finite.
  const Stat* mean = s.node().record.operation != "rms_norm" && s.node().outputs.size() > 2
                         ? s.step.stat(s.node().outputs[1], s.root.micro_batch)
                         : nullptr;
  if (mean != nullptr && mean->bad() > 0 && x != nullptr && x->bad() == 0) {
    cause.kind = Kind::norm_overflowed;
    cause.what = fmt::format("{}: the sum of a row, whose elements are finite (greatest {}), is more than {} holds: {} of {} are inf",
                             s.node().record.name, amount(x->greatest), name(format), mean->bad(),
                             counted(mean->elements, "mean"));
    cause.facts.push_back(fact("greatest_input", "greatest input", x->greatest, held_against_limit(x->greatest, format)));
    return Known::yes;
  }
  // batch_norm hands its variance on: to the running statistics.
  const std::optional<NormInput> in = norm_input(s.step, s.node());
  if (in && in->could() && s.node().outputs.size() > 3 && s.root.tensor == s.node().outputs[3]) {
    cause.kind = Kind::norm_overflowed;
    cause.what = fmt::format("{}: {}, and so is the variance that the running statistics take over", s.node().record.name,
                             inside(s.node(), *in));
    cause.facts.push_back(fact("square", "greatest square", in->square(), held_against_limit(in->square(), in->format), Provenance::computed));
    return Known::yes;
  }
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
