// Builds the graph that [[node]] tables state.
#include "engine/models/graph_model.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/graph/operator.h"
#include "engine/models/builders.h"
#include "kernels/error.h"
#include "kernels/nearest.h"

namespace ulpscope::engine {
namespace {

[[noreturn]] void refuse_node(const GraphNode& node, const std::string& reason) {
  throw UsageError(fmt::format("{}node '{}': {}", node.where.empty() ? "" : node.where + ": ", node.name, reason));
}

Initial initial_of(const GraphNode& node) {
  const Numbers& n = node.init;
  switch (n.kind) {
    case Numbers::Kind::none: return {Initial::Kind::zeros, 0.0, {}};
    case Numbers::Kind::constant: return {Initial::Kind::constant, n.low, {}};
    case Numbers::Kind::normal: return {Initial::Kind::normal, n.high, {}};
    case Numbers::Kind::uniform:
      if (n.low == -n.high) return {Initial::Kind::uniform, n.high, {}};
      return {Initial::Kind::uniform, n.high, {static_cast<float>(n.low), static_cast<float>(n.high)}};
    case Numbers::Kind::integers: refuse_node(node, "init draws no integers: a number, a list, normal, uniform or a .npy file");
    case Numbers::Kind::list:
    case Numbers::Kind::file: return {Initial::Kind::values, 0.0, n.list};
  }
  return {};
}

class GraphBuilder {
 public:
  GraphBuilder(const GraphConfig& config, bool training) : config_(config), training_(training) {}

  Model build() {
    if (config_.nodes.empty()) throw UsageError("model.kind = \"graph\": the experiment file has no [[node]] table");
    for (const GraphNode& node : config_.nodes) add(node);
    add_statistics();
    if (config_.loss.empty())
      throw UsageError("model.loss is missing: the name of the node that is minimised");
    const auto loss = values_.find(config_.loss);
    if (loss == values_.end())
      throw UsageError(fmt::format("model.loss = \"{}\": no node has this name; did you mean \"{}\"?", config_.loss, nearest(config_.loss, names_)));
    model_.loss = loss->second;
    const Value& value = model_.graph.value(model_.loss);
    if (value.shape.elements() != 1)
      throw UsageError(fmt::format("model.loss = \"{}\" is {}: a loss is one number; a sum or a mean makes one", config_.loss, to_string(value.shape)));
    if (!value.producer)
      throw UsageError(fmt::format("model.loss = \"{}\" is a {}: a loss is the result of a node", config_.loss, name(value.role)));
    if (model_.graph.with_role(Role::parameter).empty())
      throw UsageError("model.kind = \"graph\": no [[node]] has op = \"parameter\", so there is nothing to train");
    model_.tokens_per_batch = targets();
    return std::move(model_);
  }

 private:
  void add(const GraphNode& node) {
    if (values_.contains(node.name)) refuse_node(node, "the name is taken by a node above it");
    const std::vector<std::string>& sources = graph_sources();
    if (std::find(sources.begin(), sources.end(), node.op) != sources.end())
      add_source(node);
    else
      add_operator(node);
    names_.push_back(node.name);
  }

  void add_source(const GraphNode& node) {
    Graph& g = model_.graph;
    Shape shape;
    try {
      shape = Shape(std::span<const std::int64_t>(node.shape));
    } catch (const UsageError& error) {
      refuse_node(node, error.what());
    }
    if (std::find(node.shape.begin(), node.shape.end(), 0) != node.shape.end()) refuse_node(node, fmt::format("its shape {} has no element: each extent is at least 1", to_string(shape)));
    if (node.op == "input") {
      for (const Numbers& n : node.values) check_list(node, n, shape);
      values_[node.name] = g.add_input(node.name, shape, node.format);
      return model_.inputs.push_back(values_[node.name]);
    }
    check_list(node, node.init, shape);
    if (node.op != "constant" && node.format != Format::fp32) refuse_node(node, "format is for inputs and constants");
    if (node.op == "parameter") values_[node.name] = g.add_parameter(node.name, shape, initial_of(node));
    if (node.op == "constant") values_[node.name] = g.add_constant(node.name, shape, initial_of(node), node.format);
    if (node.op == "buffer") values_[node.name] = g.add_buffer(node.name, shape, initial_of(node));
  }

