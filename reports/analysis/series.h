// What a run recorded over its steps, thinned for drawing.
#pragma once

#include <optional>
#include <vector>

#include "reports/analysis/thinning.h"
#include "reports/run_file/reader.h"

namespace ulpscope::reports {

/// A step that was skipped, and when.
struct SkippedStep {
  std::int64_t step = 0;
  Number seconds{};  ///< elapsed at its end
  friend bool operator==(const SkippedStep&, const SkippedStep&) = default;
};

/// A step whose nodes were counted by hardware counters, one after the other: its time is no step's (run_file/counter_rows.h).
struct CountedTime {
  std::int64_t step = 0;
  Number seconds{};       ///< elapsed at its end
  Number wall_seconds{};  ///< that it took
  friend bool operator==(const CountedTime&, const CountedTime&) = default;
};

/// Curves of one run against its steps. What a run did not record is a gap of kind unknown, never 0. Every point carries the elapsed
/// seconds at the end of its step (of held_out_loss: of the last step before it), unknown after a step of
/// unknown time.
struct RunSeries {
  RunId run{};
  Curve loss{};           ///< training loss, unscaled
  Curve loss_scale{};     ///< in force during the step
  Curve gradient_norm{};  ///< before clipping
  Curve learning_rate{};
  Curve step_seconds{};  ///< wall seconds of the step; `time` says what they are. Without the steps in `counted`, which are no gaps either
  /// Wall seconds from the first recorded step to the end of this one; unknown after a step of unknown time.
  Curve elapsed_seconds{};
  Curve held_out_loss{};  ///< evaluations of the split "held_out", by steps done before them
  std::vector<SkippedStep> skipped{};   ///< every one
  Provenance time = Provenance::unknown;
  std::vector<CountedTime> counted{};   ///< every one; the time that it took has elapsed all the same
};

/// Makes them step by step: for a run that goes on.
class SeriesBuilder {
 public:
  explicit SeriesBuilder(const RunRecord& run, std::int64_t buckets = 500);
  /// Steps ascend, else Error.
  void add(const StepRecord& step, bool counted = false);
  /// Reads what comes after the last step, a page at a time. False: there was nothing new. Throws what the reader throws.
  bool read_on(const RunFileReader& reader);
  std::int64_t steps() const { return steps_; }  ///< recorded ones
  std::int64_t next() const { return next_; }    ///< one after the last
  RunSeries series(const std::vector<EvaluationRecord>& evaluations) const;

 private:
  /// Whether its nodes were counted may be said after its row, but before the next step's: until then its time waits here.
  struct Latest {
    std::int64_t step = 0;
    Number wall_seconds{}, elapsed{};
    bool counted = false;
  };
  static void settle(const Latest& latest, Thinning& seconds, std::vector<CountedTime>& counted);

  RunId run_;
  Provenance time_;
  std::int64_t buckets_;
  std::int64_t steps_ = 0;
  std::int64_t next_ = 0;
  Number sum_ = 0.0;
  Thinning loss_, scale_, norm_, rate_, seconds_, elapsed_;
  std::vector<SkippedStep> skipped_{};
  std::vector<CountedTime> counted_{};
  std::optional<Latest> latest_{};
};

/// Reads the steps by their key, a page at a time. Throws what the reader throws; UsageError if buckets < 1.
RunSeries read_series(const RunFileReader& reader, const RunRecord& run, std::int64_t buckets = 500);

}  // namespace ulpscope::reports
