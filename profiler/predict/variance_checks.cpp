// Norms whose input is stored in 16 bits and lies far from 0: beside a mean that is many times the standard deviation the steps of the format
// are coarser than what the values differ by, and the variance is rounding's. No range is left, so nothing else sees it.
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

/// Of the variance and its epsilon, as of sums of squares in norm_checks.cpp.
constexpr double much_of_variance = 0.10;
constexpr std::int64_t most_numbers = std::int64_t{1} << 22;

bool of_channels(const Node& node) { return node.op->name == "batch_norm" && node.outputs.size() > 3; }
bool takes_mean(const Node& node) { return node.op->name == "layer_norm" || of_channels(node); }

struct Moments {
  double mean = 0.0, variance = 0.0;
};

/// Of the numbers load(0) to load(n - 1).
template <class Load>
Moments moments(std::int64_t n, Load load) {
  Moments m;
  for (std::int64_t i = 0; i < n; ++i) m.mean += load(i);
  m.mean /= static_cast<double>(n);
  for (std::int64_t i = 0; i < n; ++i) m.variance += (load(i) - m.mean) * (load(i) - m.mean);
  m.variance /= static_cast<double>(n);
  return m;
}

/// Groups of numbers that share a variance: rows, or channels [N, C, ...].
struct Groups {
  std::int64_t count = 0, length = 0;
  std::int64_t stride = 1;   ///< of channels: numbers of one channel that lie side by side
  bool channels = false;

  std::int64_t at(std::int64_t group, std::int64_t i) const {
    return channels ? (i / stride * count + group) * stride + i % stride : group * length + i;
  }
};

Groups groups_of(const Node& node, const Value& input) {
  Groups g;
  const std::int64_t all = input.shape.elements();
  g.channels = of_channels(node);
  if (g.channels) {
    g.count = input.shape[1];
    g.stride = 1;
    for (int d = 2; d < input.shape.rank; ++d) g.stride *= input.shape[d];
  } else {
    g.count = input.shape[-1] > 0 ? all / input.shape[-1] : 0;
  }
  g.length = g.count > 0 ? all / g.count : 0;
  return g;
}

/// The group that is farthest off, and how many are.
struct Off {
  std::int64_t groups = 0, collapsed = 0;
  double times = 1.0;   ///< of the worst: the variance and its epsilon as stored, by what they are
  Moments is, stored;

  void take(const Moments& truth, const Moments& rounded, double epsilon) {
    const double ratio = (rounded.variance + epsilon) / (truth.variance + epsilon);
    if (!std::isfinite(ratio) || std::fabs(ratio - 1.0) < much_of_variance) return;
    ++groups;
    collapsed += rounded.variance == 0.0 ? 1 : 0;
    if (groups > 1 && std::fabs(std::log(ratio)) <= std::fabs(std::log(times))) return;
    times = ratio;
    is = truth;
    stored = rounded;
  }
};

void check(const PlanFacts& facts, NodeId id, FoundFaults& found) {
  const Node& node = facts.graph().node(id);
  const Value& input = facts.graph().value(node.inputs.front());
  const std::vector<float>* const numbers = facts.numbers(node.inputs.front());
  const Groups groups = groups_of(node, input);
  if (numbers == nullptr || groups.length < 2 || groups.count * groups.length != std::ssize(*numbers)) return;
  const double epsilon = std::fabs(node.attributes.number_or("epsilon", 1e-5));
  Off off;
  for (std::int64_t g = 0; g < groups.count; ++g) {
    const auto exact = [&](std::int64_t i) { return static_cast<double>((*numbers)[static_cast<std::size_t>(groups.at(g, i))]); };
    const auto stored = [&](std::int64_t i) { return reports::rounded_to(exact(i), input.format); };
    const Moments truth = moments(groups.length, exact);
    // Where the steps of the format are far below what the numbers differ by, rounding cannot matter.
    const double step = 2.0 * reports::half_ulp_above(std::fabs(truth.mean) + std::sqrt(truth.variance), input.format);
    if (!std::isfinite(truth.variance) || step * step < much_of_variance * (truth.variance + epsilon)) continue;
    off.take(truth, moments(groups.length, stored), epsilon);
  }
  if (off.groups == 0) return;
  Foreseen f = foreseen_at(facts, id, kind(reports::Kind::variance_lost), facts.feeds_loss(node.outputs.front()) ? Gravity::damage : Gravity::contained);
  f.tensor = input.name;
  f.format = name(input.format);
  const char* const unit = groups.channels ? "channel" : "row";
  const double deviation = std::sqrt(off.is.variance), step = 2.0 * reports::half_ulp_above(std::fabs(off.is.mean), input.format);
  f.what = fmt::format("{} of {} of {} lie so far from 0 that {} cannot tell their values apart: of the worst the mean is {} and the standard deviation {}, and the numbers of {} "
                       "there are {} apart; the variance that the norm divides by becomes {} instead of {}",
                       off.groups, reports::counted(groups.count, unit), input.name, f.format, amount(off.is.mean), amount(deviation), f.format, amount(step),
                       amount(off.stored.variance), amount(off.is.variance));
  if (off.collapsed > 0)
    f.what += fmt::format("; in {} of them all values fall together, and what is left is the bias", off.collapsed);
  f.facts.push_back(fact("groups", fmt::format("{}s with another variance", unit), static_cast<double>(off.groups), fmt::format("{} of {}", off.groups, groups.count), Provenance::projected));
  f.facts.push_back(fact("collapsed", "of them with none", static_cast<double>(off.collapsed), amount(static_cast<double>(off.collapsed)), Provenance::projected));
  f.facts.push_back(fact("variance", "variance", off.is.variance, fmt::format("{}, as stored {}", amount(off.is.variance), amount(off.stored.variance)), Provenance::projected));
  f.facts.push_back(fact("mean", "mean", off.is.mean, amount(off.is.mean), Provenance::computed));
  found.push_back(std::move(f));
}

bool asks(const engine::Graph& graph, const Node& node) {
  return node.phase == engine::Phase::forward && takes_mean(node) && !node.inputs.empty() && is_16bit(graph.value(node.inputs.front()).format) &&
         graph.value(node.inputs.front()).shape.elements() <= most_numbers;
}

}  // namespace

void check_variances(const PlanFacts& facts, FoundFaults& found) {
  for (std::int32_t n = 0; n < facts.graph().node_count(); ++n)
    if (asks(facts.graph(), facts.graph().node(NodeId{n}))) check(facts, NodeId{n}, found);
}

std::set<std::string> norm_inputs(const engine::StepPlan& plan) {
  std::set<std::string> names;
  for (const Node& node : plan.graph.nodes())
    if (asks(plan.graph, node)) add_origins(plan.graph, node.inputs.front(), names);
  return names;
}

}  // namespace ulpscope::profiler
