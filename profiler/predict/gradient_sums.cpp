#include "profiler/predict/gradient_sums.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/graph/operator.h"

namespace ulpscope::profiler {
namespace {

using engine::Node;
using engine::ValueId;
using Numbers = std::vector<std::vector<float>>;   ///< of every micro-batch

bool sums_gradients_of_a_cast(const engine::Graph& graph, const Node& node) {
  return node.op->name == "add" && node.phase == engine::Phase::backward && node.of && graph.node(node.of).op->name == "cast" &&
         is_16bit(graph.value(node.outputs.front()).format);
}

void count(const std::vector<float>& numbers, RoundingCounts& counts) {
  for (const float x : numbers) {
    const double magnitude = std::fabs(static_cast<double>(x));
    ++counts.elements;
    counts.nan += std::isnan(x) ? 1 : 0;
    counts.positive_infinity += std::isinf(x) && x > 0.0f ? 1 : 0;
    counts.negative_infinity += std::isinf(x) && x < 0.0f ? 1 : 0;
    counts.zero += x == 0.0f ? 1 : 0;
    if (x == 0.0f || !std::isfinite(x)) continue;
    counts.greatest_magnitude = std::max(counts.greatest_magnitude, magnitude);
    counts.least_magnitude = counts.least_magnitude == 0.0 ? magnitude : std::min(counts.least_magnitude, magnitude);
    counts.sum += static_cast<double>(x);
    counts.sum_of_squares += magnitude * magnitude;
    ++counts.histogram[std::ilogb(magnitude) - histogram_lowest_exponent];
  }
}

}  // namespace

std::set<std::string> added_gradients(const engine::StepPlan& plan) {
  std::set<std::string> names;
  for (const Node& node : plan.graph.nodes())
    if (sums_gradients_of_a_cast(plan.graph, node))
      for (const ValueId addend : node.inputs) add_origins(plan.graph, addend, names);
  return names;
}

std::map<std::int32_t, RoundingCounts> gradient_sums(const PlanFacts& facts) {
  std::map<std::int32_t, RoundingCounts> counts;
  std::map<std::int32_t, Numbers> sums;
  const auto numbers = [&](ValueId value) -> const Numbers* {
    const auto sum = sums.find(value.index);
    return sum != sums.end() ? &sum->second : facts.numbers_of_every(value);
  };
  for (const Node& node : facts.graph().nodes()) {
    if (!sums_gradients_of_a_cast(facts.graph(), node) || facts.seen(node.outputs.front())) continue;
    const Numbers *a = numbers(node.inputs[0]), *b = numbers(node.inputs[1]);
    if (a == nullptr || b == nullptr || a->size() != b->size()) continue;
    Numbers sum = *a;
    bool alike = true;
    for (std::size_t m = 0; m < sum.size(); ++m) {
      alike = alike && sum[m].size() == (*b)[m].size();
      for (std::size_t i = 0; alike && i < sum[m].size(); ++i) sum[m][i] += (*b)[m][i];
    }
    if (!alike) continue;
    RoundingCounts& counted = counts[node.outputs.front().index];
    for (const std::vector<float>& of_micro_batch : sum) count(of_micro_batch, counted);
    sums[node.outputs.front().index] = std::move(sum);
  }
  return counts;
}

}  // namespace ulpscope::profiler
