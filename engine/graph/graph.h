// The static graph of a training step: values, nodes, shapes. Nodes are kept in execution order; a pass is a function
// graph → graph. A value has one producer (SSA); an operator that works in place produces a new value in the same memory.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/graph/attributes.h"
#include "engine/graph/ids.h"
#include "kernels/arithmetic.h"
#include "kernels/tensor.h"

namespace ulpscope::engine {

struct Operator;

/// What a value is for. Decides where it lives (persistent or in the arena) and its category in the memory ledger.
enum class Role : std::uint8_t {
  activation,          ///< computed in a step
  input,               ///< a batch: tokens, targets, features
  constant,            ///< the same in every step
  parameter,           ///< trained; the fp32 master copy in mixed modes
  weight_copy,         ///< a parameter cast to 16 bits
  cast,                ///< any other format change
  gradient,            ///< of an activation
  parameter_gradient,
  optimizer_state,
  buffer,              ///< kept from step to step, overwritten in the forward pass (running statistics)
  committed_buffer,    ///< a buffer as the last committed step left it: what a step that is not committed goes back to
  accumulator,         ///< sum of a parameter's gradients over the micro-batches of a step
};
const char* name(Role role);

/// Which part of a step a node belongs to. Between unscale (which ends with the finite flag) and update, nothing has been
/// committed: a step can still be skipped, or run again.
enum class Phase : std::uint8_t { forward, backward, unscale, update };
const char* name(Phase phase);

/// How a parameter or constant gets its first values. Drawn in fp32 by the counter-based generator from the seed and the
/// value's name, so that every mode and every device starts alike.
struct Initial {
  enum class Kind : std::uint8_t { zeros, ones, constant, normal, uniform, values };
  Kind kind = Kind::zeros;
  double scale = 0.0;            ///< constant: the value; normal: standard deviation; uniform: bound, in [-scale, scale), or in the [low, high) of the list
  std::vector<float> list;       ///< values
};

struct Value {
  std::string name;              ///< unique in its graph
  Shape shape;
  Format format = Format::fp32;
  Role role = Role::activation;
  NodeId producer;               ///< none for inputs, constants, parameters, optimizer state, buffers
  ValueId same_memory_as;        ///< views and in-place results
  Initial initial;
};

struct Node {
  const Operator* op = nullptr;
  std::string name;              ///< unique, also against values: "block0.attn.qkv"; backward nodes: "block0.attn.qkv.dx"
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  Attributes attributes;
  Phase phase = Phase::forward;
  Format multiply = Format::fp32;   ///< products: what the multiplier sees of fp32 operands (fp32 or tf32)
  std::string why;                  ///< why these formats, in words
  Arithmetic arithmetic;            ///< of its sums, where an experiment asks for something else than the default
  std::optional<Format> store;      ///< its results (those a loss may depend on) are rounded to this format, not to the inferred one
  NodeId of;                        ///< backward and cast nodes: the forward node they belong to
};

class Graph {
 public:
  /// Values without a producer. Names are identity (weights are drawn, stored and found by them): a name that is taken is
  /// refused with a UsageError.
  ValueId add_input(std::string name, const Shape& shape, Format format);
  ValueId add_parameter(std::string name, const Shape& shape, Initial initial, Format format = Format::fp32);
  ValueId add_constant(std::string name, const Shape& shape, Initial initial, Format format = Format::fp32);
  ValueId add_optimizer_state(std::string name, const Shape& shape, Format format = Format::fp32);
  /// Running statistics: nodes of the forward pass read and overwrite them, the evaluation finds them by name.
  ValueId add_buffer(std::string name, const Shape& shape, Initial initial, Format format = Format::fp32);
  /// For passes: `role` is committed_buffer or accumulator; starts from zeros.
  ValueId add_persistent(std::string name, const Shape& shape, Format format, Role role);

  /// Appends a node of a model. Shapes and formats of the outputs come from the operator's inference; throws UsageError
  /// naming the node when number, kind, shape or attributes do not fit, and for operators that only passes use. A name that
  /// is taken is numbered (".2", ".3" …). Output values are named after the node (":1", ":2" … for further outputs).
  NodeId add_node(std::string_view op, std::string name, std::vector<ValueId> inputs, Attributes attributes = {});
  /// For passes: appends a node with a given phase and link, of any operator; otherwise as add_node.
  NodeId add_node(Node prototype);
  /// add_node, and its first output.
  ValueId apply(std::string_view op, std::string name, std::vector<ValueId> inputs, Attributes attributes = {});

  const Value& value(ValueId id) const { return values_.at(static_cast<std::size_t>(id.index)); }
  Value& value(ValueId id) { return values_.at(static_cast<std::size_t>(id.index)); }
  const Node& node(NodeId id) const { return nodes_.at(static_cast<std::size_t>(id.index)); }
  Node& node(NodeId id) { return nodes_.at(static_cast<std::size_t>(id.index)); }
  std::int32_t value_count() const { return static_cast<std::int32_t>(values_.size()); }
  std::int32_t node_count() const { return static_cast<std::int32_t>(nodes_.size()); }
  std::span<const Node> nodes() const { return nodes_; }
  std::span<const Value> values() const { return values_; }

  /// Finds a value by name; throws Error with the nearest name.
  ValueId find(std::string_view name) const;
  /// Whether a value has this name.
  bool contains(std::string_view name) const { return by_name_.contains(std::string(name)); }
  /// `name` if no value has it, else with the first number that makes it free: for what passes add.
  std::string free_name(const std::string& name, std::size_t outputs = 1) const;
  std::vector<ValueId> with_role(Role role) const;
  /// The value that owns the memory of this one.
  ValueId memory_owner(ValueId id) const;
  /// Appends a value without a producer as it is in another graph: for passes that make a new graph.
  ValueId add_source(const Value& value);

 private:
  ValueId add_value(Value value);
  std::vector<Value> values_;
  std::vector<Node> nodes_;
  std::unordered_map<std::string, ValueId> by_name_;   // a node has the name of its first output
};

/// One line per node: for tests and for reading what a pass did.
std::string to_string(const Graph& graph);

}  // namespace ulpscope::engine