  static void check_list(const GraphNode& node, const Numbers& n, const Shape& shape) {
    const bool listed = n.kind == Numbers::Kind::list || n.kind == Numbers::Kind::file;
    if (listed && static_cast<std::int64_t>(n.list.size()) != shape.elements())
      refuse_node(node, fmt::format("its shape {} takes {} numbers, {} are given{}", to_string(shape), shape.elements(), n.list.size(),
                                    n.path.empty() ? "" : " in " + n.path));
    if (node.format == Format::i32 && (n.kind == Numbers::Kind::normal || n.kind == Numbers::Kind::uniform))
      refuse_node(node, "i32 holds whole numbers: draw {integers = n}");
  }

  std::vector<ValueId> inputs_of(const GraphNode& node) const {
    std::vector<ValueId> inputs;
    for (const std::string& input : node.inputs) {
      if (const auto found = values_.find(input); found != values_.end()) {
        inputs.push_back(found->second);
        continue;
      }
      const bool below = std::any_of(config_.nodes.begin(), config_.nodes.end(), [&](const GraphNode& n) { return n.name == input; });
      if (below) refuse_node(node, fmt::format("its input '{}' stands below it: a node reads what stands above it", input));
      refuse_node(node, names_.empty() ? fmt::format("its input '{}' is not there, no node stands above it", input)
                                       : fmt::format("its input '{}' is not there; did you mean '{}'? Above it are: {}", input,
                                                     nearest(input, names_), fmt::join(names_, ", ")));
    }
    return inputs;
  }

  void add_operator(const GraphNode& node) {
    std::vector<ValueId> inputs = inputs_of(node);
    if (!training_ && node.op == "dropout" && inputs.size() == 1) {
      values_[node.name] = inputs.front();
      return;
    }
    if (node.op == "ema" && !training_ && !inputs.empty()) {   // evaluation reads running statistics, it keeps none
      values_[node.name] = inputs.front();
      return;
    }
    Attributes attributes = node.attributes;
    const bool running = node.op == "batch_norm" && inputs.size() == 5;
    if (running && attributes.contains("momentum")) attributes.erase("momentum");
    const std::vector<ValueId> all = inputs;
    if (running && training_) inputs.resize(3);
    if (!training_ && attributes.contains("rate")) attributes.set("rate", 0.0);   // as gpt: evaluation drops nothing
    AttributeReads reads;
    NodeId id;
    try {
      const Operator& op = operators().find_for_model(node.op);
      id = model_.graph.add_node(op.name, node.name, std::move(inputs), std::move(attributes));
      if (op.launches) op.launches(model_.graph, model_.graph.node(id), {});
    } catch (const Error& error) {
      refuse_operator(node, error.what());
    }
    std::set<std::string> read = reads.names();
    if (running) read.insert("momentum");
    check_attributes(node, read);
    const std::vector<ValueId>& outputs = model_.graph.node(id).outputs;
    for (const ValueId v : outputs) values_[model_.graph.value(v).name] = v;
    if (running && training_) keep_statistics(node, all, outputs);
  }

  /// Batch norm with running statistics: in training that of the batch, which "ema" nodes mix into the running ones.
  void keep_statistics(const GraphNode& node, const std::vector<ValueId>& inputs, const std::vector<ValueId>& outputs) {
    try {
      const double momentum = node.attributes.number_or("momentum", 0.1);   // torch.nn.BatchNorm1d
      statistics_.push_back({node, inputs[3], outputs.at(1), momentum});
      statistics_.push_back({node, inputs[4], outputs.at(3), momentum});
    } catch (const Error& error) {
      refuse_node(node, error.what());
    }
  }

