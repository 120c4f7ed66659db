// Sums that swallow what is added to them: inside an operation, and over the micro-batches of a step.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/analysis/diagnosis/causes.h"
#include "reports/analysis/diagnosis/words.h"

namespace ulpscope::reports {
namespace {

constexpr double much_missing = 0.01;      ///< of the sum
constexpr double much_swallowed = 0.10;    ///< of the additions, where what is missing is not known
constexpr double little_swallowed = 0.01;  ///< not worth a word

/// What the sums came to and what they should have come to, by the means of what went in and out.
struct Totals {
  double got = 0.0, expected = 0.0;  ///< each result, on average
  double missing() const { return expected == 0.0 ? 0.0 : 1.0 - got / expected; }
};

std::optional<Totals> totals(const ObservedStep& step, const PlanNode& node) {
  const Stat* out = node.outputs.empty() ? nullptr : step.stat(node.outputs.front());
  if (out == nullptr || !out->mean || out->elements == 0) return std::nullopt;
  const Stat* in = nullptr;  // what is added: the float input with most elements
  for (const auto& input : node.inputs)
    if (const Stat* stat = input ? step.stat(*input) : nullptr;
        stat != nullptr && stat->mean && (in == nullptr || stat->elements > in->elements))
      in = stat;
  if (in == nullptr || in->bad() + out->bad() > 0) return std::nullopt;
  const double n = static_cast<double>(in->elements);
  if (node.record.operation == "rms_norm") {
    const Stat* reciprocal = node.outputs.size() > 1 ? step.stat(node.outputs[1]) : nullptr;
    if (reciprocal == nullptr || !reciprocal->mean || *reciprocal->mean <= 0.0 || !in->rms) return std::nullopt;
    // Of rows that are not alike, the means say nothing about one of them.
    if (reciprocal->greatest > 1.25 * reciprocal->least) return std::nullopt;
    const double row = n / static_cast<double>(reciprocal->elements);
    return Totals{row / (*reciprocal->mean * *reciprocal->mean), row * *in->rms * *in->rms};
  }
  const std::string& op = node.record.operation;
  if (op != "sum" && op != "sum_to" && op != "sum_channels" && op != "embedding_backward") return std::nullopt;
  // Where addends of both signs cancel, a share of their sum says nothing.
  if (in->rms && std::fabs(*in->mean) < 0.1 * *in->rms) return std::nullopt;
  return Totals{*out->mean, *in->mean * n / static_cast<double>(out->elements)};
}

void inner_sum(const Evidence& e, const ObservedStep& step, const PlanNode& node, std::vector<Cause>& causes) {
  const Stat* inner = node.inner ? step.stat(*node.inner) : nullptr;
  if (inner == nullptr || inner->elements == 0 || inner->lost == 0) return;
  const double share = static_cast<double>(inner->lost) / static_cast<double>(inner->elements);
  if (share < little_swallowed || attribute_format(node, "accumulate") == Format::fp32) return;
  const auto known = std::find_if(causes.begin(), causes.end(), [&](const Cause& c) {
    return c.kind == Kind::sum_stuck && c.node == node.record.name;
  });
  if (known != causes.end()) {
    ++known->steps_seen;
    return;
  }
  const auto sums = totals(step, node);
  const Format format = attribute_format(node, "accumulate");
  // An addend that changes nothing is at most half an ulp of the sum it meets.
  const Stat* results = node.outputs.empty() ? nullptr : step.stat(node.outputs.back());
  const double each = results != nullptr && results->elements > 0
                          ? static_cast<double>(inner->lost) / static_cast<double>(results->elements)
                          : static_cast<double>(inner->lost);
  const double at_most = each * info(format).unit_roundoff;
  const bool much =
      sums ? std::fabs(sums->missing()) >= much_missing : share >= much_swallowed && at_most >= much_missing;
  Cause cause;
  cause.kind = Kind::sum_stuck;
  cause.gravity = much ? Gravity::damage : Gravity::note;
  cause.step = step.step;
  cause.node = node.record.name;
  cause.operation = node.record.operation;
  cause.phase = std::string(name(node.record.phase));
  cause.format = name(format);
  if (!node.outputs.empty()) cause.tensor = e.plan().title(node.outputs.front());
  cause.what = fmt::format("{}: a sum kept in {} swallowed {} of {} additions ({})", node.record.name, name(format),
                           inner->lost, inner->elements, percent(share));
  if (const Stat* out = node.outputs.empty() ? nullptr : step.stat(node.outputs.front());
      out != nullptr && sums && node.record.operation != "rms_norm") {
    cause.what += fmt::format("; its results come to {} on average, {} would be right: {} is missing",
                              amount(sums->got), amount(sums->expected), percent(sums->missing()));
    cause.facts.push_back(fact("stuck_at", "greatest result", out->greatest,
                               fmt::format("{} of {}", amount(out->greatest), counted(out->elements, "result"))));
  }
  cause.facts.push_back(fact("swallowed", "additions that changed nothing", static_cast<double>(inner->lost),
                             fmt::format("{} of {}", inner->lost, inner->elements)));
  if (!sums && at_most < 1.0)
    cause.facts.push_back(fact("missing_at_most", "missing at most", at_most,
                               fmt::format("{} of a sum: each swallowed addend is at most half an ulp of it",
                                           percent(at_most)),
                               Provenance::computed));
  if (sums) {
    cause.facts.push_back(fact("expected", "sum without rounding", sums->expected,
                               fmt::format("{} (from the means of what was added)", amount(sums->expected)),
                               Provenance::computed));
    cause.facts.push_back(fact("missing", "missing", sums->missing(), percent(sums->missing()), Provenance::computed));
  }
  causes.push_back(std::move(cause));
}

/// The gradient accumulator of a weight, micro-batch by micro-batch: stuck where an addend that is not zero changes
/// nothing.
void accumulator(const Evidence& e, const ObservedStep& step, const PlanNode& node, std::vector<Cause>& causes) {
  if (step.micro_batches < 2 || node.outputs.empty() || node.inputs.empty() || !node.inputs.front()) return;
  std::int64_t stuck = 0, addends = 0;
  std::optional<std::int64_t> first;
  double expected = 0.0, got = 0.0;
  const Stat* before = nullptr;
  for (std::int64_t m = 0; m < std::ssize(step.by_micro_batch); ++m) {
    const auto& rows = step.by_micro_batch[static_cast<std::size_t>(m)];
    const auto sum = rows.find(node.outputs.front());
    const auto addend = rows.find(*node.inputs.front());
    if (sum == rows.end() || addend == rows.end() || !sum->second.mean || !addend->second.mean ||
        addend->second.bad() > 0)
      return;
    const bool nothing = addend->second.zero == addend->second.elements;
    addends += nothing ? 0 : 1;
    expected += *addend->second.mean;
    // Before it is rounded the sum holds the addend; the same sum again means that rounding took it away.
    const bool same =
        before != nullptr && !nothing && *sum->second.mean == *before->mean && sum->second.greatest == before->greatest;
    if (same) {
      ++stuck;
      if (!first) first = m - 1;
    }
    got = same ? *sum->second.mean - *addend->second.mean : *sum->second.mean;
    before = &sum->second;
  }
  if (stuck == 0) return;
  const auto known = std::find_if(causes.begin(), causes.end(), [&](const Cause& c) {
    return c.kind == Kind::sum_stuck && c.node == node.record.name;
  });
  if (known != causes.end()) {
    ++known->steps_seen;
    return;
  }
  const double missing = expected == 0.0 ? 0.0 : 1.0 - got / expected;
  const std::string format = node.record.outputs.empty() ? "" : node.record.outputs.front().format;
  Cause cause;
  cause.kind = Kind::sum_stuck;
  cause.gravity = std::fabs(missing) >= much_missing ? Gravity::damage : Gravity::note;
  cause.step = step.step;
  cause.node = node.record.name;
  cause.operation = node.record.operation;
  cause.phase = std::string(name(node.record.phase));
  cause.tensor = e.plan().title(node.outputs.front());
  cause.format = format;
  cause.what = fmt::format(
      "{}: gradients of {} micro-batches are summed in {}; after {} addends the sum stands at {} (mean of its elements{}) "
      "and swallows the rest ({} of {}): {} of the sum {} is missing",
      node.record.name, step.micro_batches, format, *first, amount(got), e.scales() ? ", scaled" : "", stuck, addends, percent(missing),
      amount(expected));
  cause.facts.push_back(fact("stuck_at", "stands at", got, fmt::format("{} after {} addends", amount(got), *first),
                             Provenance::computed));
  cause.facts.push_back(fact("expected", "sum without rounding", expected, amount(expected), Provenance::computed));
  cause.facts.push_back(fact("missing", "missing", missing, percent(missing), Provenance::computed));
  cause.facts.push_back(fact("swallowed", "addends that changed nothing", static_cast<double>(stuck),
                             fmt::format("{} of {}", stuck, addends)));
  causes.push_back(std::move(cause));
}

/// Squares that were rounded to zero: a root mean square cannot be less than the least of elements none of which is 0.
void vanished_squares(const ObservedStep& step, const PlanNode& node, std::vector<Cause>& causes) {
  if (node.record.operation != "rms_norm" || node.outputs.size() < 2 || node.inputs.empty() || !node.inputs.front())
    return;
  const Format format = attribute_format(node, "accumulate");
  const Stat* in = step.stat(*node.inputs.front());
  const Stat* reciprocal = step.stat(node.outputs[1]);
  if (format == Format::fp32 || in == nullptr || reciprocal == nullptr || in->stored_zero() + in->bad() > 0 ||
      in->least <= 0.0 || in->least * in->least > 2.0 * info(format).min_normal)
    return;
  if (reciprocal->greatest <= 1.1 / in->least) return;
  const bool known = std::any_of(causes.begin(), causes.end(), [&](const Cause& c) {
    return c.kind == Kind::activation_below_range && c.node == node.record.name;
  });
  if (known) return;
  Cause cause;
  cause.kind = Kind::activation_below_range;
  cause.gravity = Gravity::damage;
  cause.step = step.step;
  cause.node = node.record.name;
  cause.operation = node.record.operation;
  cause.phase = std::string(name(node.record.phase));
  cause.format = name(format);
  cause.what = fmt::format(
      "{}: squares of its input vanish in {} ({} squared is {}): a row has the reciprocal root mean square {}, and with "
      "no element below {} it cannot be above {}",
      node.record.name, name(format), amount(in->least), amount(in->least * in->least), amount(reciprocal->greatest),
      amount(in->least), amount(1.0 / in->least));
  cause.facts.push_back(fact("least_input", "least input", in->least, amount(in->least)));
  causes.push_back(std::move(cause));
}

}  // namespace

void silent_sum_causes(const Evidence& evidence, std::vector<Cause>& causes) {
  for (const ObservedStep& step : evidence.observed())
    for (const PlanNode& node : evidence.plan().nodes()) {
      if (node.record.operation == "accumulate") accumulator(evidence, step, node, causes);
      inner_sum(evidence, step, node, causes);
      vanished_squares(step, node, causes);
    }
}

}  // namespace ulpscope::reports
