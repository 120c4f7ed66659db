#include "profiler/probes/sums_probe.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "engine/graph/operator.h"
#include "kernels/formats/convert.h"
#include "kernels/matmul_plan.h"
#include "kernels/tensor_core/reference.h"
#include "kernels/tensor_core/units.h"

namespace ulpscope::profiler {
namespace {

using nlohmann::json;
using tensor_core::SumDifference;

/// A product with its operands as the multiplier sees them, on the host.
struct HostProduct {
  std::vector<float> a, b;
  engine::LaunchPlan launch;
  MatmulParams params;
  MatmulPlan plan;
};

/// The numbers of an operand from its first one on, rounded to what is multiplied.
std::vector<float> numbers(const engine::Trainer& run, const engine::Operand& operand, Format multiply) {
  const engine::Value& value = run.plan().graph.value(operand.value);
  std::vector<float> all = run.read(value.name);
  all.erase(all.begin(), all.begin() + std::min<std::ptrdiff_t>(operand.offset, std::ssize(all)));
  const Format seen = tensor_core::seen_as(value.format, multiply);
  if (seen == value.format) return all;
  std::vector<unsigned char> bytes(all.size() * static_cast<std::size_t>(storage_bytes(seen)));
  narrow(seen, all.data(), bytes.data(), all.size());
  widen(seen, bytes.data(), all.data(), all.size());
  return all;
}

json difference_json(const SumDifference& d) {
  const auto known = [](const std::optional<double>& x) { return x ? json(*x) : json(nullptr); };
  return {{"elements", d.elements},
          {"not_finite", d.not_finite},
          {"greatest", known(d.relative_greatest())},
          {"rms", known(d.relative_rms())},
          {"bias", known(d.relative_bias())}};
}

}  // namespace

SumsProbe::SumsProbe(engine::Topics& topics, const engine::Trainer& run, std::vector<MatrixUnit> units, double share, Faults& faults)
    : run_(run), units_(std::move(units)), share_(share), faults_(faults) {
  if (units_.empty()) return;
  begin_ = topics.step_begin.subscribe([this](const engine::StepBegin& event) {
    observed_ = event.observed;
    steps_ += event.observed ? 1 : 0;
  });
  // Before the node: its operands are there.
  node_ = topics.node_begin.subscribe([this](const engine::NodeEvent& event) {
    if (!observed_ || event.attempt != 0) return;
    const engine::FusionGroup* group = run_.plan().memory.fusion.group(event.node);
    const std::vector<engine::NodeId> alone{event.node};
    for (const engine::NodeId node : group != nullptr ? group->nodes : alone)
      faults_.guard("sums probe", [&] { sample(node, event); });
  });
}

void SumsProbe::sample(engine::NodeId id, const engine::NodeEvent& event) {
  const engine::Graph& graph = run_.plan().graph;
  const engine::Node& node = graph.node(id);
  if (!node.op->product || !node.op->launches) return;
  HostProduct p;
  p.launch = engine::launch_plans(graph, node, {}).front();
  if (p.launch.kernel != "matmul") return;
  std::memcpy(&p.params, p.launch.params.data(), std::min(sizeof p.params, p.launch.params.size()));
  const Format format_a = graph.value(p.launch.in[0].value).format, format_b = graph.value(p.launch.in[1].value).format;
  const bool any = std::any_of(units_.begin(), units_.end(), [&](MatrixUnit unit) {
    return tensor_core::rule_of(unit, p.params.multiply, {format_a, format_b}) != nullptr;
  });
  if (!any) return;
  p.a = numbers(run_, p.launch.in[0], p.params.multiply);
  p.b = numbers(run_, p.launch.in[1], p.params.multiply);
  Tensor in[] = {p.launch.in[0].view, p.launch.in[1].view}, out[] = {p.launch.out[0].view};
  in[0].data = p.a.data();
  in[1].data = p.b.data();
  in[0].format = in[1].format = Format::fp32;
  Launch launch;
  launch.in = in;
  launch.in_count = 2;
  launch.out = out;
  launch.out_count = 1;
  launch.params = &p.params;
  p.plan = plan_matmul(launch);
  const std::int64_t elements = p.plan.result_elements();
  if (elements == 0) return;
  const auto key = static_cast<std::uint64_t>(id.index) << 40 ^ static_cast<std::uint64_t>(event.iteration) << 16 ^
                   static_cast<std::uint64_t>(event.micro_batch);
  for (std::int64_t i = 0; i < tensor_core::sample_size(share_, elements); ++i) {
    const std::int64_t element = tensor_core::sampled_element(key, i, elements);
    const std::int64_t column = element % p.plan.n, row = element / p.plan.n % p.plan.m, product = element / p.plan.n / p.plan.m;
    const std::int64_t outer = product / p.plan.batch[1], inner = product % p.plan.batch[1];
    const float* a = p.a.data() + p.plan.a.offset(outer, inner) + row * p.plan.a.row_stride;
    const float* b = p.b.data() + p.plan.b.offset(outer, inner) + column * p.plan.b.column_stride;
    const double plain = static_cast<double>(tensor_core::plain_sum(a, p.plan.a.column_stride, b, p.plan.b.row_stride, p.plan.k));
    for (const MatrixUnit unit : units_) {
      const tensor_core::SumRule* rule = tensor_core::rule_of(unit, p.params.multiply, {format_a, format_b});
      if (rule == nullptr) continue;
      const float sum = tensor_core::reference_sum(*rule, a, p.plan.a.column_stride, b, p.plan.b.row_stride, p.plan.k, 0.0f);
      differences_[unit][node.name].add(static_cast<double>(sum), plain);
    }
  }
}

std::string SumsProbe::json() const {
  if (differences_.empty()) return "";
  nlohmann::json units = nlohmann::json::object();
  for (const auto& [unit, products] : differences_) {
    SumDifference all;
    nlohmann::json by_node = nlohmann::json::object();
    for (const auto& [node, difference] : products) {
      all.merge(difference);
      by_node[node] = difference_json(difference);
    }
    nlohmann::json& entry = units[name(unit)] = difference_json(all);
    entry["products"] = std::move(by_node);
  }
  return nlohmann::json({{"steps", steps_}, {"share", share_}, {"provenance", "computed"}, {"units", units}})
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace ulpscope::profiler