  /// At the end, so that nothing in between is kept from fusing.
  void add_statistics() {
    for (const Statistic& s : statistics_) {
      try {
        model_.graph.apply("ema", model_.graph.value(s.buffer).name + ".ema", {s.buffer, s.batch}, {{"momentum", s.momentum}});
      } catch (const Error& error) {
        refuse_operator(s.node, error.what());
      }
    }
  }

  /// Unknown operators are told with what stands beside operators; other messages name the node already.
  [[noreturn]] void refuse_operator(const GraphNode& node, const std::string& reason) const {
    const std::string where = node.where.empty() ? "" : node.where + ": ";
    if (reason.starts_with("node '")) throw UsageError(where + reason);
    refuse_node(node, reason + "; or " + fmt::format("{}", fmt::join(graph_sources(), ", ")));
  }

  static void check_attributes(const GraphNode& node, const std::set<std::string>& read) {
    for (const auto& [key, value] : node.attributes.all()) {
      if (read.contains(key)) continue;
      std::vector<std::string> valid(read.begin(), read.end());
      if (valid.empty()) refuse_node(node, fmt::format("unknown key '{}': {} has no attributes", key, node.op));
      refuse_node(node, fmt::format("unknown key '{}'; did you mean '{}'? Attributes of {}: {}", key, nearest(key, valid), node.op,
                                    fmt::join(valid, ", ")));
    }
  }

  /// What a batch predicts: the targets of a cross-entropy, else the entries along the first dimension of the first input.
  std::int64_t targets() const {
    const Graph& g = model_.graph;
    const Node& loss = g.node(g.value(model_.loss).producer);
    for (const ValueId v : loss.inputs)
      if (g.value(v).format == Format::i32) return g.value(v).shape.elements();
    if (model_.inputs.empty() || g.value(model_.inputs.front()).shape.rank == 0) return 1;
    return g.value(model_.inputs.front()).shape[0];
  }

  struct Statistic {
    const GraphNode& node;
    ValueId buffer, batch;
    double momentum;
  };

  const GraphConfig& config_;
  bool training_;
  std::vector<Statistic> statistics_;
  Model model_;
  std::map<std::string, ValueId> values_;
  std::vector<std::string> names_;
};

}  // namespace

const std::vector<std::string>& graph_sources() {
  static const std::vector<std::string> names{"parameter", "constant", "buffer", "input"};
  return names;
}

void set_text_options(const GraphConfig& config, TextOptions& options) {
  std::vector<const GraphNode*> inputs;
  for (const GraphNode& node : config.nodes)
    if (node.op == "input") inputs.push_back(&node);
  const auto fits = [](const GraphNode& node, std::size_t least, std::size_t most) {
    return node.format == Format::i32 && node.shape.size() >= least && node.shape.size() <= most;
  };
  if (inputs.size() != 2 || !fits(*inputs[0], 2, 2) || !fits(*inputs[1], 1, 2))
    throw UsageError("a graph that reads text has two inputs of format \"i32\": tokens [batch, context], then targets "
                     "[batch, context] (the next byte at every position) or [batch]");
  check_text_indices(config, GraphBuilder(config, true).build().graph);
  options.context = inputs[0]->shape[1];
  options.targets = inputs[1]->shape.size() == 2 ? TextTargets::every_position : TextTargets::next_byte;
}

Model build_graph(const GraphConfig& config, std::int64_t batch, bool training) {
  if (!has_own_data(config))
    for (const GraphNode& node : config.nodes)
      if (node.op == "input" && (node.shape.empty() || node.shape.front() != batch))
        refuse_node(node, fmt::format("has no values, so it is filled from the data, and its first dimension is train.batch, {}", batch));
  Model model = GraphBuilder(config, training).build();
  check_graph_indices(config, model.graph);
  return model;
}

}  // namespace ulpscope::engine
