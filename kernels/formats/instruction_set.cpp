#include "kernels/formats/instruction_set.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <array>
#include <cstdlib>

#include "kernels/error.h"

namespace ulpscope {
namespace {

constexpr std::array<InstructionSet, instruction_set_count> all_sets{InstructionSet::portable, InstructionSet::avx2,
                                                                     InstructionSet::avx512};

}  // namespace

const char* name(InstructionSet set) {
  switch (set) {
    case InstructionSet::portable:
      return "portable";
    case InstructionSet::avx2:
      return "avx2";
    case InstructionSet::avx512:
      return "avx512";
  }
  return "unknown";
}

InstructionSet parse_instruction_set(std::string_view text) {
  for (const InstructionSet set : all_sets)
    if (text == name(set)) return set;
  throw UsageError("unknown instruction set '" + std::string(text) + "': valid are portable, avx2, avx512");
}

#if defined(__x86_64__)
namespace {

/// Not a name that every compiler's __builtin_cpu_supports knows. Bit 29 of ECX, leaf 1 (Intel's manual, volume 2, CPUID); that the
/// system keeps the registers is asked with avx2.
bool has_f16c() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c >> 29 & 1u) != 0;
}

}  // namespace
#endif

bool available(InstructionSet set) {
#if defined(__x86_64__)
  const bool avx2 = __builtin_cpu_supports("avx2") && has_f16c() && __builtin_cpu_supports("bmi2") &&
                    __builtin_cpu_supports("fma");
  switch (set) {
    case InstructionSet::portable:
      return true;
    case InstructionSet::avx2:
      return avx2;
    case InstructionSet::avx512:
      return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  }
  return false;
#else
  return set == InstructionSet::portable;
#endif
}

std::string available_instruction_sets() {
  std::string text;
  for (const InstructionSet set : all_sets)
    if (available(set)) text += (text.empty() ? "" : ", ") + std::string(name(set));
  return text;
}

InstructionSet best_instruction_set() {
  if (const char* wanted = std::getenv("ULPSCOPE_ISA"); wanted != nullptr && *wanted != '\0') {
    for (const InstructionSet set : all_sets)
      if (std::string_view(wanted) == name(set) && available(set)) return set;
    throw UsageError("ULPSCOPE_ISA='" + std::string(wanted) +
                     "': no such instruction set on this processor: valid are " + available_instruction_sets());
  }
  InstructionSet best = InstructionSet::portable;
  for (const InstructionSet set : all_sets)
    if (available(set)) best = set;
  return best;
}

}  // namespace ulpscope
