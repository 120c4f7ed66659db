#include "tests/bench/fma_peak.h"

#include <omp.h>

#include <algorithm>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace ulpscope::bench {
namespace {

constexpr int iterations = 20000;
// Independent chains: latency times throughput is 4 × 2 (Zen) to 5 × 2 multiply-adds. As many as fit into the
// registers.
constexpr int narrow_chains = 12, wide_chains = 16;

/// Runs a block of multiply-adds and says how many FLOPs that were. The sums go to `sink`, so nothing is left out.
using Block = double (*)(float* sink);

double portable_block(float* sink) {
  using Vector = float __attribute__((vector_size(16)));
  Vector sum[narrow_chains];
  for (int c = 0; c < narrow_chains; ++c) sum[c] = Vector{} + static_cast<float>(c);
  const Vector factor = Vector{} + 0.999f, term = Vector{} + 0.001f;
  for (int i = 0; i < iterations; ++i) {
#pragma GCC unroll 12
    for (int c = 0; c < narrow_chains; ++c) sum[c] = sum[c] * factor + term;
  }
  for (int c = 0; c < narrow_chains; ++c) *sink += sum[c][0] + sum[c][3];
  return 2.0 * 4.0 * narrow_chains * iterations;
}

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) double avx2_block(float* sink) {
  __m256 sum[narrow_chains];
  for (int c = 0; c < narrow_chains; ++c) sum[c] = _mm256_set1_ps(static_cast<float>(c));
  const __m256 factor = _mm256_set1_ps(0.999f), term = _mm256_set1_ps(0.001f);
  for (int i = 0; i < iterations; ++i) {
#pragma GCC unroll 12
    for (int c = 0; c < narrow_chains; ++c) sum[c] = _mm256_fmadd_ps(sum[c], factor, term);
  }
  for (int c = 0; c < narrow_chains; ++c) *sink += _mm256_cvtss_f32(sum[c]);
  return 2.0 * 8.0 * narrow_chains * iterations;
}

__attribute__((target("avx512f"))) double avx512_block(float* sink) {
  __m512 sum[wide_chains];
  for (int c = 0; c < wide_chains; ++c) sum[c] = _mm512_set1_ps(static_cast<float>(c));
  const __m512 factor = _mm512_set1_ps(0.999f), term = _mm512_set1_ps(0.001f);
  for (int i = 0; i < iterations; ++i) {
#pragma GCC unroll 16
    for (int c = 0; c < wide_chains; ++c) sum[c] = _mm512_fmadd_ps(sum[c], factor, term);
  }
  for (int c = 0; c < wide_chains; ++c) *sink += _mm512_cvtss_f32(sum[c]);
  return 2.0 * 16.0 * wide_chains * iterations;
}
#endif

Block block_of(InstructionSet set) {
#if defined(__x86_64__)
  if (set == InstructionSet::avx512) return avx512_block;
  if (set == InstructionSet::avx2) return avx2_block;
#endif
  static_cast<void>(set);
  return portable_block;
}

}  // namespace

double fma_peak(InstructionSet set, int threads, double seconds) {
  const Block block = block_of(set);
  double flops = 0.0, begin = 0.0, end = 0.0;
  float sink = 0.0f;
#pragma omp parallel num_threads(threads) reduction(+ : flops, sink) reduction(max : end)
  {
    block(&sink);  // the clock of the processor may have to rise or fall first
#pragma omp barrier
#pragma omp master
    begin = omp_get_wtime();
#pragma omp barrier
    do {
      flops += block(&sink);
      end = omp_get_wtime();
    } while (end < begin + seconds);
  }
  volatile float kept = sink;
  static_cast<void>(kept);
  return flops / (end - begin);
}

}  // namespace ulpscope::bench
