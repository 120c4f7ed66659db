// What a single-source body needs to be compiled by the C++ compiler and by nvcc alike.
//
// ULPSCOPE_BODY marks every function a kernel body consists of. Internal linkage and forced inlining are not a matter of
// taste: the same body is compiled once per instruction set (kernels/cpu), and an out-of-line copy with external linkage
// could be merged by the linker with the copy of another instruction set. tests/house checks that no such copy exists.
#pragma once

#if defined(__CUDACC__)
#define ULPSCOPE_BODY static __host__ __device__ __forceinline__
#define ULPSCOPE_MEMBER __host__ __device__ __forceinline__
#else
#define ULPSCOPE_BODY static inline __attribute__((always_inline))
#define ULPSCOPE_MEMBER inline __attribute__((always_inline))
#endif
