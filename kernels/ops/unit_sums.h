// The operation unit_sums of GPUs: single sums by the matrix unit's own instruction (mma), to ask a device how it adds up. It is no
// part of a step.
#pragma once

#include <cstdint>

#include "kernels/formats/format.h"

namespace ulpscope {

/// out[v, i, j] = c[v] + sum over k of a[v, k] * b[v, k], in ascending k through one accumulator: a tile of 16 x 8 sums for each vector,
/// which have to be alike. a, b [V, K], c [V], out [V, 16, 8] are contiguous fp32 and hold numbers of the formats; operands in tf32
/// reach the unit with all their bits.
struct UnitSumsParams {
  Format operands = Format::fp16;   ///< fp16, bf16, tf32, fp8_e4m3, fp8_e5m2
  bool fp16_sums = false;           ///< c and the result are fp16: with fp16 operands alone
  int depth = 16;                   ///< products of one instruction; K is filled up with zeros
};

inline constexpr int unit_tile_rows = 16, unit_tile_columns = 8;

/// The depth of the instruction on GPUs of this compute capability (90: 9.0); 0: it has none for such operands. 7.0 has another one, which
/// is not asked.
constexpr int unit_depth(int capability, Format operands) {
  switch (operands) {
    case Format::fp16:
      return capability >= 80 ? 16 : capability >= 75 ? 8 : 0;
    case Format::bf16:
      return capability >= 80 ? 16 : 0;
    case Format::tf32:
      return capability >= 80 ? 8 : 0;
    case Format::fp8_e4m3:
    case Format::fp8_e5m2:
      return capability >= 89 ? 32 : 0;
    default:
      return 0;
  }
}

}  // namespace ulpscope
