#include "engine/passes/segments.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "engine/graph/operator.h"
#include "engine/passes/pattern.h"
#include "kernels/error.h"
#include "kernels/nearest.h"

namespace ulpscope::engine {
namespace {

std::size_t index(NodeId id) { return static_cast<std::size_t>(id.index); }
std::size_t index(ValueId id) { return static_cast<std::size_t>(id.index); }

std::string_view leading_name(std::string_view name) { return name.substr(0, name.find('.')); }

/// "block0", "layer12": the parts that a model repeats.
bool is_numbered(std::string_view name) {
  const std::size_t last = name.find_last_not_of("0123456789");
  return last != std::string_view::npos && last + 1 < name.size();
}

bool is_weight_copy(const Graph& graph, const Node& node) {
  return !node.outputs.empty() && graph.value(node.outputs[0]).role == Role::weight_copy;
}

class Finder {
 public:
  Finder(const Graph& graph, const std::vector<std::string>& what) : graph_(graph), what_(what) {
    found_.of.assign(static_cast<std::size_t>(graph.node_count()), -1);
    found_.repeat.assign(found_.of.size(), false);
  }

  Segments run() {
    for (const std::string& entry : what_) check_matches(entry);
    assign();
    keep_what_is_overwritten();
    keep_what_segments_read();
    keep_dear_results();
    keep_what_kept_views_show();
    return std::move(found_);
  }

 private:
  void check_matches(const std::string& entry) const {
    std::vector<std::string> names{std::string(blocks_entry)};
    for (const Node& node : graph_.nodes()) {
      if (node.phase != Phase::forward || is_weight_copy(graph_, node)) continue;
      if (means(entry, node)) return;
      names.push_back(node.name);
    }
    if (entry == blocks_entry)
      throw UsageError("recompute: this model has no numbered parts (block0.…, layer0.…) for \"blocks\"; it takes none, or "
                       "patterns of node names (* and ?), which `ulpscope plan` lists");
    throw UsageError(fmt::format("recompute: '{}' matches no node of the forward pass; the nearest is '{}'; it takes none, blocks, "
                                 "or patterns of node names (* and ?), which `ulpscope plan` lists",
                                 entry, nearest(entry, names)));
  }

  void assign() {
    for (std::int32_t n = 0; n < graph_.node_count(); ++n) {
      const Node& node = graph_.node(NodeId{n});
      if (node.phase != Phase::forward || is_weight_copy(graph_, node)) continue;
      const auto meant = [&](const std::string& entry) { return means(entry, node); };
      if (std::any_of(what_.begin(), what_.end(), meant)) {
        found_.of[index(NodeId{n})] = segment(leading_name(node.name));
      } else if (!node.op->launches || node.op->name == "cast") {   // costs little: goes with what it shows or is made from
        found_.of[index(NodeId{n})] = segment_of(node.inputs.front());
      }
      found_.repeat[index(NodeId{n})] = found_.of[index(NodeId{n})] >= 0;
    }
  }

  std::int32_t segment(std::string_view name) {
    const auto known = numbers_.find(name);
    if (known != numbers_.end()) return known->second;
    const auto number = static_cast<std::int32_t>(found_.names.size());
    found_.names.emplace_back(name);
    numbers_.emplace(std::string(name), number);
    return number;
  }

  std::int32_t segment_of(ValueId v) const {
    const NodeId producer = graph_.value(v).producer;
    return producer ? found_.of[index(producer)] : -1;
  }
  bool repeated(ValueId v) const {
    const NodeId producer = graph_.value(v).producer;
    return producer && found_.repeat[index(producer)];
  }

  /// Such a node would do its work twice, or see what is there only later.
  void keep_what_is_overwritten() {
    std::vector<std::int32_t> overwritten(static_cast<std::size_t>(graph_.value_count()), -1);   // by owner: last node that did
    for (std::int32_t n = 0; n < graph_.node_count(); ++n) {
      const Node& node = graph_.node(NodeId{n});
      if (!node.op->overwrites() || node.phase == Phase::unscale || node.phase == Phase::update) continue;
      for (const ValueId v : node.outputs)
        if (graph_.value(v).same_memory_as) overwritten[index(graph_.memory_owner(v))] = n;
    }
    for (std::int32_t n = 0; n < graph_.node_count(); ++n) {
      const Node& node = graph_.node(NodeId{n});
      if (!found_.repeat[index(NodeId{n})]) continue;
      const auto changes = [&](ValueId v) { return overwritten[index(graph_.memory_owner(v))] > n; };
      if (node.op->overwrites() || std::any_of(node.inputs.begin(), node.inputs.end(), changes))
        found_.repeat[index(NodeId{n})] = false;
    }
  }

