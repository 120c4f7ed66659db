#include "engine/passes/fusion.h"

#include <algorithm>
#include <optional>

#include "engine/graph/operator.h"
#include "kernels/fused.h"

namespace ulpscope::engine {
namespace {

constexpr int most_results = 24;   // of one fused launch, by-products included: each may be counted

/// A node as a member of a group.
struct Candidate {
  LaunchPlan launch;
  const Kernel* kernel = nullptr;
  std::int64_t elements = 0;
  std::int64_t row = 0;     ///< length of the rows it needs; 0: none
};

std::optional<Candidate> candidate_of(const Graph& graph, const KernelTable& kernels, const Node& node) {
  if (!node.op->launches || node.op->overwrites() || !node.arithmetic.standard()) return std::nullopt;
  std::vector<LaunchPlan> launches = node.op->launches(graph, node, {});
  if (launches.size() != 1 || launches.front().out.empty()) return std::nullopt;
  Candidate c;
  c.launch = std::move(launches.front());
  if (compute_format(c.launch) != Format::fp32) return std::nullopt;
  c.kernel = &kernels.find(c.launch.kernel, Format::fp32);
  if (c.kernel->stage == nullptr && !c.kernel->takes_epilogue) return std::nullopt;
  const Operand& out = c.launch.out.front();
  if (!out.view.contiguous() || out.offset != 0 || out.value != node.outputs.front() || !is_float(out.view.format)) return std::nullopt;
  c.elements = out.view.elements();
  if (c.elements != graph.value(out.value).shape.elements() || c.elements == 0) return std::nullopt;
  if (c.kernel->stage != nullptr && c.kernel->stage->row) c.row = out.view.shape.rank == 0 ? 1 : out.view.shape[-1];
  return c;
}

class Fuser {
 public:
  Fuser(const Graph& graph, const KernelTable& kernels, const std::vector<ValueId>& keep, const std::vector<NodeId>& alone)
      : graph_(graph), kernels_(kernels), keep_(keep), alone_(alone), plan_(without_fusion(graph)) {}

  FusionPlan run() {
    for (std::int32_t n = 0; n < graph_.node_count(); ++n) {
      const NodeId node{n};
      candidates_.push_back(is_alone(node) ? std::nullopt : candidate_of(graph_, kernels_, graph_.node(node)));
      // Nothing that could be fused reads an accumulator: writing one holds nobody up.
      const Node& this_node = graph_.node(node);
      if (this_node.op->overwrites() && graph_.value(this_node.outputs.front()).role != Role::accumulator) last_overwrite_ = n;
      if (candidates_.back() && candidates_.back()->kernel->stage != nullptr) join(node);
    }
    drop_single();
    for (const FusionGroup& group : plan_.groups) find_unstored(group);
    join_unscale();
    return std::move(plan_);
  }

 private:
  bool is_alone(NodeId n) const { return std::find(alone_.begin(), alone_.end(), n) != alone_.end(); }
  const Candidate& candidate(NodeId n) const { return *candidates_[static_cast<std::size_t>(n.index)]; }
  std::int32_t& group_index(NodeId n) { return plan_.group_of[static_cast<std::size_t>(n.index)]; }

  /// The node that read r of `node` comes from, if it could pass its result on without memory.
  NodeId source_node(NodeId node, int r) const {
    const Candidate& c = candidate(node);
    const Operand& in = c.launch.in[static_cast<std::size_t>(c.kernel->stage->read[r])];
    const Value& value = graph_.value(in.value);
    const NodeId producer = value.producer;
    if (!producer || value.same_memory_as || in.offset != 0 || !in.view.contiguous()) return {};
    if (!candidates_[static_cast<std::size_t>(producer.index)]) return {};
    if (in.view.elements() != c.elements || candidate(producer).elements != c.elements) return {};
    return in.value == graph_.node(producer).outputs.front() ? producer : NodeId{};
  }

