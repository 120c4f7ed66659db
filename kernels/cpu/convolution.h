// Convolutions on the CPU.
#pragma once

#include "kernels/formats/instruction_set.h"
#include "kernels/launch.h"

namespace ulpscope {

/// Adds conv2d, conv2d_backward_input and conv2d_backward_weight, in fp32 and fp64, with the products of `set`.
void register_cpu_convolutions(KernelTable& table, InstructionSet set);

}  // namespace ulpscope
