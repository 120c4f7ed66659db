// Which node of the program a GPU's records belong to: by correlation ids and by the ids of graph nodes, never by position or name.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "profiler/trace/activity.h"

namespace ulpscope::profiler {

/// One execution of a node, or (node -1) a step with what it does between its nodes. Its external id is its place in the list + 1.
struct NodeSpan {
  std::int32_t node = -1;
  std::int64_t step = 0;
  std::int32_t micro_batch = 0;
  std::int32_t attempt = 0;   ///< engine::Execution: 0 is the step itself, others are replays and rehearsals
};

/// A call that launched something, as heard while it was made.
struct TracedLaunch {
  std::uint32_t correlation = 0, inner = 0;   ///< of the call; of the driver's inside the runtime's, 0: none
  std::int64_t span = -1;                     ///< -1: made by another thread, or outside of steps
};

/// A node of a CUDA graph: made in this span while the stream was captured.
struct MappedGraphNode {
  std::int64_t span = -1;
  std::uint32_t graph = 0;                    ///< 0: unknown
};

/// Everything that a trace collected.
struct TraceData {
  std::vector<NodeSpan> spans;
  std::vector<std::int64_t> steps;            ///< traced, in order
  std::set<std::int64_t> observed;            ///< of them those that were observed, and launched other kernels for it
  std::vector<TracedLaunch> launches;
  bool launches_counted = false;
  std::unordered_map<std::uint64_t, MappedGraphNode> graph_nodes;
  ActivityBatch records;
  std::uint64_t origin = 0;                   ///< CUPTI's clock when the trace began
  std::int64_t dropped = 0;                   ///< by CUPTI, for want of room
  std::int64_t declined = 0;                  ///< buffers that it asked for and did not get
  std::int64_t lost_buffers = 0;              ///< full ones that there was no memory to read
};

/// What a trace saw, and what it did not.
struct TraceCoverage {
  std::optional<std::int64_t> launches;       ///< calls that launched; unknown if they could not be counted
  std::int64_t kernels = 0, transfers = 0;    ///< records
  double transfer_seconds = 0.0;
  std::int64_t zero_stamps = 0, inverted_stamps = 0, early_stamps = 0;   ///< records without a usable time; early: before the trace
  std::int64_t unanswered = 0;                ///< launches without any record
  std::int64_t graph_nodes_missing = 0;       ///< nodes of launched graphs without a record
  std::int64_t graphs_whole = 0;              ///< launches of graphs of which only the whole was traced
  std::int64_t unmatched = 0;                 ///< records that no node and no step is known for
  std::int64_t unmapped = 0;                  ///< … of graph nodes that were made unheard
  std::int64_t contradictions = 0;            ///< correlation ids that two spans claim: they belong to none
  std::int64_t unknown_ids = 0;               ///< external ids that were never given
  std::int64_t between_nodes = 0;             ///< records of a step outside of its nodes
  std::int64_t other_attempts = 0;            ///< records of replays and rehearsals: in no table
  std::int64_t steps = 0;                     ///< traced
  std::optional<std::int64_t> steps_covered;  ///< in which every launch is answered by good records; unknown without counting
};

/// Where a record belongs.
struct Placed {
  std::size_t kernel = 0;                     ///< in TraceData::records.kernels
  std::optional<std::int32_t> node{};
  std::optional<std::int64_t> step{};
  std::optional<std::int32_t> micro_batch{};  ///< of a node's kernels, where it is known: not of those of a graph
};

/// Device time of a node over the steps in which nothing of it is missing. Kernels, copies and sets; of several streams, their sum.
struct NodeDeviceTime {
  std::int32_t node = 0;
  std::int64_t steps = 0;
  std::int64_t calls = 0;
  double seconds = 0.0;
};

struct TraceMatch {
  std::vector<Placed> kernels;                ///< with usable times, replays and rehearsals left out
  std::vector<NodeDeviceTime> nodes;          ///< in the order of their numbers
  TraceCoverage coverage;
};

TraceMatch match(const TraceData& data);

}  // namespace ulpscope::profiler
