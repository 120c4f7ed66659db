#include "profiler/predict/update_facts.h"

#include <algorithm>

#include "engine/graph/operator.h"
#include "kernels/ops/narrow_sum.h"
#include "reports/analysis/diagnosis/lost_moment.h"

namespace ulpscope::profiler {
namespace {

using engine::Node;
using engine::NodeId;

/// Updates that are followed: after so many every average has come to rest.
constexpr std::int64_t most_updates = 100000;

AdamWBody<float> body_of(const PlanFacts& facts, const Node& node) {
  AdamWParams params;
  params.beta1 = node.attributes.number("beta1");
  params.beta2 = node.attributes.number("beta2");
  params.epsilon = node.attributes.number("epsilon");
  params.weight_decay = 0.0;
  StepState state{};
  state.learning_rate = 1.0;
  state.clip_coefficient = facts.rehearsal().result.clip_coefficient;
  state.applied = 0;
  return AdamWBody<float>::make(&params, &state, 0);
}

}  // namespace

Updates updates_of(const PlanFacts& facts) {
  Updates u;
  for (std::int32_t n = 0; n < facts.graph().node_count(); ++n) {
    const Node& node = facts.graph().node(NodeId{n});
    if (node.op->name != "adamw" && node.op->name != "sgd") continue;
    if (!u.any()) {
      u.weights = facts.graph().value(node.inputs.at(2)).format;
      u.adamw = node.op->name == "adamw";
      u.momentum = !u.adamw && node.attributes.number("momentum") != 0.0;
      u.moments = u.adamw ? facts.graph().value(node.inputs.at(4)).format : u.momentum ? facts.graph().value(node.inputs.at(3)).format : u.weights;
      u.each_operation = node.attributes.flag_or("each_operation", false);
    }
    u.nodes.push_back(NodeId{n});
  }
  return u;
}

const std::vector<float>* gradients_of(const PlanFacts& facts, const Node& update) {
  const auto found = facts.rehearsal().gradients.find(facts.graph().value(update.inputs.at(2)).name);
  return found == facts.rehearsal().gradients.end() ? nullptr : &found->second;
}

FirstAdam::FirstAdam(const PlanFacts& facts, const Updates& updates)
    : weights_(updates.weights), moments_(updates.moments), each_(updates.each_operation),
      beta1_(facts.graph().node(updates.nodes.front()).attributes.number("beta1")),
      beta2_(facts.graph().node(updates.nodes.front()).attributes.number("beta2")),
      epsilon_(facts.graph().node(updates.nodes.front()).attributes.number("epsilon")),
      body_(body_of(facts, facts.graph().node(updates.nodes.front()))) {}

float FirstAdam::rounded(Format format, float x) { return rounded_to(format, x); }

double FirstAdam::epsilon() const { return reports::added_epsilon(epsilon_, each_, moments_); }

AdamStep FirstAdam::operator()(double gradient) const {
  AdamStep step;
  const float g = stored(weights_, rounded(weights_, static_cast<float>(gradient)) * body_.clip);
  step.m = body_.mean(0.0f, g);
  step.v = body_.one_minus_beta2 * g * g;
  const float m = stored(moments_, step.m), v = stored(moments_, step.v);
  step.m_fits = std::isfinite(rounded(moments_, step.m)) || !std::isfinite(step.m);
  step.v_fits = std::isfinite(rounded(moments_, step.v)) || !std::isfinite(step.v);
  step.v_flushed = step.v != 0.0f && rounded(moments_, step.v) == 0.0f;
  const float root = stored(moments_, stored(moments_, math::sqrt(v)) / body_.sqrt_correction2);
  const float divisor = stored(moments_, root + body_.epsilon);
  step.divides_by_zero = divisor == 0.0f;
  step.update = static_cast<double>(body_.step_size) * static_cast<double>(m) / static_cast<double>(divisor);
  return step;
}

std::int64_t FirstAdam::overflows_in(double gradient, std::int64_t steps) const {
  const float g = stored(weights_, rounded(weights_, static_cast<float>(gradient)) * body_.clip);
  float v = 0.0f;
  for (std::int64_t t = 1; t <= std::min(steps, most_updates); ++t) {
    const float exact = stored(moments_, v * body_.beta2) + body_.one_minus_beta2 * g * g, next = rounded(moments_, exact);
    if (std::isfinite(exact) && !std::isfinite(next)) return t;
    if (next == v) return 0;
    v = next;
  }
  return 0;
}

BufferBeyond buffer_overflows_in(const PlanFacts& facts, const Updates& u, double gradient, std::int64_t steps) {
  const auto momentum = static_cast<float>(facts.graph().node(u.nodes.front()).attributes.number("momentum"));
  const auto each = [&](float x) { return u.each_operation ? rounded_to(u.moments, x) : x; };
  const float g = each(static_cast<float>(gradient));
  float buffer = 0.0f;
  for (std::int64_t t = 1; t <= std::min(steps, most_updates); ++t) {
    const float exact = t == 1 ? g : each(momentum * buffer) + g, next = rounded_to(u.moments, exact);
    if (!std::isfinite(next)) return {t, static_cast<double>(exact)};
    if (next == buffer) break;
    buffer = next;
  }
  return {};
}

}  // namespace ulpscope::profiler
