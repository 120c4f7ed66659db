#include "engine/passes/reuse.h"

#include <algorithm>

#include "engine/graph/operator.h"
#include "engine/passes/memory_plan.h"

namespace ulpscope::engine {
namespace {

/// One operation of a launch.
struct Member {
  LaunchPlan launch;
  const Stage* stage = nullptr;              ///< null: its results never take over anything
  std::array<int, max_stage_reads> source;   ///< as FusionGroup::sources
};

class Reuse {
 public:
  Reuse(const Graph& graph, const KernelTable& kernels, const FusionPlan& fusion, const std::vector<Placement>& placements)
      : graph_(graph), kernels_(kernels), fusion_(fusion), placements_(placements), taken_(placements.size(), false) {
    result_.resize(placements.size());
  }

  std::vector<ValueId> run() {
    for (std::int32_t n = 0; n < graph_.node_count(); ++n) {
      const NodeId id{n};
      const Node& node = graph_.node(id);
      if (!node.op->launches || node.op->overwrites() || fusion_.runs_at(id) != n) continue;
      const std::vector<Member> members = members_of(id);
      for (std::size_t m = 0; m < members.size(); ++m) choose(members, m, n);
    }
    return std::move(result_);
  }

 private:
  std::vector<Member> members_of(NodeId id) {
    const FusionGroup* group = fusion_.group(id);
    std::vector<Member> members;
    if (group == nullptr) {
      std::vector<LaunchPlan> launches = graph_.node(id).op->launches(graph_, graph_.node(id), {});
      if (launches.size() == 1) members.push_back(member(std::move(launches.front()), nullptr));
    } else if (group->kind != FusionKind::unscale) {
      for (std::size_t i = 0; i < group->nodes.size(); ++i) {
        const Node& node = graph_.node(group->nodes[i]);
        members.push_back(member(std::move(node.op->launches(graph_, node, {}).front()), &group->sources[i]));
      }
    }
    return members;
  }

  Member member(LaunchPlan launch, const std::array<int, max_stage_reads>* source) {
    Member m;
    m.stage = compute_format(launch) == Format::fp32 ? kernels_.find(launch.kernel, Format::fp32).stage : nullptr;
    m.launch = std::move(launch);
    m.source.fill(-1);
    if (source != nullptr) m.source = *source;
    return m;
  }

  const Placement& placement(ValueId v) const { return placements_[static_cast<std::size_t>(v.index)]; }
  bool in_arena(ValueId v) const {
    return !placement(v).persistent && placement(v).stored && placement(v).bytes > 0 && !graph_.value(v).same_memory_as;
  }

  void choose(const std::vector<Member>& members, std::size_t m, std::int32_t when) {
    const Member& writer = members[m];
    if (writer.stage == nullptr || writer.launch.out.empty()) return;
    const Operand& out = writer.launch.out.front();
    if (!in_arena(out.value) || !whole(out)) return;
    for (std::size_t i = 0; i <= m; ++i) {
      if (members[i].stage == nullptr) continue;
      for (int r = 0; r < members[i].stage->reads; ++r) {
        if (members[i].source[static_cast<std::size_t>(r)] >= 0) continue;
        const Operand& in = members[i].launch.in[static_cast<std::size_t>(members[i].stage->read[r])];
        if (!fits(in, out, when) || !only_read_before(members, m, in.value)) continue;
        result_[static_cast<std::size_t>(out.value.index)] = in.value;
        taken_[static_cast<std::size_t>(in.value.index)] = true;
        return;
      }
    }
  }

  bool whole(const Operand& o) const {
    return o.offset == 0 && o.view.contiguous() && o.view.elements() == graph_.value(o.value).shape.elements();
  }

  bool fits(const Operand& in, const Operand& out, std::int32_t when) const {
    return in_arena(in.value) && whole(in) && !taken_[static_cast<std::size_t>(in.value.index)] && placement(in.value).last == when &&
           placement(in.value).first < when && in.view.elements() == out.view.elements() &&
           storage_bytes(in.view.format) == storage_bytes(out.view.format) &&
           placement(in.value).category == placement(out.value).category;
  }

  /// Whether nothing in the launch reads the value after member m has written, and nothing reads it other than run by run.
  bool only_read_before(const std::vector<Member>& members, std::size_t m, ValueId value) const {
    for (std::size_t i = 0; i < members.size(); ++i) {
      const std::vector<Operand>& in = members[i].launch.in;
      for (std::size_t k = 0; k < in.size(); ++k) {
        if (graph_.memory_owner(in[k].value) != value) continue;
        if (i > m || in[k].value != value || members[i].stage == nullptr) return false;
        bool by_run = false;
        for (int r = 0; r < members[i].stage->reads; ++r) by_run = by_run || members[i].stage->read[r] == static_cast<int>(k);
        if (!by_run || !whole(in[k])) return false;
      }
    }
    return true;
  }

  const Graph& graph_;
  const KernelTable& kernels_;
  const FusionPlan& fusion_;
  const std::vector<Placement>& placements_;
  std::vector<bool> taken_;
  std::vector<ValueId> result_;
};

}  // namespace

std::vector<ValueId> reuse_operands(const Graph& graph, const KernelTable& kernels, const FusionPlan& fusion,
                                    const std::vector<Placement>& placements) {
  return Reuse(graph, kernels, fusion, placements).run();
}

}  // namespace ulpscope::engine
