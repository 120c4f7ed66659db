#include "kernels/view.h"

#include <string>

#include "kernels/error.h"

namespace ulpscope {

View broadcast_view(const char* operation, const Tensor& tensor, const Shape& shape) {
  View view;
  view.data = static_cast<char*>(tensor.data);
  view.format = tensor.format;
  view.item = storage_bytes(tensor.format);
  view.elements = shape.elements();
  if (tensor.shape.rank > shape.rank) {
    throw Error(std::string(operation) + ": shape " + to_string(tensor.shape) + " does not broadcast to " +
                to_string(shape));
  }
  int rank = 0;
  for (int axis = 0; axis < shape.rank; ++axis) {
    const std::int64_t extent = shape[axis];
    const int own = axis - (shape.rank - tensor.shape.rank);
    const std::int64_t own_extent = own < 0 ? 1 : tensor.shape[own];
    if (own_extent != extent && own_extent != 1) {
      throw Error(std::string(operation) + ": shape " + to_string(tensor.shape) + " does not broadcast to " +
                  to_string(shape));
    }
    if (extent == 1) continue;
    const std::int64_t stride = own_extent == 1 ? 0 : tensor.stride[static_cast<std::size_t>(own)];
    if (rank > 0 && view.stride[rank - 1] == stride * extent) {
      view.extent[rank - 1] *= extent;  // one step of the outer dimension is a whole run of the inner one
      view.stride[rank - 1] = stride;
    } else {
      view.extent[rank] = extent;
      view.stride[rank] = stride;
      ++rank;
    }
  }
  if (rank == 0) {
    view.extent[0] = 1;
    view.stride[0] = 1;
    rank = 1;
  }
  view.rank = rank;
  view.flat = rank == 1 && view.stride[0] == 1;
  view.uniform = rank == 1 && (view.stride[0] == 0 || view.elements == 1);
  return view;
}

View view_of(const Tensor& tensor) { return broadcast_view("view", tensor, tensor.shape); }

View vector_view(const char* operation, const Tensor& tensor, std::int64_t length) {
  return broadcast_view(operation, tensor, Shape{length});
}

View scalar_view(const char* operation, const Tensor& tensor) { return broadcast_view(operation, tensor, Shape{}); }

void expect_operands(const char* operation, const Launch& launch, int inputs, int outputs, unsigned indices,
                     unsigned masks) {
  if (launch.in_count != inputs || launch.out_count != outputs) {
    throw Error(std::string(operation) + ": " + std::to_string(inputs) + " inputs and " + std::to_string(outputs) +
                " outputs expected, not " + std::to_string(launch.in_count) + " and " +
                std::to_string(launch.out_count));
  }
  for (int i = 0; i < inputs; ++i) {
    const auto is_in = [i](unsigned set) { return i < 32 && (set >> i & 1u) != 0; };
    const bool mask = is_in(masks);
    const bool index = mask || is_in(indices);
    if (index != !is_float(launch.in[i].format)) {
      throw Error(std::string(operation) + ": input " + std::to_string(i) + " is " + name(launch.in[i].format) +
                  (index ? ", not i32" : ", not a float format"));
    }
    if (index && !mask && !launch.in[i].contiguous()) {
      throw Error(std::string(operation) + ": input " + std::to_string(i) + " (indices) is not contiguous");
    }
  }
  for (int i = 0; i < outputs; ++i) {
    if (!is_float(launch.out[i].format)) {
      throw Error(std::string(operation) + ": output " + std::to_string(i) + " is i32, not a float format");
    }
  }
}

void expect_shape(const char* operation, const char* operand, const Shape& shape, const Shape& expected) {
  if (shape == expected) return;
  throw Error(std::string(operation) + ": " + operand + " has shape " + to_string(shape) + ", expected " +
              to_string(expected));
}

void expect_index_map(const char* operation, const Launch& launch) {
  if (launch.in_count != 1 || launch.out_count != 1 || is_float(launch.in[0].format) || is_float(launch.out[0].format) ||
      !launch.in[0].contiguous() || !launch.out[0].contiguous()) {
    throw Error(std::string(operation) + ": takes one contiguous i32 operand and gives one");
  }
  expect_shape(operation, "the result", launch.out[0].shape, launch.in[0].shape);
}

void expect_index_output(const char* operation, const Launch& launch, int inputs) {
  if (launch.in_count != inputs || launch.out_count != 2 || is_float(launch.out[1].format) || !launch.out[1].contiguous())
    throw Error(std::string(operation) + ": gives a result and a contiguous i32 index");
  Launch numbers = launch;
  numbers.out_count = 1;
  expect_operands(operation, numbers, inputs, 1);
  expect_shape(operation, "the index", launch.out[1].shape, launch.out[0].shape);
}

Shape matrix_shape(std::int64_t rows, std::int64_t columns) { return Shape{rows, columns}; }

void fail(const char* operation, const char* message) { throw Error(std::string(operation) + ": " + message); }

RowShape row_shape(const char* operation, const Shape& shape) {
  if (shape.rank == 0) fail(operation, "a scalar has no rows");
  RowShape result;
  result.length = shape[shape.rank - 1];
  result.outer.rank = shape.rank - 1;
  for (int axis = 0; axis + 1 < shape.rank; ++axis) {
    result.outer[axis] = shape[axis];
    result.rows *= shape[axis];
  }
  return result;
}

std::int64_t row_length(const Tensor& tensor) {
  return tensor.shape.rank == 0 ? 1 : tensor.shape[tensor.shape.rank - 1];
}

std::int64_t row_count(const Tensor& tensor) {
  std::int64_t rows = 1;
  for (int axis = 0; axis + 1 < tensor.shape.rank; ++axis) rows *= tensor.shape[axis];
  return rows;
}

LeadingShape leading_shape(const Tensor& x, const Tensor& y) {
  LeadingShape result{1, y.shape.elements()};
  const int leading = x.shape.rank - y.shape.rank;
  for (int axis = 0; axis < y.shape.rank; ++axis) {
    if (leading < 0 || x.shape[leading + axis] != y.shape[axis]) {
      throw Error("sum_leading: " + to_string(y.shape) + " is not the end of " + to_string(x.shape));
    }
  }
  for (int axis = 0; axis < leading; ++axis) result.rows *= x.shape[axis];
  return result;
}

EmbeddingShape embedding_shape(const char* operation, const Tensor& table, const Tensor& index, const Tensor& y) {
  if (table.shape.rank != 2) throw Error(std::string(operation) + ": the table has shape " + to_string(table.shape));
  Shape expected = index.shape;
  if (expected.rank == max_rank) fail(operation, "the index has too many dimensions");
  ++expected.rank;
  expected[expected.rank - 1] = table.shape[1];
  expect_shape(operation, "the operand with the index's rows", y.shape, expected);
  return {table.shape[0], table.shape[1], index.shape.elements()};
}

}  // namespace ulpscope
