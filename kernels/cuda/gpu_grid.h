// The grid of a GPU. Included by grid.h alone.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "kernels/error.h"
#include "kernels/out_of_memory.h"

#define ULPSCOPE_KERNEL static __global__
#define ULPSCOPE_DEVICE static __device__ __forceinline__
#define ULPSCOPE_OUTLINE static __device__ __noinline__
#define ULPSCOPE_DEVICE_MEMBER __device__ __forceinline__
#define ULPSCOPE_SHARED __shared__
#define ULPSCOPE_UNROLL _Pragma("unroll")

namespace ulpscope::cuda {

__device__ __forceinline__ int thread_index() { return static_cast<int>(threadIdx.x); }
__device__ __forceinline__ int block_threads() { return static_cast<int>(blockDim.x); }
__device__ __forceinline__ std::int64_t block_index() { return blockIdx.x; }
__device__ __forceinline__ std::int64_t grid_blocks() { return gridDim.x; }
__device__ __forceinline__ void block_barrier() { __syncthreads(); }
/// The dynamic shared memory of the block, 16-byte aligned.
__device__ __forceinline__ void* block_memory() {
  extern __shared__ __align__(16) unsigned char memory[];
  return memory;
}

__device__ __forceinline__ void atomic_add(std::int64_t* place, std::int64_t x) {
  atomicAdd(reinterpret_cast<unsigned long long*>(place), static_cast<unsigned long long>(x));
}
__device__ __forceinline__ void atomic_add(std::uint32_t* place, std::uint32_t x) { atomicAdd(place, x); }
__device__ __forceinline__ void atomic_max(std::uint64_t* place, std::uint64_t x) {
  atomicMax(reinterpret_cast<unsigned long long*>(place), static_cast<unsigned long long>(x));
}
__device__ __forceinline__ void atomic_min(std::uint64_t* place, std::uint64_t x) {
  atomicMin(reinterpret_cast<unsigned long long*>(place), static_cast<unsigned long long>(x));
}

/// Throws Error with CUDA's own words, and what was being done; OutOfMemory where that is why: the first launch of a kernel, a graph and pinned
/// memory need some, too. The error is taken off the thread: the next call would be told of it again.
inline void expect(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  (void)cudaGetLastError();
  const std::string words = std::string("cuda: ") + what + ": " + cudaGetErrorString(status) + " (" + cudaGetErrorName(status) + ")";
  if (status == cudaErrorMemoryAllocation) throw OutOfMemory(words);
  throw Error(words);
}

/// Kernels with barriers, and with dynamic shared memory.
template <class... Parameters, class... Arguments>
void launch_team(void (*kernel)(Parameters...), std::int64_t blocks, int threads, std::size_t shared, void* stream,
                 const Arguments&... arguments) {
  if (blocks <= 0) return;
  kernel<<<static_cast<unsigned>(blocks), static_cast<unsigned>(threads), shared, static_cast<cudaStream_t>(stream)>>>(
      static_cast<Parameters>(arguments)...);
  expect(cudaGetLastError(), "a kernel could not be launched");
}
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), std::int64_t blocks, int threads, void* stream, const Arguments&... arguments) {
  launch_team(kernel, blocks, threads, 0, stream, arguments...);
}

inline void fill_memory(void* device, unsigned char byte, std::size_t bytes, void* stream) {
  if (bytes != 0) expect(cudaMemsetAsync(device, byte, bytes, static_cast<cudaStream_t>(stream)), "memory could not be set");
}
/// Waits for what was launched before.
inline void copy_to_host(void* host, const void* device, std::size_t bytes, void* stream) {
  if (bytes == 0) return;
  expect(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, static_cast<cudaStream_t>(stream)), "memory could not be read");
  expect(cudaStreamSynchronize(static_cast<cudaStream_t>(stream)), "a kernel failed");
}

}  // namespace ulpscope::cuda
