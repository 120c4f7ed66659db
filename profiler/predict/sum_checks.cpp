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

/// Numbers of the node's first input as the mode stores them; null: not known.
const std::vector<float>* numbers_in(const Sum& s) { return s.facts.numbers(s.node.inputs.front()); }
double stored(const Sum& s, float x) {
  const Format in = s.input(0).format;
  return is_16bit(in) ? reports::rounded_to(static_cast<double>(x), in) : static_cast<double>(x);
}

/// Whether a sum of squares becomes infinite as the mode makes it, where the numbers that go in are known.
std::optional<bool> exactly_overflows(const Sum& s) {
  const std::vector<float>* const numbers = numbers_in(s);
  const auto length = static_cast<std::int64_t>(s.length());
  if (s.node.op->name != "rms_norm" || numbers == nullptr || length <= 0) return std::nullopt;
  for (std::int64_t row = 0; row + length <= std::ssize(*numbers); row += length) {
    const auto square = [&](std::int64_t i) {
      const auto x = static_cast<float>(stored(s, (*numbers)[static_cast<std::size_t>(row + i)]));
      return x * x;
    };
    if (std::isinf(narrow_sum(s.node.arithmetic, length, square))) return true;
  }
  return false;
}

/// Squares inside a norm: an infinite sum makes the row 0, without a NaN.
void check_squares(const Sum& s, FoundFaults& found) {
  const Format format = s.node.arithmetic.accumulate;
  const RoundingCounts* const in = s.facts.range(s.node.inputs.front());
  if (in == nullptr) return;
  const double square = in->greatest_magnitude * in->greatest_magnitude;
  const double mean = finite_elements(*in) > 0 ? in->sum_of_squares / static_cast<double>(finite_elements(*in)) : 0.0;
  const bool one = square >= reports::limit(format), all = mean * s.length() >= reports::limit(format);
  if (!exactly_overflows(s).value_or(one || all)) return;
  Foreseen f = s.at(reports::Kind::norm_overflowed, Gravity::damage);
  f.format = name(format);
  f.overflow = true;
  const char* const left = s.node.op->name == "rms_norm" ? "0" : "its bias";
  f.what = one ? fmt::format("the square of {} is {}: the norm divides that row by inf, which makes it {} in silence",
                             amount(in->greatest_magnitude), reports::held_against_limit(square, format), left)
         : all ? fmt::format(
                     "the sum of the squares of a row is {} on the average: the norm divides by inf, which makes rows "
                     "{} in silence",
                     reports::held_against_limit(mean * s.length(), format), left)
               : fmt::format("the sum of the squares of a row, kept in {}, is infinite: the norm divides by it, which makes the row {} in "
                             "silence",
                             name(format), left);
  f.facts.push_back(fact("square", "greatest square", square, amount(square), Provenance::projected));
  found.push_back(std::move(f));
}

/// Every square inside a norm is rounded to zero: it divides by the root of epsilon alone.
void check_flushed_squares(const Sum& s, FoundFaults& found) {
  const Format format = s.node.arithmetic.accumulate;
  const RoundingCounts* const in = s.facts.range(s.node.inputs.front());
  if (in == nullptr || format == Format::fp32 || s.node.op->name != "rms_norm") return;
  const double square = in->greatest_magnitude * in->greatest_magnitude, epsilon = std::fabs(s.node.attributes.number_or("epsilon", 1e-5));
  if (!(square > 0.0) || square > info(format).flush_threshold || epsilon > 10.0 * square) return;
  Foreseen f = s.at(reports::Kind::activation_below_range, Gravity::damage);
  f.format = name(format);
  f.what = fmt::format("the squares of what {} reads, the greatest of them {}, are rounded to zero in {} (at or below {}): the norm divides by the root of its "
                       "epsilon, {}, alone, and its result is too large",
                       s.node.name, amount(square), name(format), amount(info(format).flush_threshold), amount(epsilon));
  f.facts.push_back(fact("square", "greatest square", square, amount(square), Provenance::projected));
  found.push_back(std::move(f));
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
    if (s.squares()) {  // in fp32, too
      if (node.phase == engine::Phase::forward) check_squares(s, found), check_flushed_squares(s, found);
      continue;
    }
    if (node.arithmetic.standard()) continue;
    check_count(s, found);
    if (node.arithmetic.accumulate == Format::fp32) continue;
    if (node.phase == engine::Phase::forward || node.arithmetic.order == SumOrder::serial)
      check_length(s, found);
  }
}

}  // namespace ulpscope::profiler
