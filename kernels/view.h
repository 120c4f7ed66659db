// A tensor as kernels walk it: a run of elements in row-major order of some shape, with the dimensions
// collapsed as far as the strides allow. Made by ordinary code, once per launch; read by code compiled per instruction
// set, which is why it is plain data without member functions.
#pragma once

#include <cstdint>

#include "kernels/launch.h"
#include "kernels/tensor.h"

namespace ulpscope {

struct View {
  char* data = nullptr;
  Format format = Format::fp32;
  int item = 4;          ///< bytes of one element
  int rank = 1;          ///< after collapsing, at least 1
  bool flat = true;      ///< element i lies at index i
  bool uniform = false;  ///< every element is the same one
  std::int64_t extent[max_rank] = {};
  std::int64_t stride[max_rank] = {};  ///< in elements
  std::int64_t elements = 0;
};

/// The tensor broadcast to a shape (aligned at the last dimension; its dimensions equal those of the shape or are 1).
/// Throws Error naming the operation and the shapes.
View broadcast_view(const char* operation, const Tensor& tensor, const Shape& shape);
View view_of(const Tensor& tensor);
/// Broadcast to [length], and to a scalar.
View vector_view(const char* operation, const Tensor& tensor, std::int64_t length);
View scalar_view(const char* operation, const Tensor& tensor);

/// Throws Error unless the launch has as many inputs and outputs as said, all of a float format but for the inputs
/// whose bit is set in `indices`, which are i32 and contiguous, and those in `masks`, which are i32 of any strides.
void expect_operands(const char* operation, const Launch& launch, int inputs, int outputs, unsigned indices = 0,
                     unsigned masks = 0);
/// Throws Error unless both shapes are equal.
void expect_shape(const char* operation, const char* operand, const Shape& shape, const Shape& expected);
/// Throws Error unless the launch maps i32 to i32, both contiguous and of one shape.
void expect_index_map(const char* operation, const Launch& launch);
/// Throws Error unless the launch has one float input, a float output, and an i32 output beside it of the same shape, contiguous.
void expect_index_output(const char* operation, const Launch& launch, int inputs);
Shape matrix_shape(std::int64_t rows, std::int64_t columns);
[[noreturn]] void fail(const char* operation, const char* message);

/// rows and columns of a shape: all dimensions but the last, and the last.
struct RowShape {
  std::int64_t rows = 1;
  std::int64_t length = 1;
  Shape outer;  ///< all dimensions but the last
};
RowShape row_shape(const char* operation, const Shape& shape);
/// The last dimension, and the product of the others; 1 and 1 for a scalar.
std::int64_t row_length(const Tensor& tensor);
std::int64_t row_count(const Tensor& tensor);

/// sum_leading: y's dimensions are the last ones of x. Throws Error if they are not.
struct LeadingShape {
  std::int64_t rows;
  std::int64_t columns;
};
LeadingShape leading_shape(const Tensor& x, const Tensor& y);

/// table [rows, columns], index [..] with `positions` elements, y [.., columns]. Throws Error if they do not fit.
struct EmbeddingShape {
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t positions;
};
EmbeddingShape embedding_shape(const char* operation, const Tensor& table, const Tensor& index, const Tensor& y);

}  // namespace ulpscope
