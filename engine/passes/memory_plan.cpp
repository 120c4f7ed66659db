#include "engine/passes/memory_plan.h"

#include <algorithm>
#include <numeric>

#include "engine/graph/operator.h"
#include "engine/passes/arena.h"
#include "engine/passes/calls.h"
#include "engine/passes/in_place.h"
#include "engine/passes/reuse.h"
#include "kernels/step_state.h"

namespace ulpscope::engine {
namespace {

constexpr std::int64_t alignment = 64;
std::int64_t aligned(std::int64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

MemoryCategory category_of(Role role, bool mixed) {
  switch (role) {
    case Role::parameter: return mixed ? MemoryCategory::master_weights : MemoryCategory::weights;
    case Role::weight_copy: return MemoryCategory::weights;
    case Role::cast: return MemoryCategory::casts;
    case Role::parameter_gradient:
    case Role::accumulator: return MemoryCategory::gradients;
    case Role::optimizer_state: return MemoryCategory::optimizer_state;
    case Role::buffer:
    case Role::committed_buffer: return MemoryCategory::buffers;
    case Role::input:
    case Role::constant: return MemoryCategory::inputs;
    case Role::activation:
    case Role::gradient: return MemoryCategory::activations;
  }
  return MemoryCategory::activations;
}

bool is_persistent(Role role) {
  switch (role) {
    case Role::parameter:
    case Role::optimizer_state:
    case Role::input:
    case Role::constant:
    case Role::buffer:
    case Role::committed_buffer:
    case Role::accumulator: return true;
    default: return false;
  }
}

class Planner {
 public:
  Planner(const Graph& graph, const FusionPlan& fusion, const KernelTable& kernels, bool mixed, const std::vector<ValueId>& keep,
          int threads)
      : graph_(graph), fusion_(fusion), kernels_(kernels), mixed_(mixed), keep_(keep), threads_(threads) {}

  /// reuse: results take over the memory of operands.
  MemoryPlan run(bool reuse) {
    plan_.values.resize(static_cast<std::size_t>(graph_.value_count()));
    plan_.workspace.resize(static_cast<std::size_t>(graph_.node_count()));
    find_lifetimes();
    reused_.assign(plan_.values.size(), ValueId{});
    if (reuse) take_over();
    place_persistent();
    size_workspace();
    place_arena();
    account();
    copy_to_views();
    return std::move(plan_);
  }

 private:
  bool owns_memory(std::int32_t i) const {
    return !graph_.value(ValueId{i}).same_memory_as && !reused_[static_cast<std::size_t>(i)];
  }

  /// The value whose memory v has taken over, through any number of steps.
  ValueId first_owner(ValueId v) const {
    while (reused_[static_cast<std::size_t>(v.index)]) v = reused_[static_cast<std::size_t>(v.index)];
    return v;
  }

  void take_over() {
    reused_ = reuse_operands(graph_, kernels_, fusion_, plan_.values);
    for (std::int32_t i = 0; i < graph_.value_count(); ++i) {
      if (!reused_[static_cast<std::size_t>(i)]) continue;
      Placement& owner = plan_.values[static_cast<std::size_t>(first_owner(ValueId{i}).index)];
      owner.last = std::max(owner.last, plan_.values[static_cast<std::size_t>(i)].last);
    }
  }

  void find_lifetimes() {
    for (std::int32_t i = 0; i < graph_.value_count(); ++i) {
      const Value& v = graph_.value(ValueId{i});
      Placement& p = plan_.values[static_cast<std::size_t>(i)];
      p.persistent = is_persistent(v.role);
      p.category = category_of(v.role, mixed_);
      p.stored = fusion_.stored[static_cast<std::size_t>(i)];
      p.bytes = p.stored ? aligned(v.shape.elements() * storage_bytes(v.format)) : 0;
      p.first = p.last = v.producer ? fusion_.runs_at(v.producer) : v.producer.index;
    }
    const auto extend = [&](ValueId v, std::int32_t node) {
      Placement& p = plan_.values[static_cast<std::size_t>(graph_.memory_owner(v).index)];
      p.last = std::max(p.last, node);
    };
    for (std::int32_t n = 0; n < graph_.node_count(); ++n) {
      const std::int32_t when = fusion_.runs_at(NodeId{n});
      for (const ValueId v : graph_.node(NodeId{n}).inputs) extend(v, when);
      for (const ValueId v : graph_.node(NodeId{n}).outputs) extend(v, when);
    }
    for (const ValueId v : keep_) extend(v, graph_.node_count());
  }

  void place_persistent() {
    std::int64_t offset = aligned(sizeof(StepState));   // the step's scalars come first
    plan_.peak_by_category[MemoryCategory::inputs] += offset;
    for (std::int32_t i = 0; i < graph_.value_count(); ++i) {
      Placement& p = plan_.values[static_cast<std::size_t>(i)];
      if (!p.persistent || !owns_memory(i)) continue;
      p.offset = offset;
      offset += p.bytes;
      plan_.peak_by_category[p.category] += p.bytes;
    }
    plan_.persistent_bytes = offset;
  }

  void size_workspace() {
    const Locate nowhere = [](const Operand& operand) { return operand.view; };
    for (std::int32_t n = 0; n < graph_.node_count(); ++n) {
      const NodeId id{n};
      const Node& node = graph_.node(id);
      const FusionGroup* group = fusion_.group(id);
      if (!node.op->launches || fusion_.runs_at(id) != n) continue;
      std::size_t bytes = 0;
      if (group != nullptr) {
        bytes = FusedCall(graph_, kernels_, fusion_, *group, {}, nowhere).workspace_bytes(threads_);
      } else {
        for (LaunchPlan& plan : launch_plans(graph_, node, {})) {
          Call call(kernels_, std::move(plan), nowhere);
          call.launch().threads = threads_;
          bytes = std::max(bytes, call.workspace_bytes());
        }
      }
      Placement& p = plan_.workspace[static_cast<std::size_t>(n)];
      p.bytes = aligned(static_cast<std::int64_t>(bytes));
      p.first = p.last = n;
      p.category = MemoryCategory::workspace;
    }
  }

  std::vector<Placement*> in_arena() {
    std::vector<Placement*> list;
    for (std::int32_t i = 0; i < graph_.value_count(); ++i) {
      Placement& p = plan_.values[static_cast<std::size_t>(i)];
      if (!p.persistent && owns_memory(i) && p.bytes > 0) list.push_back(&p);
    }
    for (Placement& p : plan_.workspace)
      if (p.bytes > 0) list.push_back(&p);
    return list;
  }

  void place_arena() { plan_.arena_bytes = place_in_arena(in_arena()); }

  void account() {
    const std::vector<Placement*> list = in_arena();
    std::vector<std::int64_t> change(static_cast<std::size_t>(graph_.node_count()) + 2, 0);   // by node: born less died
    for (const Placement* p : list) {
      change[static_cast<std::size_t>(std::max(p->first, 0))] += p->bytes;
      change[static_cast<std::size_t>(std::min(p->last, graph_.node_count()) + 1)] -= p->bytes;
    }
    plan_.live_bytes.resize(static_cast<std::size_t>(graph_.node_count()));
    std::partial_sum(change.begin(), change.begin() + graph_.node_count(), plan_.live_bytes.begin());
    const auto peak = std::max_element(plan_.live_bytes.begin(), plan_.live_bytes.end());
    std::int64_t covered = 0;
    if (peak != plan_.live_bytes.end()) {
      plan_.peak_node = static_cast<std::int32_t>(peak - plan_.live_bytes.begin());
      for (const Placement* p : list) {
        if (p->first > plan_.peak_node || p->last < plan_.peak_node) continue;
        plan_.peak_by_category[p->category] += p->bytes;
        covered += p->bytes;
      }
    }
    plan_.peak_by_category[MemoryCategory::gaps] = plan_.arena_bytes - covered;

    std::int32_t backward = 0;
    while (backward < graph_.node_count() && graph_.node(NodeId{backward}).phase == Phase::forward) ++backward;
    if (backward == graph_.node_count()) return;
    for (const Placement* p : list)
      if (p->first < backward && p->last >= backward) plan_.kept_for_backward[p->category] += p->bytes;
  }

  void copy_to_views() {
    for (std::int32_t i = 0; i < graph_.value_count(); ++i) {
      Placement& p = plan_.values[static_cast<std::size_t>(i)];
      p.takes_over = reused_[static_cast<std::size_t>(i)];
      if (p.takes_over) p.offset = plan_.values[static_cast<std::size_t>(first_owner(ValueId{i}).index)].offset;
    }
    for (std::int32_t i = 0; i < graph_.value_count(); ++i) {
      if (!graph_.value(ValueId{i}).same_memory_as) continue;
      plan_.values[static_cast<std::size_t>(i)] =
          plan_.values[static_cast<std::size_t>(graph_.memory_owner(ValueId{i}).index)];
    }
  }

  const Graph& graph_;
  const FusionPlan& fusion_;
  const KernelTable& kernels_;
  bool mixed_;
  const std::vector<ValueId>& keep_;
  int threads_;
  MemoryPlan plan_;
  std::vector<ValueId> reused_;   ///< by value: whose memory it takes over
};

}  // namespace

const char* name(MemoryCategory category) {
  switch (category) {
    case MemoryCategory::weights: return "weights";
    case MemoryCategory::master_weights: return "master weights";
    case MemoryCategory::gradients: return "gradients";
    case MemoryCategory::optimizer_state: return "optimizer state";
    case MemoryCategory::buffers: return "buffers";
    case MemoryCategory::activations: return "activations";
    case MemoryCategory::casts: return "casts";
    case MemoryCategory::workspace: return "workspace";
    case MemoryCategory::inputs: return "inputs";
    case MemoryCategory::gaps: return "gaps";
  }
  return "?";
}

MemoryPlan plan_memory(const Graph& graph, FusionPlan fusion, const KernelTable& kernels, bool mixed, const std::vector<ValueId>& keep,
                       int threads) {
  check_overwrites(graph);
  MemoryPlan plan = Planner(graph, fusion, kernels, mixed, keep, threads).run(true);
  // Two lives in one are harder to place: it is done where the arena does not grow by it.
  MemoryPlan apart = Planner(graph, fusion, kernels, mixed, keep, threads).run(false);
  if (apart.arena_bytes < plan.arena_bytes) plan = std::move(apart);
  plan.fusion = std::move(fusion);
  return plan;
}

MemoryPlan plan_memory(const Graph& graph, const KernelTable& kernels, bool mixed, const std::vector<ValueId>& keep, int threads) {
  return plan_memory(graph, without_fusion(graph), kernels, mixed, keep, threads);
}

}  // namespace ulpscope::engine
