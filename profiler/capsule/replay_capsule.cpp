#include "profiler/capsule/replay_capsule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "kernels/error.h"
#include "profiler/capsule/capsule_data.h"
#include "profiler/experiment/interrupt.h"
#include "profiler/experiment/machine.h"
#include "profiler/experiment/plan_records.h"
#include "profiler/experiment/run_record.h"
#include "profiler/experiment/temporary_folder.h"
#include "profiler/probes/recorder.h"
#include "profiler/probes/tensor_probe.h"

namespace ulpscope::profiler {
namespace {

std::vector<const engine::Mode*> modes_named(const std::vector<std::string>& names) {
  std::vector<const engine::Mode*> modes;
  const auto add = [&](const engine::Mode& mode) {
    if (std::find(modes.begin(), modes.end(), &mode) == modes.end()) modes.push_back(&mode);
  };
  for (const std::string& name : names) {
    if (name == "all") {
      for (const engine::Mode& mode : engine::modes()) add(mode);
      continue;
    }
    try {
      add(engine::find_mode(name));
    } catch (const UsageError& error) {
      throw UsageError(fmt::format("--modes: {}; or all", error.what()));
    }
  }
  return modes;
}

bool same_number(float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); }

class Replayer {
 public:
  Replayer(CapsuleReplay& replay, const std::string& command_line, const std::function<bool()>& stop)
      : stop_(stop),
        replay_(replay),
        capsule_(replay.capsule),
        model_(engine::build_model(capsule_.experiment.model, capsule_.experiment.train.batch, true)),
        data_(capsule_data(capsule_, model_, replay.path)),
        device_(make_cpu_device({.threads = threads(capsule_), .instruction_set = {}})),
        writer_(scratch_.file("step.ulp")) {
    writer_.push(experiment_record(capsule_.experiment, command_line));
  }

  void run(const engine::Mode& mode) {
    ReplayedMode& replayed = replay_.modes.emplace_back();
    replayed.mode = mode.name;
    try {
      step(mode, replayed);
    } catch (const Interrupted&) {
      throw;
    } catch (const std::bad_alloc&) {
      replayed.problem = "out of memory";
    } catch (const std::exception& error) {
      replayed.problem = error.what();
    }
  }

  void diagnose() {
    writer_.close();
    const reports::Diagnosis diagnosis = reports::diagnose(reports::RunFileReader(scratch_.file("step.ulp")));
    for (const reports::RunDiagnosis& run : diagnosis.runs)
      for (ReplayedMode& mode : replay_.modes)
        if (mode.mode == run.run.mode && mode.problem.empty()) mode.diagnosis = run;
  }

 private:
  /// As many as it was made with: products are the same bits for the same number.
  static int threads(const Capsule& capsule) {
    const auto found = capsule.versions.find("threads");
    const int number = found == capsule.versions.end() ? 0 : std::atoi(found->second.c_str());
    return number > 0 && number <= 4096 ? number : 0;
  }

