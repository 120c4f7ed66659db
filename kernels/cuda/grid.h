// What a kernel sees of the grid it runs in, and how it is launched. Compiled by nvcc this is CUDA; compiled by a C++
// compiler the grid is emulated (emulated_grid.h), one thread after the other, which is how every kernel of this folder is
// tested where there is no GPU.
//
//   ULPSCOPE_KERNEL void k(…)        a kernel: a function or function template
//   ULPSCOPE_DEVICE                  a function that kernels call
//   ULPSCOPE_OUTLINE                 the same, never inlined
//   ULPSCOPE_DEVICE_MEMBER           a member function that kernels call
//   ULPSCOPE_SHARED T x[n];          memory of the block
//   ULPSCOPE_UNROLL                  before a loop whose arrays are to stay in registers
//   thread_index(), block_threads(), block_index(), grid_blocks(), global_thread(), global_threads()
//   block_barrier()                  only in kernels launched by launch_team
//   atomic_add, atomic_max, atomic_min   of integers; floating-point atomics have no fixed order and are not used
//   launch(kernel, blocks, threads, stream, arguments…)
//   launch_team(kernel, blocks, threads, shared bytes, stream, arguments…)   with barriers and block_memory()
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__CUDACC__)
#include "kernels/cuda/gpu_grid.h"
#else
#include "kernels/cuda/emulated_grid.h"
#endif

namespace ulpscope::cuda {

inline constexpr int team_threads = 256;   ///< of a block: the lanes of the reduction tree

/// Blocks for so many pieces of work, each done by one block or by a grid-stride loop: as many as keep this device busy, and no
/// more than there is work.
std::int64_t blocks_for(std::int64_t pieces);

/// The same of blocks with fewer threads than team_threads: as many more of them, so that the device holds as many threads.
inline std::int64_t blocks_for(std::int64_t pieces, int threads) {
  const std::int64_t small = threads < team_threads ? team_threads / threads : 1;
  const std::int64_t blocks = blocks_for((pieces + small - 1) / small) * small;
  return blocks < pieces ? blocks : pieces;
}

/// Device memory to observe with, of one device: valid until it is asked for again. 256-byte aligned.
void* observation_memory(void* stream, std::size_t bytes);

ULPSCOPE_DEVICE std::int64_t global_thread() {
  return block_index() * block_threads() + thread_index();
}
ULPSCOPE_DEVICE std::int64_t global_threads() { return grid_blocks() * block_threads(); }

}  // namespace ulpscope::cuda
