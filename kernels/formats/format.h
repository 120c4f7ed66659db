// What a number format is: bits, range, rounding. Constants: shared NUMERICS 1.1 (IEEE 754, bfloat16, OCP FP8, NVIDIA tf32).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ulpscope {

/// Number formats. tf32 is stored in a 32-bit word like fp32; fp64 serves references and gradient checks; i32 holds indices.
enum class Format : std::uint8_t { fp32, tf32, fp16, bf16, fp8_e4m3, fp8_e5m2, fp64, i32 };
inline constexpr int format_count = 8;

struct FormatInfo {
  const char* name;
  int exponent_bits;      ///< 0 for i32
  int mantissa_bits;      ///< stored fraction bits, without the implicit one
  int bias;
  int storage_bytes;      ///< bytes of one element in memory
  bool has_infinity;      ///< false: e4m3 (OCP "fn")
  double max_finite;      ///< largest finite magnitude
  double min_normal;      ///< smallest normal magnitude
  double min_subnormal;   ///< smallest positive magnitude
  double unit_roundoff;   ///< 2^-(mantissa_bits + 1), round to nearest
  double overflow_threshold;  ///< least fp32 magnitude that rounding to nearest turns into infinity (e4m3: into NaN; fp32:
                              ///< least double); fp64: infinity
  double flush_threshold;     ///< greatest magnitude that round-to-nearest-even turns into zero: min_subnormal / 2; fp64: 0
};

/// Facts of a format.
const FormatInfo& info(Format format);

/// "fp16" → Format::fp16; nothing if the name is not known. Names are those of FormatInfo.
std::optional<Format> parse_format(std::string_view name);

inline const char* name(Format format) { return info(format).name; }
inline int storage_bytes(Format format) { return info(format).storage_bytes; }
inline bool is_float(Format format) { return format != Format::i32; }
/// fp16 or bf16.
inline bool is_16bit(Format format) { return format == Format::fp16 || format == Format::bf16; }

}  // namespace ulpscope
