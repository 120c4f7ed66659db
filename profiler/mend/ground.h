// What changes are made from: the experiment in one mode, the plan of its step, what was found in it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/graph/graph.h"
#include "profiler/experiment/experiment.h"
#include "profiler/mend/fault.h"
#include "profiler/mend/scale_limits.h"

namespace ulpscope::profiler {

/// What the recording says besides the diagnosis of the run.
struct Surroundings {
  ScaleLimits scale{};        ///< of all its steps
  bool fp32_fails = false;    ///< a run in fp32 has a fault, too, or the run itself is one
};

class Ground {
 public:
  /// experiment: in one mode. step: its planned graph. found: of the unchanged experiment. All must outlive it.
  Ground(const Experiment& experiment, const engine::Graph& step, const reports::RunDiagnosis& found, Surroundings around = {});

  const Experiment& experiment() const { return experiment_; }
  const engine::Graph& step() const { return step_; }
  const reports::RunDiagnosis& found() const { return found_; }
  const Surroundings& around() const { return around_; }
  const std::string& mode() const { return experiment_.run.modes.front(); }
  /// As the model states it, the experiment's own rewrites made.
  const engine::Graph& model() const { return model_; }
  const engine::Node* model_node(const std::string& name) const;

  /// The nodes of the model that have to be kept in fp32 so that this place of the step is: itself, the readers of a cast, the
  /// node that a backward node belongs to; of a weight its readers. Empty if none has to do with it (the optimizer).
  std::vector<std::string> model_nodes(const std::string& place) const { return model_nodes(place, step_); }
  /// The same for the step of a changed experiment, which has other casts.
  std::vector<std::string> model_nodes(const std::string& place, const engine::Graph& step) const;
  /// The node of the model whose result a place of the step is: itself, or what a cast reads. Empty: none.
  std::string maker(const std::string& place) const;
  /// Causes that are fatal or do damage.
  std::vector<const reports::Cause*> causes() const;

 private:
  void collect(const engine::Graph& step, const engine::Node& node, std::vector<std::string>& to) const;
  void collect_readers(const engine::Graph& step, engine::ValueId value, std::vector<std::string>& to) const;
  const Experiment& experiment_;
  const engine::Graph& step_;
  const reports::RunDiagnosis& found_;
  Surroundings around_;
  engine::Graph model_;
};

/// No format of any mode has the range that a value needs.
bool beyond_fp32(const reports::Cause& cause);
const reports::Fact* find_fact(const reports::Cause& cause, std::string_view key);

/// Adds the nodes to train.keep_fp32; overrides of their formats, which would win, are answered by others.
void keep_in_fp32(Experiment& experiment, const std::vector<std::string>& nodes);
/// The keys that do so.
std::string keep_in_fp32_keys(const Experiment& experiment, const std::vector<std::string>& nodes);

}  // namespace ulpscope::profiler
