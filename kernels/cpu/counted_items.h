// Items shared out over a team, with counts that do not depend on who takes which. For sources that are compiled once.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "kernels/cpu/whole_team.h"
#include "kernels/launch.h"
#include "kernels/ops/round_and_count.h"

namespace ulpscope {

inline constexpr std::int64_t most_item_runs = 64;  ///< observed launches are cut into at most this many runs of items
inline constexpr int most_item_outputs = 3;

/// Runs of items whose counts are kept apart; their memory is sizeof(RoundingCounts) * most_item_outputs each.
inline std::int64_t tallies_of(std::int64_t items) { return std::min(most_item_runs, items); }
inline std::size_t tally_bytes(std::int64_t items) {
  return sizeof(RoundingCounts) * most_item_outputs * static_cast<std::size_t>(tallies_of(items));
}

/// body(thread, item, tally): every item once; tally[o] is where output o is counted, or null. Observed launches count
/// each run of items on its own, in `counts` (tally_bytes), and merge in order.
template <class Body>
void for_each_item(const Launch& launch, int threads, std::int64_t items, RoundingCounts* counts, const Body& body) {
  if (items == 0) return;
  const bool counting = launch.counts != nullptr;
  const std::int64_t runs = counting ? tallies_of(items) : items;
  std::atomic<std::int64_t> next{0};
  on_team(launch, threads, [&](int thread) {
    RoundingTally tally[most_item_outputs];
    RoundingTally* slots[most_item_outputs] = {};
    for (std::int64_t run = next++; run < runs; run = next++) {
      for (int o = 0; counting && o < launch.out_count; ++o) {
        slots[o] = launch.counts[o] != nullptr ? &tally[o] : nullptr;
        if (slots[o] != nullptr) begin_tally(tally[o], *launch.counts[o]);
      }
      for (std::int64_t item = items * run / runs; item < items * (run + 1) / runs; ++item)
        body(thread, item, static_cast<RoundingTally* const*>(slots));
      for (int o = 0; o < launch.out_count; ++o) {
        if (slots[o] == nullptr) continue;
        finish_tally(tally[o]);
        RoundingCounts& kept = counts[run * most_item_outputs + o];
        kept.range_only = tally[o].counts.range_only;
        clear_counts(kept);
        merge_counts(kept, tally[o].counts);
      }
    }
  });
  for (int o = 0; counting && o < launch.out_count; ++o) {
    if (launch.counts[o] == nullptr) continue;
    for (std::int64_t run = 0; run < runs; ++run) merge_counts(*launch.counts[o], counts[run * most_item_outputs + o]);
  }
}

}  // namespace ulpscope
