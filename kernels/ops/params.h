// Parameters of the kernels: plain structs, copied to the device by value. Which operation takes which: catalogue.h.
#pragma once

#include <cstdint>

#include "kernels/formats/format.h"

namespace ulpscope {

struct ScaleParams {
  double factor = 1.0;
};

/// Bits are keyed by seed, key (hash("dropout:" + the node's name)), iteration and micro-batch (StepState), and element index.
struct DropoutParams {
  float rate = 0.0f;       ///< probability of zero; kept elements are multiplied by 1 / (1 - rate)
  std::uint64_t seed = 0;
  std::uint64_t key = 0;
};

struct CausalMaskParams {
  float value = 0.0f;      ///< written where key position > query position
};

struct LayerNormParams {
  float epsilon = 1e-5f;
};

struct RmsNormParams {
  float epsilon = 1e-5f;
};

struct RotaryTableParams {
  double ratio = 1.0;      ///< base^(-2 / D): pair i of position t turns by t * ratio^i radians
};

struct RotaryParams {
  bool inverse = false;    ///< turns back: the gradient
};

struct MaskedFillParams {
  double value = 0.0;      ///< rounded to the compute type once
};

struct CompareParams {
  std::int32_t value = 0;
  bool equal = true;       ///< 1 where x == value; else where x != value
};

struct CrossEntropyParams {
  double label_smoothing = 0.0;      ///< share of the target that is spread over all classes
  std::int32_t ignore_index = -100;  ///< rows with this target count for nothing
};

struct BatchNormParams {
  float epsilon = 1e-5f;
};

/// Of a window that slides over a plane [H, W].
struct Window {
  std::int64_t kernel[2] = {1, 1}, stride[2] = {1, 1}, padding[2] = {0, 0}, dilation[2] = {1, 1};
};

struct PoolParams {
  Window window;           ///< without dilation
};

struct ConvParams {
  Window window;
  std::int64_t groups = 1;
  Format multiply = Format::fp32;   ///< as MatmulParams
};

struct MatmulParams {
  bool trans_a = false;    ///< A is stored [.., K, M]
  bool trans_b = false;    ///< B is stored [.., N, K]
  /// What the multiplier sees: operands are rounded to this format if they are wider (tf32: ties away), never otherwise.
  Format multiply = Format::fp32;
};

struct AttentionParams {
  float scale = 1.0f;      ///< applied to the fp32 scores
  bool causal = true;
  Format multiply = Format::fp32;
  DropoutParams dropout;   ///< on the probabilities
};

struct ClipParams {
  float max_norm = 0.0f;   ///< 0: no clipping
};

struct EmaParams {
  double momentum = 0.1;   ///< share of the new value
};

struct AccumulateParams {
  bool early_unscale = false;
};

enum class UpdateRounding : std::uint8_t { nearest, stochastic, kahan };

/// How an update is carried out where weights or moments are narrow. The default: computed in the compute type, every result
/// rounded once, to nearest, as fused optimizers do.
struct UpdateNumerics {
  /// Every operation's result is rounded to the storage format of what it makes, as PyTorch's for-loop optimizers do. Other
  /// roundings than nearest leave the weights' own line in the compute type.
  bool each_operation = false;
  UpdateRounding rounding = UpdateRounding::nearest;   ///< of the weights
  std::uint64_t seed = 0;   ///< stochastic: bits are keyed by seed, key (hash("update:" + the weights' name)), iteration, element
  std::uint64_t key = 0;

  bool plain() const { return !each_operation && rounding == UpdateRounding::nearest; }
};

struct SgdParams {
  float momentum = 0.0f;
  float weight_decay = 0.0f;   ///< L2, added to the gradient, as torch.optim.SGD
  bool nesterov = false;
  UpdateNumerics numerics = {};
};

struct AdamWParams {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.0;   ///< decoupled, as torch.optim.AdamW
  UpdateNumerics numerics = {};
};

}  // namespace ulpscope
