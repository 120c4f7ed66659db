#include "kernels/tensor_core/units.h"

#include "kernels/error.h"

namespace ulpscope::tensor_core {
namespace {

constexpr SumRule sums(Format operands, int width, int fraction, Result result, int floor = no_exponent_floor) {
  return {operands, width, fraction, result, floor, BlockOrder::consecutive, 0, ZeroProducts::excluded};
}
/// fp8 products on units that have no fp8 multiplier for mma.sync: two fp16 blocks from zero, then added.
constexpr SumRule by_halves(Format operands, Result result, int floor) {
  return {operands, 16, 25, result, floor, BlockOrder::halves_of_four, 32, ZeroProducts::excluded};
}

// Of rows whose evidence is data: where the vectors come from, and where the same unit is built in.
constexpr const char* v100_data = "captured on V100";
constexpr const char* ampere_data = "captured on A100 and A2, taken to hold for A30, A10, RTX 3090";
constexpr const char* ada_data = "captured on RTX 1000 Ada and L40S, taken to hold for L4, L40, RTX 4090";
constexpr const char* hopper_data = "captured on H100 and H200, taken to hold for GH200";
constexpr const char* blackwell_data = "captured on B200, taken to hold for GB200";
constexpr const char* hopper_devices = "H100, H200, GH200";
constexpr const char* blackwell_devices = "B200, GB200";
constexpr const char* rtx_devices = "RTX 5090";

constexpr const char* one_block = "captured vectors are one block long: that a block is not longer rests on MMA-Sim";
constexpr const char* tf32_half = "captured vectors have 4 products; that a block holds 8 is in MMA-Sim alone";
constexpr const char* mma_sim = "MMA-Sim alone: no captured vectors";
constexpr const char* turing_data = "MMA-Sim, and published tests of T4 agree; no captured vectors";
constexpr const char* ada_fp8 = "captured vectors hold two blocks: width and bits are both settled";
constexpr const char* wgmma_fp8 = "captured vectors start from 0; how c is aligned is in MMA-Sim alone";
constexpr const char* halves = "fitted to captured vectors: two fp16 blocks, then an addition to nearest";

using enum MatrixUnit;
using enum Format;
constexpr Result r32 = Result::fp32, r16 = Result::fp16, r13 = Result::e8m13;
constexpr Evidence data = Evidence::data, source = Evidence::source, unverified = Evidence::unverified;

// Widths and fraction bits: NUMERICS 2.2. Floors of the exponent: the models of MATLAB-tensor-core; they show in results around
// 2^-150 (fp32) or 2^-42 (fp16) alone.
constexpr Unit table[] = {
    {v100, sums(fp16, 4, 23, r32), "mma", v100_data, data, one_block},
    {v100, sums(fp16, 4, 23, r16, -19), "mma", v100_data, data, one_block},
    {turing, sums(fp16, 8, 24, r32, -132), "mma", "T4, RTX 2080 Ti", source, turing_data},
    {turing, sums(fp16, 8, 24, r16, -20), "mma", "T4, RTX 2080 Ti", source, turing_data},
    {ampere, sums(fp16, 8, 24, r32, -132), "mma", ampere_data, data, one_block},
    {ampere, sums(fp16, 8, 24, r16, -20), "mma", ampere_data, data, one_block},
    {ampere, sums(bf16, 8, 24, r32, -132), "mma", ampere_data, data, one_block},
    {ampere, sums(tf32, 4, 24, r32, -132), "mma", ampere_data, data, one_block},
    {ada, sums(fp16, 8, 24, r32, -132), "mma", ada_data, data, one_block},
    {ada, sums(fp16, 8, 24, r16, -20), "mma", ada_data, data, one_block},
    {ada, sums(bf16, 8, 24, r32, -132), "mma", ada_data, data, one_block},
    {ada, sums(tf32, 4, 24, r32, -132), "mma", ada_data, data, one_block},
    {ada, sums(fp8_e4m3, 16, 13, r13), "mma", ada_data, data, ada_fp8},
    {ada, sums(fp8_e5m2, 16, 13, r13), "mma", ada_data, data, ada_fp8},
    {ada, sums(fp8_e4m3, 16, 13, r16), "mma", ada_data, data, ada_fp8},
    {ada, sums(fp8_e5m2, 16, 13, r16), "mma", ada_data, data, ada_fp8},
    {hopper, sums(fp16, 16, 25, r32, -133), "wgmma", hopper_data, data, one_block},
    {hopper, sums(fp16, 16, 25, r16, -21), "wgmma", hopper_data, data, one_block},
    {hopper, sums(bf16, 16, 25, r32, -133), "wgmma", hopper_data, data, one_block},
    {hopper, sums(tf32, 8, 25, r32, -133), "wgmma", hopper_devices, source, tf32_half},
    {hopper, sums(fp8_e4m3, 32, 13, r13), "wgmma", hopper_data, data, wgmma_fp8},
    {hopper, sums(fp8_e5m2, 32, 13, r13), "wgmma", hopper_data, data, wgmma_fp8},
    {hopper, by_halves(fp8_e4m3, r32, no_exponent_floor), "mma.sync", hopper_devices, source,
     "as B200, whose captured vectors agree; those of H100 and H200 are of wgmma"},
    {hopper, by_halves(fp8_e5m2, r32, no_exponent_floor), "mma.sync", hopper_devices, source,
     "as B200, whose captured vectors agree; those of H100 and H200 are of wgmma"},
    {hopper, by_halves(fp8_e4m3, r16, no_exponent_floor), "mma.sync", hopper_data, data, halves},
    {hopper, by_halves(fp8_e5m2, r16, no_exponent_floor), "mma.sync", hopper_data, data, halves},
    {blackwell, sums(fp16, 16, 25, r32, -133), "mma", blackwell_data, data, one_block},
    {blackwell, sums(fp16, 16, 25, r16, -21), "mma", blackwell_data, data, one_block},
    {blackwell, sums(bf16, 16, 25, r32, -133), "mma", blackwell_data, data, one_block},
    {blackwell, sums(tf32, 8, 25, r32, -133), "mma", blackwell_devices, source, tf32_half},
    {blackwell, sums(fp8_e4m3, 32, 25, r32), "tcgen05", blackwell_devices, unverified, mma_sim},
    {blackwell, sums(fp8_e5m2, 32, 25, r32), "tcgen05", blackwell_devices, unverified, mma_sim},
    {blackwell, by_halves(fp8_e4m3, r32, no_exponent_floor), "mma.sync", blackwell_data, data, halves},
    {blackwell, by_halves(fp8_e5m2, r32, no_exponent_floor), "mma.sync", blackwell_data, data, halves},
    {blackwell, by_halves(fp8_e4m3, r16, no_exponent_floor), "mma.sync", blackwell_data, data, halves},
    {blackwell, by_halves(fp8_e5m2, r16, no_exponent_floor), "mma.sync", blackwell_data, data, halves},
    {blackwell, sums(fp8_e4m3, 32, 25, r32), "qmma", rtx_devices, unverified, mma_sim},
    {blackwell, sums(fp8_e5m2, 32, 25, r32), "qmma", rtx_devices, unverified, mma_sim},
};

}  // namespace

std::span<const Unit> units() { return table; }

const Unit* find_unit(MatrixUnit generation, Format operands, Result result, std::string_view instruction) {
  // With fp32 sums fp8 may be kept in 13 bits of them.
  const auto fits = [&](const SumRule& rule) {
    return rule.operands == operands &&
           (rule.result == result || (result == Result::fp32 && rule.result == Result::e8m13));
  };
  for (const Unit& unit : table) {
    if (unit.generation == generation && fits(unit.rule) && (instruction.empty() || instruction == unit.instruction))
      return &unit;
  }
  return nullptr;
}

const SumRule* rule_of(MatrixUnit generation, Format operands) {
  if (generation == MatrixUnit::none) return nullptr;
  const Unit* unit = find_unit(generation, operands);
  return unit != nullptr ? &unit->rule : nullptr;
}

Format seen_as(Format stored, Format multiply) {
  const FormatInfo &from = info(stored), &to = info(multiply);
  const bool narrower = from.mantissa_bits > to.mantissa_bits || from.max_finite > to.max_finite || from.min_subnormal < to.min_subnormal;
  return narrower ? multiply : stored;
}

const SumRule* rule_of(MatrixUnit generation, Format multiply, std::initializer_list<Format> stored) {
  if (generation == MatrixUnit::none || stored.size() == 0) return nullptr;
  const Format first = seen_as(*stored.begin(), multiply);
  bool alike = true, within_tf32 = multiply == tf32;
  for (const Format format : stored) {
    const Format seen = seen_as(format, multiply);
    alike = alike && seen == first;
    within_tf32 = within_tf32 && seen != fp32 && seen != fp64;
  }
  if (alike) return rule_of(generation, first);
  return within_tf32 ? rule_of(generation, tf32) : nullptr;
}

const char* name(Evidence evidence) {
  switch (evidence) {
    case Evidence::data:
      return "data";
    case Evidence::source:
      return "source";
    case Evidence::unverified:
      return "unverified";
  }
  return "?";
}

const char* name(Result result) {
  switch (result) {
    case Result::fp32:
      return "fp32";
    case Result::fp16:
      return "fp16";
    case Result::e8m13:
      return "e8m13";
  }
  return "?";
}

std::optional<Result> parse_result(std::string_view text) {
  for (const Result result : {Result::fp32, Result::fp16, Result::e8m13})
    if (text == name(result)) return result;
  return std::nullopt;
}

std::string words(const SumRule& rule) {
  std::string text = "blocks of " + std::to_string(rule.width) + ", " + std::to_string(rule.fraction) + " fraction bits, " +
                     (rule.result == Result::fp16 ? "to nearest " : "toward zero ") + name(rule.result);
  if (rule.order == BlockOrder::halves_of_four) text += ", k mod 4 in {0, 1} first";
  if (rule.restart != 0) text += ", added up every " + std::to_string(rule.restart);
  return text;
}

void check(const SumRule& rule) {
  const auto refuse = [](const std::string& why) { throw UsageError("sums of a matrix unit: " + why); };
  switch (rule.operands) {
    case fp16:
    case bf16:
    case tf32:
    case fp8_e4m3:
    case fp8_e5m2:
      break;
    default:
      refuse(std::string("operands are fp16, bf16, tf32, fp8_e4m3 or fp8_e5m2, not ") + ulpscope::name(rule.operands));
  }
  if (rule.width < 1 || rule.width > widest_block) refuse("a block holds 1 to " + std::to_string(widest_block) + " products");
  if (rule.fraction < 1 || rule.fraction > most_fraction_bits)
    refuse("1 to " + std::to_string(most_fraction_bits) + " fraction bits are kept");
  if (rule.order == BlockOrder::halves_of_four && rule.width != 16) refuse("halves of four are blocks of 16");
  if (rule.restart < 0 || rule.restart > longest_restart || rule.restart % period(rule) != 0)
    refuse("the sum can start again after a multiple of " + std::to_string(period(rule)) + " elements of K up to " +
           std::to_string(longest_restart) + ", not after " + std::to_string(rule.restart));
}

SumRule promoted(SumRule rule, int k) {
  rule.restart = k;
  check(rule);
  return rule;
}

}  // namespace ulpscope::tensor_core
