#include "profiler/experiment/timing.h"

#include <fmt/format.h>

#include <chrono>
#include <memory>

#include "profiler/probes/completeness.h"

namespace ulpscope::profiler {
namespace {

using Clock = std::chrono::steady_clock;

/// A trainer of its own, with topics nobody listens to.
class TimedTrainer {
 public:
  TimedTrainer(const TimingJob& job, const TimedMode& mode)
      : mode_(mode), trainer_(std::make_unique<engine::Trainer>(job.device, job.dataset, mode.setup, topics_)) {}

  /// One step under the clock. A mode that fails drops out and says why; the others go on.
  void step(std::int64_t round, const Sink& sink) {
    if (!trainer_) return;
    try {
      const Clock::time_point begin = Clock::now();
      const engine::StepResult result = trainer_->step();
      const Clock::time_point end = Clock::now();
      reports::TimingSample sample;
      sample.run = mode_.run.id;
      sample.repetition = round;
      sample.warm_up = round < warm_up_steps;
      sample.wall_seconds = std::chrono::duration<double>(end - begin).count();
      sample.tokens = result.tokens;
      sink(sample);
    } catch (const std::exception& error) {
      trainer_.reset();
      record_note(sink, mode_.run.id, "timing", fmt::format("not timed to the end: {}", error.what()));
    }
  }

 private:
  const TimedMode& mode_;
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

}  // namespace

bool time_modes(const TimingJob& job, const Sink& sink, Watcher& watcher, Faults& faults,
                const std::function<bool()>& stop) {
  std::string note;
  const auto groups = groups_of(job, note);
  if (!note.empty()) record_note(sink, std::nullopt, "timing order", note);
  const std::int64_t rounds = warm_up_steps + job.steps;
  const std::int64_t total = rounds * static_cast<std::int64_t>(job.modes.size());
  std::int64_t done = 0;
  faults.guard("progress", [&] { watcher.timing_begin(total, note); });
  for (const auto& group : groups) {
    std::vector<std::unique_ptr<TimedTrainer>> trainers;
    for (const TimedMode* mode : group) {
      try {
        trainers.push_back(std::make_unique<TimedTrainer>(job, *mode));
      } catch (const std::exception& error) {
        record_note(sink, mode->run.id, "timing", fmt::format("not timed: {}", error.what()));
      }
    }
    for (std::int64_t round = 0; round < rounds; ++round) {
      for (const auto& trainer : trainers) {
        trainer->step(round, sink);
        ++done;
        if (stop()) {
          record_note(sink, std::nullopt, "timing", fmt::format("interrupted after {} of {} steps", done, total));
          return false;
        }
      }
      faults.guard("progress", [&] { watcher.timing_step(done, total); });
    }
  }
  faults.guard("progress", [&] { watcher.timing_end(); });
  return true;
}

}  // namespace ulpscope::profiler
