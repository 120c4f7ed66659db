// The instruction of matrix_unit.h on the emulated grid. Included by it alone.
#pragma once

#include "kernels/formats/storage.h"

namespace ulpscope::cuda {

/// The unit of the emulated GPU: c + sum of a[i] * b[i], i < k. Null: it has none, and sums stay as they are.
struct EmulatedUnit {
  virtual ~EmulatedUnit() = default;
  virtual float sum(const float* a, const float* b, std::int64_t k, float c) const = 0;
};
extern const EmulatedUnit* emulated_unit;

namespace emulation {

/// Number of a part of a register: fp32 that holds it.
template <Format format>
float part_of_register(std::uint32_t word, int j) {
  if constexpr (format == Format::tf32) {
    return float_from_bits(word);
  } else {
    using Word = typename Storage<format>::type;
    return Storage<format>::widen(static_cast<Word>(word >> (8 * sizeof(Word) * static_cast<unsigned>(j))));
  }
}

/// The operands of a warp, put together: thread (t, g) = (thread % 4, thread / 4), register bits (row half, k half).
/// CUTLASS, cute/atom/mma_traits_sm80.hpp and _sm89.hpp: of A strides of (t, g), (j, row half, k half) are, in m + 16 k,
/// ((16 n, 1), (16, 8, 64 n)); of B, in column + 8 k, ((8 n, 1), (8, 32 n)).
template <Format format, int depth>
struct Warp {
  UnitOperands held[32];

  void put_together(float (&a)[16][depth], float (&b)[8][depth]) const {
    constexpr int n = numbers_in_register<format>, halves = depth / (4 * n);
    for (int thread = 0; thread < 32; ++thread) {
      const int t = thread % 4, g = thread / 4;
      for (int half = 0; half < halves; ++half)
        for (int j = 0; j < n; ++j) {
          for (int lower = 0; lower < 2; ++lower) {
            const int place = 16 * n * t + g + 16 * j + 8 * lower + 64 * n * half;
            a[place % 16][place / 16] = part_of_register<format>(held[thread].a[lower + 2 * half], j);
          }
          const int place = 8 * n * t + g + 8 * j + 32 * n * half;
          b[place % 8][place / 8] = part_of_register<format>(held[thread].b[half], j);
        }
    }
  }
};

/// d [i] in the tile; for every thread of the warp its own four.
template <Format format, int depth>
void multiply(const UnitOperands& x, float (&d)[4]) {
  static Warp<format, depth> warp;
  const int thread = thread_index();
  warp.held[thread] = x;
  block_barrier();
  if (emulated_unit != nullptr) {
    static float a[16][depth], b[8][depth];
    warp.put_together(a, b);
    // D of CUTLASS, in m + 16 column: ((32, 1), (16, 8)).
    for (int i = 0; i < 4; ++i) {
      const int place = 32 * (thread % 4) + thread / 4 + 16 * (i % 2) + 8 * (i / 2);
      d[i] = emulated_unit->sum(a[place % 16], b[place / 16], depth, d[i]);
    }
  }
  block_barrier();
}

}  // namespace emulation

template <Format operands, int depth>
ULPSCOPE_DEVICE void unit_multiply(const UnitOperands& x, float (&d)[4]) {
  emulation::multiply<operands, depth>(x, d);
}
template <int depth>
ULPSCOPE_DEVICE void unit_multiply_fp16(const UnitOperands& x, std::uint32_t (&d)[2]) {
  float wide[4];
  for (int i = 0; i < 4; ++i) wide[i] = fp16_to_float(static_cast<std::uint16_t>(d[i / 2] >> (16 * (i % 2))));
  emulation::multiply<Format::fp16, depth>(x, wide);
  for (int i = 0; i < 2; ++i)
    d[i] = fp16_from_float(wide[2 * i]) | static_cast<std::uint32_t>(fp16_from_float(wide[2 * i + 1])) << 16;
}

}  // namespace ulpscope::cuda
