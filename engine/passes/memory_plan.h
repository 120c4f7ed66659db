// Where every value lives: persistent blocks, and one arena whose buffers are reused when their values are dead.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/passes/fusion.h"
#include "kernels/device.h"

namespace ulpscope::engine {

/// Categories of the memory ledger, in the order of reports.
enum class MemoryCategory : std::uint8_t {
  weights,           ///< fp32 and tf32: the parameters; mixed modes: their 16-bit copies
  master_weights,    ///< mixed modes: the fp32 parameters
  gradients,         ///< of parameters, as the optimizer reads them
  optimizer_state,
  buffers,           ///< running statistics, and their values at the last commit
  activations,       ///< kept or passing values of the forward pass, gradients of activations
  casts,             ///< other format changes
  workspace,         ///< scratch of kernels
  inputs,            ///< batch, constants, the step's scalars
  gaps,              ///< arena bytes no live value covers at the peak: alignment and placement
};
inline constexpr int memory_category_count = 10;
const char* name(MemoryCategory category);

struct Placement {
  bool persistent = false;
  bool stored = true;          ///< false: passed on inside of a fused launch, no memory
  std::int64_t offset = 0;     ///< into the arena, or into the block of persistent values; 64-byte aligned
  std::int64_t bytes = 0;      ///< rounded up to 64
  std::int32_t first = 0;      ///< node that writes it (in whose place the launch that writes it runs)
  std::int32_t last = 0;       ///< last node that reads it, or what has taken over its memory
  ValueId takes_over;          ///< the operand in whose memory it is written (reuse.h)
  MemoryCategory category = MemoryCategory::activations;
};

struct MemoryPlan {
  FusionPlan fusion;                        ///< which nodes run as one launch, in the place of the last of them
  std::vector<Placement> values;            ///< by value index; views carry their owner's placement
  std::vector<Placement> workspace;         ///< by node index; bytes 0: none
  std::int64_t arena_bytes = 0;
  std::int64_t persistent_bytes = 0;
  std::int32_t peak_node = -1;              ///< where the live bytes of the arena are greatest
  std::vector<std::int64_t> live_bytes;     ///< of the arena, while each node runs
  /// Sum: persistent_bytes + arena_bytes. The arena is split as at its peak.
  std::map<MemoryCategory, std::int64_t> peak_by_category;
  /// Bytes of forward values alive when the backward pass starts, by category.
  std::map<MemoryCategory, std::int64_t> kept_for_backward;
};

/// mixed: parameters are master weights. keep: values that must survive the step (loss). threads: sizes workspace.
/// Throws Error if a node reads a value after it was overwritten (in_place.h).
MemoryPlan plan_memory(const Graph& graph, FusionPlan fusion, const KernelTable& kernels, bool mixed, const std::vector<ValueId>& keep, int threads);
/// The same with every node alone.
MemoryPlan plan_memory(const Graph& graph, const KernelTable& kernels, bool mixed, const std::vector<ValueId>& keep, int threads);

}  // namespace ulpscope::engine
