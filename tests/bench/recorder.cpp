// A step with everything that a recorded run has on it, against one that nobody listens to.
#include "profiler/probes/recorder.h"

#include "profiler/probes/faults.h"
#include "profiler/trace/node_clock.h"
#include "reports/run_file/writer.h"
#include "tests/bench/family.h"
#include "tests/bench/scratch_folder.h"

namespace ulpscope::bench {
namespace {

constexpr int warm_up_steps = 2;

/// As profiler/experiment/runner.cpp records a run: steps and events to a run file's writer, nodes timed in every tenth
/// step.
class Recorder final : public Family {
 public:
  explicit Recorder(const Setup& setup) : setup_(setup) {}

  void prepare() override {
    plain_ = std::make_unique<engine::Trainer>(*setup_.device, *setup_.dataset, setup_.trainer("fp32"), quiet_);
    writer_ = std::make_unique<reports::RunFileWriter>(folder_.file("recorder.ulp"));
    const profiler::Sink sink = [this](reports::Record record) { writer_->push(std::move(record)); };
    recorded_ = std::make_unique<engine::Trainer>(*setup_.device, *setup_.dataset, setup_.trainer("fp32"), topics_);
    recorder_ = std::make_unique<profiler::Recorder>(topics_, sink, faults_, reports::RunId{1}, false);
    clock_ = std::make_unique<profiler::NodeClock>(topics_, faults_, recorded_->plan().graph.node_count(), 1, steps());
    for (int i = 0; i < warm_up_steps; ++i) {
      seconds_of_step(*plain_);
      seconds_of_step(*recorded_);
    }
  }

  /// As many steps as the clock needs to sample one. Both trainers in turn, the first one changing.
  void round(int, Samples& samples) override {
    double plain = 0.0, recorded = 0.0;
    for (std::int64_t i = 0; i < steps(); ++i) {
      if (i % 2 == 0) plain += seconds_of_step(*plain_);
      recorded += seconds_of_step(*recorded_);
      if (i % 2 != 0) plain += seconds_of_step(*plain_);
    }
    samples["recorder/step"] = recorded / plain;
    samples["recorder/plain step ms"] = plain / static_cast<double>(steps()) * 1e3;
  }

 private:
  /// Quick: every second step is sampled, so the clock weighs five times as much as in a run.
  std::int64_t steps() const { return setup_.options.quick ? 2 : profiler::clock_every; }

  const Setup& setup_;
  ScratchFolder folder_;
  engine::Topics quiet_, topics_;
  profiler::Faults faults_;
  std::unique_ptr<reports::RunFileWriter> writer_;
  std::unique_ptr<engine::Trainer> plain_, recorded_;
  std::unique_ptr<profiler::Recorder> recorder_;
  std::unique_ptr<profiler::NodeClock> clock_;
};

}  // namespace

std::unique_ptr<Family> make_recorder(const Setup& setup) { return std::make_unique<Recorder>(setup); }

}  // namespace ulpscope::bench
