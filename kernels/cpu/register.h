// The CPU's kernels, compiled once per instruction set, and how they get into a table.
#pragma once

#include <cstddef>

#include "kernels/formats/instruction_set.h"
#include "kernels/launch.h"

namespace ulpscope {

/// Adds the kernels of one instruction set: every operation of kernels/ops/catalogue.h but the matrix products,
/// computing in fp32 and in fp64. Throws Error if this program has no code for it.
void register_cpu_kernels(KernelTable& table, InstructionSet set);

namespace cpu {

using RunFunction = void (*)(const Launch&);
using WorkspaceFunction = std::size_t (*)(const Launch&);

/// For the sources compiled per instruction set, which must not instantiate anything from the standard library.
void add_kernel(KernelTable& table, const char* operation, Format compute, RunFunction run,
                WorkspaceFunction workspace = nullptr, const Stage* stage = nullptr);

}  // namespace cpu
}  // namespace ulpscope
