// unit_sums: a warp for each vector.
#include "kernels/ops/unit_sums.h"

#include <string>

#include "kernels/cuda/matrix_unit.h"
#include "kernels/cuda/observation.h"
#include "kernels/cuda/register.h"
#include "kernels/error.h"
#include "kernels/formats/storage.h"

namespace ulpscope::cuda {
namespace {

constexpr int warp = 32;

/// numbers first … first + n, those beyond k as zeros, in one register.
template <Format format>
ULPSCOPE_DEVICE std::uint32_t packed(const float* numbers, std::int64_t first, std::int64_t k) {
  std::uint32_t word = 0;
  for (int j = 0; j < numbers_in_register<format>; ++j) {
    const float x = first + j < k ? numbers[first + j] : 0.0f;
    if constexpr (format == Format::tf32) {
      word = float_bits(x);
    } else {
      using Word = typename Storage<format>::type;
      word |= static_cast<std::uint32_t>(Storage<format>::round(x)) << (8 * sizeof(Word) * static_cast<unsigned>(j));
    }
  }
  return word;
}

template <Format format, bool fp16_sums, int depth>
ULPSCOPE_KERNEL void unit_sums_kernel(const float* a, const float* b, const float* c, std::int64_t k, float* out) {
  constexpr int n = numbers_in_register<format>, halves = depth / (4 * n);
  const int thread = thread_index(), across = thread % 4;
  const std::int64_t vector = block_index();
  float sums[4];
  std::uint32_t halved[2];
  for (int i = 0; i < 4; ++i) sums[i] = c[vector];
  for (int i = 0; i < 2; ++i) halved[i] = static_cast<std::uint32_t>(fp16_from_float(c[vector])) * 0x10001u;
  for (std::int64_t first = 0; first < k; first += depth) {
    UnitOperands x = {};
    for (int half = 0; half < halves; ++half) {
      const std::int64_t at = first + n * across + 4 * n * half;
      x.a[2 * half] = x.a[2 * half + 1] = packed<format>(a + vector * k, at, k);
      x.b[half] = packed<format>(b + vector * k, at, k);
    }
    if constexpr (fp16_sums)
      unit_multiply_fp16<depth>(x, halved);
    else
      unit_multiply<format, depth>(x, sums);
  }
  for (int i = 0; i < 4; ++i) {
    const int row = thread / 4 + 8 * (i / 2), column = 2 * across + i % 2;
    if constexpr (fp16_sums) sums[i] = fp16_to_float(static_cast<std::uint16_t>(halved[i / 2] >> (16 * (i % 2))));
    out[(vector * unit_tile_rows + row) * unit_tile_columns + column] = sums[i];
  }
}

using UnitSumsKernel = void (*)(const float*, const float*, const float*, std::int64_t, float*);

UnitSumsKernel kernel_for(const UnitSumsParams& p) {
  if (p.fp16_sums) {
    if (p.operands == Format::fp16 && p.depth == 16) return unit_sums_kernel<Format::fp16, true, 16>;
    if (p.operands == Format::fp16 && p.depth == 8) return unit_sums_kernel<Format::fp16, true, 8>;
    return nullptr;
  }
  if (p.operands == Format::fp16 && p.depth == 16) return unit_sums_kernel<Format::fp16, false, 16>;
  if (p.operands == Format::fp16 && p.depth == 8) return unit_sums_kernel<Format::fp16, false, 8>;
  if (p.operands == Format::bf16 && p.depth == 16) return unit_sums_kernel<Format::bf16, false, 16>;
  if (p.operands == Format::tf32 && p.depth == 8) return unit_sums_kernel<Format::tf32, false, 8>;
  if (p.operands == Format::fp8_e4m3 && p.depth == 32) return unit_sums_kernel<Format::fp8_e4m3, false, 32>;
  if (p.operands == Format::fp8_e5m2 && p.depth == 32) return unit_sums_kernel<Format::fp8_e5m2, false, 32>;
  return nullptr;
}

void run_unit_sums(const Launch& l) {
  constexpr const char* operation = "unit_sums";
  expect_operands(operation, l, 3, 1);
  const Tensor &a = l.in[0], &b = l.in[1], &c = l.in[2], &out = l.out[0];
  const std::int64_t vectors = a.shape.rank == 2 ? a.shape[0] : -1;
  for (const Tensor* t : {&a, &b, &c, &out})
    if (t->format != Format::fp32 || !t->contiguous()) fail(operation, "takes contiguous fp32");
  if (vectors < 0 || b.shape != a.shape || c.shape != Shape{vectors} || out.shape != Shape{vectors, unit_tile_rows, unit_tile_columns})
    fail(operation, "takes a, b [V, K] and c [V], and gives [V, 16, 8]");
  const UnitSumsParams& params = *static_cast<const UnitSumsParams*>(l.params);
  const UnitSumsKernel kernel = kernel_for(params);
  if (kernel == nullptr)
    throw Error(std::string(operation) + ": no instruction multiplies " + std::to_string(params.depth) + " " + name(params.operands) +
                (params.fp16_sums ? " with fp16 sums" : ""));
  launch_team(kernel, vectors, warp, 0, l.stream, static_cast<const float*>(a.data), static_cast<const float*>(b.data),
              static_cast<const float*>(c.data), a.shape[1], static_cast<float*>(out.data));
}

}  // namespace

void register_unit_sums(KernelTable& table) { table.add("unit_sums", Format::fp32, Kernel{run_unit_sums}); }

}  // namespace ulpscope::cuda
