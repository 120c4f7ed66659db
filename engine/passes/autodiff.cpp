#include "engine/passes/autodiff.h"

#include <fmt/format.h>

#include "engine/graph/operator.h"
#include "kernels/error.h"

namespace ulpscope::engine {
namespace {

class Backward {
 public:
  Backward(Graph& graph, ValueId loss) : graph_(graph), forward_nodes_(graph.node_count()) {
    if (graph_.value(loss).shape.elements() != 1)
      throw Error(fmt::format("cannot differentiate '{}': a loss is a scalar, not {}", graph_.value(loss).name,
                              to_string(graph_.value(loss).shape)));
    find_wanted();
    gradients_.resize(static_cast<std::size_t>(graph_.value_count()));
    const Format format = graph_.value(loss).format;
    const ValueId one = graph_.add_constant(graph_.free_name("one"), graph_.value(loss).shape, {Initial::Kind::ones, 0.0, {}}, format);
    gradients_[index(loss)].push_back(one);
  }

  std::vector<ParameterGradient> run() {
    for (std::int32_t i = forward_nodes_ - 1; i >= 0; --i) differentiate(NodeId{i});
    std::vector<ParameterGradient> result;
    for (const ValueId p : graph_.with_role(Role::parameter)) {
      ValueId gradient = total(p);
      if (!gradient) continue;
      gradient = own(p, gradient);
      graph_.value(gradient).role = Role::parameter_gradient;
      result.push_back({p, gradient});
    }
    return result;
  }

 private:
  static std::size_t index(ValueId v) { return static_cast<std::size_t>(v.index); }

  /// A value is wanted if it depends on a parameter.
  void find_wanted() {
    wanted_.assign(static_cast<std::size_t>(graph_.value_count()), false);
    for (std::size_t i = 0; i < wanted_.size(); ++i)
      wanted_[i] = graph_.values()[i].role == Role::parameter && !graph_.values()[i].producer;
    for (const Node& node : graph_.nodes()) {
      bool any = false;
      for (const ValueId v : node.inputs) any |= wanted_[index(v)];
      for (const ValueId v : node.outputs) wanted_[index(v)] = any;
    }
  }

  /// The sum of all gradients of a value, in the order in which they arrived.
  ValueId total(ValueId value) {
    std::vector<ValueId>& parts = gradients_[index(value)];
    while (parts.size() > 1) {
      Node add;
      add.op = &operators().find("add");
      add.name = graph_.value(value).name + ".grad.sum";
      add.inputs = {parts[0], parts[1]};
      add.phase = Phase::backward;
      add.of = graph_.value(value).producer;
      add.why = "gradients of several uses meet";
      const ValueId sum = graph_.node(graph_.add_node(std::move(add))).outputs.front();
      parts.erase(parts.begin());
      parts.front() = sum;
    }
    return parts.empty() ? ValueId{} : parts.front();
  }

  void differentiate(NodeId id) {
    std::vector<ValueId> output_gradients;
    bool any = false;
    const std::vector<ValueId> outputs = graph_.node(id).outputs, inputs = graph_.node(id).inputs;
    for (const ValueId v : outputs) {
      output_gradients.push_back(total(v));
      any |= static_cast<bool>(output_gradients.back());
    }
    std::vector<bool> wanted;
    bool any_wanted = false;
    for (const ValueId v : inputs) {
      wanted.push_back(wanted_[index(v)]);
      any_wanted |= wanted.back();
    }
    if (!any || !any_wanted) return;
    const Operator& op = *graph_.node(id).op;
    if (!op.gradient)
      throw UsageError(fmt::format("node '{}': operator '{}' has no gradient", graph_.node(id).name, op.name));
    for (std::size_t i = 0; i < outputs.size(); ++i)
      if (output_gradients[i] && static_cast<int>(i) >= op.differentiable_outputs)
        throw UsageError(fmt::format("node '{}' ({}): the loss depends on its output {} ('{}'), which has no gradient",
                                     graph_.node(id).name, op.name, i, graph_.value(outputs[i]).name));
    GradientContext context(graph_, id, std::move(output_gradients), wanted);
    op.gradient(context);
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (wanted[i] && context.input_gradients()[i]) gradients_[index(inputs[i])].push_back(context.input_gradients()[i]);
  }

  /// Gradients are unscaled in place: one that is shared (an addition hands the same one to both operands), or that is
  /// not computed at all, is copied.
  ValueId own(ValueId parameter, ValueId gradient) {
    const Value& g = graph_.value(gradient);
    const bool shared = g.role == Role::parameter_gradient || !g.producer || g.same_memory_as;
    if (!shared) return gradient;
    Node copy;
    copy.op = &operators().find("cast");
    copy.name = graph_.value(parameter).name + ".grad.copy";
    copy.inputs = {gradient};
    copy.attributes.set("to", std::string(name(graph_.value(parameter).format)));
    copy.phase = Phase::backward;
    copy.why = "a parameter's gradient has memory of its own";
    return graph_.node(graph_.add_node(std::move(copy))).outputs.front();
  }

  Graph& graph_;
  std::int32_t forward_nodes_;
  std::vector<bool> wanted_;
  std::vector<std::vector<ValueId>> gradients_;   // by value id, forward values only
};

}  // namespace

std::vector<ParameterGradient> differentiate(Graph& graph, ValueId loss) { return Backward(graph, loss).run(); }

}  // namespace ulpscope::engine
