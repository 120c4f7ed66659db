// Norms over rows and channels: squares that overflow or vanish inside, and variances with nothing left in them.
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
using engine::Phase;
using engine::Role;
using engine::Value;
using reports::amount;
using reports::fact;
using reports::Foreseen;
using reports::Gravity;
using reports::Kind;
using reports::Provenance;

// As the diagnosis has them (activation_below_range inside a norm).
constexpr double much_missing = 0.01;  ///< of a sum of squares
constexpr double much_of_norm = 0.10;  ///< of the mean square and its epsilon

struct Norm {
  const PlanFacts& facts;
  NodeId id;
  const Node& node;

  const Value& input() const { return facts.graph().value(node.inputs.front()); }
  const RoundingCounts* range() const { return facts.range(node.inputs.front()); }
  bool of_squares() const { return node.op->name == "rms_norm"; }   ///< no mean is taken away
  bool of_channels() const { return node.op->name == "batch_norm"; }
  Format format() const { return of_channels() ? Format::fp32 : node.arithmetic.accumulate; }
  std::int64_t length() const { return input().shape[-1]; }          ///< of a row
  double epsilon() const { return std::fabs(node.attributes.number_or("epsilon", 1e-5)); }
  const char* left() const { return of_squares() ? "0" : "its bias"; }
  Foreseen at(Kind kind, Gravity grave) const {
    return foreseen_at(facts, id, std::string(name(kind)), facts.feeds_loss(node.outputs.front()) ? grave : Gravity::contained);
  }
};

/// The sums of squares of the rows, as the mode makes them.
struct Rows {
  std::int64_t infinite = 0, all = 0;
  std::int64_t means = 0;   ///< that are infinite
  double sum = 0.0;         ///< of the elements of such a row, the greatest magnitude; it may fit, and a part of it not
  double greatest = 0.0;   ///< square, of what is left of an input once the mean of its row is taken away
  double missing = 0.0;     ///< the greatest share of a sum that flushed squares would have made
  std::int64_t flushed = 0, squares = 0;  ///< squares that are not 0
};

/// Where the numbers that go in are known (norm_rows) and the sums are kept narrow.
std::optional<Rows> rows_of(const Norm& norm) {
  const std::vector<float>* const numbers = norm.facts.numbers(norm.node.inputs.front());
  const std::int64_t n = norm.length();
  if (norm.of_channels() || norm.format() == Format::fp32 || numbers == nullptr || n <= 0) return std::nullopt;
  const Format in = norm.input().format;
  Rows rows;
  for (std::int64_t row = 0; row + n <= std::ssize(*numbers); row += n) {
    const auto x = [&](std::int64_t i) {
      const auto number = static_cast<double>((*numbers)[static_cast<std::size_t>(row + i)]);
      return static_cast<float>(is_16bit(in) ? reports::rounded_to(number, in) : number);
    };
    const float mean = norm.of_squares() ? 0.0f : narrow_sum(norm.node.arithmetic, n, x) / static_cast<float>(n);
    double exact_mean = 0.0;
    const bool without_mean = !std::isfinite(mean);
    for (std::int64_t i = 0; i < n && !norm.of_squares(); ++i) exact_mean += static_cast<double>(x(i)) / static_cast<double>(n);
    for (std::int64_t i = 0; i < n; ++i) rows.greatest = std::max(rows.greatest, std::pow(static_cast<double>(x(i)) - exact_mean, 2.0));
    const CountedSum sum = narrow_sum_as<CountedSum>(norm.node.arithmetic, n, [&](std::int64_t i) { return (x(i) - mean) * (x(i) - mean); });
    ++rows.all;
    rows.means += without_mean ? 1 : 0;
    if (without_mean) rows.sum = std::max(rows.sum, std::fabs(exact_mean) * static_cast<double>(n));
    rows.infinite += std::isfinite(sum.value) ? 0 : 1;
    rows.missing = std::max(rows.missing, share_missing(sum));
    rows.flushed += sum.flushed;
    rows.squares += n - sum.zero;
  }
  return rows;
}

