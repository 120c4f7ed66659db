// What was observed in the steps of one run, by step, micro-batch and tensor.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "reports/analysis/diagnosis/plan_view.h"

namespace ulpscope::reports {

/// Counts of one tensor, unknown ones as 0. Before rounding, but for `after`.
struct Stat {
  std::int64_t elements = 0;
  std::int64_t nan = 0;
  std::int64_t positive_infinite = 0;
  std::int64_t negative_infinite = 0;
  std::int64_t overflowed = 0;
  std::int64_t flushed = 0;
  std::int64_t zero = 0;
  std::int64_t lost = 0;  ///< updates, or addends of a sum, that changed nothing
  double least = 0.0;
  double greatest = 0.0;
  Number greatest_kept{};   ///< what stays finite once it is rounded is no greater; unknown: which binades the others lie in was not recorded
  Number mean{};
  Number rms{};
  Number shadow_error{};    ///< from the fp32 shadow, relative to its rms
  Number error_greatest{};  ///< of rounding, relative; of a sum inside a node: the share its flushed addends would have made
  Number rounding_rms{};    ///< of rounding: RMS of after - before
  Number row_error{};       ///< of the sums inside a norm: RMS of what they put the worst row's result, before gain and bias, off by
  Provenance provenance = Provenance::counted;

  std::int64_t infinite() const { return positive_infinite + negative_infinite; }
  /// Elements that are not finite once they are stored.
  std::int64_t bad() const { return nan + infinite() + overflowed; }
  /// Zero once they are stored.
  std::int64_t stored_zero() const { return zero + flushed; }
};

/// One observed step.
struct ObservedStep {
  std::int64_t step = 0;
  bool replay = false;
  std::int64_t micro_batches = 1;
  std::map<TensorId, Stat> all{};  ///< over the micro-batches
  std::vector<std::map<TensorId, Stat>> by_micro_batch{};

  const Stat* stat(TensorId tensor) const;
  /// Of a micro-batch; what is recorded once for a step (weights, updates) counts for each.
  const Stat* stat(TensorId tensor, std::int64_t micro_batch) const;
};

class Evidence {
 public:
  /// most_rows: about so many rows of statistics are read at most (steps_to_read.h); 0: all.
  Evidence(const RunFileReader& reader, const RunRecord& run, std::int64_t most_rows = 0);
  /// Of one step that was not recorded; rows: its statistics.
  Evidence(const RunRecord& run, PlanView plan, const StepRecord& step, const std::vector<TensorStatsRecord>& rows);

  const RunRecord& run() const { return run_; }
  const PlanView& plan() const { return plan_; }
  const std::vector<StepRecord>& steps() const { return steps_; }
  const std::vector<EventRecord>& events() const { return events_; }
  const std::vector<EvaluationRecord>& evaluations() const { return evaluations_; }
  const std::vector<ObservedStep>& observed() const { return observed_; }
  const ObservedStep* observed_step(std::int64_t step) const;
  const StepRecord* step(std::int64_t step) const;

  /// The statistics of the steps that it rests on, shadow steps among them: read again.
  std::vector<TensorStatsRecord> statistics(const RunFileReader& reader) const;
  /// Of the step's fp32 shadow; unknown without one.
  Number shadow_loss(std::int64_t step) const;
  /// Of a result of a norm (its reciprocal roots, say) in the step's fp32 shadow, over the micro-batches; null without one.
  const Stat* in_shadow(std::int64_t step, TensorId tensor) const;
  /// Observed steps whose statistics were not read.
  std::int64_t left_out() const { return left_out_; }
  /// Rows of statistics that the recording was to hold and does not, of all runs of the file together: the queue was full, or the disk.
  std::int64_t lost_statistics() const { return lost_statistics_; }
  const std::string& reading() const { return reading_; }  ///< of what was left out, in words; empty: nothing was

  /// train.* as recorded: setting("scaler.policy"), "" if it is not there.
  std::string setting(const std::string& key) const;
  Number numeric_setting(const std::string& key) const;
  /// In force during a step; 1 in modes without scaling.
  double scale(std::int64_t step) const;
  bool scales() const { return run_.loss_scaling != "none" && !run_.loss_scaling.empty(); }

  /// Leaves one observed step (or none).
  void look_only_at(std::int64_t step);
  bool one_step_asked() const { return one_step_; }

  /// Of the first seed of fp32 in the same file; none if there is none, or this is it. Not owned.
  const Evidence* fp32 = nullptr;

 private:
  void see_shadow(const TensorStatsRecord& row);
  void look_at(const std::vector<TensorStatsRecord>& rows);
  const nlohmann::json* find_setting(const std::string& key) const;
  RunRecord run_;
  PlanView plan_;
  std::vector<StepRecord> steps_;
  std::vector<EventRecord> events_;
  std::vector<EvaluationRecord> evaluations_;
  std::vector<ObservedStep> observed_;
  std::map<std::int64_t, std::vector<double>> shadow_losses_;   ///< of its micro-batches
  std::map<std::int64_t, std::map<TensorId, Stat>> shadow_norms_;
  nlohmann::json train_;
  bool one_step_ = false;
  std::optional<std::vector<std::int64_t>> read_{};  ///< steps; none: all
  std::int64_t left_out_ = 0;
  std::int64_t lost_statistics_ = 0;
  std::string reading_{};
};

}  // namespace ulpscope::reports
