// What kind of work a node does, by its operation: times are added up by it.
#pragma once

#include <cstdint>
#include <string_view>

namespace ulpscope::reports {

enum class TimeCategory : std::uint8_t {
  matrix_products,
  attention,
  convolution,
  normalisation,
  softmax_loss,
  elementwise,
  casts,
  reductions,
  embedding,
  unscale_check,  ///< loss scaling: the loss times the scale, gradients divided by it and looked at
  optimizer,
  copies,     ///< memory to memory: layout, commits of buffers, transfers
  other,      ///< an operation this version does not know
  unmatched,  ///< kernels of a GPU that belong to no known node
};
inline constexpr int time_category_count = 14;

std::string_view name(TimeCategory category);   ///< for programs: "matrix_products"
std::string_view label(TimeCategory category);  ///< for people: "matrix products"

/// An operation's, by its name in the plan; `other` if it is not known.
TimeCategory time_category(std::string_view operation);
/// A kernel's without a node: `copies` for what CUPTI calls a copy or a set, else `unmatched`.
TimeCategory kernel_category(std::string_view kernel);

/// Matrix products, attention and convolution: what the units for 16-bit products can speed up.
constexpr bool is_product(TimeCategory c) {
  return c == TimeCategory::matrix_products || c == TimeCategory::attention || c == TimeCategory::convolution;
}

}  // namespace ulpscope::reports
