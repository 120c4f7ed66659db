// Rounding with a look at what it loses. The rounding itself is the plain one (formats/tile.h), so the bits are the
// same whether anyone looks or not; the counts come from comparing the values before and after.
//
// Blocks of at most 1024 elements: inside one, the sums run in 16 fixed lanes that are folded at the end, and blocks
// are added in order. A caller that splits a tensor over threads must split it independently of their number and merge
// the tallies in order (kernels/cpu/team.h does); then the sums too have the same bits for any number of
// threads.
#pragma once

#include <cstdint>

#include "kernels/ops/count_exponents.h"
#include "kernels/ops/count_patterns.h"
#include "kernels/ops/count_sums.h"
#include "kernels/ops/rounding_counts.h"
#include "kernels/portable.h"

namespace ulpscope {

/// Counts in the making: those of one run of blocks. Large (about 7 KiB), meant for the stack of the thread that
/// counts.
struct RoundingTally {
  RoundingCounts counts;
  std::int64_t pending = 0;  ///< elements in `bins` that are not yet in counts.histogram
  counting::HistogramBins bins;
};

ULPSCOPE_BODY void clear_bins(RoundingTally& tally) {
  for (int copy = 0; copy < 4; ++copy) {
    for (int bin = 0; bin <= histogram_bins; ++bin) tally.bins[copy][bin] = 0;
  }
  tally.pending = 0;
}

/// Starts a tally of what `into`, to which it will be added, asks for. Where that is the range alone, the rest of the tally is not
/// even written.
ULPSCOPE_BODY void begin_tally(RoundingTally& tally, const RoundingCounts& into) {
  tally.counts.range_only = into.range_only;
  clear_counts(tally.counts);
  if (!into.range_only) clear_bins(tally);
}

/// Ends a run of blocks: tally.counts is complete.
ULPSCOPE_BODY void finish_tally(RoundingTally& tally) {
  if (tally.counts.range_only) return;
  for (int bin = 0; bin < histogram_bins; ++bin) {
    for (int copy = 0; copy < 4; ++copy) tally.counts.histogram[bin] += tally.bins[copy][bin];
  }
  clear_bins(tally);
}

/// Whether a tally is content with count_range, which needs no values after rounding.
ULPSCOPE_BODY bool range_only(const RoundingTally& tally) { return tally.counts.range_only; }

/// Counts n values before a rounding to nearest. limit: the format's overflow threshold, as T.
template <class T>
ULPSCOPE_BODY void count_range(const T* before, int n, T limit, RoundingTally& tally) {
  counting::count_range(before, n, limit, tally.counts);
}

/// Counts one block of n <= count_block_elements values before and after rounding (both widened to T).
/// least_normal: the least normal magnitude of the format rounded to. Not for a tally that is range_only.
template <class T>
ULPSCOPE_BODY void count_block(const T* before, const T* after, int n, T least_normal, RoundingTally& tally) {
  const counting::Extent<T> extent = counting::count_patterns(before, after, n, least_normal, tally.counts);
  if (extent.unchanged) {
    counting::count_sums(before, n, tally.counts.sum, tally.counts.sum_of_squares);
  } else if (extent.finite) {
    counting::count_sums_and_errors<true>(before, after, n, tally.counts);
  } else {
    counting::count_sums_and_errors<false>(before, after, n, tally.counts);
  }
  counting::count_exponents(before, n, extent, tally.bins);
  tally.pending += n;
  if (tally.pending > (std::int64_t{1} << 30)) finish_tally(tally);  // before a 32-bit bin could run over
}

}  // namespace ulpscope