  bool fits(const FusionGroup& group, NodeId node) const {
    const Candidate& c = candidate(node);
    std::size_t results = graph_.node(node).outputs.size();
    for (const NodeId member : group.nodes) {
      results += graph_.node(member).outputs.size();
      const std::int64_t row = candidate(member).row;
      if (c.row != 0 && row != 0 && c.row != row) return false;
      if (graph_.node(member).phase != graph_.node(node).phase) return false;
    }
    if (c.row != 0 && group.kind == FusionKind::product) return false;
    return results <= static_cast<std::size_t>(most_results) && group.nodes.size() < static_cast<std::size_t>(most_stages) &&
           can_move(group, node);
  }

  /// Whether the group's nodes can run as late as `node`: nobody in between reads what they make, or overwrites anything.
  bool can_move(const FusionGroup& group, NodeId node) const {
    const std::int32_t first = group.nodes.front().index;
    if (last_overwrite_ > first) return false;
    for (std::int32_t n = first + 1; n < node.index; ++n) {
      if (std::find(group.nodes.begin(), group.nodes.end(), NodeId{n}) != group.nodes.end()) continue;
      for (const ValueId v : graph_.node(NodeId{n}).inputs) {
        const NodeId producer = graph_.value(graph_.memory_owner(v)).producer;
        if (producer && std::find(group.nodes.begin(), group.nodes.end(), producer) != group.nodes.end()) return false;
      }
    }
    return true;
  }

  void join(NodeId node) {
    const Stage& stage = *candidate(node).kernel->stage;
    std::int32_t best = -1;
    for (int r = 0; r < stage.reads; ++r) {
      const NodeId source = source_node(node, r);
      if (!source) continue;
      if (group_index(source) < 0) start_group(source);
      const std::int32_t g = group_index(source);
      if (!fits(plan_.groups[static_cast<std::size_t>(g)], node)) continue;
      if (best < 0 || better(g, best)) best = g;
    }
    if (best < 0) return;
    FusionGroup& group = plan_.groups[static_cast<std::size_t>(best)];
    std::array<int, max_stage_reads> sources{};
    sources.fill(-1);
    for (int r = 0; r < stage.reads; ++r) {
      const NodeId source = source_node(node, r);
      const auto member = std::find(group.nodes.begin(), group.nodes.end(), source);
      if (source && member != group.nodes.end()) sources[static_cast<std::size_t>(r)] = static_cast<int>(member - group.nodes.begin());
    }
    if (stage.row && group.kind == FusionKind::elements) {
      group.kind = FusionKind::rows;
      group.lead = node;
    }
    group.nodes.push_back(node);
    group.sources.push_back(sources);
    group_index(node) = best;
  }

  void start_group(NodeId first) {
    FusionGroup group;
    const Candidate& c = candidate(first);
    group.kind = c.kernel->stage == nullptr ? FusionKind::product : c.row != 0 ? FusionKind::rows : FusionKind::elements;
    group.nodes = {first};
    group.sources.emplace_back().fill(-1);
    group.lead = first;
    group_index(first) = static_cast<std::int32_t>(plan_.groups.size());
    plan_.groups.push_back(std::move(group));
  }

  /// A product's result is the most expensive to read again; else the later group, whose values are the warmer ones.
  bool better(std::int32_t a, std::int32_t b) const {
    const FusionGroup& x = plan_.groups[static_cast<std::size_t>(a)];
    const FusionGroup& y = plan_.groups[static_cast<std::size_t>(b)];
    const bool x_product = x.kind == FusionKind::product, y_product = y.kind == FusionKind::product;
    if (x_product != y_product) return x_product;
    return x.nodes.back().index > y.nodes.back().index;
  }

  void drop_single() {
    std::vector<FusionGroup> kept;
    for (FusionGroup& group : plan_.groups) {
      const bool single = group.nodes.size() < 2;
      for (const NodeId n : group.nodes) group_index(n) = single ? -1 : static_cast<std::int32_t>(kept.size());
      if (!single) kept.push_back(std::move(group));
    }
    plan_.groups = std::move(kept);
  }

