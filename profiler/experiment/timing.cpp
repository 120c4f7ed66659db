#include "profiler/experiment/timing.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "profiler/probes/completeness.h"

namespace ulpscope::profiler {
namespace {

using Clock = std::chrono::steady_clock;

/// A trainer of its own, with topics nobody listens to.
class TimedTrainer {
 public:
  TimedTrainer(const TimingJob& job, const TimedMode& mode) : mode_(mode), wanted_(warm_up_steps + job.steps) {
    samples_.reserve(static_cast<std::size_t>(wanted_));
    try {
      trainer_ = std::make_unique<engine::Trainer>(job.device, job.dataset, mode.setup, topics_);
    } catch (const std::exception& error) {
      give_up(error.what());
    }
  }

  /// Committed steps so far, of those wanted: all of them once it has given up.
  std::int64_t done() const { return trainer_ ? std::ssize(samples_) : wanted_; }
  bool wants_more(std::int64_t steps) const { return trainer_ && std::ssize(samples_) < steps; }

  /// Towards so many committed steps: one step under the clock, or, where the device goes from one step to the next by itself, some in a row: from the end of one to the
  /// end of the next. A mode that fails drops out and says why; the others go on.
  void step(std::int64_t until) {
    std::string fault;
    try {
      Clock::time_point begin = Clock::now();
      const bool ahead = trainer_->can_run_ahead();
      bool counts = !ahead;   // the first of a row waits for the host
      const std::int64_t steps = ahead ? std::min(steps_in_a_row, until - std::ssize(samples_)) + 1 : 1;
      trainer_->run_ahead(steps, [&](const engine::StepResult& result) {
        const Clock::time_point end = Clock::now();
        if (counts && fault.empty()) fault = take(result, std::chrono::duration<double>(end - begin).count());
        counts = true;
        begin = end;
      });
    } catch (const std::exception& error) {
      fault = error.what();
    }
    if (!fault.empty()) give_up(std::move(fault));
  }

  void push(const Sink& sink) const {
    for (const reports::TimingSample& sample : samples_) sink(sample);
    if (why_.empty()) return;
    const auto timed = std::max<std::int64_t>(0, std::ssize(samples_) - warm_up_steps);
    record_note(sink, mode_.run.id, "timing",
                timed == 0
                    ? fmt::format("not timed: {}", why_)
                    : fmt::format("not timed to the end ({} of {} steps): {}", timed, wanted_ - warm_up_steps, why_));
  }

 private:
  /// Returns what ends the timing of this mode, if anything does.
  std::string take(const engine::StepResult& result, double seconds) {
    if (result.stopped) return fmt::format("a gradient is not finite in step {}", result.iteration + 1);
    if (result.skipped) return ++skipped_ < most_skipped ? "" : fmt::format("{} steps in a row were skipped", skipped_);
    skipped_ = 0;
    reports::TimingSample sample;
    sample.run = mode_.run.id;
    sample.repetition = std::ssize(samples_);
    sample.warm_up = sample.repetition < warm_up_steps;
    sample.wall_seconds = seconds;
    sample.device_seconds = result.device_seconds;
    sample.tokens = result.tokens;
    samples_.push_back(sample);
    return "";
  }

  void give_up(std::string why) {
    why_ = std::move(why);
    trainer_.reset();
  }

  const TimedMode& mode_;
  std::int64_t wanted_;
  std::int64_t skipped_ = 0;
  std::vector<reports::TimingSample> samples_;
  std::string why_;
  engine::Topics topics_;
  std::unique_ptr<engine::Trainer> trainer_;
};

std::string mebibytes(std::int64_t bytes) { return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / 0x1p20); }

/// Groups of modes that are timed in turn: all together if their memory allows it.
std::vector<std::vector<const TimedMode*>> groups_of(const TimingJob& job, std::string& note) {
  std::int64_t needed = 0;
  std::vector<const TimedMode*> all;
  for (const TimedMode& mode : job.modes) {
    needed += mode.memory_bytes;
    all.push_back(&mode);
  }
  if (needed <= job.free_bytes || all.size() < 2) return {all};
  note = fmt::format("all modes at once need {}, {} are free: they are timed one after the other, not in turn",
                     mebibytes(needed), mebibytes(job.free_bytes));
  std::vector<std::vector<const TimedMode*>> groups;
  for (const TimedMode* mode : all) groups.push_back({mode});
  return groups;
}

using Trainers = std::vector<std::unique_ptr<TimedTrainer>>;

std::int64_t done_by(const Trainers& trainers) {
  std::int64_t done = 0;
  for (const auto& trainer : trainers) done += trainer->done();
  return done;
}

/// In rotation until every mode has `steps` committed steps; a mode that has them waits for the others.
template <class AfterRound, class Stop>
bool rotate(const Trainers& trainers, std::int64_t steps, AfterRound&& after_round, Stop&& stop) {
  for (bool more = true; more;) {
    more = false;
    for (const auto& trainer : trainers) {
      if (!trainer->wants_more(steps)) continue;
      trainer->step(steps);
      more |= trainer->wants_more(steps);
      if (stop()) return false;
    }
    after_round();
  }
  return true;
}

}  // namespace

bool time_modes(const TimingJob& job, const Sink& sink, Watcher& watcher, Faults& faults,
                const std::function<bool()>& stop) {
  std::string note;
  const auto groups = groups_of(job, note);
  if (!note.empty()) record_note(sink, std::nullopt, "timing order", note);
  const std::int64_t steps = warm_up_steps + job.steps;
  const std::int64_t total = steps * static_cast<std::int64_t>(job.modes.size());
  std::int64_t done_before = 0;
  bool whole = true;
  faults.guard("progress", [&] { watcher.timing_begin(total, note); });
  for (const auto& group : groups) {
    Trainers trainers;
    for (const TimedMode* mode : group) trainers.push_back(std::make_unique<TimedTrainer>(job, *mode));
    const auto tell = [&] {
      faults.guard("progress", [&] { watcher.timing_step(done_before + done_by(trainers), total); });
    };
    // All are warm before any is timed, so that a mode that still looks for its loss scale stands beside none.
    whole = rotate(trainers, warm_up_steps, tell, stop);
    if (whole && job.warm) job.warm();
    whole = whole && rotate(trainers, steps, tell, stop);
    for (const auto& trainer : trainers) trainer->push(sink);
    if (!whole) {
      record_note(sink, std::nullopt, "timing",
                  fmt::format("interrupted after {} of {} steps", done_before + done_by(trainers), total));
      break;
    }
    done_before += done_by(trainers);
  }
  if (whole) faults.guard("progress", [&] { watcher.timing_end(); });
  return whole;
}

}  // namespace ulpscope::profiler
