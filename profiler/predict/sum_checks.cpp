// Sums that are kept in a narrow format inside an operation, and counts that a mean divides by.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/graph/operator.h"
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

std::string kind(reports::Kind k) { return std::string(name(k)); }

struct Sum {
  const PlanFacts& facts;
  NodeId id;
  const Node& node;
  bool counts = true;  ///< it leads to the loss, or is of the backward pass

  const Value& input(std::size_t i) const { return facts.graph().value(node.inputs.at(i)); }
  const Value& output() const { return facts.graph().value(node.outputs.front()); }
  bool squares() const { return node.op->name.starts_with("rms_norm") || node.op->name.starts_with("layer_norm"); }
  bool mean() const { return node.op->keeps_mean; }
  /// Numbers that one result is made of.
  double length() const {
    if (squares()) return static_cast<double>(input(0).shape[-1]);
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

/// Squares inside a norm: an infinite sum makes the row 0, without a NaN.
void check_squares(const Sum& s, FoundFaults& found) {
  const Format format = s.node.arithmetic.accumulate;
  const RoundingCounts* const in = s.facts.range(s.node.inputs.front());
  if (in == nullptr) return;
  const double square = in->greatest_magnitude * in->greatest_magnitude;
  const double mean = finite_elements(*in) > 0 ? in->sum_of_squares / static_cast<double>(finite_elements(*in)) : 0.0;
  const bool one = square >= reports::limit(format), all = mean * s.length() >= reports::limit(format);
  if (!one && !all) return;
  Foreseen f = s.at(reports::Kind::norm_overflowed, Gravity::damage);
  f.format = name(format);
  f.overflow = true;
  f.what = one ? fmt::format("the square of {} is {}: the norm divides that row by inf, which makes it 0 in silence",
                             amount(in->greatest_magnitude), reports::held_against_limit(square, format))
               : fmt::format(
                     "the sum of the squares of a row is {} on the average: the norm divides by inf, which makes rows "
                     "0 in silence",
                     reports::held_against_limit(mean * s.length(), format));
  f.facts.push_back(fact("square", "greatest square", square, amount(square), Provenance::projected));
  found.push_back(std::move(f));
}

void check_length(const Sum& s, FoundFaults& found) {
  const Format format = s.node.arithmetic.accumulate;
  const double n = s.length(), result = s.greatest_result();
  const double sum = s.mean() ? result * n : result;
  const double edge = info(format).max_finite;
  if (sum > edge) {
    Foreseen f = s.at(reports::Kind::reduction_too_long, Gravity::fatal);
    f.format = name(format);
    f.overflow = true;
    const bool certain = sum >= reports::limit(format);
    f.what =
        fmt::format("the sum over {} numbers, kept in {}, is {}{}", amount(n), name(format),
                    reports::held_against_limit(sum, format), certain ? "" : "; partial sums round upwards on the way");
    f.facts.push_back(fact("sum", "sum", sum, amount(sum), Provenance::projected));
    f.facts.push_back(fact("break_even", "longest that fits", std::floor(edge / (sum / n)),
                           amount(std::floor(edge / (sum / n))), Provenance::projected));
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
    if (node.arithmetic.standard() || node.inputs.empty() || node.outputs.empty() || node.op->name == "global_norm")
      continue;
    const Sum s{facts, NodeId{n}, node,
                node.phase == engine::Phase::backward || facts.feeds_loss(node.outputs.front())};
    check_count(s, found);
    if (node.arithmetic.accumulate == Format::fp32) continue;
    if (s.squares())
      check_squares(s, found);
    else if (node.phase == engine::Phase::forward || node.arithmetic.order == SumOrder::serial)
      check_length(s, found);
  }
}

}  // namespace ulpscope::profiler
