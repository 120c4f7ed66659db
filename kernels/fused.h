// Several operations launched as one: each works on a run of elements (a tile, a row, a piece of a product's row) while
// the run is in the first-level cache. Every planned rounding stays: a result is rounded to its format whether it is
// stored or not, so the bits are those of separate launches. Compute type fp32.
#pragma once

#include <cstdint>

#include "kernels/launch.h"

namespace ulpscope {

struct RoundingTally;

inline constexpr int most_stages = 12;

/// One operation of a fused launch.
struct FusedStage {
  const Kernel* kernel = nullptr;    ///< has a stage; the first may be a product that takes an epilogue instead
  const Launch* launch = nullptr;    ///< as if launched alone: views, params, state, counts. Its workspace is not used
  /// By read of the kernel's Stage: the earlier member whose out[0] it is, or -1: it is read from memory.
  int source[max_stage_reads] = {-1, -1, -1, -1};
  bool stored = true;                ///< whether out[0] goes to memory; if not, its data may be null
};

/// Params of the operation "fused", which has no operands of its own. All members have as many elements in out[0], in
/// row-major order, and those that need rows have rows of one length; behind a product there are none. Counts are those
/// of the members' launches; with a product in front they have to be range_only, else it has to be launched alone.
struct FusedLaunch {
  const FusedStage* stages = nullptr;
  int count = 0;
  /// With counts and a product in front: room for Launch::threads times as many tallies as the members have outputs.
  RoundingTally* tallies = nullptr;
};

}  // namespace ulpscope
