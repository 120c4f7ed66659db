// The instruction of the matrix unit, D = A B + D for a tile of 16 x 8 by the 32 threads of a warp. Thread t holds of
//   A, registers r, parts j:  row t / 4 + 8 (r % 2),  k = n (t % 4) + j + 4 n (r / 2)     n = numbers in a register
//   B, registers r, parts j:  column t / 4,           k = n (t % 4) + j + 4 n r
//   D, numbers i:             row t / 4 + 8 (i / 2),  column 2 (t % 4) + i % 2
// (PTX ISA, "Matrix Fragments for mma.m16n8…"). Compiled by nvcc it is that instruction; on the emulated grid it is a unit that a
// test puts in its place, its operands put together as CUTLASS's traits of the instruction say.
#pragma once

#include <cstdint>

#include "kernels/cuda/grid.h"
#include "kernels/formats/format.h"

namespace ulpscope::cuda {

/// Numbers of a format in a register.
template <Format format>
inline constexpr int numbers_in_register = format == Format::tf32 ? 1 : format == Format::fp16 || format == Format::bf16 ? 2 : 4;

/// Registers of a thread: depth = 8 n fills them all, 4 n the first half.
struct UnitOperands {
  std::uint32_t a[4], b[2];
};

}  // namespace ulpscope::cuda

#if defined(__CUDACC__)

namespace ulpscope::cuda {

#define ULPSCOPE_MMA_16(SHAPE, TYPES)                                                                                                       \
  asm volatile("mma.sync.aligned." SHAPE ".row.col." TYPES " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"                          \
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                                                              \
               : "r"(x.a[0]), "r"(x.a[1]), "r"(x.a[2]), "r"(x.a[3]), "r"(x.b[0]), "r"(x.b[1]))

/// Sums in fp32. What the code was compiled without an instruction for is NaN, which is no answer to any question.
template <Format operands, int depth>
ULPSCOPE_DEVICE void unit_multiply(const UnitOperands& x, float (&d)[4]) {
  if constexpr (operands == Format::fp16 && depth == 8) {
#if __CUDA_ARCH__ >= 750
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(x.a[0]), "r"(x.a[1]), "r"(x.b[0]));
#else
    for (float& sum : d) sum = __int_as_float(0x7fc00000);
#endif
  } else {
    [[maybe_unused]] constexpr bool fp8 = operands == Format::fp8_e4m3 || operands == Format::fp8_e5m2;
#if __CUDA_ARCH__ >= 800
    if constexpr (operands == Format::fp16) ULPSCOPE_MMA_16("m16n8k16", "f32.f16.f16.f32");
    if constexpr (operands == Format::bf16) ULPSCOPE_MMA_16("m16n8k16", "f32.bf16.bf16.f32");
    if constexpr (operands == Format::tf32) ULPSCOPE_MMA_16("m16n8k8", "f32.tf32.tf32.f32");
#else
    if constexpr (!fp8)
      for (float& sum : d) sum = __int_as_float(0x7fc00000);
#endif
#if __CUDA_ARCH__ >= 890 && (__CUDACC_VER_MAJOR__ > 12 || (__CUDACC_VER_MAJOR__ == 12 && __CUDACC_VER_MINOR__ >= 4))
    if constexpr (operands == Format::fp8_e4m3) ULPSCOPE_MMA_16("m16n8k32", "f32.e4m3.e4m3.f32");
    if constexpr (operands == Format::fp8_e5m2) ULPSCOPE_MMA_16("m16n8k32", "f32.e5m2.e5m2.f32");
#else
    if constexpr (fp8)
      for (float& sum : d) sum = __int_as_float(0x7fc00000);
#endif
  }
}
#undef ULPSCOPE_MMA_16

/// Sums in fp16, two in a register.
template <int depth>
ULPSCOPE_DEVICE void unit_multiply_fp16(const UnitOperands& x, std::uint32_t (&d)[2]) {
  if constexpr (depth == 8) {
#if __CUDA_ARCH__ >= 750
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3}, {%4}, {%0,%1};"
                 : "+r"(d[0]), "+r"(d[1])
                 : "r"(x.a[0]), "r"(x.a[1]), "r"(x.b[0]));
#else
    d[0] = d[1] = 0x7e007e00u;
#endif
  } else {
#if __CUDA_ARCH__ >= 800
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%0,%1};"
                 : "+r"(d[0]), "+r"(d[1])
                 : "r"(x.a[0]), "r"(x.a[1]), "r"(x.a[2]), "r"(x.a[3]), "r"(x.b[0]), "r"(x.b[1]));
#else
    d[0] = d[1] = 0x7e007e00u;
#endif
  }
}

}  // namespace ulpscope::cuda

#else
#include "kernels/cuda/emulated_unit.h"
#endif
