// The trials of one run: the unchanged experiment first, then each change, within the budget.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "profiler/mend/budget.h"
#include "profiler/mend/candidate.h"
#include "profiler/mend/keep_fp32.h"
#include "profiler/mend/trial.h"

namespace ulpscope::profiler {

/// A change and what came of it.
struct Tried {
  Candidate candidate{};
  reports::MendRecord record{};
  std::vector<Fault> remains{};

  bool verified() const { return record.status == reports::MendStatus::verified; }
};

/// What is mended.
struct Patient {
  reports::RunDiagnosis recorded{};
  Experiment experiment{};   ///< in its mode, with nothing but training
  std::optional<engine::TrainerState> checkpoint{};
  std::vector<reports::Record> fp32{};   ///< fp32_twin(), if the file has one
  Surroundings around{};
  std::optional<std::int64_t> last_shown{};   ///< last_shown()
};

/// Iteration in which the steps of a run are skipped or not finite for the last time; of a stretch that goes on to the end of the run,
/// the first: what follows it says no more. Nothing: none is. Steps in order.
std::optional<std::int64_t> last_shown(const std::vector<reports::StepRecord>& steps);

class Session {
 public:
  Session(const Patient& patient, Runner& runner, const Budget& budget, std::function<void(const std::string&)> say);

  enum class Baseline { comes_back, does_not, no_time };
  /// As far as the faulty step and a margin; all of its steps if the fault does not come back so; further while its loss scale still falls.
  Baseline run_baseline();

  /// Of the baseline, as it was run first: over more steps a scale that falls for nothing brings faults of its own. As recorded before it was.
  const reports::RunDiagnosis& found() const { return found_ ? *found_ : baseline_ ? baseline_->diagnosis : patient_.recorded; }
  std::vector<Fault> faults() const { return faults_of(found()); }

  /// In order of cost. Without a baseline that came back none is tried. All over the same steps: where one of them needs more, everything
  /// is run again over more, the baseline first. None where the fault does not come back over so many: comes_back() is false then.
  std::vector<reports::MendRecord> try_changes();
  bool comes_back() const { return comes_back_; }
  /// Of the machine, after which nothing more was tried; empty: none.
  const std::string& machine_fault() const { return machine_fault_; }
  /// "over 26 steps, of which the first 16 only lowered the loss scale".
  std::string baseline_length() const;
  std::string baseline_words() const;

 private:
  /// How a trial is run that is not as long as the others.
  enum class Length {
    shared,   ///< as long
    whole,    ///< as far as the recording goes: a later step may refute it
    growth,   ///< far enough for its loss scale to grow, and the others with it
  };
  /// Nothing once there is no time, or where everything has to be longer: longer_ is set then.
  std::optional<Trial> attempt(const std::function<void(Experiment&)>& change, bool from_checkpoint, Length length = Length::shared);
  /// Sets longer_ if the trial says nothing yet and there is time for more. False: it says nothing, and there is no time.
  bool long_enough(const Experiment& changed, Length length, Trial& trial);
  std::int64_t planned_steps() const { return std::max(patient_.experiment.train.steps, patient_.recorded.steps); }
  /// Whether so many runs of so many steps fit into what is left.
  bool there_is_time(std::int64_t steps, double runs) const { return step_seconds_ * static_cast<double>(steps) * runs <= budget_.left(); }
  bool over() const { return !machine_fault_.empty() || budget_.over(); }
  std::string why_over() const { return machine_fault_.empty() ? budget_.why() : machine_fault_; }
  std::string why_not_tried() const { return no_time_.empty() ? why_over() : no_time_; }
  std::int64_t steps_of_recording() const;
  std::vector<Tried> try_all();
  /// Faults of the baseline, those that came with more steps among them: what is there without a change.
  std::vector<Fault> there_before() const;
  Tried try_one(const Candidate& candidate);
  Tried try_keeping(const Ground& ground);
  /// Where no change alone mends everything: the cheapest ones that do so one by one, all at once. Nothing if that is not the case.
  std::optional<Tried> try_together(const std::vector<Tried>& tried);
  void add_costs(const Trial& trial, reports::MendRecord& record) const;
  std::string how_run(const Trial& trial, std::int64_t runs) const;
  void tell(const std::string& what) const;

  const Patient& patient_;
  Runner& runner_;
  const Budget& budget_;
  std::function<void(const std::string&)> say_;
  Trials trials_;
  Experiment experiment_;   ///< as long as it is run
  std::optional<Trial> baseline_;
  std::optional<reports::RunDiagnosis> found_{};
  double step_seconds_ = 0.0;   ///< of the baseline, everything included
  bool comes_back_ = false;
  std::int64_t shown_ = 0;      ///< iteration by which the baseline showed its faults
  std::optional<std::int64_t> longer_{};   ///< steps over which everything has to be run again
  std::string machine_fault_{};
  std::string no_time_{};       ///< why a trial that was begun says nothing; empty: the budget, if anything
};

}  // namespace ulpscope::profiler
