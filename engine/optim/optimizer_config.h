// Which optimizer, and its numbers.
#pragma once

#include <cstdint>
#include <optional>

#include "kernels/formats/format.h"
#include "kernels/ops/params.h"

namespace ulpscope::engine {

/// storage: every operation of an update on 16-bit weights is rounded to their format, as PyTorch's for-loop optimizers do;
/// fp32: computed in fp32, rounded once, as fused ones do.
enum class UpdateArithmetic : std::uint8_t { storage, fp32 };

/// How a hyper-parameter gets into a narrower format.
enum class ScalarRounding : std::uint8_t { round, truncate };

/// x in the format, as a double.
double in_scalar_format(double x, Format format, ScalarRounding rounding);

enum class OptimizerKind : std::uint8_t { adamw, sgd };

struct OptimizerConfig {
  OptimizerKind kind = OptimizerKind::adamw;
  double beta1 = 0.9;          ///< adamw
  double beta2 = 0.95;         ///< adamw
  double epsilon = 1e-8;       ///< adamw
  double momentum = 0.9;       ///< sgd
  bool nesterov = false;       ///< sgd
  double weight_decay = 0.1;
  double clip = 1.0;           ///< greatest global norm of the unscaled gradients; 0: no clipping
  UpdateArithmetic arithmetic = UpdateArithmetic::storage;
  UpdateRounding rounding = UpdateRounding::nearest;         ///< of the weights
  std::optional<Format> moment_format = std::nullopt;        ///< of the moments (sgd: the momentum buffer); none: the weights'
  Format scalar_format = Format::fp32;                       ///< fp32: rates and betas as PyTorch passes them, in double
  ScalarRounding scalar_rounding = ScalarRounding::round;
  Format norm_accumulate = Format::fp32;                     ///< of the sums of the norm for clipping
  bool clip_before_unscale = false;                          ///< non-standard: the norm is that of the scaled gradients
};

}  // namespace ulpscope::engine