/// An infinite sum makes the row 0 (or its bias), without a NaN.
void check_overflow(const Norm& norm, FoundFaults& found) {
  const RoundingCounts* const in = norm.range();
  if (in == nullptr || in->elements == 0 || finite_elements(*in) < in->elements) return;
  const Format format = norm.format();
  const double square = in->greatest_magnitude * in->greatest_magnitude, limit = reports::limit(format);
  const double mean = in->sum_of_squares / static_cast<double>(in->elements);
  const std::optional<Rows> rows = rows_of(norm);
  // Of channels the step in fp32 tells: the reciprocal root of a variance is 0 for an infinite one alone.
  const RoundingCounts* const rstd = norm.of_channels() ? norm.facts.range(norm.node.outputs.at(2)) : nullptr;
  const bool one = square >= limit, all = !norm.of_channels() && mean * static_cast<double>(norm.length()) >= limit;
  const bool overflows = rows ? rows->infinite > 0 : norm.of_channels() ? rstd != nullptr && rstd->zero > 0 : one || all;
  if (!overflows) return;
  // How much of an input is its row's mean is not known where the numbers are not.
  const bool known = rows || norm.of_channels() || norm.of_squares();
  const bool means = rows && rows->means > 0;
  Foreseen f = norm.at(Kind::norm_overflowed, means ? Gravity::fatal : known ? Gravity::damage : Gravity::note);
  f.format = name(format);
  f.overflow = known;
  const char* const less = norm.of_squares() ? "" : " (less the mean)";
  if (rstd != nullptr)
    f.what = fmt::format("the sum of the squares (less the mean) of {} of {} is infinite in {}: its inputs are up to {}, and the square of that is {}. The norm divides by it and "
                         "leaves {} in silence, and the running variance takes it over",
                         rstd->zero, reports::counted(rstd->elements, "channel"), name(format), amount(in->greatest_magnitude), amount(square), norm.left());
  else if (!known)
    f.what = fmt::format("inputs are up to {}, the square of which is {}, and squares are kept in {}: what is left of them once the mean of a row is taken away is not known (too "
                         "many numbers to keep), nor whether a sum becomes infinite and leaves {} in silence",
                         amount(in->greatest_magnitude), reports::held_against_limit(square, format), name(format), norm.left());
  else if (one && norm.of_squares())
    f.what = fmt::format("the square of {} is {}: the norm divides that row by inf, which makes it {} in silence", amount(in->greatest_magnitude),
                         reports::held_against_limit(square, format), norm.left());
  else if (means)
    f.what = fmt::format("the sum of the elements of {} of {}, for the mean, leaves {}, in which it is kept{}. The mean is infinite, what is less it is too, "
                         "and times a reciprocal root of 0 that is NaN",
                         rows->means, reports::counted(rows->all, "row"), name(format),
                         rows->sum >= reports::limit(format) ? ": of the worst it comes to " + reports::held_against_limit(rows->sum, format) : ", on the way: the whole of it would fit");
  else if (rows)
    f.what = fmt::format("the sum of the squares{} of {} of {}, kept in {}, is infinite: the norm divides by it and leaves {} in silence", less,
                         rows->infinite, reports::counted(rows->all, "row"), name(format), norm.left());
  else
    f.what = fmt::format("the sum of the squares of a row is {} on the average: the norm divides by inf, which makes rows {} in silence",
                         reports::held_against_limit(mean * static_cast<double>(norm.length()), format), norm.left());
  if (rows)
    f.facts.push_back(fact("square", norm.of_squares() ? "greatest square" : "greatest square, less the mean", rows->greatest, amount(rows->greatest), Provenance::projected));
  else
    f.facts.push_back(fact("square", norm.of_squares() ? "greatest square" : "greatest square, mean included", square, amount(square), Provenance::projected));
  if (means) f.facts.push_back(fact("sum", "sum of the elements of a row", rows->sum, amount(rows->sum), Provenance::projected));
  if (rows)
    f.facts.push_back(fact("rows", "infinite sums", static_cast<double>(rows->infinite), fmt::format("{} of {}", rows->infinite, rows->all), Provenance::projected));
  if (rstd != nullptr)
    f.facts.push_back(fact("channels", "infinite sums", static_cast<double>(rstd->zero), fmt::format("{} of {}", rstd->zero, rstd->elements), Provenance::projected));
  found.push_back(std::move(f));
}

