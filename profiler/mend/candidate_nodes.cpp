// Changes to single nodes: overrides left out, epsilons raised.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/graph/operator.h"
#include "engine/passes/pattern.h"
#include "engine/passes/rewrite_copy.h"
#include "kernels/formats/format.h"
#include "profiler/mend/candidate.h"

namespace ulpscope::profiler {
namespace {

using engine::Override;
using reports::Cause;
using reports::Kind;

/// What a divisor of 16 bits holds and hardly anything notices.
constexpr double raised_epsilon = 1e-5;
constexpr int way_to_epsilon = 6;

bool narrow_sums(const Override& o) { return o.accumulate || o.order || o.scalar; }
bool narrow_formats(const Override& o) { return o.output || o.compute; }

/// Leaves the part of the overrides out that `which` asks about, where they mean one of the names.
Candidate leave_out(const Ground& ground, const Fault& fault, const std::vector<std::string>& names, bool (*which)(const Override&), const char* kind) {
  const auto meant = [names, which](const Override& o) {
    return which(o) && std::any_of(names.begin(), names.end(), [&](const std::string& n) { return engine::matches(o.nodes, n); });
  };
  Candidate c{.kind = kind, .targets = {fault}};
  std::vector<std::string> patterns;
  for (const Override& o : ground.experiment().train.overrides)
    if (meant(o) && std::find(patterns.begin(), patterns.end(), o.nodes) == patterns.end()) patterns.push_back(o.nodes);
  if (patterns.empty()) return c;
  for (const std::string& pattern : patterns) c.ulpscope += fmt::format("{}without [[override]] nodes = \"{}\"", c.ulpscope.empty() ? "" : "; ", pattern);
  c.change = which == narrow_sums ? fmt::format("sums of '{}' in fp32: leave the override out", patterns.front())
                                  : fmt::format("'{}' in the formats of the mode: leave the override out", patterns.front());
  c.settings = which == narrow_sums ? "the default; PyTorch: x.float() before the reduction, or sum(dtype=torch.float32)" : "the default of autocast";
  c.apply = [meant, which](Experiment& e) {
    for (Override& o : e.train.overrides) {
      if (!meant(o)) continue;
      if (which == narrow_sums) {
        o.accumulate.reset();
        o.order.reset();
        o.scalar.reset();
      } else {
        o.output.reset();
        o.compute.reset();
      }
    }
    std::erase_if(e.train.overrides, [](const Override& o) { return !narrow_sums(o) && !narrow_formats(o); });
  };
  return c;
}

bool about_formats(Kind kind) {
  switch (kind) {
    case Kind::activation_too_large:
    case Kind::activation_below_range:
    case Kind::weight_too_large:
    case Kind::gradient_too_large_for_scale:
    case Kind::gradient_below_range:
    case Kind::mask_constant_out_of_range:
    case Kind::mask_sum:
    case Kind::reduction_too_long:
    case Kind::outside_domain:
    case Kind::variance_lost:
    case Kind::epsilon_vanished: return true;
    default: return false;
  }
}

/// Constants above the node, a few operations away, that a 16-bit format rounds to zero.
void vanishing_constants(const engine::Graph& model, engine::ValueId value, int depth, std::vector<std::string>& names) {
  const auto number = engine::single_constant(model, value);
  if (number && *number != 0.0 && std::fabs(*number) <= info(Format::fp16).flush_threshold) names.push_back(model.value(value).name);
  const engine::Value& v = model.value(value);
  if (!v.producer || depth == 0) return;
  for (const engine::ValueId input : model.node(v.producer).inputs) vanishing_constants(model, input, depth - 1, names);
}

/// Which input of the node must not be 0; none: another operation.
std::optional<std::size_t> divisor(const engine::Node& node) {
  if (node.op->name == "log" || node.op->name == "sqrt") return 0;
  if (node.op->name == "div") return 1;
  return std::nullopt;
}

/// A constant that is added to what an operation of the model must not find to be 0.
void add_constant(Experiment& e, const std::string& name, std::size_t input) {
  std::vector<engine::GraphNode>& nodes = std::get<engine::GraphConfig>(e.model).nodes;
  const auto node = std::find_if(nodes.begin(), nodes.end(), [&](const engine::GraphNode& n) { return n.name == name; });
  if (node == nodes.end() || input >= node->inputs.size()) return;
  engine::GraphNode constant, sum;
  constant.name = name + ".epsilon";
  constant.op = "constant";
  constant.shape = {1};
  constant.init = {.kind = engine::Numbers::Kind::constant, .low = raised_epsilon, .list = {}, .path = {}};
  sum.name = name + ".above_zero";
  sum.op = "add";
  sum.inputs = {node->inputs[input], constant.name};
  node->inputs[input] = sum.name;
  nodes.insert(node, {std::move(constant), std::move(sum)});
}

/// In a model given node by node; others have their epsilons built in.
void raise_epsilon(const Ground& ground, const Cause& cause, std::vector<Candidate>& list) {
  if (!std::holds_alternative<engine::GraphConfig>(ground.experiment().model)) return;
  std::vector<std::string> names = ground.model_nodes(cause.node);
  const reports::Fact* const met = find_fact(cause, "met_by");   // what divides by the zero, which another may have made
  const std::vector<std::string> meet = met != nullptr ? ground.model_nodes(met->text) : cause.kind == Kind::outside_domain ? names : std::vector<std::string>{};
  const auto meets = [&](const std::string& name) { return std::find(meet.begin(), meet.end(), name) != meet.end(); };
  for (const std::string& name : meet)
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  for (const std::string& name : names) {
    const engine::Node& node = *ground.model_node(name);
    Candidate c{.kind = "epsilon", .settings = "PyTorch: eps of the norm, or the constant in the code", .targets = {fault_of(cause)}};
    if (node.attributes.contains("epsilon") && node.attributes.number("epsilon") < raised_epsilon) {
      c.change = fmt::format("raise the epsilon of {} to {:g}", name, raised_epsilon);
      c.ulpscope = fmt::format("epsilon = {:g} in node '{}'", raised_epsilon, name);
      c.apply = [name](Experiment& e) {
        for (engine::GraphNode& n : std::get<engine::GraphConfig>(e.model).nodes)
          if (n.name == name) n.attributes.set("epsilon", raised_epsilon);
      };
      add_candidate(list, std::move(c));
      continue;
    }
    std::vector<std::string> constants;
    for (const engine::ValueId input : node.inputs) vanishing_constants(ground.model(), input, way_to_epsilon, constants);
    if (const auto input = divisor(node); constants.empty() && input && meets(name) && cause.kind != Kind::epsilon_vanished) {
      c.change = fmt::format("add {:g} to what {} takes: changes the result", raised_epsilon, name);
      c.cost = 1;
      c.ulpscope = fmt::format("[[node]] '{0}.epsilon' (constant, init = {1:g}), added to input {2} of '{0}'", name, raised_epsilon, *input + 1);
      c.settings = "PyTorch: x / (y + eps), torch.log(x + eps), torch.sqrt(x + eps)";
      c.apply = [name, at = *input](Experiment& e) { add_constant(e, name, at); };
      add_candidate(list, std::move(c));
    }
    if (constants.empty()) continue;
    c.change = fmt::format("raise the constant '{}' to {:g}", constants.front(), raised_epsilon);
    c.ulpscope = fmt::format("init = {:g} in node '{}'", raised_epsilon, constants.front());
    c.apply = [constant = constants.front()](Experiment& e) {
      for (engine::GraphNode& n : std::get<engine::GraphConfig>(e.model).nodes)
        if (n.name == constant) n.init = {.kind = engine::Numbers::Kind::constant, .low = raised_epsilon, .list = {}, .path = {}};
    };
    add_candidate(list, std::move(c));
  }
}

}  // namespace

void add_node_changes(const Ground& ground, std::vector<Candidate>& list) {
  for (const Cause* cause : ground.causes()) {
    const Fault fault = fault_of(*cause);
    std::vector<std::string> names = ground.model_nodes(cause->node);
    names.push_back(cause->node);
    if (const reports::Fact* const in = find_fact(*cause, "vanished_in"); in != nullptr) names.push_back(in->text);
    if (Candidate c = leave_out(ground, fault, names, narrow_sums, "sum_fp32"); c.apply) add_candidate(list, std::move(c));
    if (about_formats(cause->kind))
      if (Candidate c = leave_out(ground, fault, names, narrow_formats, "override"); c.apply) add_candidate(list, std::move(c));
    const bool divides = cause->kind == Kind::epsilon_vanished || cause->kind == Kind::zero_divisor || cause->kind == Kind::activation_below_range ||
                         cause->kind == Kind::outside_domain;
    if (divides && cause->phase != "update") raise_epsilon(ground, *cause, list);
  }
}

}  // namespace ulpscope::profiler
