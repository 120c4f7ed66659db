#include "kernels/cuda/lt_plan.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "kernels/matmul_plan.h"
#include "kernels/cuda/product.h"
#include "kernels/error.h"

namespace ulpscope::cuda {
namespace {

constexpr std::size_t alignment = 256;   ///< of everything in the workspace: what the heuristic likes best
constexpr std::uintptr_t bias_alignment = 16;

/// Hands out the workspace, of which only the size is known while it is planned.
struct Room {
  char* base;
  std::size_t used = 0;

  explicit Room(void* workspace) : base(static_cast<char*>(workspace)) {
    if (base != nullptr) base += (alignment - reinterpret_cast<std::uintptr_t>(base) % alignment) % alignment;
  }
  void* take(std::size_t bytes) {
    void* at = base == nullptr ? nullptr : base + used;
    used += (bytes + alignment - 1) / alignment * alignment;
    return at;
  }
  void* take(std::int64_t elements, Format format) { return take(static_cast<std::size_t>(elements * storage_bytes(format))); }
  std::size_t bytes() const { return used + alignment; }   // the workspace itself may be less aligned
};

bool readable(const MatmulView& v) { return v.row_major() || v.column_major(); }

MatmulView transposed(const MatmulView& v) {
  MatmulView t = v;
  std::swap(t.rows, t.columns);
  std::swap(t.row_stride, t.column_stride);
  return t;
}

/// A copy of the operand's own matrices (one of each that the batch shares) in another format, without gaps. Lines stay lines:
/// what was stored transposed is so afterwards.
MatmulView copied(ProductPlan& plan, Room& room, const MatmulView& v, Format format) {
  const bool turned = !v.row_major() && v.column_major();
  const MatmulView from = turned ? transposed(v) : v;
  Tensor source, target;
  source.data = const_cast<void*>(from.data);
  source.format = from.format;
  source.shape = Shape{from.batch_stride[0] != 0 ? from.batch[0] : 1, from.batch_stride[1] != 0 ? from.batch[1] : 1, from.rows, from.columns};
  source.stride = {from.batch_stride[0], from.batch_stride[1], from.row_stride, from.column_stride};
  target = Tensor(room.take(source.elements(), format), format, source.shape);
  plan.copies[plan.copy_count++] = {source, target};
  MatmulView to = from;
  to.data = target.data;
  to.format = format;
  to.row_stride = from.columns;
  to.column_stride = 1;
  for (std::size_t i = 0; i < 2; ++i)
    if (from.batch_stride[i] != 0) to.batch_stride[i] = target.stride[i];
  return turned ? transposed(to) : to;
}

bool same_words(Format a, Format b) {
  const auto word = [](Format f) { return f == Format::tf32 ? Format::fp32 : f; };
  return word(a) == word(b);
}

/// An operand as the library is to read it: in the multiplier's format, to which numbers are rounded if it does not hold them.
MatmulView operand(ProductPlan& plan, Room& room, const MatmulView& v, Format target) {
  if (same_words(v.format, target) && readable(v)) return v;
  return copied(plan, room, v, target);
}

/// The view, row-major or column-major, column by column: our rows become its columns. `transpose`: not so, but transposed.
LtLayout layout(const MatmulView& v, bool& transpose) {
  const bool rows = v.row_major();
  transpose = !rows;
  LtLayout l;
  l.format = v.format == Format::tf32 ? Format::fp32 : v.format;
  l.rows = rows ? v.columns : v.rows;
  l.columns = rows ? v.rows : v.columns;
  const std::int64_t lines = rows ? v.rows : v.columns, step = rows ? v.row_stride : v.column_stride;
  l.leading = std::max(l.rows, lines > 1 ? step : l.rows);
  return l;
}

/// The batch: one call where the strides allow, else a call for each index of the shorter dimension.
void set_batch(ProductPlan& plan, const MatmulView& a, const MatmulView& b, const MatmulView& d) {
  const std::int64_t outer = d.batch[0], inner = d.batch[1];
  const auto continues = [&](const MatmulView& v) { return v.batch_stride[0] == v.batch_stride[1] * inner; };
  std::size_t in_call = 1;
  if (inner == 1 || (outer > inner && !(continues(a) && continues(b) && continues(d)))) in_call = 0;
  const std::size_t apart = 1 - in_call;
  const bool whole = outer > 1 && inner > 1 && continues(a) && continues(b) && continues(d);
  plan.call.batch = whole ? outer * inner : d.batch[in_call];
  plan.calls = whole ? 1 : d.batch[apart];
  const auto set = [&](const MatmulView& v, LtLayout& l, std::int64_t& step) {
    l.batch_stride = plan.call.batch == 1 ? 0 : v.batch_stride[in_call];
    step = plan.calls == 1 ? 0 : v.batch_stride[apart];
  };
  set(a, plan.call.a, plan.a_step);
  set(b, plan.call.b, plan.b_step);
  set(d, plan.call.d, plan.d_step);
}

/// What the library is handed. Operands that `multiply` has rounded to 16 bits stay so.
Format target_of(const MatmulPlan& p, Format compute, const LtLeft& left) {
  if (compute == Format::fp64) return Format::fp64;
  const Format target = operand_format({p.a.format, p.b.format}, p.multiply);
  return left.narrow || is_16bit(p.multiply) ? target : Format::fp32;
}

LtCompute compute_of(Format target, Format multiply, const LtLeft& left) {
  if (target == Format::fp64) return LtCompute::fp64;
  if (target != Format::fp32) return LtCompute::fp32;
  return multiply == Format::tf32 && left.narrow ? LtCompute::fast_tf32 : LtCompute::fp32_pedantic;
}

/// Whether the library writes sums of such operands in this format.
bool writes(Format target, Format result) {
  if (target == Format::fp64) return result == Format::fp64;
  return result == Format::fp32 || (result == target && is_16bit(target));
}

/// One bias for each column of a row-major result, in D's format. Added to the sum as it is: the library may do it, if D's format
/// holds every bias. cuBLASLt has no such epilogue in fp64.
bool library_adds(const Tensor& bias, const MatmulView& c) {
  return c.format != Format::fp64 && c.row_major() && !needs_rounding(bias.format, c.format);
}

}  // namespace

const char* name(LtCompute compute) {
  switch (compute) {
    case LtCompute::fp32_pedantic:
      return "fp32 pedantic";
    case LtCompute::fast_tf32:
      return "fast tf32";
    case LtCompute::fp32:
      return "fp32";
    case LtCompute::fp64:
      return "fp64";
  }
  return "";
}

std::string to_string(const LtCall& call) {
  const auto matrix = [](const char* which, const LtLayout& l, bool transposed) {
    return std::string(which) + " " + std::to_string(l.rows) + "x" + std::to_string(l.columns) + (transposed ? "^T " : " ") + name(l.format) +
           " (leading dimension " + std::to_string(l.leading) + ")";
  };
  return matrix("A", call.a, call.transpose_a) + ", " + matrix("B", call.b, call.transpose_b) + ", " + matrix("D", call.d, false) +
         (call.bias ? " with bias" : "") + (call.batch > 1 ? ", " + std::to_string(call.batch) + " of them" : "") + ", computed in " +
         name(call.compute);
}

Format operand_format(std::initializer_list<Format> stored, Format multiply) {
  if (is_16bit(multiply)) return multiply;
  if (multiply != Format::fp32 && multiply != Format::tf32)
    throw Error(std::string("matmul: there are no products of operands in ") + name(multiply) + " on a GPU; there are fp32, tf32, fp16 and bf16");
  for (const Format narrow : {Format::fp16, Format::bf16})
    if (std::all_of(stored.begin(), stored.end(), [&](Format f) { return !needs_rounding(f, narrow); })) return narrow;
  return Format::fp32;
}

ProductPlan plan_product(const Launch& launch, Format compute, std::size_t library_bytes, LtLeft left) {
  const MatmulPlan p = plan_matmul(launch);
  ProductPlan plan;
  Room room(launch.workspace);
  plan.library_workspace = room.take(library_bytes);
  plan.elements = p.result_elements();
  plan.columns = p.n;
  const Format target = target_of(p, compute, left);
  plan.empty_sum = p.k == 0;
  const bool direct = !plan.empty_sum && writes(target, p.c.format) && readable(p.c) && (p.bias == nullptr || (left.bias && library_adds(*p.bias, p.c)));
  plan.finishes = !direct;
  MatmulView a = p.a, b = p.b, d = p.c;
  if (!plan.empty_sum) {
    a = operand(plan, room, a, target);
    b = operand(plan, room, b, target);
  }
  if (p.bias != nullptr) {
    const Format wanted = direct ? p.c.format : compute;
    Tensor copy(room.take(p.n, wanted), wanted, p.bias->shape);
    const bool in_place = p.bias->format == wanted && p.bias->contiguous() &&
                          reinterpret_cast<std::uintptr_t>(p.bias->data) % bias_alignment == 0;
    if (!in_place) plan.copies[plan.copy_count++] = {*p.bias, copy};
    const void* bias = in_place ? p.bias->data : copy.data;
    (direct ? plan.pointers.bias : plan.bias) = bias;
    plan.call.bias = direct;
    plan.bias_after = !direct;
  }
  if (plan.finishes) {
    plan.sums = room.take(plan.elements, compute);
    d.data = plan.sums;
    d.format = compute;
    d.row_stride = p.n;
    d.column_stride = 1;
    d.batch_stride = {p.m * p.n * p.batch[1], p.m * p.n};
  }
  plan.bytes = room.bytes();
  if (plan.empty_sum) return plan;
  plan.call.compute = compute_of(target, p.multiply, left);
  if (!d.row_major()) {   // C' = B' A': its rows are C's columns
    std::swap(a, b);
    a = transposed(a), b = transposed(b), d = transposed(d);
  }
  bool transposed_result = false;
  plan.call.a = layout(b, plan.call.transpose_a);
  plan.call.b = layout(a, plan.call.transpose_b);
  plan.call.d = layout(d, transposed_result);
  set_batch(plan, b, a, d);
  plan.pointers.a = b.data;
  plan.pointers.b = a.data;
  plan.pointers.d = const_cast<void*>(d.data);
  return plan;
}

std::string tf32_override() {
  const char* value = std::getenv("NVIDIA_TF32_OVERRIDE");
  return value == nullptr ? "" : value;
}

}  // namespace ulpscope::cuda
