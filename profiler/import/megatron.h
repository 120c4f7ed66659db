// What Megatron-LM, and what grew from it (Megatron-DeepSpeed, NeoX), prints of an interval of steps, and of a validation:
//    iteration       20/  500000 | consumed samples: 40 | learning rate: 2.0E-08 | lm loss: 1.0E+01 | loss scale: 32768.0 | grad norm: 217.199 |
//      number of skipped iterations:   2 | number of nan iterations:   0 |        (in one line)
//    validation loss at iteration 20 | lm loss value: 1.0E+01 | lm loss PPL: 2.3E+04 |
//
// As its training_log() has it: a loss is the mean over the steps of the interval that were applied, and is left out where it is not above
// 0, NaN among that; the loss scale is the one after the interval's last step; skipped steps are counted since the line before, and which
// they were is not said.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/import/training_log.h"

namespace ulpscope::profiler {

/// Whether a line of text is of an interval.
bool is_megatron_line(std::string_view line);

class MegatronLines {
 public:
  explicit MegatronLines(const LogColumns& columns) : columns_(columns) {}
  /// False: the line is neither. place: "train.log: line 3". Throws UsageError for what is no number.
  bool take(std::string_view line, std::int64_t number, const std::string& place, std::set<LogColumn>& seen, TrainingLog& log);
  bool any() const { return !intervals_.empty() || validations_ > 0; }
  /// Intervals become rows; what had to be assumed for that becomes notes.
  void finish(TrainingLog& log);

 private:
  struct Interval {
    LogRow row{};                          ///< of its last step; loss_scale: after it
    std::optional<std::int64_t> skipped{};
    std::int64_t with_nan = 0;             ///< of the skipped: their loss was NaN
    std::int64_t steps = 1;                ///< in it
  };
  void count_steps();
  void add_rows(const Interval& interval, reports::Number scale_before, bool losses, TrainingLog& log);

  const LogColumns& columns_;
  std::vector<Interval> intervals_;
  std::int64_t validations_ = 0, skipped_ = 0;
  std::int64_t missing_losses_ = 0, placed_skips_ = 0;
};

}  // namespace ulpscope::profiler
