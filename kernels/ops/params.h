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

struct SgdParams {
  float momentum = 0.0f;
  float weight_decay = 0.0f;   ///< L2, added to the gradient, as torch.optim.SGD
  bool nesterov = false;
};

struct AdamWParams {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.0;   ///< decoupled, as torch.optim.AdamW
};

}  // namespace ulpscope
