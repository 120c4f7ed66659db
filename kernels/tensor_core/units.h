// The matrix units there are: one row for each generation, format and instruction, with what it rests on.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "kernels/arithmetic.h"
#include "kernels/tensor_core/sum_rule.h"

namespace ulpscope::tensor_core {

/// What a row rests on. data: bit-exact on vectors captured from devices; source: the source text of a simulator, or a
/// measurement of one of its numbers, not confirmed by data here; unverified: one statement without data.
enum class Evidence : std::uint8_t { data, source, unverified };
const char* name(Evidence evidence);

struct Unit {
  MatrixUnit generation;
  SumRule rule;
  const char* instruction;  ///< "mma", "wgmma", "mma.sync" (fp8, carried out with fp16 products), "tcgen05", "qmma"
  const char* devices;      ///< of this generation: "A100, A30, A10, RTX 3090"
  Evidence evidence;
  const char* basis;        ///< in words: what is known from where, what is not
};

/// Every row; of one generation, format and result the first is the default.
std::span<const Unit> units();

/// Nothing if the generation does not multiply this format (with this result, by this instruction; an empty one: the default).
const Unit* find_unit(MatrixUnit generation, Format operands, Result result = Result::fp32, std::string_view instruction = {});

/// The rule that a product with fp32 sums follows on that unit. Null if it has none for such operands: they are multiplied
/// elsewhere, with plain fp32 sums.
const SumRule* rule_of(MatrixUnit generation, Format operands);

/// What a multiplier that sees `multiply` sees of numbers stored in a format: that format, or the narrower one they are rounded to.
Format seen_as(Format stored, Format multiply);
/// The rule of a product of operands stored in these formats; null: plain sums. Where they are not alike, the unit multiplies them as
/// tf32 if that is what is asked for.
const SumRule* rule_of(MatrixUnit generation, Format multiply, std::initializer_list<Format> stored);

const char* name(Result result);
std::optional<Result> parse_result(std::string_view text);
/// "blocks of 16, 25 fraction bits, toward zero to fp32": for tables and messages.
std::string words(const SumRule& rule);

/// Throws UsageError if the rule cannot be carried out (width, fraction bits, restart).
void check(const SumRule& rule);

/// The rule with the promotion that libraries make: the sum starts again after every `k` elements and is added to fp32 (cuBLASLt
/// without fast accumulation, CUTLASS: 128). Throws UsageError if k does not fit the rule.
SumRule promoted(SumRule rule, int k);

}  // namespace ulpscope::tensor_core
