// The one place where an operator is declared: how it infers, differentiates, counts and launches.
// An operator family is one file in engine/ops; operator.cpp lists the families.
#pragma once

#include <cstddef>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/graph/graph.h"
#include "kernels/tensor.h"

namespace ulpscope::engine {

struct ValueType {
  Shape shape;
  Format format = Format::fp32;
};

/// One operand of a launch: a value seen through a (possibly strided) view.
struct Operand {
  ValueId value;
  Tensor view;                 ///< data is filled in when memory is known
  std::int64_t offset = 0;     ///< elements from the start of the value
};

/// One kernel launch of a node.
struct LaunchPlan {
  std::string kernel;          ///< an operation of kernels/ops/catalogue.h
  std::vector<Operand> in;
  std::vector<Operand> out;
  std::vector<std::byte> params;
  Arithmetic arithmetic;       ///< set by launch_plans

  template <class Params>
  void set_params(const Params& p) {
    params.resize(sizeof(Params));
    std::memcpy(params.data(), &p, sizeof(Params));
  }
};

/// What launches need beyond the graph.
struct LaunchOptions {
  std::uint64_t seed = 0;      ///< of the run: keys dropout
};

/// Given to Operator::gradient: the forward node, the gradients of its outputs, and a way to emit backward nodes.
class GradientContext {
 public:
  GradientContext(Graph& graph, NodeId id, std::vector<ValueId> output_gradients, std::vector<bool> wanted);

  Graph& graph() { return graph_; }
  const Node& node() const { return node_; }
  const Value& input(int i) const { return graph_.value(node_.inputs.at(static_cast<std::size_t>(i))); }
  /// Gradient of output i; invalid if nothing depends on it.
  ValueId output_gradient(int i = 0) const { return output_gradients_.at(static_cast<std::size_t>(i)); }
  /// Whether input i leads to a parameter.
  bool wanted(int i) const { return wanted_.at(static_cast<std::size_t>(i)); }

  /// Appends a backward node "<node>.<suffix>" and returns its first output.
  ValueId emit(std::string_view op, const std::string& suffix, std::vector<ValueId> inputs, Attributes attributes = {});
  NodeId emit_node(std::string_view op, const std::string& suffix, std::vector<ValueId> inputs, Attributes attributes = {});

  /// The gradient of input i. Cast to the input's format and summed over broadcast dimensions where they differ.
  void set(int i, ValueId gradient);
  const std::vector<ValueId>& input_gradients() const { return input_gradients_; }

 private:
  Graph& graph_;
  NodeId id_;
  Node node_;   // a copy: emitting nodes moves the graph's
  std::vector<ValueId> output_gradients_;
  std::vector<bool> wanted_;
  std::vector<ValueId> input_gradients_;
};

/// A number computed from a node's shapes: FLOPs, bytes.
using NodeCount = std::function<double(const Graph&, const Node&)>;
inline constexpr int any_number = std::numeric_limits<int>::max();

struct Operator {
  std::string name;
  std::string autocast;    ///< its PyTorch namesake, looked up in the autocast policy; empty: not listed
  std::function<std::vector<ValueType>(const Graph&, const Node&)> infer;   ///< throws UsageError if inputs do not fit
  std::function<void(GradientContext&)> gradient;                           ///< null: not differentiable
  NodeCount flops;                                                          ///< multiply and add count one each
  NodeCount bytes;                                                          ///< null: whole inputs and outputs
  std::function<std::vector<LaunchPlan>(const Graph&, const Node&, const LaunchOptions&)> launches;   ///< null: a view
  int min_inputs = 1, max_inputs = 1;   ///< max_inputs may be any_number
  unsigned index_inputs = 0;            ///< bit i: input i holds indices (i32); all others hold numbers
  bool any_kind = false;                ///< inputs may hold either
  int differentiable_outputs = 1;       ///< a loss may depend on the first so many outputs (any_number: all); the others are
                                        ///< by-products for the backward pass
  bool internal = false;                ///< added by passes; a model cannot use it
  bool product = false;                 ///< reads its operands through the multiplier: multiply applies
  bool keeps_sum = false;               ///< its kernel honours Arithmetic: accumulate and order
  bool keeps_mean = false;              ///< and scalar
  bool draws_random = false;            ///< bits keyed by the node's name: who copies the node passes the key on (dropout_key.h)
  std::vector<int> in_place;            ///< output i uses the memory of input in_place[i]; −1 or absent: its own
  bool in_place_all = false;            ///< output i uses the memory of input i, for every i
  Role output_role = Role::activation;

  /// Overwrites an input (a view shares memory, but overwrites nothing).
  bool overwrites() const { return launches && (in_place_all || !in_place.empty()); }
};

class OperatorTable {
 public:
  void add(Operator op);
  /// Throws UsageError naming the nearest operator and listing all.
  const Operator& find(std::string_view name) const;
  /// The same among the operators that a model may use.
  const Operator& find_for_model(std::string_view name) const;
  std::vector<std::string> names() const;

 private:
  std::map<std::string, Operator, std::less<>> operators_;
};

const OperatorTable& operators();

/// Types of a node's outputs. Throws UsageError naming the node if its inputs (number, kind, shapes) or attributes do not fit.
std::vector<ValueType> infer_types(const Graph& graph, const Node& node);

/// The launches of a node, with its arithmetic.
std::vector<LaunchPlan> launch_plans(const Graph& graph, const Node& node, const LaunchOptions& options);

/// FLOPs of a node (computed) and bytes its launches read and write at least once (computed; a view moves none).
double node_flops(const Graph& graph, const Node& node);
double node_bytes(const Graph& graph, const Node& node);

/// Whether a sum inside the node is kept in a format narrower than fp32, or rounded to one before a mean is made of it.
bool has_narrow_sum(const Node& node);

/// The kernel's compute format: fp64 if an operand is (gradient checks), else fp32.
Format compute_format(const LaunchPlan& plan);

// ---- helpers for operator families

/// The widest of float formats as PyTorch promotes: fp64 > fp32 > 16 bits; fp16 with bf16 gives fp32.
Format promote(Format a, Format b);
Shape broadcast(const Shape& a, const Shape& b, const Node& node);
/// A whole value, contiguous.
Operand whole(const Graph& graph, ValueId value);
/// A value broadcast to a shape.
Operand broadcast_to(const Graph& graph, ValueId value, const Shape& shape);
/// A contiguous value seen under another shape of as many elements.
Operand reshaped(const Graph& graph, ValueId value, const Shape& shape);
/// The launch of a kernel on whole inputs and outputs.
LaunchPlan simple_launch(std::string_view kernel, const Graph& graph, const Node& node);
const Value& input_of(const Graph& graph, const Node& node, int i);
/// [leading dimensions multiplied, last dimension].
Shape as_rows(const Shape& shape);
/// The attribute "shape". Throws UsageError for more than six dimensions and for a negative one.
Shape shape_attribute(const Node& node);
/// A float format named by an attribute. Throws UsageError naming the node.
Format format_attribute(const Graph& graph, const Node& node, const char* attribute);
std::vector<std::int64_t> as_list(const Shape& shape);
/// `each` times the elements of the first output, of the first input, of all inputs.
NodeCount per_output_element(double each);
NodeCount per_input_element(double each);
NodeCount per_element_of_all_inputs(double each);
/// Throws UsageError naming the node and its inputs.
[[noreturn]] void refuse(const Graph& graph, const Node& node, const std::string& reason);

}  // namespace ulpscope::engine
