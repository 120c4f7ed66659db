// Sums that are kept in a narrow format inside an operation, and counts that a mean divides by.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/graph/operator.h"
#include "kernels/ops/narrow_sum.h"
#include "profiler/predict/checks.h"
#include "reports/analysis/diagnosis/words.h"

namespace ulpscope::profiler {
namespace {

using engine::Node;
using engine::NodeId;
using engine::Value;
using reports::amount;
using reports::fact;
using reports::Foreseen;
using reports::Gravity;
using reports::Provenance;

struct Sum {
  const PlanFacts& facts;
  NodeId id;
  const Node& node;
  bool counts = true;  ///< it leads to the loss, or is of the backward pass

  const Value& input(std::size_t i) const { return facts.graph().value(node.inputs.at(i)); }
  const Value& output() const { return facts.graph().value(node.outputs.front()); }
  bool squares() const {  // norm_checks.cpp
    return node.op->name.starts_with("rms_norm") || node.op->name.starts_with("layer_norm") || node.op->name.starts_with("batch_norm");
  }
  bool mean() const { return node.op->keeps_mean; }
  /// Numbers that one result is made of.
  double length() const {
    if (node.op->name.starts_with("cross_entropy")) return static_cast<double>(input(1).shape.elements());
    return static_cast<double>(input(0).shape.elements()) /
           static_cast<double>(std::max<std::int64_t>(1, output().shape.elements()));
  }
  double greatest_result() const {
    const RoundingCounts* const range = facts.range(node.outputs.front());
    return range == nullptr ? NAN : range->greatest_magnitude;
  }
  Foreseen at(reports::Kind k, Gravity grave) const {
    Foreseen f = foreseen_at(facts, id, kind(k), counts ? grave : Gravity::contained);
    return f;
  }
};

void check_count(const Sum& s, FoundFaults& found) {
  const Format scalar = s.node.arithmetic.scalar;
  if (!s.mean() || scalar == Format::fp32) return;
  const double n = s.length();
  if (n >= reports::limit(scalar)) {
    Foreseen f = s.at(reports::Kind::divisor_overflowed, Gravity::damage);
    f.format = name(scalar);
    f.overflow = true;
    f.what = fmt::format("the count {} is infinite in {}: the mean is silently 0", amount(n), name(scalar));
    f.facts.push_back(fact("count", "count", n, reports::held_against_limit(n, scalar), Provenance::computed));
    found.push_back(std::move(f));
  }
  const double sum = s.greatest_result() * n;
  if (!(sum >= reports::limit(scalar))) return;
  Foreseen f = s.at(reports::Kind::reduction_too_long, Gravity::fatal);
  f.format = name(scalar);
  f.overflow = true;
  f.what = fmt::format("the sum over {} numbers is {} before it is divided", amount(n),
                       reports::held_against_limit(sum, scalar));
  f.facts.push_back(fact("sum", "sum", sum, reports::held_against_limit(sum, scalar), Provenance::projected));
  found.push_back(std::move(f));
}

/// Numbers of the node's first input as the mode stores them; null: not known.
const std::vector<float>* numbers_in(const Sum& s) { return s.facts.numbers(s.node.inputs.front()); }
double stored(const Sum& s, float x) {
  const Format in = s.input(0).format;
  return is_16bit(in) ? reports::rounded_to(static_cast<double>(x), in) : static_cast<double>(x);
}

/// The sum as the mode makes it, where the numbers that go in are known and one result is made of them all.
std::optional<double> exactly(const Sum& s) {
  const std::string& op = s.node.op->name;
  const std::vector<float>* const numbers = numbers_in(s);
  if ((op != "sum" && op != "mean") || numbers == nullptr || s.output().shape.elements() != 1) return std::nullopt;
  const auto load = [&](std::int64_t i) { return static_cast<float>(stored(s, (*numbers)[static_cast<std::size_t>(i)])); };
  return static_cast<double>(narrow_sum(s.node.arithmetic, std::ssize(*numbers), load));
}

void check_length(const Sum& s, FoundFaults& found) {
  const Format format = s.node.arithmetic.accumulate;
  const double n = s.length(), result = s.greatest_result();
  const double sum = s.mean() ? result * n : result;
  const std::optional<double> kept = exactly(s);
  const bool certain = kept ? std::isinf(*kept) : sum >= reports::limit(format);
  // From the greatest finite number on it depends on how its partial sums are rounded.
  if (certain || (!kept && sum > info(format).max_finite)) {
    Foreseen f = s.at(reports::Kind::reduction_too_long, certain ? Gravity::fatal : Gravity::note);
    f.format = name(format);
    f.overflow = certain;
    f.what = fmt::format("the sum over {} numbers, kept in {}, is {}", amount(n), name(format), reports::held_against_limit(sum, format));
    if (!certain)
      f.what += fmt::format(": {} where it is rounded once, infinite where partial sums round upwards on the way", amount(info(format).max_finite));
    else if (sum < reports::limit(format))
      f.what += "; partial sums round upwards on the way";
    f.facts.push_back(fact("sum", "sum", sum, amount(sum), Provenance::projected));
    const double fit = reports::longest_that_fits(sum / n, format);
    f.facts.push_back(fact("break_even", "longest that fits", fit, amount(fit), Provenance::projected));
    found.push_back(std::move(f));
  }
  // Equal addends, one after the other: the sum stands still where half its ulp is an addend.
  const double stuck = std::ldexp(1.0, info(format).mantissa_bits + 1);
  if (s.node.arithmetic.order != SumOrder::serial || n <= stuck) return;
  Foreseen f = s.at(reports::Kind::sum_stuck, Gravity::note);
  f.format = name(format);
  f.what = fmt::format("{} numbers are added one after the other in {}: equal ones stand still after {} additions",
                       amount(n), name(format), amount(stuck));
  f.facts.push_back(fact("additions", "additions", n, amount(n), Provenance::computed));
  found.push_back(std::move(f));
}

}  // namespace

void check_sums(const PlanFacts& facts, FoundFaults& found) {
  for (std::int32_t n = 0; n < facts.graph().node_count(); ++n) {
    const Node& node = facts.graph().node(NodeId{n});
    if (node.inputs.empty() || node.outputs.empty() || node.op->name == "global_norm") continue;
    const Sum s{facts, NodeId{n}, node,
                node.phase == engine::Phase::backward || facts.feeds_loss(node.outputs.front())};
    if (s.squares() || node.arithmetic.standard()) continue;
    check_count(s, found);
    if (node.arithmetic.accumulate == Format::fp32) continue;
    if (node.phase == engine::Phase::forward || node.arithmetic.order == SumOrder::serial)
      check_length(s, found);
  }
}

}  // namespace ulpscope::profiler
