// Bulk conversion between fp32 and the storage formats, by the fastest code this processor has; the bits are the same
// for every instruction set. One thread. Pointers need only the alignment of their element. Throws Error for i32.
#pragma once

#include <cstddef>

#include "kernels/formats/format.h"
#include "kernels/formats/instruction_set.h"

namespace ulpscope {

/// n elements of `from` to float: exact (fp64: rounded once). Source and destination do not overlap.
void widen(Format from, const void* source, float* destination, std::size_t n);

/// n floats to `to`, rounded once to nearest even (tf32: ties away, into 32-bit words, in place if the pointers are
/// equal; fp8: not saturating). Otherwise source and destination do not overlap.
void narrow(Format to, const float* source, void* destination, std::size_t n);

/// From any float format but fp64 to any other, through float. Source and destination do not overlap.
void convert(Format from, const void* source, Format to, void* destination, std::size_t n);

/// The code for one instruction set: for tests and benchmarks. Throws Error if it is not available.
struct Conversions {
  void (*widen)(Format from, const void* source, float* destination, std::size_t n);
  void (*narrow)(Format to, const float* source, void* destination, std::size_t n);
};
const Conversions& conversions(InstructionSet set);

}  // namespace ulpscope
