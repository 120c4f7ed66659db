// How a matrix unit (tensor core) adds up products. One rule describes the sums of one format on one generation of GPUs.
//
// For consecutive blocks of `width` products, in the order of k, c being chained from block to block:
//   1. operands are decoded exactly; the exponent of an operand is max(floor(log2|x|), exponent of the least normal number)
//   2. a product is the exact product of the significands with the sum of the exponents; it is not normalised
//   3. E is the greatest exponent of the products that are not zero and of c; at least `exponent_floor`
//   4. every addend is truncated toward zero, in sign and magnitude, to a multiple of 2^(E - fraction)
//   5. the truncated numbers are added exactly
//   6. the sum is rounded once: Result
// Magnitudes from 2^128 on become infinite. With an infinity or a NaN among the addends the result is that of IEEE 754, NaN
// being 0x7fffffff. A sum that is zero is +0. Nothing is flushed.
//
// Sources: M. Fasi, N. J. Higham, M. Mikaitis, S. Pranesh, "Numerical behavior of NVIDIA tensor cores", PeerJ Comput. Sci. 7:e330
// (2021); F. A. Khattak, M. Mikaitis, MATLAB-tensor-core (models and captured vectors); Microsoft MMA-Sim.
#pragma once

#include <cstdint>

#include "kernels/formats/format.h"
#include "kernels/portable.h"

namespace ulpscope::tensor_core {

/// The last rounding of a block. fp32: toward zero. fp16: to nearest, ties to even. e8m13: toward zero to 13 fraction bits, kept
/// in an fp32 word.
enum class Result : std::uint8_t { fp32, fp16, e8m13 };

/// Which elements share a block. consecutive; halves_of_four: of 32 elements those with k mod 4 in {0, 1} are the first block of 16,
/// those with k mod 4 in {2, 3} the second.
enum class BlockOrder : std::uint8_t { consecutive, halves_of_four };

/// Whether a product that is zero takes part in the greatest exponent. Sources differ and no device has been asked: in the
/// models of MATLAB-tensor-core it does not; in MMA-Sim a zero has the exponent -126.
enum class ZeroProducts : std::uint8_t { excluded, included };

inline constexpr int no_exponent_floor = -10000;
inline constexpr int most_fraction_bits = 25;  ///< what the sums of the vectorised product hold
inline constexpr int widest_block = 32;
inline constexpr int longest_restart = 512;

struct SumRule {
  Format operands = Format::fp16;  ///< fp16, bf16, tf32, fp8_e4m3, fp8_e5m2
  int width = 8;                   ///< products of a block
  int fraction = 24;               ///< fraction bits kept below the greatest exponent
  Result result = Result::fp32;
  int exponent_floor = no_exponent_floor;
  BlockOrder order = BlockOrder::consecutive;
  /// Not 0: after so many k the chained sum starts from zero again, and what it was is added to the running sum, rounded to
  /// nearest (in fp32, or fp16 for such results). A multiple of the width, and of 32 for halves_of_four; at most longest_restart.
  int restart = 0;
  ZeroProducts zeros = ZeroProducts::excluded;
};

/// k a whole number of blocks (and restarts are whole numbers of these): what K is padded to, with zeros.
ULPSCOPE_BODY int period(const SumRule& rule) { return rule.order == BlockOrder::halves_of_four ? 32 : rule.width; }

/// Exponent of the least normal number.
ULPSCOPE_BODY int least_exponent(Format format) {
  switch (format) {
    case Format::fp16:
    case Format::fp8_e5m2:
      return -14;
    case Format::fp8_e4m3:
      return -6;
    default:
      return -126;
  }
}

/// The place in its period of the i-th number that is added.
ULPSCOPE_BODY int place_of(const SumRule& rule, int i) {
  if (rule.order == BlockOrder::consecutive) return i;
  const int half = i / 16, within = i % 16;
  return within / 2 * 4 + within % 2 + 2 * half;
}

}  // namespace ulpscope::tensor_core
