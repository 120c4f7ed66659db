// Narrow sums inside a norm that stay finite and lose bits: what the recording says they put a row's result off by.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/analysis/diagnosis/causes.h"
#include "reports/analysis/diagnosis/words.h"

namespace ulpscope::reports {
namespace {

constexpr double much_off = 0.01;          ///< of a row's result, whose root mean square is about 1
constexpr double much_flushed = 0.01;      ///< of one sum: told as what is rounded to zero
constexpr double little_swallowed = 0.01;  ///< of the additions: not worth a word

double share_swallowed(const Stat& inner) { return inner.elements > 0 ? static_cast<double>(inner.lost) / static_cast<double>(inner.elements) : 0.0; }

/// What the norm's sums did in this step; none: it was not observed, or what they did is told of otherwise.
const Stat* sums_of(const ObservedStep& step, const PlanNode& node) {
  const Stat* inner = node.inner ? step.stat(*node.inner) : nullptr;
  const bool told = inner != nullptr && (inner->overflowed > 0 || inner->error_greatest.value_or(0.0) >= much_flushed);
  return told || inner == nullptr || !inner->row_error ? nullptr : inner;
}

/// Where the means of the rows, on average, are not that of what goes in.
void tell_mean(const ObservedStep& step, const PlanNode& node, Cause& cause) {
  if (node.record.operation != "layer_norm" || node.outputs.size() < 3 || !node.inputs.front()) return;
  const Stat *x = step.stat(*node.inputs.front()), *means = step.stat(node.outputs[1]), *rstd = step.stat(node.outputs[2]);
  if (x == nullptr || means == nullptr || rstd == nullptr || !x->mean || !means->mean || !rstd->mean || x->bad() + means->bad() + rstd->bad() > 0) return;
  const double off = std::fabs(*means->mean - *x->mean);
  if (off * *rstd->mean < much_off) return;
  cause.what += fmt::format("; the means of its rows come to {} on average, {} would be right: {} of a row's standard deviation away", amount(*means->mean),
                            amount(*x->mean), amount(off * *rstd->mean));
  cause.facts.push_back(fact("mean", "mean of the means", *means->mean, fmt::format("{}; {} goes in", amount(*means->mean), amount(*x->mean)), Provenance::computed));
}

Cause begin(const Evidence& e, const ObservedStep& step, const PlanNode& node, const Stat& inner) {
  const double off = *inner.row_error;
  Cause cause;
  cause.kind = Kind::sum_stuck;
  cause.gravity = off >= much_off ? Gravity::damage : Gravity::note;
  cause.step = step.step;
  cause.node = node.record.name;
  cause.operation = node.record.operation;
  cause.phase = std::string(name(node.record.phase));
  cause.tensor = e.plan().title(node.outputs.front());
  cause.format = name(attribute_format(node, "accumulate"));
  cause.what = fmt::format("{}: the sums inside it are kept in {} and lose bits on the way: the result of the worst row, about 1 before gain and bias, is off by {} "
                           "(root mean square)",
                           node.record.name, cause.format, amount(off));
  tell_mean(step, node, cause);
  if (inner.lost > 0) cause.what += fmt::format("; {} of {} additions changed nothing", inner.lost, inner.elements);
  cause.operands = operands_of(e, step, node, 0);
  if (cause.gravity == Gravity::damage) cause.reaches = "what follows, as finite numbers that are wrong";
  cause.facts.push_back(fact("row_error", "off by", off, fmt::format("{} of the result of the worst row", percent(off))));
  cause.facts.push_back(fact("swallowed", "additions that changed nothing", static_cast<double>(inner.lost), fmt::format("{} of {}", inner.lost, inner.elements)));
  return cause;
}

}  // namespace

void silent_norm_sum_causes(const Evidence& e, std::vector<Cause>& causes) {
  for (const PlanNode& node : e.plan().nodes()) {
    if (node.record.phase != Phase::forward || !is_norm(node) || node.outputs.empty() || node.inputs.empty() || attribute_format(node, "accumulate") == Format::fp32) continue;
    std::optional<Cause> found;
    bool known = false;
    for (const ObservedStep& step : e.observed()) {
      const Stat* inner = sums_of(step, node);
      known = known || inner != nullptr;
      if (inner == nullptr || (*inner->row_error < much_off && share_swallowed(*inner) < little_swallowed)) continue;
      const bool graver = found && found->gravity != Gravity::damage && *inner->row_error >= much_off;
      const std::int64_t seen = found ? found->steps_seen + 1 : 1;
      if (!found || graver) found = begin(e, step, node, *inner);
      found->steps_seen = seen;
    }
    if (!known) continue;  // a file that does not say what became of the rows
    std::erase_if(causes, [&](const Cause& c) { return c.kind == Kind::sum_stuck && c.node == node.record.name; });
    if (found) causes.push_back(std::move(*found));
  }
}

}  // namespace ulpscope::reports
