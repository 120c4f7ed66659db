#include "engine/precision/policy.h"

#include <initializer_list>

#include <fmt/format.h>

#include "kernels/error.h"
#include "kernels/nearest.h"

namespace ulpscope::engine {
namespace {

void list(Policy& policy, CastClass c, std::initializer_list<const char*> names) {
  for (const char* n : names) policy.listed.emplace(n, c);
}

Policy torch_cuda() {
  Policy p;
  p.name = "torch_cuda";
  list(p, CastClass::lower,
       {"_convolution", "conv1d", "conv2d", "conv3d", "conv_tbc", "conv_transpose1d", "conv_transpose2d",
        "conv_transpose3d", "convolution", "cudnn_convolution", "cudnn_convolution_transpose", "prelu", "addmm", "addmv", "addr",
        "matmul", "einsum", "mm", "mv", "linalg_vecdot", "linear", "addbmm", "baddbmm", "bmm", "chain_matmul",
        "linalg_multi_dot", "_thnn_fused_lstm_cell", "_thnn_fused_gru_cell", "lstm_cell", "gru_cell", "rnn_tanh_cell",
        "rnn_relu_cell", "scaled_dot_product_attention"});
  list(p, CastClass::fp32,
       {"acos", "asin", "cosh", "erfinv", "exp", "expm1", "log", "log10", "log2", "log1p", "reciprocal", "rsqrt", "sinh",
        "tan", "pow", "softplus", "layer_norm", "native_layer_norm", "group_norm", "frobenius_norm", "nuclear_norm",
        "cosine_similarity", "poisson_nll_loss", "cosine_embedding_loss", "nll_loss", "nll_loss2d", "hinge_embedding_loss",
        "kl_div", "l1_loss", "smooth_l1_loss", "huber_loss", "mse_loss", "margin_ranking_loss", "multilabel_margin_loss",
        "soft_margin_loss", "triplet_margin_loss", "multi_margin_loss", "binary_cross_entropy_with_logits", "dist", "pdist",
        "cdist", "renorm", "logsumexp", "upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d", "upsample_linear1d",
        "upsample_bilinear2d", "upsample_trilinear3d", "upsample_bicubic2d", "_upsample_bilinear2d_aa",
        "_upsample_bicubic2d_aa"});
  // "fp32 unless the caller passes a format"
  list(p, CastClass::fp32, {"prod", "softmax", "log_softmax", "cumprod", "cumsum", "linalg_vector_norm", "linalg_matrix_norm", "sum", "norm"});
  // Not an entry of its own in PyTorch: cross_entropy_loss is log_softmax (fp32) followed by nll_loss (fp32).
  list(p, CastClass::fp32, {"cross_entropy_loss"});
  list(p, CastClass::widest,
       {"addcdiv", "addcmul", "atan2", "bilinear", "cross", "dot", "vdot", "grid_sampler", "index_put", "tensordot",
        "scatter_add"});
  return p;
}

Policy torch_cpu() {
  Policy p;
  p.name = "torch_cpu";
  list(p, CastClass::lower,
       {"conv1d", "conv2d", "conv3d", "conv_tbc", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "linear",
        "matmul", "mm", "bmm", "addmm", "addbmm", "baddbmm", "prelu", "scaled_dot_product_attention"});
  list(p, CastClass::fp32,
       {"cross_entropy_loss", "nll_loss", "nll_loss2d", "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss",
        "binary_cross_entropy", "binary_cross_entropy_with_logits", "prod", "cdist"});
  return p;
}

}  // namespace

const char* name(CastClass c) {
  switch (c) {
    case CastClass::lower: return "lower";
    case CastClass::fp32: return "fp32";
    case CastClass::widest: return "widest input";
    case CastClass::as_it_comes: return "as it comes";
  }
  return "?";
}

CastClass Policy::class_of(std::string_view pytorch_operator) const {
  const auto it = listed.find(pytorch_operator);
  return it == listed.end() ? CastClass::as_it_comes : it->second;
}

const std::vector<Policy>& policies() {
  static const std::vector<Policy> all{torch_cuda(), torch_cpu()};
  return all;
}

const Policy& find_policy(std::string_view name) {
  std::vector<std::string> names;
  for (const Policy& p : policies()) {
    if (p.name == name) return p;
    names.push_back(p.name);
  }
  throw UsageError(fmt::format("unknown autocast policy '{}', did you mean '{}'? Policies: {}", name, nearest(name, names),
                               fmt::join(names, ", ")));
}

}  // namespace ulpscope::engine
