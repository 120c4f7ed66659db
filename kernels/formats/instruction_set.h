// The instruction sets that the CPU kernels are compiled for. The bits they compute are the same; the speed is not.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ulpscope {

/// portable: what every processor of the family has; avx2: AVX2, F16C, BMI2; avx512: also AVX-512 F, BW, DQ, VL.
enum class InstructionSet : std::uint8_t { portable, avx2, avx512 };
inline constexpr int instruction_set_count = 3;

/// "portable", "avx2", "avx512".
const char* name(InstructionSet set);

/// Throws UsageError listing the valid names. It says nothing about whether the set is available.
InstructionSet parse_instruction_set(std::string_view text);

/// Whether this program has code for the set and this processor can run it.
bool available(InstructionSet set);

/// The best available set; the environment variable ULPSCOPE_ISA, if set and not empty, overrides. Throws UsageError if
/// the variable names a set that is unknown or not available here.
InstructionSet best_instruction_set();

/// "portable, avx2": the available sets, for messages.
std::string available_instruction_sets();

}  // namespace ulpscope
