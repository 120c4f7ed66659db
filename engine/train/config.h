// How a model is trained. Plain data: the experiment file fills it, the trainer reads it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/optim/optimizer_config.h"
#include "engine/optim/schedule_config.h"
#include "engine/passes/rewrite.h"
#include "engine/precision/override.h"
#include "engine/train/injection.h"
#include "kernels/scaling/loss_scaler.h"

namespace ulpscope::engine {

/// What happens to a step whose gradients are not finite in a mode without a loss scaler.
enum class NonFinite : std::uint8_t { stop, apply };

/// When 16-bit copies of weights are made. keep: once, in the forward pass, and kept until the backward pass has read them;
/// recast: before each use, so that a copy lives only while it is read; automatic: as engine/train/savings.h decides.
enum class WeightCopies : std::uint8_t { automatic, keep, recast };

/// What a step that is not committed does to buffers (running statistics): as to weights, nothing; or it leaves what it computed.
enum class BufferCommit : std::uint8_t { transaction, always };

/// What the learning-rate schedule counts.
enum class ScheduleCounts : std::uint8_t { applied, iterations };

inline constexpr std::int64_t most_micro_batches = 65536;

struct TrainConfig {
  std::int64_t steps = 100;
  std::int64_t batch = 8;                              ///< of a micro-batch
  std::int64_t micro_batches = 1;                      ///< of a step: their gradients are summed, the loss is their mean
  Format accumulator_format = Format::fp32;            ///< of that sum
  std::optional<Format> gradient_format = std::nullopt;    ///< of parameters' gradients; none: the parameters'
  OptimizerConfig optimizer;
  ScheduleConfig schedule;
  scaling::Policy scaler = scaling::PytorchScaler{};   ///< used by the modes with loss scaling
  bool scale_pure = false;                             ///< fp16_pure has a loss scaler, too
  bool scale_all = false;                              ///< every mode has one
  NonFinite non_finite = NonFinite::stop;
  BufferCommit buffers = BufferCommit::transaction;
  ScheduleCounts schedule_counts = ScheduleCounts::applied;
  bool early_unscale = false;                          ///< non-standard: GradientOptions::early_unscale
  std::string policy = "torch_cuda";                   ///< autocast policy
  std::vector<std::string> keep_fp32;                  ///< node name patterns (*, ?) that stay fp32
  std::vector<std::string> recompute;                  ///< what the backward pass computes again: "blocks", node name patterns
  WeightCopies weight_copies = WeightCopies::automatic;
  std::vector<Override> overrides;                     ///< formats and sums of single nodes
  MatrixUnit accumulate_as = MatrixUnit::none;         ///< whose matrix units' sums products have (passes/matrix_unit.h); CPU only
  std::vector<Rewrite> rewrites;                       ///< of the model, before autocast (passes/rewrites.h)
  std::vector<Injection> injections;                   ///< values set at a step
  std::vector<std::string> keep;                       ///< names of results that stay readable after a step (Trainer::read)
  std::string weights;                                 ///< a safetensors file with the initial weights; empty: they are drawn
  bool widen = false;                                  ///< weights that come in 16 bits get a master copy, in mixed modes
  bool fusion = true;                                  ///< operations that follow each other in one launch; the bits are the same
  std::int64_t evaluate_every = 0;                     ///< 0: only at the end
  std::int64_t evaluation_batches = 8;
  /// fp16, bf16: evaluation rounds weights, buffers and batch to it and computes as the pure mode does; fp32: as that mode does, on weights as
  /// the run keeps them; none: in the run's mode.
  std::optional<Format> evaluation_format = std::nullopt;
};

/// Throws UsageError "<place>.<key>: …" for settings that do not go together.
void check(const TrainConfig& config, const std::string& place);

}  // namespace ulpscope::engine
