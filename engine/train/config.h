// How a model is trained. Plain data: the experiment file fills it, the trainer reads it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/optim/optimizer_config.h"
#include "engine/optim/schedule_config.h"
#include "kernels/scaling/loss_scaler.h"

namespace ulpscope::engine {

/// What happens to a step whose gradients are not finite in a mode without a loss scaler.
enum class NonFinite : std::uint8_t { stop, apply };

/// When 16-bit copies of weights are made. keep: once, in the forward pass, and kept until the backward pass has read them;
/// recast: before each use, so that a copy lives only while it is read; automatic: as engine/train/savings.h decides.
enum class WeightCopies : std::uint8_t { automatic, keep, recast };

struct TrainConfig {
  std::int64_t steps = 100;
  std::int64_t batch = 8;
  OptimizerConfig optimizer;
  ScheduleConfig schedule;
  scaling::Policy scaler = scaling::PytorchScaler{};   ///< used by the modes with loss scaling
  NonFinite non_finite = NonFinite::stop;
  std::string policy = "torch_cuda";                   ///< autocast policy
  std::vector<std::string> keep_fp32;                  ///< node name patterns (*, ?) that stay fp32
  std::vector<std::string> recompute;                  ///< what the backward pass computes again: "blocks", node name patterns
  WeightCopies weight_copies = WeightCopies::automatic;
  bool fusion = true;                                  ///< operations that follow each other in one launch; the bits are the same
  std::int64_t evaluate_every = 0;                     ///< 0: only at the end
  std::int64_t evaluation_batches = 8;
};

}  // namespace ulpscope::engine
