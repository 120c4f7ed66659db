// A run of elements, and an operation as a function over one: what drivers, operations and fused launches share. Plain
// data, the same in the code of every instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/launch.h"
#include "kernels/ops/round_and_count.h"

namespace ulpscope::cpu {

constexpr int max_reads = max_stage_reads;
constexpr int max_outputs = 3;

/// Elements [begin, begin + n) of every operand, in the compute type: a tile, or a row. in and out may be equal pointers.
template <class T>
struct RunArgs {
  std::int64_t begin;
  std::int64_t row;             ///< rows: which
  std::int64_t n;
  const T* in[max_reads];
  T* out[max_outputs];
  RoundingTally* const* tally;  ///< of all outputs, null where not observed; the driver serves those with runs
};

/// body: what the operation made of its parameters and small operands, once per launch.
template <class T>
using RunBody = void (*)(const void* body, const RunArgs<T>&);

constexpr std::size_t stage_body_bytes = 512;

/// Stage::functions of the CPU. prepare fills stage_body_bytes, aligned to 64; scratch is as large as scratch_bytes says
/// (null: none) and lives as long as the launch.
struct StageFunctions {
  int cost;                     ///< work of one element, in units of a cheap one
  void (*prepare)(const Launch&, void* scratch, void* body);
  RunBody<float> run;
  std::size_t (*scratch_bytes)(const Launch&);
};

}  // namespace ulpscope::cpu
