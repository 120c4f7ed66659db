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
  /// As far as the faulty step and a margin; all of its steps if the fault does not come back so.
  Baseline run_baseline();

  /// Of the baseline, as it was run; as recorded before it was.
  const reports::RunDiagnosis& found() const { return baseline_ ? baseline_->diagnosis : patient_.recorded; }
  std::vector<Fault> faults() const { return faults_of(found()); }

  /// In order of cost. Without a baseline that came back none is tried.
  std::vector<reports::MendRecord> try_changes();
  std::string baseline_words() const;

 private:
  /// whole: not as far as the faults show, but as far as the recording goes, if there is time for it.
  std::optional<Trial> attempt(const std::function<void(Experiment&)>& change, bool from_checkpoint, bool whole = false);
  std::int64_t steps_of_recording() const;
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
  double step_seconds_ = 0.0;   ///< of the baseline, everything included
  bool comes_back_ = false;
};

}  // namespace ulpscope::profiler