/// The same where the numbers are not known, too many of them: of every square.
void check_greatest_square(const Norm& norm, FoundFaults& found) {
  const RoundingCounts* const in = norm.range();
  const Format format = norm.format();
  if (in == nullptr || format == Format::fp32 || !norm.of_squares()) return;
  const double square = in->greatest_magnitude * in->greatest_magnitude;
  if (!(square > 0.0) || square > info(format).flush_threshold || norm.epsilon() > square / much_of_norm) return;
  Foreseen f = norm.at(Kind::activation_below_range, Gravity::damage);
  f.format = name(format);
  f.what = fmt::format("the squares of what {} reads, the greatest of them {}, are rounded to zero in {} (at or below {}): the norm divides by the root of its "
                       "epsilon, {}, alone, and its result is too large",
                       norm.node.name, amount(square), name(format), amount(info(format).flush_threshold), amount(norm.epsilon()));
  f.facts.push_back(fact("square", "greatest square", square, amount(square), Provenance::projected));
  found.push_back(std::move(f));
}

/// Squares that are rounded to zero: the norm divides by less than it should.
void check_flushed(const Norm& norm, FoundFaults& found) {
  const Format format = norm.format();
  const std::optional<Rows> rows = rows_of(norm);
  if (!rows) return check_greatest_square(norm, found);
  if (rows->missing < much_missing || info(format).flush_threshold < much_of_norm * norm.epsilon()) return;
  Foreseen f = norm.at(Kind::activation_below_range, Gravity::damage);
  f.format = name(format);
  f.what = fmt::format("{} of the squares of what {} reads ({} of {} that are not 0) are rounded to zero in {} (at or below {}); of one sum {} is missing: "
                       "the norm's result is too large",
                       reports::percent(static_cast<double>(rows->flushed) / static_cast<double>(std::max<std::int64_t>(1, rows->squares))), norm.node.name,
                       rows->flushed, rows->squares, name(format), amount(info(format).flush_threshold), reports::percent(rows->missing));
  f.facts.push_back(fact("flushed", "squares rounded to zero", static_cast<double>(rows->flushed), fmt::format("{} of {}", rows->flushed, rows->squares),
                         Provenance::projected));
  f.facts.push_back(fact("missing", "missing of a sum", rows->missing, reports::percent(rows->missing), Provenance::projected));
  found.push_back(std::move(f));
}

/// Everything that goes in becomes zero as the mode stores it, and there is no epsilon that is not: 0 / 0.
void check_nothing_left(const Norm& norm, FoundFaults& found) {
  const RoundingCounts* const in = norm.range();
  const Format stored = norm.input().format;
  if (in == nullptr || !is_16bit(stored) || !(in->greatest_magnitude > 0.0) || in->greatest_magnitude > info(stored).flush_threshold) return;
  if (norm.epsilon() > info(Format::fp32).flush_threshold) return;
  Foreseen f = norm.at(Kind::epsilon_vanished, Gravity::fatal);
  f.overflow = true;
  f.what = fmt::format("everything that {} reads (up to {}) becomes zero in {}, and its epsilon is {}: it divides by the root of a variance of 0", norm.node.name,
                       amount(in->greatest_magnitude), name(stored), amount(norm.epsilon()));
  f.facts.push_back(fact("epsilon", "epsilon", norm.epsilon(), amount(norm.epsilon()), Provenance::computed));
  found.push_back(std::move(f));
}

bool is_row_norm(const Node& node) { return node.op->name == "rms_norm" || node.op->name == "layer_norm"; }

}  // namespace

void check_norms(const PlanFacts& facts, FoundFaults& found) {
  for (std::int32_t n = 0; n < facts.graph().node_count(); ++n) {
    const Node& node = facts.graph().node(NodeId{n});
    if (node.phase != Phase::forward) continue;
    if (!is_row_norm(node) && (node.op->name != "batch_norm" || node.outputs.size() < 3)) continue;
    const Norm norm{facts, NodeId{n}, node};
    check_overflow(norm, found);
    check_flushed(norm, found);
    check_nothing_left(norm, found);
  }
}

bool keeps_narrow_squares(const Node& node) { return is_row_norm(node) && node.arithmetic.accumulate != Format::fp32; }

}  // namespace ulpscope::profiler
