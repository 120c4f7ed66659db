#include "engine/passes/memory_plan.h"

#include <algorithm>
#include <numeric>

#include "engine/graph/operator.h"
#include "engine/passes/in_place.h"
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
    case Role::parameter_gradient: return MemoryCategory::gradients;
    case Role::optimizer_state: return MemoryCategory::optimizer_state;
    case Role::input:
    case Role::constant: return MemoryCategory::inputs;
    case Role::activation:
    case Role::gradient: return MemoryCategory::activations;
  }
  return MemoryCategory::activations;
}

bool is_persistent(Role role) {
  return role == Role::parameter || role == Role::optimizer_state || role == Role::input || role == Role::constant;
}

class Planner {
 public:
  Planner(const Graph& graph, const KernelTable& kernels, bool mixed, const std::vector<ValueId>& keep, int threads)
      : graph_(graph), kernels_(kernels), mixed_(mixed), keep_(keep), threads_(threads) {}

  MemoryPlan run() {
    plan_.values.resize(static_cast<std::size_t>(graph_.value_count()));
    plan_.workspace.resize(static_cast<std::size_t>(graph_.node_count()));
    find_lifetimes();
    place_persistent();
    size_workspace();
    place_arena();
    account();
    copy_to_views();
    return std::move(plan_);
  }

 private:
  bool owns_memory(std::int32_t i) const { return !graph_.value(ValueId{i}).same_memory_as; }

  void find_lifetimes() {
    for (std::int32_t i = 0; i < graph_.value_count(); ++i) {
      const Value& v = graph_.value(ValueId{i});
      Placement& p = plan_.values[static_cast<std::size_t>(i)];
      p.persistent = is_persistent(v.role);
      p.category = category_of(v.role, mixed_);
      p.bytes = aligned(v.shape.elements() * storage_bytes(v.format));
      p.first = p.last = v.producer.index;
    }
    const auto extend = [&](ValueId v, std::int32_t node) {
      Placement& p = plan_.values[static_cast<std::size_t>(graph_.memory_owner(v).index)];
      p.last = std::max(p.last, node);
    };
    for (std::int32_t n = 0; n < graph_.node_count(); ++n) {
      for (const ValueId v : graph_.node(NodeId{n}).inputs) extend(v, n);
      for (const ValueId v : graph_.node(NodeId{n}).outputs) extend(v, n);
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
    for (std::int32_t n = 0; n < graph_.node_count(); ++n) {
      const Node& node = graph_.node(NodeId{n});
      if (!node.op->launches) continue;
      std::size_t bytes = 0;
      for (const LaunchPlan& plan : node.op->launches(graph_, node, {})) {
        const Kernel& kernel = kernels_.find(plan.kernel, compute_format(plan));
        if (kernel.workspace_bytes == nullptr) continue;
        std::vector<Tensor> in, out;
        for (const Operand& o : plan.in) in.push_back(o.view);
        for (const Operand& o : plan.out) out.push_back(o.view);
        Launch launch;
        launch.in = in.data();
        launch.in_count = static_cast<int>(in.size());
        launch.out = out.data();
        launch.out_count = static_cast<int>(out.size());
        launch.params = plan.params.data();
        launch.threads = threads_;
        bytes = std::max(bytes, kernel.workspace_bytes(launch));
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

  /// Largest first, each at the lowest offset that is free for all of its life.
  void place_arena() {
    std::vector<Placement*> list = in_arena();
    std::stable_sort(list.begin(), list.end(), [](const Placement* a, const Placement* b) { return a->bytes > b->bytes; });
    std::vector<Placement*> placed;   // by offset
    for (Placement* p : list) {
      std::int64_t offset = 0;
      for (const Placement* other : placed) {
        if (other->last < p->first || other->first > p->last) continue;
        if (offset + p->bytes <= other->offset) break;
        offset = std::max(offset, other->offset + other->bytes);
      }
      p->offset = offset;
      plan_.arena_bytes = std::max(plan_.arena_bytes, offset + p->bytes);
      placed.insert(std::upper_bound(placed.begin(), placed.end(), p,
                                     [](const Placement* a, const Placement* b) { return a->offset < b->offset; }),
                    p);
    }
  }

  void account() {
    const std::vector<Placement*> list = in_arena();
    plan_.live_bytes.assign(static_cast<std::size_t>(graph_.node_count()), 0);
    for (const Placement* p : list)
      for (std::int32_t n = std::max(p->first, 0); n <= std::min(p->last, graph_.node_count() - 1); ++n)
        plan_.live_bytes[static_cast<std::size_t>(n)] += p->bytes;
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
      if (owns_memory(i)) continue;
      plan_.values[static_cast<std::size_t>(i)] =
          plan_.values[static_cast<std::size_t>(graph_.memory_owner(ValueId{i}).index)];
    }
  }

  const Graph& graph_;
  const KernelTable& kernels_;
  bool mixed_;
  const std::vector<ValueId>& keep_;
  int threads_;
  MemoryPlan plan_;
};

}  // namespace

const char* name(MemoryCategory category) {
  switch (category) {
    case MemoryCategory::weights: return "weights";
    case MemoryCategory::master_weights: return "master weights";
    case MemoryCategory::gradients: return "gradients";
    case MemoryCategory::optimizer_state: return "optimizer state";
    case MemoryCategory::activations: return "activations";
    case MemoryCategory::casts: return "casts";
    case MemoryCategory::workspace: return "workspace";
    case MemoryCategory::inputs: return "inputs";
    case MemoryCategory::gaps: return "gaps";
  }
  return "?";
}

MemoryPlan plan_memory(const Graph& graph, const KernelTable& kernels, bool mixed, const std::vector<ValueId>& keep, int threads) {
  check_overwrites(graph);
  return Planner(graph, kernels, mixed, keep, threads).run();
}

}  // namespace ulpscope::engine
