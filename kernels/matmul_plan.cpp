#include "kernels/matmul_plan.h"

#include <string>

#include "kernels/error.h"

namespace ulpscope {
namespace {

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
  return p;
}

bool needs_rounding(Format from, Format multiply) {
  const FormatInfo& f = info(from);
  const FormatInfo& m = info(multiply);
  return f.mantissa_bits > m.mantissa_bits || f.max_finite > m.max_finite || f.min_subnormal < m.min_subnormal;
}

}  // namespace ulpscope
