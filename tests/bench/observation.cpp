// Observed steps against steps that nobody looks at: every tensor in every step, in every tenth step, ranges in every step; and one
// replay.
#include <optional>

#include "engine/train/observation.h"
#include "profiler/probes/range_probe.h"
#include "profiler/probes/tensor_probe.h"
#include "reports/run_file/writer.h"
#include "tests/bench/family.h"
#include "tests/bench/scratch_folder.h"

namespace ulpscope::bench {
namespace {

constexpr int warm_up_steps = 2;

/// A trainer whose steps are observed into a run file, as profiler/experiment/single_run.cpp does it.
class Observed {
 public:
  Observed(const Setup& setup, const std::string& mode, const engine::TrainConfig& train, engine::Observation observation,
           const std::string& file)
      : writer_(std::make_unique<reports::RunFileWriter>(file)),
        trainer_(*setup.device, *setup.dataset, {setup.model, engine::find_mode(mode), train, 0}, topics_),
        probe_(topics_, trainer_.plan().graph, [this](reports::Record record) { writer_->push(std::move(record)); }, faults_,
               reports::RunId{1}) {
    if (observation.ranges)
      ranges_.emplace(topics_, trainer_.plan().graph, trainer_.plan().loss, [this](reports::Record record) { writer_->push(std::move(record)); },
                      faults_, reports::RunId{1});
    trainer_.observe(std::move(observation));
  }
  engine::Trainer& trainer() { return trainer_; }

 private:
  engine::Topics topics_;
  profiler::Faults faults_;
  std::unique_ptr<reports::RunFileWriter> writer_;
  engine::Trainer trainer_;
  profiler::TensorProbe probe_;
  std::optional<profiler::RangeProbe> ranges_;
};

class Observation final : public Family {
 public:
  explicit Observation(const Setup& setup) : setup_(setup) {}

  void prepare() override {
    plain_ = std::make_unique<engine::Trainer>(*setup_.device, *setup_.dataset, setup_.trainer("bf16"), quiet_);
    engine::Observation everything, now_and_then, replays, ranges;
    ranges.ranges = true;
    everything.nodes = now_and_then.nodes = [](const engine::Node&) { return true; };
    now_and_then.steps = [](std::int64_t iteration) { return iteration % steps() == 0; };
    replays.replay = [](const engine::StepResult&) { return true; };
    every_ = std::make_unique<Observed>(setup_, "bf16", setup_.train, everything, folder_.file("every.ulp"));
    tenth_ = std::make_unique<Observed>(setup_, "bf16", setup_.train, now_and_then, folder_.file("tenth.ulp"));
    ranged_ = std::make_unique<Observed>(setup_, "bf16", setup_.train, ranges, folder_.file("ranges.ulp"));
    // Every step is bad: a loss scale that nothing survives, and no end to it.
    engine::TrainConfig bad = setup_.train;
    bad.scaler = scaling::FixedScaling{.scale = 0x1p120f};
    replayed_ = std::make_unique<Observed>(setup_, "fp16", bad, replays, folder_.file("replayed.ulp"));
    bad_ = std::make_unique<engine::Trainer>(*setup_.device, *setup_.dataset,
                                             engine::TrainerSetup{setup_.model, engine::find_mode("fp16"), bad, 0}, quiet_);
    for (int i = 0; i < warm_up_steps; ++i) {
      seconds_of_step(*plain_);
      seconds_of_step(every_->trainer());
      seconds_of_step(tenth_->trainer());
      seconds_of_step(ranged_->trainer());
      bad_->step();
    }
  }

  void round(int, Samples& samples) override {
    double plain = 0.0, every = 0.0, tenth = 0.0, ranged = 0.0;
    for (std::int64_t i = 0; i < steps(); ++i) {
      if (i % 2 == 0) plain += seconds_of_step(*plain_);
      every += seconds_of_step(every_->trainer());
      tenth += seconds_of_step(tenth_->trainer());
      ranged += seconds_of_step(ranged_->trainer());
      if (i % 2 != 0) plain += seconds_of_step(*plain_);
    }
    samples["observation/every step"] = every / plain;
    samples["observation/every 10th step"] = tenth / plain;
    samples["observation/ranges"] = ranged / plain;
    // Only a replay's own time: the step with it, less the same step without.
    const auto bad = [&] { return seconds([&] { bad_->step(); }); };
    const double before = bad();
    const double with = seconds([&] { replayed_->trainer().step(); });
    const double without = 0.5 * (before + bad());
    samples["observation/replay"] = (with - without) / without;
    samples["observation/plain step ms"] = plain / static_cast<double>(steps()) * 1e3;
  }

 private:
  static constexpr std::int64_t steps() { return 10; }

  const Setup& setup_;
  ScratchFolder folder_;
  engine::Topics quiet_;
  std::unique_ptr<engine::Trainer> plain_, bad_;
  std::unique_ptr<Observed> every_, tenth_, ranged_, replayed_;
};

}  // namespace

std::unique_ptr<Family> make_observation(const Setup& setup) { return std::make_unique<Observation>(setup); }

}  // namespace ulpscope::bench
