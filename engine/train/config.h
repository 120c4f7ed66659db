// How a model is trained. Plain data: the experiment file fills it, the trainer reads it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/scaling/loss_scaler.h"

namespace ulpscope::engine {

enum class OptimizerKind : std::uint8_t { adamw, sgd };
enum class ScheduleKind : std::uint8_t { constant, cosine, linear };
/// What happens to a step whose gradients are not finite in a mode without a loss scaler.
enum class NonFinite : std::uint8_t { stop, apply };

struct OptimizerConfig {
  OptimizerKind kind = OptimizerKind::adamw;
  double beta1 = 0.9;          ///< adamw
  double beta2 = 0.95;         ///< adamw
  double epsilon = 1e-8;       ///< adamw
  double momentum = 0.9;       ///< sgd
  bool nesterov = false;       ///< sgd
  double weight_decay = 0.1;
  double clip = 1.0;           ///< greatest global norm of the unscaled gradients; 0: no clipping
};

/// Learning rate against applied steps.
struct ScheduleConfig {
  ScheduleKind kind = ScheduleKind::cosine;
  double learning_rate = 1e-3;      ///< after warm-up
  std::int64_t warmup = 0;          ///< applied steps of linear warm-up from 0
  double final_fraction = 0.1;      ///< cosine and linear end at learning_rate * final_fraction
  std::int64_t steps = 100;         ///< where they end
};

struct TrainConfig {
  std::int64_t steps = 100;
  std::int64_t batch = 8;
  OptimizerConfig optimizer;
  ScheduleConfig schedule;
  scaling::Policy scaler = scaling::PytorchScaler{};   ///< used by the modes with loss scaling
  NonFinite non_finite = NonFinite::stop;
  std::string policy = "torch_cuda";                   ///< autocast policy
  std::vector<std::string> keep_fp32;                  ///< node name patterns (*, ?) that stay fp32
  std::int64_t evaluate_every = 0;                     ///< 0: only at the end
  std::int64_t evaluation_batches = 8;
};

}  // namespace ulpscope::engine
