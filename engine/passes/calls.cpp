#include "engine/passes/calls.h"

#include <algorithm>
#include <utility>

#include "kernels/ops/round_and_count.h"

namespace ulpscope::engine {

Call::Call(const KernelTable& kernels, LaunchPlan plan, const Locate& locate)
    : kernel_(&kernels.find(plan.kernel, compute_format(plan))) {
  for (const Operand& o : plan.in) in_.push_back(locate(o));
  for (const Operand& o : plan.out) out_.push_back(locate(o));
  params_ = std::move(plan.params);
  launch_.in = in_.data();
  launch_.in_count = static_cast<int>(in_.size());
  launch_.out = out_.data();
  launch_.out_count = static_cast<int>(out_.size());
  launch_.arithmetic = plan.arithmetic;
  launch_.params = params_.empty() ? nullptr : params_.data();
}

std::size_t Call::workspace_bytes() const { return kernel_->workspace_bytes == nullptr ? 0 : kernel_->workspace_bytes(launch_); }

namespace {

/// Both nodes' operands in one launch: the gradients, and the norm as a further result.
LaunchPlan unscale_norm(const Graph& graph, const FusionGroup& group, const LaunchOptions& options) {
  const Node &unscale = graph.node(group.nodes[0]), &norm = graph.node(group.nodes[1]);
  LaunchPlan plan = std::move(unscale.op->launches(graph, unscale, options).front());
  LaunchPlan second = std::move(norm.op->launches(graph, norm, options).front());
  plan.kernel = "unscale_norm";
  plan.out.push_back(second.out.front());
  plan.params = std::move(second.params);
  return plan;
}

}  // namespace

FusedCall::FusedCall(const Graph& graph, const KernelTable& kernels, const FusionPlan& fusion, const FusionGroup& group,
                     const LaunchOptions& options, const Locate& locate)
    : kind_(group.kind), sources_(group.sources) {
  if (kind_ == FusionKind::unscale) {
    members_.push_back(std::make_unique<Call>(kernels, unscale_norm(graph, group, options), locate));
    return;
  }
  fused_ = &kernels.find("fused", Format::fp32);
  for (const NodeId id : group.nodes) {
    const Node& node = graph.node(id);
    members_.push_back(std::make_unique<Call>(kernels, std::move(launch_plans(graph, node, options).front()), locate));
    FusedStage stage;
    stage.kernel = &members_.back()->kernel();
    stage.launch = &members_.back()->launch();
    stage.stored = fusion.stored[static_cast<std::size_t>(node.outputs.front().index)];
    stages_.push_back(stage);
  }
  link_from(0);
  launch_.params = &params_;
}

void FusedCall::link_from(std::size_t first) {
  for (std::size_t i = first; i < stages_.size(); ++i)
    for (std::size_t r = 0; r < sources_[i].size(); ++r)
      stages_[i].source[r] = std::max(-1, sources_[i][r] - static_cast<int>(first));
  params_ = chain(first);
}

void FusedCall::bind(StepState* state, int threads, void* stream, void* workspace) {
  const auto set = [&](Launch& launch) {
    launch.state = state;
    launch.threads = threads;
    launch.stream = stream;
    launch.workspace = workspace;
  };
  for (const std::unique_ptr<Call>& member : members_) set(member->launch());
  set(launch_);
}

/// Ranges of a product's result can be counted where it is passed on: they may be added up in any order.
bool FusedCall::launched_alone(const std::vector<std::vector<RoundingCounts*>>& counts) const {
  if (kind_ != FusionKind::product) return false;
  return std::any_of(counts.begin(), counts.end(), [](const std::vector<RoundingCounts*>& of_launch) {
    return std::any_of(of_launch.begin(), of_launch.end(), [](const RoundingCounts* c) { return c != nullptr && !c->range_only; });
  });
}

std::size_t FusedCall::observation_bytes(const std::vector<std::vector<RoundingCounts*>>& counts) const {
  if (kind_ != FusionKind::product || counts.empty()) return 0;
  if (launched_alone(counts)) return stages_.front().stored ? 0 : static_cast<std::size_t>(members_.front()->out().front().bytes());
  std::size_t outputs = 0;
  for (const std::unique_ptr<Call>& member : members_) outputs += member->outputs();
  return outputs * static_cast<std::size_t>(std::max(1, launch_.threads)) * sizeof(RoundingTally);
}

void FusedCall::count(const std::vector<std::vector<RoundingCounts*>>& counts, void* memory) {
  for (std::size_t i = 0; i < members_.size(); ++i) members_[i]->count(i < counts.size() ? counts[i].data() : nullptr);
  if (kind_ == FusionKind::unscale) return;
  product_alone_ = launched_alone(counts);
  link_from(product_alone_ ? 1 : 0);
  params_.tallies = product_alone_ ? nullptr : static_cast<RoundingTally*>(memory);
  if (stages_.front().stored) return;
  Tensor& result = members_.front()->out().front();
  result.data = product_alone_ ? memory : nullptr;   // the memory is another's again, and a fused product would store there
  if (!product_alone_) return;
  for (std::size_t i = 1; i < members_.size(); ++i) {
    const Stage& stage = *members_[i]->kernel().stage;
    for (int r = 0; r < stage.reads; ++r)
      if (sources_[i][static_cast<std::size_t>(r)] == 0) members_[i]->in()[static_cast<std::size_t>(stage.read[r])].data = result.data;
  }
}

void FusedCall::run() const {
  if (kind_ == FusionKind::unscale || product_alone_) members_.front()->run();
  if (kind_ != FusionKind::unscale) fused_->run(launch_);
}

std::size_t FusedCall::workspace_bytes(int threads) const {
  for (const std::unique_ptr<Call>& member : members_) member->launch().threads = threads;
  if (kind_ == FusionKind::unscale) return members_.front()->workspace_bytes();
  Launch whole = launch_;
  whole.threads = threads;
  const std::size_t bytes = fused_->workspace_bytes(whole);
  if (kind_ != FusionKind::product) return bytes;
  // Counted, the product runs alone and the rest after it, reading its result from memory.
  std::vector<FusedStage> rest(stages_.begin() + 1, stages_.end());
  for (std::size_t i = 0; i < rest.size(); ++i)
    for (std::size_t r = 0; r < sources_[i + 1].size(); ++r) rest[i].source[r] = std::max(-1, sources_[i + 1][r] - 1);
  const FusedLaunch params{rest.data(), static_cast<int>(rest.size()), nullptr};
  whole.params = &params;
  return std::max({bytes, members_.front()->workspace_bytes(), fused_->workspace_bytes(whole)});
}

}  // namespace ulpscope::engine
