// Kernel calls of nodes and of groups of nodes, with everything they point to.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "engine/graph/operator.h"
#include "engine/passes/fusion.h"
#include "kernels/device.h"
#include "kernels/fused.h"
#include "kernels/ops/rounding_counts.h"

namespace ulpscope::engine {

/// Where an operand is. Only sizes are asked for while memory is planned: then the data may be null.
using Locate = std::function<Tensor(const Operand&)>;

/// One launch: kernel, views, params. It points into itself, so it does not move.
class Call {
 public:
  Call(const KernelTable& kernels, LaunchPlan plan, const Locate& locate);
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  const Kernel& kernel() const { return *kernel_; }
  Launch& launch() { return launch_; }
  std::size_t outputs() const { return out_.size(); }
  std::vector<Tensor>& in() { return in_; }
  std::vector<Tensor>& out() { return out_; }
  /// Counts of the outputs, which must outlive it; null: nobody looks.
  void count(RoundingCounts* const* counts) { launch_.counts = counts; }
  void run() const { kernel_->run(launch_); }
  std::size_t workspace_bytes() const;

 private:
  const Kernel* kernel_ = nullptr;
  std::vector<Tensor> in_, out_;
  std::vector<std::byte> params_;
  Launch launch_;
};

/// The launch of a group. Members are calls of their own, which the fused kernel runs together.
class FusedCall {
 public:
  FusedCall(const Graph& graph, const KernelTable& kernels, const FusionPlan& fusion, const FusionGroup& group,
            const LaunchOptions& options, const Locate& locate);

  /// Sets state, threads, stream and workspace of all launches.
  void bind(StepState* state, int threads, void* stream, void* workspace);
  /// How many launches there are to count: one for each node, or one for all (unscale).
  std::size_t counted_launches() const { return members_.size(); }
  /// Counts by launch, by output, which must outlive it; empty: nobody looks. Where a product has more than ranges counted it is
  /// launched alone. `memory` of the device, observation_bytes(counts), holds what it needs for that, and is free again after the
  /// launch. Allocates nothing.
  void count(const std::vector<std::vector<RoundingCounts*>>& counts, void* memory);
  void run() const;
  std::size_t observation_bytes(const std::vector<std::vector<RoundingCounts*>>& counts) const;
  /// Greatest need of the ways it can be launched.
  std::size_t workspace_bytes(int threads) const;

 private:
  FusedLaunch chain(std::size_t first) const { return {stages_.data() + first, static_cast<int>(stages_.size() - first), nullptr}; }
  void link_from(std::size_t first);
  bool launched_alone(const std::vector<std::vector<RoundingCounts*>>& counts) const;

  FusionKind kind_;
  std::vector<std::unique_ptr<Call>> members_;
  std::vector<std::array<int, max_stage_reads>> sources_;
  std::vector<FusedStage> stages_;   ///< of all members; while a product is counted, those behind it read its result from memory
  const Kernel* fused_ = nullptr;
  bool product_alone_ = false;
  FusedLaunch params_;
  Launch launch_;
};

}  // namespace ulpscope::engine
