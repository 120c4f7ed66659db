#include "engine/passes/checkpoint.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/graph/operator.h"
#include "engine/ops/dropout_key.h"
#include "engine/passes/segments.h"
#include "kernels/error.h"

namespace ulpscope::engine {
namespace {

template <class Tag>
std::size_t index(Id<Tag> id) {
  return static_cast<std::size_t>(id.index);
}

class Rewrite {
 public:
  Rewrite(const Graph& from, const CheckpointOptions& options)
      : from_(from),
        options_(options),
        segments_(find_segments(from, options.what)),
        map_(static_cast<std::size_t>(from.value_count())),
        again_(map_.size()),
        used_(map_.size(), false),
        nodes_(static_cast<std::size_t>(from.node_count())),
        repeated_(nodes_.size(), false) {}

  Checkpointed run() {
    for (std::int32_t i = 0; i < from_.value_count(); ++i)
      if (!from_.value(ValueId{i}).producer) map_[index(ValueId{i})] = add_source(from_.value(ValueId{i}));
    for (std::int32_t n = 0; n < from_.node_count(); ++n) add(NodeId{n});
    for (const std::string& entry : options_.what) check_effect(entry);
    name_segments();
    result_.graph = std::move(to_);
    result_.map = std::move(map_);
    return std::move(result_);
  }

 private:
  ValueId add_source(const Value& v) {
    switch (v.role) {
      case Role::input:
      case Role::parameter:
      case Role::constant:
      case Role::optimizer_state:
      case Role::buffer:
      case Role::committed_buffer:
      case Role::accumulator: return to_.add_source(v);
      default: throw Error(fmt::format("checkpoint: value '{}' has no producer and is a {}", v.name, name(v.role)));
    }
  }

  void add(NodeId id) {
    Node node = from_.node(id);
    node.inputs = read(node);
    nodes_[index(id)] = append(std::move(node), id, map_);
  }

  /// Appends a node that stands for `id`; `results` receives the new ids of what it computes, by the old ones.
  NodeId append(Node node, NodeId id, std::vector<ValueId>& results) {
    const std::vector<ValueId>& old = from_.node(id).outputs;
    node.outputs.clear();
    if (node.of) node.of = nodes_[index(node.of)];
    const NodeId added = to_.add_node(std::move(node));
    for (std::size_t i = 0; i < old.size(); ++i) {
      const ValueId v = to_.node(added).outputs.at(i);
      to_.value(v).role = from_.value(old[i]).role;
      results[index(old[i])] = v;
    }
    return added;
  }

  /// The operands of a node of the old graph, repeated before it where they have to be.
  std::vector<ValueId> read(const Node& node) {
    std::vector<ValueId> inputs;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const auto first = std::find(node.inputs.begin(), node.inputs.end(), node.inputs[i]) - node.inputs.begin();
      inputs.push_back(first < static_cast<std::ptrdiff_t>(i) ? inputs[static_cast<std::size_t>(first)]
                                                              : read(node.inputs[i], node.phase));
    }
    return inputs;
  }

  ValueId read(ValueId v, Phase phase) {
    const NodeId producer = from_.value(v).producer;
    if (phase != Phase::forward && producer && segments_.repeat[index(producer)]) {
      for (const NodeId id : nodes_to_repeat(from_, segments_.repeat, producer, repeated_)) {
        repeat(id, phase, "recomputed: activation checkpointing");
        repeated_[index(id)] = true;
        ++result_.repeated;
      }
      return again_[index(v)];
    }
    if (options_.recast && producer && from_.value(v).role == Role::weight_copy && !from_.value(v).same_memory_as) {
      if (used_[index(v)]) return recast(v, phase);
      used_[index(v)] = true;
    }
    return map_[index(v)];
  }

  ValueId recast(ValueId v, Phase phase) {
    repeat(from_.value(v).producer, phase, "recomputed: cast again, so that the copy lives only while it is read");
    ++result_.recast;
    return again_[index(v)];
  }

  void repeat(NodeId id, Phase phase, const std::string& why) {
    const Node& old = from_.node(id);
    Node node = old;
    node.inputs.clear();
    for (const ValueId v : old.inputs) {
      const NodeId producer = from_.value(v).producer;
      const bool again = producer && segments_.repeat[index(producer)];   // those come first
      node.inputs.push_back(again ? again_[index(v)] : read(v, phase));
    }
    node.name = free_name(old.name + ".again", old.outputs.size());
    if (old.op->draws_random) node.attributes = with_dropout_key(old);
    node.attributes.set("recomputes", old.name);
    node.phase = phase;
    node.why = old.why.empty() ? why : fmt::format("{}; {}", why, old.why);
    node.of = id;
    result_.flops += node_flops(from_, old);
    append(std::move(node), id, again_);
  }

  /// Free in the new graph, and for the nodes of the old one that are still to come.
  std::string free_name(const std::string& wanted, std::size_t outputs) const {
    std::string name = wanted;
    for (int i = 2; from_.free_name(name, outputs) != name || to_.free_name(name, outputs) != name; ++i)
      name = fmt::format("{}.{}", wanted, i);
    return name;
  }

  void name_segments() {
    std::vector<bool> any(segments_.names.size(), false);
    for (std::size_t n = 0; n < repeated_.size(); ++n)
      if (repeated_[n]) any[static_cast<std::size_t>(segments_.of[n])] = true;
    for (std::size_t i = 0; i < any.size(); ++i)
      if (any[i]) result_.segments.push_back(segments_.names[i]);
  }

  /// A pattern without effect is a mistake; "blocks" is for any model, such whose blocks keep nothing inside among them.
  void check_effect(const std::string& entry) const {
    if (entry == blocks_entry) return;
    for (std::int32_t n = 0; n < from_.node_count(); ++n)
      if (repeated_[index(NodeId{n})] && means(entry, from_.node(NodeId{n}))) return;
    throw UsageError(fmt::format("recompute: '{}' saves nothing: the backward pass needs none of these results, or nodes that are "
                                 "not named read them and to compute them again takes another matrix product; name whole parts of "
                                 "the model, as \"blocks\" does",
                                 entry));
  }

  const Graph& from_;
  const CheckpointOptions& options_;
  Segments segments_;
  Graph to_;
  std::vector<ValueId> map_;       // by old value: its new id
  std::vector<ValueId> again_;     // by old value: computed again (of weights: the latest)
  std::vector<bool> used_;         // by old value: a weight's copy that somebody read
  std::vector<NodeId> nodes_;      // by old node: its new id
  std::vector<bool> repeated_;     // by old node
  Checkpointed result_;
};

}  // namespace

Checkpointed checkpoint(const Graph& graph, const CheckpointOptions& options) { return Rewrite(graph, options).run(); }

}  // namespace ulpscope::engine
