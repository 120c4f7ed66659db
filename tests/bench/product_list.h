// The matrix products of a training step, as the planned graph has them, and others to compare the own product with.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/train/trainer.h"
#include "kernels/tensor.h"

namespace ulpscope::bench {

/// C[m, n] = op(A) op(B), `batch` times.
struct ProductShape {
  std::int64_t m = 0, n = 0, k = 0;
  bool trans_a = false, trans_b = false;
  std::int64_t batch = 1;

  double flops() const { return 2.0 * static_cast<double>(m * n * k * batch); }
  friend auto operator<=>(const ProductShape&, const ProductShape&) = default;
};
/// "2048x1152x384 NT", "48 of 256x256x64 NT".
std::string to_string(const ProductShape& shape);

/// A matrix of a product in the memory of a step. Strides in elements; no value: scratch memory of the thread.
struct StepOperand {
  engine::ValueId value;
  std::int64_t offset = 0;
  std::int64_t row_stride = 0, column_stride = 0;
  std::array<std::int64_t, 2> batch_stride{0, 0};
};
struct StepProduct {
  ProductShape shape;  ///< of one product; batch is that of the launch
  std::array<std::int64_t, 2> batch{1, 1};
  StepOperand a, b, c;
};
/// What one launch multiplies: a product, or for each head of attention the products it needs, one after the other.
using StepProducts = std::vector<StepProduct>;

/// In the order of the step. Throws Error if they do not add up to the FLOPs that the graph's operators count for their
/// products (within 3 %: biases): then there is an operator this function does not know.
std::vector<StepProducts> products_of(const engine::StepPlan& plan);

/// Each shape of the step once; 30 others: odd, small, tall, wide, deep, vectors, square, in every transposition.
std::vector<ProductShape> step_shapes(const engine::StepPlan& plan);
std::vector<ProductShape> other_shapes();

/// FLOPs of a step: for each target six for every weight that takes part in a product (6N; tables that are only looked
/// up do not count), and attention's products, 12 · layers · width · context, as PaLM's appendix B counts them.
double step_flops(const engine::StepPlan& plan, const engine::GptConfig& model);

}  // namespace ulpscope::bench