  void step(const engine::Mode& mode, ReplayedMode& replayed) {
    const engine::TrainConfig& config = capsule_.experiment.train;
    engine::Topics topics;
    engine::Trainer trainer(*device_, *data_,
                            engine::TrainerSetup{capsule_.experiment.model, mode, config, capsule_.seed}, topics);
    const bool own = mode.name == capsule_.mode;
    if (own) {
      trainer.restore(capsule_.state);
      if (plan_fingerprint(trainer.plan()) != capsule_.plan)
        replay_.remarks.push_back(
            fmt::format("the step of {} is planned differently here than where the capsule was made", mode.name));
    } else {
      engine::TrainerState state = capsule_.state;
      if (!engine::scales_loss(engine::find_mode(capsule_.mode), config))
        state.scaler = scaling::initial_state(config.scaler);
      trainer.adopt(state);
      adopt_optimizer_state(trainer);
    }
    RunInfo info;
    info.id = static_cast<reports::RunId>(replay_.modes.size());
    info.mode = mode;
    info.seed = info.first_seed = capsule_.seed;
    info.steps = capsule_.state.iteration + 1;
    info.loss_scaling = engine::scales_loss(mode, config);
    reports::RunRecord record = run_record(capsule_.experiment, info, *device_, *data_, trainer.plan());
    record.plan = static_cast<reports::PlanId>(replay_.modes.size());
    record.started = utc_now();
    const Sink sink = [this](reports::Record r) { writer_.push(std::move(r)); };
    sink(record);
    record_plan(trainer.plan(), *record.plan, sink);
    Faults faults;
    const Recorder recorder(topics, sink, faults, info.id, info.loss_scaling);
    const GradientPrinter gradients(topics, trainer);
    const TensorProbe probe(topics, trainer.plan().graph, sink, faults, info.id);
    const auto stopping = topics.tensor.subscribe([this](const engine::TensorEvent&) {
      if (stop_ && stop_()) throw Interrupted();   // the trainer goes with it
    });
    engine::Observation all;
    all.nodes = [](const engine::Node&) { return true; };
    trainer.observe(all);  // what the step reads, too: weights may be poisoned before it begins
    replayed.result = trainer.step();
    writer_.flush();  // rows of one mode after the other: no statistic is lost to a full queue
    record.status = replayed.result.stopped ? reports::RunStatus::failed : reports::RunStatus::finished;
    record.ended = utc_now();
    sink(record);
    if (faults.count() > 0) throw Error(faults.first());
    if (own) compare_with_recorded(replayed, gradients);
  }

  void compare_with_recorded(ReplayedMode& replayed, const GradientPrinter& gradients) const {
    const RecordedStep& recorded = capsule_.recorded;
    replayed.own = true;
    replayed.same_loss = same_number(replayed.result.loss, recorded.loss) &&
                         replayed.result.loss_scale == recorded.loss_scale && replayed.result.finite == recorded.finite;
    replayed.gradients = compare(recorded.gradients, gradients.prints());
    if (!replayed.same_loss || replayed.gradients.recorded)
      replayed.same_bits = replayed.same_loss && replayed.gradients.alike();
  }

  /// Moments by name, as far as the mode keeps the same.
  void adopt_optimizer_state(engine::Trainer& trainer) const {
    const engine::Graph& graph = trainer.plan().graph;
    for (const engine::NamedTensor& tensor : capsule_.state.tensors) {
      if (!graph.contains(tensor.name)) continue;
      const engine::Value& value = graph.value(graph.find(tensor.name));
      if (value.role == engine::Role::optimizer_state && value.shape == Shape(tensor.shape))
        trainer.write(tensor.name, tensor.numbers());
    }
  }

  const std::function<bool()>& stop_;
  CapsuleReplay& replay_;
  const Capsule& capsule_;
  engine::Model model_;
  std::unique_ptr<engine::Dataset> data_;
  std::unique_ptr<Device> device_;
  TemporaryFolder scratch_{"replay"};
  reports::RunFileWriter writer_;
};

void compare_places(CapsuleReplay& replay, const DeviceDescription& here) {
  const std::map<std::string, std::string> now{{"ulpscope", program_version()},
                                               {"device", here.name},
                                               {"matmul", here.matmul_library},
                                               {"instruction_set", here.instruction_set}};
  for (const auto& [name, version] : now) {
    const auto there = replay.capsule.versions.find(name);
    if (there != replay.capsule.versions.end() && there->second != version)
      replay.remarks.push_back(fmt::format("{}: made with {}, here {}", name, there->second, version));
  }
}

}  // namespace

CapsuleReplay replay_capsule(const std::string& path, const std::vector<std::string>& names,
                             const std::string& command_line, const std::function<bool()>& stop) {
  const std::vector<const engine::Mode*> modes = modes_named(names);
  CapsuleReplay replay;
  replay.path = path;
  replay.capsule = load_capsule(path);
  compare_places(replay, make_cpu_device({})->description());
  Replayer replayer(replay, command_line, stop);
  for (const engine::Mode* const mode : modes) {
    if (stop && stop()) throw Interrupted();
    replayer.run(*mode);
  }
  replayer.diagnose();
  return replay;
}

}  // namespace ulpscope::profiler
