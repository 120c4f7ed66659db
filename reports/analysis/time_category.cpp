#include "reports/analysis/time_category.h"

#include <algorithm>
#include <array>
#include <utility>

namespace ulpscope::reports {
namespace {

struct Words {
  std::string_view name;
  std::string_view label;
};
constexpr std::array<Words, time_category_count> words{{
    {"matrix_products", "matrix products"},
    {"attention", "attention"},
    {"convolution", "convolution"},
    {"normalisation", "normalisation"},
    {"softmax_loss", "softmax, loss"},
    {"elementwise", "element-wise"},
    {"casts", "casts"},
    {"reductions", "reductions"},
    {"embedding", "embedding"},
    {"unscale_check", "unscale and check"},
    {"optimizer", "optimizer"},
    {"copies", "copies"},
    {"other", "other"},
    {"unmatched", "of no known node"},
}};

using C = TimeCategory;

// Forward names; "…_backward" and what follows it belong to the same category.
constexpr auto operations = std::to_array<std::pair<std::string_view, C>>({
    {"linear", C::matrix_products},
    {"matmul", C::matrix_products},
    {"attention", C::attention},
    {"conv1d", C::convolution},
    {"conv2d", C::convolution},
    {"layer_norm", C::normalisation},
    {"rms_norm", C::normalisation},
    {"batch_norm", C::normalisation},
    {"softmax", C::softmax_loss},
    {"causal_mask", C::softmax_loss},
    {"cross_entropy", C::softmax_loss},
    {"mse_loss", C::softmax_loss},
    {"l1_loss", C::softmax_loss},
    {"bce_with_logits", C::softmax_loss},
    {"neg", C::elementwise},
    {"abs", C::elementwise},
    {"square", C::elementwise},
    {"sqrt", C::elementwise},
    {"rsqrt", C::elementwise},
    {"reciprocal", C::elementwise},
    {"exp", C::elementwise},
    {"log", C::elementwise},
    {"sin", C::elementwise},
    {"cos", C::elementwise},
    {"erf", C::elementwise},
    {"tanh", C::elementwise},
    {"scale", C::elementwise},
    {"clamp", C::elementwise},
    {"sigmoid", C::elementwise},
    {"relu", C::elementwise},
    {"silu", C::elementwise},
    {"gelu", C::elementwise},
    {"gelu_tanh", C::elementwise},
    {"add", C::elementwise},
    {"sub", C::elementwise},
    {"mul", C::elementwise},
    {"div", C::elementwise},
    {"maximum", C::elementwise},
    {"eq", C::elementwise},
    {"ne", C::elementwise},
    {"masked_fill", C::elementwise},
    {"where", C::elementwise},
    {"dropout", C::elementwise},
    {"rotary", C::elementwise},
    {"rotary_table", C::elementwise},
    {"ema", C::elementwise},
    {"accumulate", C::elementwise},
    {"cast", C::casts},
    {"sum", C::reductions},
    {"mean", C::reductions},
    {"sum_to", C::reductions},
    {"sum_all", C::reductions},
    {"sum_leading", C::reductions},
    {"sum_trailing", C::reductions},
    {"sum_channels", C::reductions},
    {"masked_mean", C::reductions},
    {"avg_pool1d", C::reductions},
    {"avg_pool2d", C::reductions},
    {"max_pool1d", C::reductions},
    {"max_pool2d", C::reductions},
    {"global_norm", C::reductions},
    {"embedding", C::embedding},
    {"scale_loss", C::unscale_check},
    {"unscale_check", C::unscale_check},
    {"sgd", C::optimizer},
    {"adamw", C::optimizer},
    {"commit_buffer", C::copies},
    {"reshape", C::copies},
    {"flatten", C::copies},
    {"detach", C::copies},
    {"select", C::copies},
    {"split", C::copies},
    {"cat", C::copies},
    {"expand", C::copies},
    {"split_heads", C::copies},
    {"join_heads", C::copies},
});

}  // namespace

std::string_view name(TimeCategory category) { return words[static_cast<std::size_t>(category)].name; }
std::string_view label(TimeCategory category) { return words[static_cast<std::size_t>(category)].label; }

TimeCategory time_category(std::string_view operation) {
  const auto find = [](std::string_view word) {
    return std::find_if(operations.begin(), operations.end(), [&](const auto& known) { return known.first == word; });
  };
  auto found = find(operation);
  if (found == operations.end()) found = find(operation.substr(0, operation.find("_backward")));
  return found == operations.end() ? C::other : found->second;
}

TimeCategory kernel_category(std::string_view kernel) {
  for (const std::string_view start : {"memcpy", "memset", "[CUDA memcpy", "[CUDA memset", "[memcpy", "[memset"})
    if (kernel.starts_with(start)) return C::copies;
  return C::unmatched;
}

}  // namespace ulpscope::reports
