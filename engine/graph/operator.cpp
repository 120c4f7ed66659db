#include "engine/graph/operator.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/ops/families.h"
#include "kernels/error.h"
#include "kernels/nearest.h"

namespace ulpscope::engine {
namespace {

/// A UsageError that already names the node.
class NodeError : public UsageError {
 public:
  using UsageError::UsageError;
};

std::string count_in_words(const Operator& op) {
  if (op.max_inputs == any_number) return fmt::format("at least {} input{}", op.min_inputs, op.min_inputs == 1 ? "" : "s");
  if (op.min_inputs != op.max_inputs) return fmt::format("{} to {} inputs", op.min_inputs, op.max_inputs);
  return fmt::format("{} input{}", op.min_inputs, op.min_inputs == 1 ? "" : "s");
}

void check_inputs(const Graph& graph, const Node& node) {
  const Operator& op = *node.op;
  const int given = static_cast<int>(node.inputs.size());
  for (int i = 0; i < given; ++i) {
    const ValueId v = node.inputs[static_cast<std::size_t>(i)];
    if (!v || v.index >= graph.value_count())
      throw NodeError(fmt::format("node '{}' ({}): input {} is no value of this graph", node.name, op.name, i));
  }
  if (given < op.min_inputs || given > op.max_inputs)
    refuse(graph, node, fmt::format("takes {}, not {}", count_in_words(op), given));
  for (int i = 0; i < given && !op.any_kind; ++i) {
    const bool index = i < 32 && (op.index_inputs >> i & 1u) != 0;
    if (is_float(graph.value(node.inputs[static_cast<std::size_t>(i)]).format) == index)
      refuse(graph, node, fmt::format("input {} must hold {}", i, index ? "i32 indices" : "numbers, not indices"));
  }
}

}  // namespace

std::vector<ValueType> infer_types(const Graph& graph, const Node& node) {
  check_inputs(graph, node);
  try {
    return node.op->infer(graph, node);
  } catch (const NodeError&) {
    throw;
  } catch (const Error& e) {   // attributes and shapes do not know whose they are
    refuse(graph, node, e.what());
  }
}

GradientContext::GradientContext(Graph& graph, NodeId id, std::vector<ValueId> output_gradients, std::vector<bool> wanted)
    : graph_(graph),
      id_(id),
      node_(graph.node(id)),
      output_gradients_(std::move(output_gradients)),
      wanted_(std::move(wanted)),
      input_gradients_(node_.inputs.size()) {}

NodeId GradientContext::emit_node(std::string_view op, const std::string& suffix, std::vector<ValueId> inputs,
                                  Attributes attributes) {
  Node node;
  node.op = &operators().find(op);
  node.name = node_.name + "." + suffix;
  node.inputs = std::move(inputs);
  node.attributes = std::move(attributes);
  node.phase = Phase::backward;
  node.multiply = node_.multiply;
  node.of = id_;
  node.why = "backward of " + node_.name;
  return graph_.add_node(std::move(node));
}

ValueId GradientContext::emit(std::string_view op, const std::string& suffix, std::vector<ValueId> inputs,
                              Attributes attributes) {
  return graph_.node(emit_node(op, suffix, std::move(inputs), std::move(attributes))).outputs.front();
}

void GradientContext::set(int i, ValueId gradient) {
  const Value target = input(i);
  if (!(graph_.value(gradient).shape == target.shape)) {
    gradient = emit("sum_to", fmt::format("d{}.sum", i), {gradient}, {{"shape", as_list(target.shape)}});
  }
  if (graph_.value(gradient).format != target.format) {
    gradient = emit("cast", fmt::format("d{}.cast", i), {gradient}, {{"to", std::string(name(target.format))}});
  }
  input_gradients_.at(static_cast<std::size_t>(i)) = gradient;
}

void OperatorTable::add(Operator op) {
  const std::string key = op.name;
  if (!operators_.emplace(key, std::move(op)).second) throw Error(fmt::format("operator '{}' is declared twice", key));
}

const Operator& OperatorTable::find(std::string_view name) const {
  const auto it = operators_.find(name);
  if (it != operators_.end()) return it->second;
  const std::vector<std::string> all = names();
  throw UsageError(fmt::format("unknown operator '{}', did you mean '{}'? Operators: {}", name, nearest(name, all),
                               fmt::join(all, ", ")));
}

const Operator& OperatorTable::find_for_model(std::string_view name) const {
  const auto it = operators_.find(name);
  if (it != operators_.end() && !it->second.internal) return it->second;
  std::vector<std::string> choices;
  for (const auto& [key, op] : operators_)
    if (!op.internal && key.find("_backward") == std::string::npos) choices.push_back(key);   // what a gradient is made of is not offered
  if (it != operators_.end())
    throw UsageError(fmt::format("operator '{}' belongs to the update of a step, a model cannot use it. Operators: {}", name,
                                 fmt::join(choices, ", ")));
  throw UsageError(fmt::format("unknown operator '{}', did you mean '{}'? Operators: {}", name, nearest(name, choices),
                               fmt::join(choices, ", ")));
}

std::vector<std::string> OperatorTable::names() const {
  std::vector<std::string> all;
  for (const auto& [name, op] : operators_) all.push_back(name);
  return all;
}

const OperatorTable& operators() {
  static const OperatorTable table = [] {
    OperatorTable t;
    add_activations(t);
    add_attention(t);
    add_batch_norm(t);
    add_cast(t);
    add_convolutions(t);
    add_dropout(t);
    add_elementwise(t);
    add_embedding(t);
    add_layer_norm(t);
    add_layout(t);
    add_losses(t);
    add_masks(t);
    add_persistent(t);
    add_pooling(t);
    add_products(t);
    add_reductions(t);
    add_rms_norm(t);
    add_rotary(t);
    add_slices(t);
    add_softmax(t);
    add_update(t);
    return t;
  }();
  return table;
}

std::vector<LaunchPlan> launch_plans(const Graph& graph, const Node& node, const LaunchOptions& options) {
  std::vector<LaunchPlan> plans = node.op->launches(graph, node, options);
  for (LaunchPlan& plan : plans) plan.arithmetic = node.arithmetic;
  return plans;
}

double node_flops(const Graph& graph, const Node& node) { return node.op->flops ? node.op->flops(graph, node) : 0.0; }

double node_bytes(const Graph& graph, const Node& node) {
  if (!node.op->launches) return 0.0;
  if (node.op->bytes) return node.op->bytes(graph, node);
  double bytes = 0.0;
  for (const ValueId v : node.inputs)
    bytes += static_cast<double>(graph.value(v).shape.elements() * storage_bytes(graph.value(v).format));
  for (const ValueId v : node.outputs)
    bytes += static_cast<double>(graph.value(v).shape.elements() * storage_bytes(graph.value(v).format));
  return bytes;
}

bool has_narrow_sum(const Node& node) {
  return (node.op->keeps_sum && is_16bit(node.arithmetic.accumulate)) || (node.op->keeps_mean && is_16bit(node.arithmetic.scalar));
}

Format compute_format(const LaunchPlan& plan) {
  for (const Operand& operand : plan.in)
    if (operand.view.format == Format::fp64) return Format::fp64;
  for (const Operand& operand : plan.out)
    if (operand.view.format == Format::fp64) return Format::fp64;
  return Format::fp32;
}

Format promote(Format a, Format b) {
  if (a == b) return a;
  if (a == Format::i32) return b;
  if (b == Format::i32) return a;
  if (a == Format::fp64 || b == Format::fp64) return Format::fp64;
  return Format::fp32;
}

Shape broadcast(const Shape& a, const Shape& b, const Node& node) {
  Shape result;
  result.rank = std::max(a.rank, b.rank);
  for (int i = 1; i <= result.rank; ++i) {
    const std::int64_t da = i <= a.rank ? a[-i] : 1, db = i <= b.rank ? b[-i] : 1;
    if (da != db && da != 1 && db != 1)
      throw NodeError(fmt::format("node '{}' ({}): shapes {} and {} do not broadcast", node.name, node.op->name,
                                  to_string(a), to_string(b)));
    result[-i] = da == 1 ? db : da;
  }
  return result;
}

Operand whole(const Graph& graph, ValueId value) {
  const Value& v = graph.value(value);
  return {value, Tensor(nullptr, v.format, v.shape), 0};
}

Operand broadcast_to(const Graph& graph, ValueId value, const Shape& shape) {
  const Value& v = graph.value(value);
  const Tensor own(nullptr, v.format, v.shape);
  Operand operand{value, Tensor(nullptr, v.format, shape), 0};
  for (int i = 1; i <= shape.rank; ++i) {
    const auto axis = static_cast<std::size_t>(shape.rank - i);
    operand.view.stride[axis] =
        i <= v.shape.rank && v.shape[-i] != 1 ? own.stride[static_cast<std::size_t>(v.shape.rank - i)] : 0;
  }
  return operand;
}

Operand reshaped(const Graph& graph, ValueId value, const Shape& shape) {
  return {value, Tensor(nullptr, graph.value(value).format, shape), 0};
}

LaunchPlan simple_launch(std::string_view kernel, const Graph& graph, const Node& node) {
  LaunchPlan plan;
  plan.kernel = kernel;
  for (const ValueId v : node.inputs) plan.in.push_back(whole(graph, v));
  for (const ValueId v : node.outputs) plan.out.push_back(whole(graph, v));
  return plan;
}

const Value& input_of(const Graph& graph, const Node& node, int i) {
  if (static_cast<std::size_t>(i) >= node.inputs.size())
    throw NodeError(fmt::format("node '{}' ({}): input {} is missing, {} given", node.name, node.op->name, i, node.inputs.size()));
  return graph.value(node.inputs[static_cast<std::size_t>(i)]);
}

Shape as_rows(const Shape& shape) {
  if (shape.rank == 0) return Shape{1, 1};
  const std::int64_t columns = shape[-1];
  return Shape{columns == 0 ? 0 : shape.elements() / columns, columns};
}

Shape shape_attribute(const Node& node) { return Shape(node.attributes.integers("shape")); }

Format format_attribute(const Graph& graph, const Node& node, const char* attribute) {
  const std::string& text = node.attributes.text(attribute);
  const std::optional<Format> format = parse_format(text);
  if (!format || !is_float(*format)) refuse(graph, node, fmt::format("{} must be a float format, not '{}'", attribute, text));
  return *format;
}

std::vector<std::int64_t> as_list(const Shape& shape) { return {shape.dim.begin(), shape.dim.begin() + shape.rank}; }

NodeCount per_output_element(double each) {
  return [each](const Graph& graph, const Node& node) {
    return each * static_cast<double>(graph.value(node.outputs[0]).shape.elements());
  };
}

NodeCount per_input_element(double each) {
  return [each](const Graph& graph, const Node& node) {
    return each * static_cast<double>(input_of(graph, node, 0).shape.elements());
  };
}

NodeCount per_element_of_all_inputs(double each) {
  return [each](const Graph& graph, const Node& node) {
    double elements = 0.0;
    for (const ValueId v : node.inputs) elements += static_cast<double>(graph.value(v).shape.elements());
    return each * elements;
  };
}

void refuse(const Graph& graph, const Node& node, const std::string& reason) {
  std::vector<std::string> in;
  for (const ValueId v : node.inputs)
    in.push_back(fmt::format("{} {} {}", graph.value(v).name, name(graph.value(v).format), to_string(graph.value(v).shape)));
  throw NodeError(fmt::format("node '{}' ({}): {}; inputs: {}", node.name, node.op->name, reason, fmt::join(in, "; ")));
}

}  // namespace ulpscope::engine
