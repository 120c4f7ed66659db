// The matrix product of a GPU: cuBLASLt.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/formats/format.h"
#include "kernels/launch.h"

namespace ulpscope::cuda {

/// "cuBLASLt 13.0.2": the library that was loaded, not the one it was built with.
std::string product_library();

/// Adds matmul, conv2d and attention with their gradients.
void register_products(KernelTable& table);

/// What computes products of one kind: chosen by the library's heuristic when the first of them was launched, and kept from then
/// on. C is [columns, rows] row by row; numbers are cuBLASLt's own.
struct ProductChoice {
  std::int64_t rows = 0, columns = 0, depth = 0, batch = 1;
  std::int64_t leading_a = 0, leading_b = 0, leading_c = 0;   ///< elements from one row to the next, as they lie in memory
  Format a = Format::fp32, b = Format::fp32, c = Format::fp32;
  bool transposed_a = false, transposed_b = false, bias = false;
  const char* compute = "";       ///< "fp32 pedantic", "fast tf32", "fp32", "fp64"
  int algorithm = -1, tile = 0, stages = 0, split_k = 1, reduction = 0, swizzle = 0, custom = 0, inner_shape = 0, cluster_shape = 0;
  std::uint64_t numerics = 0;     ///< CUBLASLT_NUMERICAL_IMPL_FLAGS_…: which units, operands and accumulators; 0: not said
  std::size_t workspace = 0;      ///< bytes
  double waves = 0.0;             ///< how often it fills the device
};
/// Of this process, in the order in which they were made.
std::vector<ProductChoice> product_choices();

/// NVIDIA_TF32_OVERRIDE of the environment: "0" keeps cuBLAS from tf32 whatever it is asked for; empty: not set.
std::string tf32_override();

}  // namespace ulpscope::cuda
