// A result that does not fit is computed times 2^-k; what reads it is proportional to it and gives 2^k back. Exact where nothing
// underflows.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>

#include "engine/graph/operator.h"
#include "engine/passes/rewrite_copy.h"

namespace ulpscope::engine {
namespace {

bool one_of(const Node& node, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), node.op->name) != names.end();
}

bool weighted(const Node& node) { return one_of(node, {"linear", "conv1d", "conv2d"}); }

/// Proportional to its first input for factors above 0, and passes elements on: the factor goes along.
bool carries(const Node& node) {
  return only_moves(node) || one_of(node, {"relu", "dropout", "max_pool1d", "max_pool2d", "avg_pool1d", "avg_pool2d"});
}

bool scale_free_norm(const Node& node) {
  // Not batch_norm: its running statistics would keep the factor.
  return one_of(node, {"layer_norm", "rms_norm"}) && node.attributes.number_or("epsilon", 1e-5) == 0.0;
}

/// Whether the node is proportional to this input, the others as they are (those of a sum are scaled, too).
bool proportional(const Node& node, std::size_t input) {
  if (weighted(node)) return input == 0;
  if (node.op->name == "div") return input == 0;
  return one_of(node, {"matmul", "mul", "add", "sub", "scale", "sum", "mean"});
}

/// By index: values that are computed times the factor.
using Carrying = std::shared_ptr<std::set<std::int32_t>>;

class Rescale {
 public:
  Rescale(const Graph& graph, const Node& node, const Rewrite& rewrite, Replacements& work)
      : graph_(graph), node_(node), rewrite_(rewrite), work_(work), carrying_(std::make_shared<std::set<std::int32_t>>()) {}

  void plan() {
    if (!is_power_of_two(rewrite_.factor) || rewrite_.factor >= 1.0)
      refuse_rewrite(rewrite_, node_, fmt::format("factor = {:g}: it must be a power of two below 1", rewrite_.factor));
    take_down();
    follow(node_.outputs.front());
  }

 private:
  /// The node's own operands are scaled, so that it never makes the large number.
  void take_down() {
    work_[node_.name] = [factor = rewrite_.factor](GraphCopy& copy, const Node& node) {
      if (node.op->name == "scale") {
        Node smaller = node;
        smaller.attributes.set("factor", node.attributes.number("factor") * factor);
        copy.add(smaller, copy.inputs(node));
        return;
      }
      std::vector<ValueId> inputs = copy.inputs(node);
      const auto down = [&](std::size_t i, const char* suffix) {
        inputs[i] = copy.insert("scale", node.name + suffix, {inputs[i]}, {{"factor", factor}});
      };
      down(0, ".down");
      if (weighted(node) && inputs.size() > 2) down(2, ".bias.down");
      if (one_of(node, {"add", "sub"})) down(1, ".in1.down");
      copy.add(node, std::move(inputs));
    };
  }

  void follow(ValueId value) {
    carrying_->insert(value.index);
    const std::vector<Reader> readers = readers_of(graph_, value);
    if (readers.empty()) refuse_rewrite(rewrite_, node_, fmt::format("nothing reads '{}': nothing could give the factor back", graph_.value(value).name));
    for (const Reader& r : readers) {
      if (carries(*r.node)) {
        follow(r.node->outputs.front());
        continue;
      }
      if (scale_free_norm(*r.node) && r.input == 0) continue;
      if (r.node->op->name == "batch_norm")
        refuse_rewrite(rewrite_, node_, fmt::format("'{}' (batch_norm) reads it: its running statistics would keep the factor", r.node->name));
      if (one_of(*r.node, {"layer_norm", "rms_norm"}))
        refuse_rewrite(rewrite_, node_, fmt::format("'{}' ({}) reads it and has an epsilon: it is not free of scale", r.node->name, r.node->op->name));
      if (!proportional(*r.node, r.input))
        refuse_rewrite(rewrite_, node_, fmt::format("'{}' ({}) reads it and is not proportional to it", r.node->name, r.node->op->name));
      give_back(*r.node);
    }
  }

  void give_back(const Node& reader) {
    if (work_.contains(reader.name) && !own_.contains(reader.name))   // two factors would meet in it, and one be forgotten
      refuse_rewrite(rewrite_, node_, fmt::format("'{}' reads another node that is rescaled by the same rule: give each a [[rewrite]] of its own", reader.name));
    const bool twice = std::count_if(reader.inputs.begin(), reader.inputs.end(), [&](ValueId v) { return carrying_->contains(v.index); }) > 1;
    if (twice && !one_of(reader, {"add", "sub"}))
      refuse_rewrite(rewrite_, node_, fmt::format("'{}' ({}) reads it twice: it is not proportional to it", reader.name, reader.op->name));
    own_.insert(reader.name);
    work_[reader.name] = [factor = rewrite_.factor, carrying = carrying_](GraphCopy& copy, const Node& node) {
      std::vector<ValueId> inputs = copy.inputs(node);
      const auto down = [&](std::size_t i) {
        if (!carrying->contains(node.inputs[i].index))
          inputs[i] = copy.insert("scale", fmt::format("{}.in{}.down", node.name, i), {inputs[i]}, {{"factor", factor}});
      };
      if (weighted(node) && inputs.size() > 2) down(2);
      if (one_of(node, {"add", "sub"})) {
        down(0);
        down(1);
      }
      copy.add(node, std::move(inputs));
      const ValueId small = copy.now(node.outputs.front());
      copy.set(node.outputs.front(), copy.insert("scale", node.name + ".up", {small}, {{"factor", 1.0 / factor}}));
    };
  }

  const Graph& graph_;
  const Node& node_;
  const Rewrite& rewrite_;
  Replacements& work_;
  Carrying carrying_;
  std::set<std::string> own_;   ///< readers that give this factor back
};

}  // namespace

void rescale(const Graph& graph, const Node& node, const Rewrite& rewrite, Replacements& work) {
  if (work.contains(node.name))
    refuse_rewrite(rewrite, node, "a node before it is rescaled by the same rule: give it a [[rewrite]] of its own");
  Rescale(graph, node, rewrite, work).plan();
}

}  // namespace ulpscope::engine