  /// Values of the group that nobody else reads.
  void find_unstored(const FusionGroup& group) {
    for (const NodeId member : group.nodes) {
      const ValueId v = graph_.node(member).outputs.front();
      if (!read_by_others(group, v) && std::find(keep_.begin(), keep_.end(), v) == keep_.end())
        plan_.stored[static_cast<std::size_t>(v.index)] = false;
    }
  }

  bool read_by_others(const FusionGroup& group, ValueId v) {
    if (readers_.empty()) list_readers();
    const std::vector<NodeId>& readers = readers_[static_cast<std::size_t>(v.index)];
    if (readers.empty()) return true;   // nobody: leave it where it can be looked at
    for (const NodeId reader : readers) {
      const auto member = std::find(group.nodes.begin(), group.nodes.end(), reader);
      if (member == group.nodes.end()) return true;
      const auto index = static_cast<std::size_t>(member - group.nodes.begin());
      const Candidate& c = candidate(reader);
      for (std::size_t i = 0; i < c.launch.in.size(); ++i) {
        if (c.launch.in[i].value != v) continue;
        bool passed = false;
        for (int r = 0; r < c.kernel->stage->reads; ++r)
          passed = passed || (c.kernel->stage->read[r] == static_cast<int>(i) && group.sources[index][static_cast<std::size_t>(r)] >= 0);
        if (!passed) return true;
      }
    }
    return false;
  }

  /// By value: the nodes that read it, or anything in its memory.
  void list_readers() {
    readers_.resize(static_cast<std::size_t>(graph_.value_count()));
    for (std::int32_t n = 0; n < graph_.node_count(); ++n)
      for (const ValueId v : graph_.node(NodeId{n}).inputs)
        readers_[static_cast<std::size_t>(graph_.memory_owner(v).index)].push_back(NodeId{n});
  }

  /// The one pass over all gradients, where the norm follows the unscaling at once.
  void join_unscale() {
    for (std::int32_t n = 0; n + 1 < graph_.node_count(); ++n) {
      const Node &unscale = graph_.node(NodeId{n}), &norm = graph_.node(NodeId{n + 1});
      if (unscale.op->name != "unscale_check" || norm.op->name != "global_norm" || unscale.outputs != norm.inputs ||
          !norm.arithmetic.standard() || is_alone(NodeId{n}) || is_alone(NodeId{n + 1}))
        continue;
      if (!kernels_.contains("unscale_norm", Format::fp32) || compute_format(unscale.op->launches(graph_, unscale, {}).front()) != Format::fp32)
        continue;
      FusionGroup group;
      group.kind = FusionKind::unscale;
      group.nodes = {NodeId{n}, NodeId{n + 1}};
      group.sources.resize(2);
      group.lead = NodeId{n};
      for (const NodeId member : group.nodes) group_index(member) = static_cast<std::int32_t>(plan_.groups.size());
      plan_.groups.push_back(std::move(group));
    }
  }

  const Graph& graph_;
  const KernelTable& kernels_;
  const std::vector<ValueId>& keep_;
  const std::vector<NodeId>& alone_;
  FusionPlan plan_;
  std::vector<std::optional<Candidate>> candidates_;
  std::vector<std::vector<NodeId>> readers_;
  std::int32_t last_overwrite_ = -1;
};

}  // namespace

const char* name(FusionKind kind) {
  switch (kind) {
    case FusionKind::product: return "product";
    case FusionKind::rows: return "rows";
    case FusionKind::elements: return "elements";
    case FusionKind::unscale: return "unscale";
  }
  return "?";
}

FusionPlan plan_fusion(const Graph& graph, const KernelTable& kernels, const std::vector<ValueId>& keep,
                       const std::vector<NodeId>& alone) {
  return Fuser(graph, kernels, keep, alone).run();
}

FusionPlan without_fusion(const Graph& graph) {
  FusionPlan plan;
  plan.group_of.assign(static_cast<std::size_t>(graph.node_count()), -1);
  plan.stored.assign(static_cast<std::size_t>(graph.value_count()), true);
  return plan;
}

}  // namespace ulpscope::engine
