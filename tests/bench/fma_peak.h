// What this processor computes at best, now: multiply-adds in registers, nothing loaded or stored.
#pragma once

#include "kernels/formats/instruction_set.h"

namespace ulpscope::bench {

/// FLOP/s (a multiply-add is two) of `threads` threads together in about that many seconds, with the widest vectors of
/// the instruction set; portable: separate multiplications and additions.
double fma_peak(InstructionSet set, int threads, double seconds);

}  // namespace ulpscope::bench
