// How far every layer is from the edges of its format, step by step; and how the values of single tensors are spread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reports/analysis/report_runs.h"

namespace ulpscope::reports {

/// What a layer was like in the steps of a column, by its worst tensor and step. Unknown: nothing of the kind was counted.
struct NumericsCell {
  Number head_room{};  ///< bits between the greatest magnitude of a result and its format's limit; below 0: beyond it
  Number flushed{};    ///< share of the non-zero elements of its gradients that became zero
  Number error{};      ///< relative RMS difference of a tensor from the fp32 shadow step
  Number rounding{};   ///< RMS of what rounding changed in a result ÷ its RMS
  Number lost{};       ///< share of the weights whose update was rounded away
  bool not_finite = false;  ///< some value was not finite, once it was stored
};

/// Steps that share a column.
struct NumericsColumn {
  std::int64_t first = 0, last = 0;
  std::int64_t steps = 0;  ///< observed ones that were read
};

struct NumericsMap {
  std::size_t run = 0;  ///< in Report::runs
  std::int64_t observed = 0;  ///< steps with statistics
  std::int64_t read = 0;      ///< of them, those that the map rests on: all, or as many as a report reads
  std::string reading{};      ///< which, in words; empty: all
  std::vector<std::string> layers{};  ///< in execution order
  std::int64_t more_layers = 0;       ///< left out: those that are farthest from trouble
  std::vector<NumericsColumn> columns{};
  std::vector<std::vector<NumericsCell>> cells{};  ///< [layer][column]
};

/// One tensor in one step.
struct TensorHistogram {
  std::size_t run = 0;
  std::string tensor{};
  std::string layer{};
  std::string operation{};  ///< that makes it; empty: a weight, an input
  std::string phase{};      ///< "forward" …; empty likewise
  std::string role{};
  std::string format{};
  std::string why{};  ///< "greatest magnitude nearest to its limit", "latest step" …
  Number head_room{};
  TensorStatsRecord stats{};  ///< its histogram is known; of the micro-batch that was worst
};

/// Where a format begins and ends, in binary exponents.
struct FormatSpan {
  const char* name = "";
  int least_subnormal = 0;  ///< 2^… is the least value
  int least_normal = 0;
  int greatest = 0;  ///< the greatest value is below 2^(greatest + 1)
};

struct NumericsSection {
  std::vector<NumericsMap> maps{};              ///< of the first observed seed of each mode
  std::vector<TensorHistogram> histograms{};    ///< of the tensors nearest to trouble: by run, by tensor, by step
  std::vector<FormatSpan> formats{};            ///< fp16, bf16, tf32, fp32, fp8
};

struct NumericsLimits {
  std::int64_t columns = 200;
  std::size_t layers = 48;
  std::size_t tensors = 24;          ///< with histograms, of a run
  std::int64_t rows = 150'000;       ///< of statistics that are read, of all maps together (steps_to_read.h)
};

NumericsSection numerics_section(const std::vector<ReportRun>& runs, const NumericsLimits& limits = {});

}  // namespace ulpscope::reports
