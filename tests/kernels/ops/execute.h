// Runs one operation with the kernels of a table: those of the CPU in the host's memory; those of the emulated grid, and of the GPU
// that ULPSCOPE_TEST_GPU names, in memory of their own, into which operands are copied and from which results are copied back.
#pragma once

#include <string>
#include <vector>

#include "kernels/formats/instruction_set.h"
#include "kernels/launch.h"
#include "kernels/ops/rounding_counts.h"
#include "kernels/step_state.h"

namespace ulpscope::test {

/// Runs an operation once. Operands lie on the host. counts: one per output, or none. Returns the step state afterwards.
StepState execute(const std::string& operation, Format compute, const std::vector<Tensor>& in,
                  const std::vector<Tensor>& out, const void* params, const StepState& state, InstructionSet set,
                  int threads, const std::vector<RoundingCounts*>& counts = {});

/// With the kernels of a table.
StepState execute(const KernelTable& kernels, const std::string& operation, Format compute, const std::vector<Tensor>& in,
                  const std::vector<Tensor>& out, const void* params, const StepState& state, int threads,
                  const std::vector<RoundingCounts*>& counts = {});

/// A launch that says more: state and workspace are filled in.
StepState execute(const KernelTable& kernels, const std::string& operation, Format compute, const Launch& launch, const StepState& state);

/// The kernels of the CPU.
const KernelTable& kernels_of(InstructionSet set);

struct NamedKernels {
  std::string name;
  const KernelTable& kernels;
};
/// The kernels of GPUs: on the GPU if one is named, else on the emulated grid, in memory that is closed to the host.
std::vector<NamedKernels> grid_kernels();
/// Whether these are the CPU's bits: fp32 has functions of its own (kernels/math), fp64 calls the C library's, on a GPU CUDA's.
bool grids_have_the_bits_of(Format compute);
/// Kernels that have to agree to the bit: of every instruction set this processor has, portable first, and those of GPUs.
std::vector<NamedKernels> all_kernels();

/// The sets this processor has, portable first.
std::vector<InstructionSet> instruction_sets();

}  // namespace ulpscope::test
