// One GPU as the table knows it, or as a device that is present reports itself. Plain data.
//
// Peaks are dense (no sparsity). Peak = SMs × multiply-add pairs for each SM and clock × 2 × clock; the matrix units of some parts have a
// clock of their own. Figures and their sources: gpus.toml.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "reports/run_file/values.h"

namespace ulpscope::reports {

/// What a multiply-add rate is of. "fp16" and "fp8" are with fp32 sums, which is what training uses.
enum class Rate : std::uint8_t { fp32, tf32, fp16, bf16, fp8, fp4, fp16_sums_fp16, fp8_sums_fp16, fp16_vector };
inline constexpr int rate_count = 9;

struct RateInfo {
  Rate rate;
  const char* key;    ///< in gpus.toml and for programs
  const char* label;  ///< for people
  bool matrix_units;  ///< clocked as the matrix units are
};
const std::array<RateInfo, rate_count>& rates();
/// Of a product's format by its name ("fp16", "tf32", "e4m3" …), with fp32 sums; nothing for one that no rate is of.
std::optional<Rate> rate_of(std::string_view format);

using Rates = std::array<Number, rate_count>;  ///< by Rate

struct Gpu {
  std::string name{};                    ///< "A100 SXM 80GB"; of a present device, what its driver calls it
  std::vector<std::string> also{};       ///< what people type
  std::vector<std::string> device{};     ///< names its driver reports
  std::string architecture{};            ///< "Ampere"; empty: unknown
  int capability = 0;                    ///< compute capability × 10: 80 is 8.0
  std::int64_t sms = 0;
  double boost_mhz = 0.0;
  Number tensor_mhz{};                   ///< of the matrix units, where it is another
  double memory_gb = 0.0;                ///< 10^9 bytes, as sold
  Count memory_bytes{};                  ///< as its driver reports it
  Number bandwidth_gbs{};                ///< 10^9 bytes/s
  Number l2_mb{};                        ///< 2^20 bytes, which data sheets call MB
  Number power_w{};
  Rates fma{};                           ///< multiply-add pairs for each SM and clock; none: no hardware for it
  Rates peak{};                          ///< TFLOP/s, dense; filled in from fma where none is stated
  Rates attainable{};                    ///< TFLOP/s that others reached with large products
  std::vector<std::string> sources{};
  std::vector<std::string> notes{};
  std::map<std::string, std::string> unverified{};  ///< a figure's key → why it is not to be relied on
  std::map<std::string, std::string> derived{};     ///< a figure's key → what it was concluded from
  std::string file{};                    ///< the user's file it comes from; empty: the built-in table
  bool present = false;                  ///< sizes and clocks are those a device here reports of itself

  const Number& peak_of(Rate rate) const { return peak[static_cast<std::size_t>(rate)]; }
  const Number& fma_of(Rate rate) const { return fma[static_cast<std::size_t>(rate)]; }
  /// SMs × fma × 2 × clock, TFLOP/s; nothing without an fma.
  Number computed_peak(Rate rate) const;
  /// Bytes a program can have at most: what the driver reports, or between 98 % (some is kept for error correction; L4 shows 98.4 %)
  /// of what is sold and the same number in units of 2^30 bytes, which many parts show.
  double least_memory_bytes() const;
  double greatest_memory_bytes() const;
};

/// "8.0"
std::string capability_text(int capability);

}  // namespace ulpscope::reports
