#include "profiler/cli/plan_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/passes/matrix_unit.h"
#include "engine/graph/operator.h"
#include "engine/train/parameter_bytes.h"
#include "profiler/cli/savings_text.h"
#include "profiler/cli/text.h"
#include "profiler/experiment/plan_records.h"
#include "profiler/experiment/savings_record.h"

namespace ulpscope::profiler {
namespace {

using engine::Graph;
using engine::MemoryCategory;
using engine::Node;
using engine::Phase;
using engine::ValueId;
using nlohmann::json;

constexpr std::array phases = {Phase::forward, Phase::backward, Phase::unscale, Phase::update};
constexpr int most_operands_shown = 4;

struct Totals {
  double flops = 0.0;
  double product_flops = 0.0;
  double bytes = 0.0;
  int nodes = 0;
};

Totals totals_of(const Graph& graph, Phase phase) {
  Totals totals;
  for (const Node& node : graph.nodes()) {
    if (node.phase != phase) continue;
    const double flops = engine::node_flops(graph, node);
    totals.flops += flops;
    if (node.op->product) totals.product_flops += flops;
    totals.bytes += engine::node_bytes(graph, node);
    ++totals.nodes;
  }
  return totals;
}

std::string operand(const Graph& graph, ValueId id) {
  const engine::Value& value = graph.value(id);
  std::string shape;
  for (int i = 0; i < value.shape.rank; ++i) shape += fmt::format("{}{}", i == 0 ? "" : ",", value.shape[i]);
  return fmt::format("{} [{}]", name(value.format), shape);
}

/// "fp16 [8,64,128], fp16 [128,384]"; many operands by format: "52 tensors fp32, 804096 elements".
std::string operands(const Graph& graph, const std::vector<ValueId>& values) {
  std::vector<std::string> words;
  if (values.size() <= most_operands_shown) {
    for (const ValueId id : values) words.push_back(operand(graph, id));
    return fmt::format("{}", fmt::join(words, ", "));
  }
  std::map<Format, std::pair<int, std::int64_t>> by_format;
  for (const ValueId id : values) {
    auto& [count, elements] = by_format[graph.value(id).format];
    ++count;
    elements += graph.value(id).shape.elements();
  }
  for (const auto& [format, sums] : by_format) {
    words.push_back(fmt::format("{} tensors {}, {} elements", sums.first, name(format), sums.second));
  }
  return fmt::format("{}", fmt::join(words, "; "));
}

/// "one launch with A, B": the other nodes of its group; empty if it is launched alone.
std::string launch_text(const engine::StepPlan& plan, engine::NodeId id) {
  const engine::FusionGroup* group = plan.memory.fusion.group(id);
  if (group == nullptr) return "";
  std::vector<std::string> others;
  for (const engine::NodeId other : group->nodes)
    if (other != id) others.push_back(reports::printable(plan.graph.node(other).name));
  const bool stored = plan.memory.fusion.stored[static_cast<std::size_t>(plan.graph.node(id).outputs.front().index)];
  return fmt::format("one launch with {}{}", fmt::join(others, ", "), stored ? "" : "; the result is not stored");
}

std::string node_text(const engine::StepPlan& plan, std::int32_t index) {
  const Graph& graph = plan.graph;
  const Node& node = graph.node(engine::NodeId{index});
  const double flops = engine::node_flops(graph, node), bytes = engine::node_bytes(graph, node);
  // The name gives way before the figures do; a name of any length stays readable in the JSON form.
  const int operator_width = std::max(16, columns(node.op->name));
  std::string text = fmt::format("{:>4} {} {} {:>11} {:>9}\n", index, column(reports::printable(node.name), 52 - operator_width),
                                 column(node.op->name, operator_width), flops > 0 ? scaled_words(flops, "FLOP") : "-",
                                 bytes > 0 ? bytes_text(bytes) : "view");
  std::string line = fmt::format("     {} -> {}", operands(graph, node.inputs), operands(graph, node.outputs));
  if (node.op->product && node.multiply != Format::fp32) line += fmt::format(", multiplied in {}", name(node.multiply));
  const std::string attributes = engine::to_string(node.attributes);
  if (!attributes.empty()) line += fmt::format(" ({})", reports::printable(attributes));
  text += wrapped(line, "       ") + "\n";
  if (!node.why.empty()) text += wrapped("     " + reports::printable(node.why), "       ") + "\n";
  const std::string launch = launch_text(plan, engine::NodeId{index});
  if (!launch.empty()) text += wrapped("     " + launch, "       ") + "\n";
  return text;
}

/// How many launches the nodes make, and what fusion keeps out of memory.
struct LaunchTotals {
  int nodes = 0;      ///< with launches: views have none
  int launches = 0;   ///< a group counts once
  int unstored = 0;
  std::int64_t unstored_bytes = 0;
};

LaunchTotals launch_totals(const engine::StepPlan& plan) {
  LaunchTotals totals;
  const engine::FusionPlan& fusion = plan.memory.fusion;
  for (std::int32_t i = 0; i < plan.graph.node_count(); ++i) {
    const engine::NodeId id{i};
    if (!plan.graph.node(id).op->launches) continue;
    ++totals.nodes;
    if (fusion.runs_at(id) == i) ++totals.launches;
  }
  for (std::int32_t i = 0; i < plan.graph.value_count(); ++i) {
    if (fusion.stored[static_cast<std::size_t>(i)]) continue;
    const engine::Value& value = plan.graph.value(ValueId{i});
    ++totals.unstored;
    totals.unstored_bytes += value.shape.elements() * storage_bytes(value.format);
  }
  return totals;
}

std::string launches_text(const engine::StepPlan& plan) {
  const LaunchTotals t = launch_totals(plan);
  if (t.nodes == t.launches) return fmt::format("  {} launches, one for each node: nothing is fused.\n\n", t.launches);
  return wrapped(fmt::format("  Fusion: {} nodes in {} launches; {} results of {} are passed on in the cache, each rounded to its "
                             "format, and not stored.",
                             t.nodes, t.launches, t.unstored, bytes_text(static_cast<double>(t.unstored_bytes))),
                 "  ") +
         "\n\n";
}

json launches_json(const engine::StepPlan& plan) {
  const LaunchTotals t = launch_totals(plan);
  json groups = json::array();
  for (const engine::FusionGroup& group : plan.memory.fusion.groups) {
    json names = json::array();
    for (const engine::NodeId id : group.nodes) names.push_back(plan.graph.node(id).name);
    groups.push_back({{"kind", engine::name(group.kind)}, {"lead", plan.graph.node(group.lead).name}, {"nodes", names}});
  }
  return {{"nodes", t.nodes}, {"launches", t.launches}, {"not_stored", t.unstored}, {"not_stored_bytes", t.unstored_bytes}, {"fused", groups}};
}

/// "16 bytes for each parameter: weights 4, gradients 4, optimizer state 8": means over all parameters.
std::string parameter_bytes_text(const engine::StepPlan& plan) {
  if (plan.parameters == 0) return "";
  const engine::ParameterBytes b = engine::parameter_bytes(plan);
  const auto number = [](double x) { return fmt::format("{}", std::round(x * 100.0) / 100.0); };
  std::string text = fmt::format("  {} bytes for each parameter: weights {}, ", number(b.total()), number(b.weights));
  if (b.weight_copies > 0) text += fmt::format("16-bit copies {}, ", number(b.weight_copies));
  return wrapped(text + fmt::format("gradients {}, optimizer state {}.", number(b.gradients), number(b.optimizer_state)), "  ") + "\n";
}

json parameter_bytes_json(const engine::StepPlan& plan) {
  const engine::ParameterBytes b = engine::parameter_bytes(plan);
  return {{"weights", b.weights},
          {"weight_copies", b.weight_copies},
          {"gradients", b.gradients},
          {"optimizer_state", b.optimizer_state},
          {"total", b.total()}};
}

std::string memory_text(const PlanView& view) {
  const engine::MemoryPlan& memory = view.plan.memory;
  std::string text =
      fmt::format("Memory, computed from the plan\n  {:<18}{:>12}{:>22}\n", "", "at the peak", "kept for backward");
  std::int64_t peak = 0, kept = 0;
  const auto words = [](const std::map<MemoryCategory, std::int64_t>& bytes, MemoryCategory category,
                        std::int64_t& sum) {
    const auto found = bytes.find(category);
    if (found == bytes.end() || found->second == 0) return std::string("-");
    sum += found->second;
    return bytes_text(static_cast<double>(found->second));
  };
  for (int i = 0; i < engine::memory_category_count; ++i) {
    const auto category = static_cast<MemoryCategory>(i);
    const std::string at_peak = words(memory.peak_by_category, category, peak);
    text += fmt::format("  {:<18}{:>12}{:>22}\n", engine::name(category), at_peak,
                        words(memory.kept_for_backward, category, kept));
  }
  text += fmt::format("  {:<18}{:>12}{:>22}\n", "total", bytes_text(static_cast<double>(peak)),
                      bytes_text(static_cast<double>(kept)));
  text += fmt::format("  {} of it stay for the whole run, {} are used anew in every step.\n",
                      bytes_text(static_cast<double>(memory.persistent_bytes)),
                      bytes_text(static_cast<double>(memory.arena_bytes)));
  if (memory.peak_node >= 0) {
    text += wrapped(fmt::format("  The peak is at node {} {}.", memory.peak_node,
                                reports::printable(view.plan.graph.node(engine::NodeId{memory.peak_node}).name)),
                    "  ") +
            "\n";
  }
  text += parameter_bytes_text(view.plan);
  text += savings_text(view.plan);
  const std::int64_t more = view.evaluation.memory.arena_bytes - memory.arena_bytes;
  if (more > 0) text += fmt::format("  Held-out evaluation needs {} more.\n", bytes_text(static_cast<double>(more)));
  return text;
}

json memory_json(const std::map<MemoryCategory, std::int64_t>& bytes) {
  json all = json::object();
  for (const auto& [category, count] : bytes) all[engine::name(category)] = count;
  return all;
}

json value_json(const engine::StepPlan& plan, ValueId id) {
  const engine::Value& value = plan.graph.value(id);
  return {{"name", value.name},
          {"shape", std::vector<std::int64_t>(value.shape.dim.begin(), value.shape.dim.begin() + value.shape.rank)},
          {"format", name(value.format)},
          {"role", engine::name(value.role)},
          {"stored", static_cast<bool>(plan.memory.fusion.stored[static_cast<std::size_t>(id.index)])}};
}

json node_json(const engine::StepPlan& plan, std::int32_t index) {
  const Graph& graph = plan.graph;
  const Node& node = graph.node(engine::NodeId{index});
  const NodeTraffic traffic = node_traffic(graph, node);
  const std::string attributes = attributes_json(node.attributes);
  json inputs = json::array(), outputs = json::array();
  for (const ValueId id : node.inputs) inputs.push_back(value_json(plan, id));
  for (const ValueId id : node.outputs) outputs.push_back(value_json(plan, id));
  return {{"position", index},
          {"name", node.name},
          {"operator", node.op->name},
          {"phase", engine::name(node.phase)},
          {"inputs", inputs},
          {"outputs", outputs},
          {"compute_format", compute_format(graph, node)},
          {"why", node.why},
          {"attributes", attributes.empty() ? json::object() : json::parse(attributes)},
          {"flops", engine::node_flops(graph, node)},
          {"bytes_read", traffic.read},
          {"bytes_written", traffic.written}};
}

}  // namespace

std::string plan_text(const PlanView& view) {
  const Graph& graph = view.plan.graph;
  std::string text =
      wrapped(fmt::format("{}: model {} in mode {} on {}; {} parameters, {} targets a step; loss scaling: {}",
                          reports::printable(view.experiment), view.model, view.mode.name, view.device, view.plan.parameters,
                          view.plan.tokens, view.loss_scaling),
              "  ") +
      "\n";
  for (const std::string& words : engine::words(engine::matrix_unit_use(view.plan.graph, view.sums_as)))
    text += wrapped("sums: " + words, "  ") + "\n";
  for (const std::string& words : view.non_standard) text += wrapped("non-standard: " + reports::printable(words), "  ") + "\n";
  if (view.plan.micro_batches > 1)
    text += wrapped(fmt::format("Forward and backward run {} times in a step, once for each micro-batch; figures below are of one.",
                                view.plan.micro_batches),
                    "  ") +
            "\n";
  text +=
      "Each node: number, name, operator, FLOPs, bytes read and written at least once\n"
      "(computed from shapes); operands and results; why these formats.\n";
  Phase phase = Phase::update;
  for (std::int32_t i = 0; i < graph.node_count(); ++i) {
    const Node& node = graph.node(engine::NodeId{i});
    if (i == 0 || node.phase != phase) text += fmt::format("\n{}\n", engine::name(node.phase));
    phase = node.phase;
    text += node_text(view.plan, i);
  }
  text += fmt::format("\nTotals, computed\n  {:<10}{:>8}{:>14}{:>16}{:>12}\n", "", "nodes", "FLOPs", "in products",
                      "bytes");
  Totals all;
  for (const Phase p : phases) {
    const Totals t = totals_of(graph, p);
    text += fmt::format("  {:<10}{:>8}{:>14}{:>16}{:>12}\n", engine::name(p), t.nodes, scaled_words(t.flops, "FLOP"),
                        scaled_words(t.product_flops, "FLOP"), bytes_text(t.bytes));
    all = {all.flops + t.flops, all.product_flops + t.product_flops, all.bytes + t.bytes, all.nodes + t.nodes};
  }
  text += fmt::format("  {:<10}{:>8}{:>14}{:>16}{:>12}\n", "step", all.nodes, scaled_words(all.flops, "FLOP"),
                      scaled_words(all.product_flops, "FLOP"), bytes_text(all.bytes));
  return text + launches_text(view.plan) + memory_text(view);
}

json plan_json(const PlanView& view) {
  const Graph& graph = view.plan.graph;
  json nodes = json::array(), totals = json::object();
  for (std::int32_t i = 0; i < graph.node_count(); ++i) nodes.push_back(node_json(view.plan, i));
  for (const Phase p : phases) {
    const Totals t = totals_of(graph, p);
    totals[engine::name(p)] = {
        {"nodes", t.nodes}, {"flops", t.flops}, {"product_flops", t.product_flops}, {"bytes", t.bytes}};
  }
  const engine::MemoryPlan& memory = view.plan.memory;
  return {{"experiment", view.experiment},
          {"model", view.model},
          {"mode", view.mode.name},
          {"device", view.device},
          {"loss_scaling", view.loss_scaling},
          {"parameters", view.plan.parameters},
          {"tokens_per_step", view.plan.tokens},
          {"micro_batches", view.plan.micro_batches},
          {"non_standard", view.non_standard},
          {"sums", engine::words(engine::matrix_unit_use(view.plan.graph, view.sums_as))},
          {"bytes_per_parameter", parameter_bytes_json(view.plan)},
          {"nodes", nodes},
          {"totals", totals},
          {"launches", launches_json(view.plan)},
          {"memory",
           {{"peak_by_category", memory_json(memory.peak_by_category)},
            {"kept_for_backward", memory_json(memory.kept_for_backward)},
            {"savings", savings_json(view.plan)},
            {"persistent_bytes", memory.persistent_bytes},
            {"arena_bytes", memory.arena_bytes},
            {"evaluation_arena_bytes", view.evaluation.memory.arena_bytes}}}};
}

}  // namespace ulpscope::profiler
