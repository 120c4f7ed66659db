// The yardstick: oneDNN's sgemm, called bare. Nothing of the product links it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/bench/product_list.h"

namespace ulpscope::bench {

/// "oneDNN 2.6.3".
std::string onednn_version();

/// A matrix in memory; one of the strides (elements) is 1.
struct MatrixView {
  float* data = nullptr;
  std::int64_t row_stride = 0, column_stride = 0;
};
/// Row-major C[m, n] = A B. By all threads; by the calling one alone inside a parallel region. Throws Error on failure.
void onednn_multiply(std::int64_t m, std::int64_t n, std::int64_t k, const MatrixView& a, const MatrixView& b,
                     const MatrixView& c);

/// The products of a step on memory of its own, laid out as the step's memory plan says: each operand lies where the
/// step has it, and what shares memory in the step shares it here.
class BareProducts {
 public:
  BareProducts(Device& device, const engine::StepPlan& plan);
  /// Fills the memory with small numbers: results feed later products, and must not grow or vanish.
  void refill();
  /// Multiplies everything once. Attention's products run for each head on one thread, the heads in parallel.
  void run();

 private:
  struct Item {
    StepProduct product;
    float *a, *b, *c;  ///< null: scratch
  };
  void run_head(const std::vector<Item>& items, std::int64_t i, std::int64_t j, float* scratch) const;

  Buffer persistent_, arena_;
  float scale_ = 0.0f;
  std::vector<std::vector<Item>> groups_;
  std::vector<std::vector<float>> scratch_;  ///< for each thread
};

}  // namespace ulpscope::bench
