#include "kernels/cpu/matmul_plan.h"

#include <algorithm>
#include <string>

#include "kernels/error.h"

namespace ulpscope {
namespace {

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

[[noreturn]] void refuse(const Launch& launch, const std::string& why) {
  std::string views;
  for (int i = 0; i < launch.in_count; ++i) views += (i ? " x " : "") + to_string(launch.in[i].shape);
  if (launch.out_count > 0) views += " -> " + to_string(launch.out[0].shape);
  throw Error("matmul: " + why + " (" + views + ")");
}

MatmulView matrix_view(const Launch& launch, const Tensor& t, bool transposed,
                       const std::array<std::int64_t, 2>& batch) {
  const int rank = t.shape.rank;
  if (rank < 2 || rank > 4) refuse(launch, "an operand has between two and four dimensions");
  if (!is_float(t.format)) refuse(launch, "an operand holds indices");
  const auto stride = [&](int axis) { return t.stride[static_cast<std::size_t>(axis)]; };
  MatmulView view;
  view.data = t.data;
  view.format = t.format;
  const int row_axis = transposed ? rank - 1 : rank - 2;
  const int column_axis = transposed ? rank - 2 : rank - 1;
  view.rows = t.shape[row_axis];
  view.columns = t.shape[column_axis];
  view.row_stride = stride(row_axis);
  view.column_stride = stride(column_axis);
  view.batch = batch;
  for (int i = 0; i < 2; ++i) {
    const int axis = rank - 4 + i;
    if (axis < 0) continue;
    const std::int64_t length = t.shape[axis];
    const std::int64_t wanted = batch[static_cast<std::size_t>(i)];
    if (length != wanted && length != 1) refuse(launch, "the batch dimensions differ");
    view.batch_stride[static_cast<std::size_t>(i)] = length == 1 ? 0 : stride(axis);
  }
  return view;
}

/// x [B, T, K] times one weight is one product with B·T rows.
void merge_batch_into_rows(MatmulPlan& p) {
  for (int i = 1; i >= 0; --i) {
    const auto axis = static_cast<std::size_t>(i);
    if (p.batch[axis] == 1) continue;
    const bool rows_continue = p.a.batch_stride[axis] == p.a.rows * p.a.row_stride &&
                               p.c.batch_stride[axis] == p.c.rows * p.c.row_stride && p.a.rows > 1;
    if (p.b.batch_stride[axis] != 0 || !rows_continue) return;
    p.a.rows = p.c.rows = p.m = p.m * p.batch[axis];
    for (MatmulView* view : {&p.a, &p.b, &p.c}) {
      view->batch[axis] = 1;
      view->batch_stride[axis] = 0;
    }
    p.batch[axis] = 1;
  }
}

/// Blocks are as large as leaves 32 of them to share out, but not smaller than 64 x 96 or a million multiplications,
/// below which copying operands into sgemm's own layout costs more than it gains (measured on 2 cores: 2-10 % slower
/// than one multi-threaded call; 32 rather than 16 blocks cost 2 % there and keep 32 cores busy). A long sum over few
/// blocks, as weight gradients of small models are, is cut along K too; the parts are added in ascending order.
void choose_blocks(MatmulPlan& p) {
  constexpr std::int64_t enough = 32;
  std::int64_t rows = 256;
  std::int64_t columns = 480;
  const auto blocks = [&] { return p.products() * ceil_div(p.m, rows) * ceil_div(p.n, columns); };
  rows = std::min(rows, std::max<std::int64_t>(p.m, 1));
  columns = std::min(columns, std::max<std::int64_t>(p.n, 1));
  while (blocks() < enough && rows * columns * p.k >= 2000000) {
    if (columns > 96 && (columns >= 2 * rows || rows <= 64)) {
      columns = std::max<std::int64_t>(96, ceil_div(columns, 2 * 48) * 48);  // 48: the width of sgemm's AVX-512 kernel
    } else if (rows > 64) {
      rows = std::max<std::int64_t>(64, ceil_div(rows, 2 * 8) * 8);
    } else {
      break;
    }
  }
  const auto even = [](std::int64_t length, std::int64_t block, std::int64_t unit) {  // no small remainder at the end
    const std::int64_t blocks_needed = std::max<std::int64_t>(1, ceil_div(length, block));
    return std::max<std::int64_t>(1, ceil_div(ceil_div(length, blocks_needed), unit) * unit);
  };
  p.block_rows = rows = even(p.m, rows, 8);
  p.block_columns = columns = even(p.n, columns, 48);
  p.row_blocks = ceil_div(p.m, rows);
  p.column_blocks = ceil_div(p.n, columns);
  p.depth_blocks = 1;
  constexpr std::int64_t long_sum = 1024;
  if (blocks() < enough / 2 && p.k >= 2 * long_sum) {
    p.depth_blocks = std::min(p.k / long_sum, ceil_div(enough / 2, std::max<std::int64_t>(blocks(), 1)));
  }
  p.block_depth = std::max<std::int64_t>(1, ceil_div(ceil_div(p.k, p.depth_blocks), 64) * 64);
  p.depth_blocks = std::max<std::int64_t>(1, ceil_div(p.k, p.block_depth));
}

}  // namespace

MatmulPlan plan_matmul(const Launch& launch) {
  if (launch.in_count < 2 || launch.in_count > 3 || launch.out_count != 1)
    refuse(launch, "takes a, b, bias (optional) and gives c");
  const auto& params = *static_cast<const MatmulParams*>(launch.params);
  const Tensor& out = launch.out[0];
  const int rank = out.shape.rank;
  if (rank < 2 || rank > 4) refuse(launch, "the result has between two and four dimensions");
  MatmulPlan p;
  p.multiply = params.multiply;
  for (int i = 0; i < 2; ++i) p.batch[static_cast<std::size_t>(i)] = rank - 4 + i < 0 ? 1 : out.shape[rank - 4 + i];
  p.a = matrix_view(launch, launch.in[0], params.trans_a, p.batch);
  p.b = matrix_view(launch, launch.in[1], params.trans_b, p.batch);
  p.c = matrix_view(launch, out, false, p.batch);
  p.m = p.c.rows;
  p.n = p.c.columns;
  p.k = p.a.columns;
  if (p.a.rows != p.m || p.b.columns != p.n || p.b.rows != p.k) refuse(launch, "the shapes do not fit");
  if (launch.in_count == 3) {
    p.bias = &launch.in[2];
    if (p.bias->shape.rank != 1 || p.bias->shape[0] != p.n || !is_float(p.bias->format))
      refuse(launch, "the bias is not [N]");
  }
  merge_batch_into_rows(p);
  choose_blocks(p);
  return p;
}

bool needs_rounding(Format from, Format multiply) {
  const FormatInfo& f = info(from);
  const FormatInfo& m = info(multiply);
  return f.mantissa_bits > m.mantissa_bits || f.max_finite > m.max_finite || f.min_subnormal < m.min_subnormal;
}

}  // namespace ulpscope