  void keep_what_segments_read() {
    for (std::int32_t n = 0; n < graph_.node_count(); ++n) {
      const std::int32_t mine = found_.of[index(NodeId{n})];
      if (mine < 0) continue;
      for (const ValueId v : graph_.node(NodeId{n}).inputs)
        if (repeated(v) && segment_of(v) != mine) found_.repeat[index(graph_.value(v).producer)] = false;
    }
  }

  /// Nodes whose results are read forwards by nodes of no segment.
  std::vector<NodeId> nodes_read_outside() const {
    std::vector<bool> outside(found_.of.size(), false);
    for (std::int32_t n = 0; n < graph_.node_count(); ++n) {
      if (graph_.node(NodeId{n}).phase != Phase::forward || found_.of[index(NodeId{n})] >= 0) continue;
      for (const ValueId v : graph_.node(NodeId{n}).inputs)
        if (repeated(v)) outside[index(graph_.value(v).producer)] = true;
    }
    std::vector<NodeId> list;
    for (std::int32_t n = 0; n < graph_.node_count(); ++n)
      if (outside[index(NodeId{n})]) list.push_back(NodeId{n});
    return list;
  }

  void keep_dear_results() {
    const std::vector<NodeId> results = nodes_read_outside();
    std::vector<bool> inner = found_.repeat;
    for (const NodeId r : results) inner[index(r)] = false;
    std::vector<bool> needed(inner.size(), false);   // by the segments' own backward passes
    for (const Node& node : graph_.nodes()) {
      if (node.phase == Phase::forward) continue;
      for (const ValueId v : node.inputs) {
        const NodeId producer = graph_.value(v).producer;
        if (!producer || !inner[index(producer)]) continue;
        for (const NodeId id : nodes_to_repeat(graph_, inner, producer, needed)) needed[index(id)] = true;
      }
    }
    for (const NodeId r : results)
      for (const NodeId id : nodes_to_repeat(graph_, inner, r, needed))
        if (graph_.node(id).op->product) found_.repeat[index(r)] = false;
  }

  void keep_what_kept_views_show() {
    for (std::int32_t n = graph_.node_count() - 1; n >= 0; --n) {
      const Node& node = graph_.node(NodeId{n});
      if (node.phase != Phase::forward || node.op->launches || found_.repeat[index(NodeId{n})]) continue;
      const ValueId shown = node.inputs.front();
      if (repeated(shown) && read_backwards(node)) found_.repeat[index(graph_.value(shown).producer)] = false;
    }
  }

  bool read_backwards(const Node& view) {
    if (backwards_.empty()) {
      backwards_.assign(static_cast<std::size_t>(graph_.value_count()), false);
      for (std::int32_t n = 0; n < graph_.node_count(); ++n)
        if (graph_.node(NodeId{n}).phase != Phase::forward || found_.repeat[index(NodeId{n})])
          for (const ValueId v : graph_.node(NodeId{n}).inputs) backwards_[index(v)] = true;
    }
    return backwards_[index(view.outputs.front())];
  }

  const Graph& graph_;
  const std::vector<std::string>& what_;
  Segments found_;
  std::map<std::string, std::int32_t, std::less<>> numbers_;
  std::vector<bool> backwards_;   // by value: read in the backward pass
};

}  // namespace

bool means(const std::string& entry, const Node& node) {
  return entry == blocks_entry ? is_numbered(leading_name(node.name)) : matches(entry, node.name);
}

std::vector<NodeId> nodes_to_repeat(const Graph& graph, const std::vector<bool>& repeat, NodeId node,
                                    const std::vector<bool>& done) {
  std::vector<NodeId> list, open;
  const auto visit = [&](NodeId id) {
    if (done[index(id)] || std::find(list.begin(), list.end(), id) != list.end()) return;
    list.push_back(id);
    open.push_back(id);
  };
  visit(node);
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    for (const ValueId v : graph.node(id).inputs) {
      const NodeId producer = graph.value(v).producer;
      if (producer && repeat[index(producer)]) visit(producer);
    }
  }
  std::sort(list.begin(), list.end());
  return list;
}

Segments find_segments(const Graph& graph, const std::vector<std::string>& what) { return Finder(graph, what).run(); }

}  // namespace ulpscope::engine
