#include "kernels/cpu/matmul_work.h"

#include <algorithm>
#include <utility>

#include "kernels/error.h"
#include "kernels/tensor_core/units.h"

namespace ulpscope {
namespace {

constexpr std::int64_t most_packed = 1 << 19;   ///< floats of a stripe: 2 MiB for each thread
constexpr std::int64_t worth_sharing = 200000;  ///< multiplications: about the cost of waking a team

constexpr std::int64_t unit_work = 16;          ///< of a multiplication with a unit's sums, in plain ones

std::int64_t multiplications(const MatmulPlan& p, bool of_unit) {
  return p.result_elements() * std::max<std::int64_t>(p.k, 1) * (of_unit ? unit_work : 1);
}

Blocks cut(const MatmulPlan& p, const ProductKernel& kernel, bool of_unit) {
  constexpr std::int64_t block_rows = 84;                    // six tiles of AVX-512, fourteen of AVX2
  const std::int64_t enough = p.m == 1 ? 4 : 12, least = 4;  // blocks to share out
  Blocks b;
  b.panels = (p.n + kernel.columns - 1) / kernel.columns;
  b.once = p.m <= block_rows;
  b.rows = std::min(p.m, block_rows);
  const std::int64_t panel_floats = std::max<std::int64_t>(1, p.k * kernel.columns);
  // Rows of A that must be converted are converted for each stripe.
  const bool converts = storage_bytes(p.a.format) != 4 || needs_rounding(p.a.format, p.multiply);
  const std::int64_t widest = converts ? 16 : 8, most = converts ? 2 * most_packed : most_packed;
  std::int64_t stripe = p.m == 1 ? 64 : b.once ? 8 : std::clamp<std::int64_t>(most / panel_floats, 1, widest);
  stripe = std::min(stripe, b.panels);
  const auto blocks = [&] { return p.products() * ((p.m + b.rows - 1) / b.rows) * ((b.panels + stripe - 1) / stripe); };
  if (multiplications(p, of_unit) >= worth_sharing) {
    while (blocks() < enough && stripe > 2) stripe = (stripe + 1) / 2;
    while (blocks() < least && stripe > 1) stripe = (stripe + 1) / 2;
  }
  // Small blocks cost more than they are worth.
  while (!b.once && blocks() > 64 && b.rows * stripe * panel_floats < 2 * worth_sharing) b.rows *= 2;
  b.row_blocks = (p.m + b.rows - 1) / b.rows;
  b.rows = (p.m + b.row_blocks - 1) / b.row_blocks;
  b.stripes = (b.panels + stripe - 1) / stripe;
  b.columns = std::min(p.n, (b.panels + b.stripes - 1) / b.stripes * kernel.columns);
  return b;
}

ProductSource source_of(const MatmulView& v, Format multiply) {
  ProductSource s{v.data, v.format, multiply, v.row_stride, v.column_stride};
  // A stride that is never taken may be anything; here it must tell which numbers are neighbours.
  if (v.row_major()) {
    s.column_stride = 1;
    if (v.rows == 1) s.row_stride = v.columns;
  } else {
    s.row_stride = 1;
    if (v.columns == 1) s.column_stride = v.rows;
  }
  return s;
}

/// C = A b with one column is a row: C' = b' A'. Then the vectors of the processor lie along A's rows.
void turn_column(MatmulPlan& p) {
  std::swap(p.a, p.b);
  std::swap(p.m, p.n);
  for (MatmulView* v : {&p.a, &p.b, &p.c}) {
    std::swap(v->rows, v->columns);
    std::swap(v->row_stride, v->column_stride);
  }
}

void check_epilogue(const Launch& launch) {
  if (launch.counts != nullptr && launch.counts[0] != nullptr)
    throw Error("matmul: an epilogue takes the results unrounded: there is nothing to count");
  if (!launch.out[0].contiguous()) throw Error("matmul: an epilogue takes the elements of a contiguous result");
}

}  // namespace

MatmulView dense(const MatmulView& v, float* copy) {
  MatmulView d = v;
  d.data = copy;
  d.format = Format::fp32;
  d.row_stride = v.columns;
  d.column_stride = 1;
  const bool inner = v.batch_stride[1] != 0;
  d.batch_stride[1] = inner ? v.rows * v.columns : 0;
  d.batch_stride[0] = v.batch_stride[0] != 0 ? v.rows * v.columns * (inner ? v.batch[1] : 1) : 0;
  return d;
}

ProductSource operand(const ProductSource& first, const MatmulView& v, std::int64_t i, std::int64_t j) {
  ProductSource s = first;
  const bool in_place = readable(v);
  if (!in_place) s.format = Format::fp32;
  s.data = element(first.data, s.format, in_place ? v.offset(i, j) : dense(v, nullptr).offset(i, j));
  return s;
}

MatmulWork prepare_matmul(const Launch& launch, InstructionSet set) {
  MatmulWork w;
  w.plan = plan_matmul(launch);
  w.epilogue = launch.epilogue;
  if (w.epilogue != nullptr) check_epilogue(launch);
  MatmulPlan& p = w.plan;
  if (p.n == 1 && p.m > 1 && p.bias == nullptr && w.epilogue == nullptr) turn_column(p);
  w.kernel = &product_kernel(set);
  w.set = set;
  w.rule = tensor_core::rule_of(launch.arithmetic.unit, p.multiply, {p.a.format, p.b.format});
  const bool of_unit = w.rule != nullptr;
  w.blocks = cut(p, *w.kernel, of_unit);
  // An epilogue finds its sums in C where C keeps them anyway.
  w.in_place = (w.epilogue == nullptr || p.c.data != nullptr) && p.c.format == Format::fp32 && p.c.row_major();
  const std::int64_t useful = multiplications(p, of_unit) < worth_sharing ? 1 : w.tasks();
  w.threads = static_cast<int>(std::clamp<std::int64_t>(launch.threads, 1, std::max<std::int64_t>(useful, 1)));
  auto* base = static_cast<unsigned char*>(launch.workspace);
  const auto take = [&](std::int64_t elements, std::size_t size) {
    unsigned char* at = base == nullptr ? nullptr : base + w.bytes;
    w.bytes += aligned_bytes(static_cast<std::size_t>(elements) * size);
    return at;
  };
  const auto floats = [&](std::int64_t n) { return reinterpret_cast<float*>(take(n, sizeof(float))); };
  const auto aligned = [](std::int64_t n) { return (n + 15) / 16 * 16; };
  const bool a_readable = readable(p.a), b_readable = readable(p.b);
  w.a_copy = floats(a_readable ? 0 : p.a.matrices() * p.m * p.k);
  w.b_copy = floats(b_readable ? 0 : p.b.matrices() * p.k * p.n);
  w.bias = floats(p.bias != nullptr ? p.n : 0);
  w.counts = reinterpret_cast<RoundingCounts*>(take(most_tallies, sizeof(RoundingCounts)));
  w.shares = reinterpret_cast<WorkShare*>(take(w.threads, sizeof(WorkShare)));
  w.packed_floats = w.blocks.once || of_unit ? 0 : packed_elements(*w.kernel, w.blocks.columns, p.k);
  w.scratch_floats = of_unit         ? aligned(tensor_core::scratch_floats(set, w.blocks.columns, p.k))
                     : w.blocks.once ? once_elements(*w.kernel, w.blocks.rows, w.blocks.columns, p.k)
                                   : scratch_elements(w.blocks.rows, p.k);
  w.sum_floats = w.in_place ? 0 : aligned(w.blocks.rows * w.blocks.columns);
  w.own = floats(w.threads * (w.packed_floats + w.scratch_floats + w.sum_floats));
  w.a = source_of(a_readable ? p.a : dense(p.a, w.a_copy), p.multiply);
  w.b = source_of(b_readable ? p.b : dense(p.b, w.b_copy), p.multiply);
  return w;
}

}  // namespace ulpscope
