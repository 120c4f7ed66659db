#include "engine/passes/autodiff.h"

#include <fmt/format.h>

#include "engine/graph/operator.h"
#include "kernels/error.h"

namespace ulpscope::engine {
namespace {

class Backward {
 public:
  Backward(Graph& graph, ValueId loss, const GradientOptions& options)
      : graph_(graph), options_(options), forward_nodes_(graph.node_count()) {
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
    const std::vector<ValueId> parameters = graph_.with_role(Role::parameter);
    std::vector<ValueId> finished(parameters.size());
    // A gradient that is put elsewhere lives no longer than that takes: as soon as it is complete.
    const bool at_once = options_.format || options_.accumulator;
    const std::vector<std::int32_t> first_use = at_once ? first_uses(parameters) : std::vector<std::int32_t>{};
    for (std::int32_t i = forward_nodes_ - 1; i >= 0; --i) {
      differentiate(NodeId{i});
      for (std::size_t k = 0; k < first_use.size(); ++k)
        if (first_use[k] == i) finished[k] = finish(parameters[k]);
    }
    std::vector<ParameterGradient> result;
    for (std::size_t k = 0; k < parameters.size(); ++k) {
      const ValueId gradient = at_once ? finished[k] : finish(parameters[k]);
      if (gradient) result.push_back({parameters[k], gradient});
    }
    return result;
  }

 private:
  static std::size_t index(ValueId v) { return static_cast<std::size_t>(v.index); }

  /// By parameter: the first node that reads it, −1 if none does.
  std::vector<std::int32_t> first_uses(const std::vector<ValueId>& parameters) const {
    std::vector<std::int32_t> first(static_cast<std::size_t>(graph_.value_count()), -1), list;
    for (std::int32_t n = forward_nodes_ - 1; n >= 0; --n)
      for (const ValueId v : graph_.node(NodeId{n}).inputs) first[index(v)] = n;
    for (const ValueId p : parameters) list.push_back(first[index(p)]);
    return list;
  }

  /// The gradient as the update reads it; none if the loss does not depend on the parameter.
  ValueId finish(ValueId parameter) {
    ValueId gradient = total(parameter);
    if (!gradient) return {};
    const Format format = options_.format.value_or(graph_.value(gradient).format);
    if (graph_.value(gradient).format != format) {
      gradient = cast_gradient(parameter, gradient, format, fmt::format(".grad.{}", name(format)),
                               fmt::format("gradients of parameters are kept in {}", name(format)));
    } else if (!options_.accumulator) {
      gradient = own(parameter, gradient);
    }
    if (options_.accumulator) return accumulate(parameter, gradient);
    graph_.value(gradient).role = Role::parameter_gradient;
    return gradient;
  }

  ValueId accumulate(ValueId parameter, ValueId gradient) {
    const std::string base = graph_.value(parameter).name + ".grad";
    const Shape shape = graph_.value(parameter).shape;
    Node node;
    node.op = &operators().find("accumulate");
    node.name = base + ".accumulate";
    node.inputs = {gradient, graph_.add_persistent(base + ".accumulator", shape, *options_.accumulator, Role::accumulator)};
    if (options_.early_unscale) node.attributes.set("early_unscale", true);
    node.phase = Phase::backward;
    node.why = fmt::format("the sum over the micro-batches is kept in {}", name(*options_.accumulator));
    return graph_.node(graph_.add_node(std::move(node))).outputs.front();
  }

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
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      output_gradients.push_back(as_computed(id, i, total(outputs[i])));
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

  /// The gradient of a result that was rounded to another format than the node computes (Node::store): cast back, as that of a
  /// cast behind the node would be.
  ValueId as_computed(NodeId id, std::size_t output, ValueId gradient) {
    if (!gradient || !graph_.node(id).store) return gradient;
    const Format computed = graph_.node(id).op->infer(graph_, graph_.node(id)).at(output).format;
    if (graph_.value(gradient).format == computed) return gradient;
    Node cast;
    cast.op = &operators().find("cast");
    cast.name = graph_.node(id).name + ".dout.cast";
    cast.inputs = {gradient};
    cast.attributes.set("to", std::string(name(computed)));
    cast.phase = Phase::backward;
    cast.of = id;
    cast.why = "the result was rounded, the gradient is computed in the node's own format";
    return graph_.node(graph_.add_node(std::move(cast))).outputs.front();
  }

  /// Gradients are unscaled in place: one that is shared (an addition hands the same one to both operands), or that is
  /// not computed at all, is copied.
  ValueId own(ValueId parameter, ValueId gradient) {
    const Value& g = graph_.value(gradient);
    const bool shared = g.role == Role::parameter_gradient || !g.producer || g.same_memory_as;
    if (!shared) return gradient;
    return cast_gradient(parameter, gradient, graph_.value(parameter).format, ".grad.copy", "a parameter's gradient has memory of its own");
  }

  ValueId cast_gradient(ValueId parameter, ValueId gradient, Format format, const std::string& suffix, const std::string& why) {
    Node cast;
    cast.op = &operators().find("cast");
    cast.name = graph_.value(parameter).name + suffix;
    cast.inputs = {gradient};
    cast.attributes.set("to", std::string(name(format)));
    cast.phase = Phase::backward;
    cast.why = why;
    return graph_.node(graph_.add_node(std::move(cast))).outputs.front();
  }

  Graph& graph_;
  const GradientOptions& options_;
  std::int32_t forward_nodes_;
  std::vector<bool> wanted_;
  std::vector<std::vector<ValueId>> gradients_;   // by value id, forward values only
};

}  // namespace

std::vector<ParameterGradient> differentiate(Graph& graph, ValueId loss, const GradientOptions& options) {
  return Backward(graph, loss, options).run();
}

}  // namespace ulpscope::engine
