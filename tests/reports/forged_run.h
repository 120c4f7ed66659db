// Run files with a plan and statistics made up by a test, for the diagnosis.
#pragma once

#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "reports/run_file/reader.h"
#include "reports/run_file/writer.h"

namespace ulpscope::reports {

inline constexpr double nan_number = std::numeric_limits<double>::quiet_NaN();
inline constexpr double inf_number = std::numeric_limits<double>::infinity();

/// What was counted of a tensor. Finite unless said otherwise.
struct Counts {
  std::int64_t elements = 4;
  double greatest = 1.0;
  double mean = 0.5;
  std::int64_t nan = 0, positive_infinite = 0, negative_infinite = 0, overflowed = 0, flushed = 0, zero = 0, lost = 0;
  double least = 0.5;
  double rms = 0.5;
  Number error_greatest{};
};

/// One run with its plan. Nodes are given in execution order; a tensor is known by its name.
class ForgedRun {
 public:
  explicit ForgedRun(std::string mode, std::int64_t id = 1) {
    run.id = RunId{id};
    run.plan = PlanId{id};
    run.mode = std::move(mode);
    run.status = RunStatus::finished;
    run.steps_planned = 10;
    run.micro_batches = 1;
    run.optimizer = "sgd";
    run.loss_scaling = run.mode == "fp16" ? "dynamic:pytorch" : "none";
    run.attributes_json =
        R"({"train": {"buffers": "transaction", "scaler": {"policy": "pytorch", "init": 65536.0, "growth": 2.0, "backoff": 0.5, "interval": 2000}}})";
  }

  /// A value without a producer.
  void source(const std::string& name, TensorRole role, const std::string& format,
              std::vector<std::int64_t> shape = {4}) {
    add_tensor(name, role, format, std::move(shape), std::nullopt, 0);
  }
  /// A node with one output of its name.
  void node(const std::string& operation, const std::string& name, const std::vector<std::string>& inputs,
            const std::string& format, Phase phase = Phase::forward, std::vector<std::int64_t> shape = {4},
            const std::string& attributes = "", TensorRole role = TensorRole::activation) {
    NodeRecord record{.plan = *run.plan,
                      .id = NodeId{static_cast<std::int64_t>(nodes.size())},
                      .position = static_cast<std::int64_t>(nodes.size()),
                      .operation = operation,
                      .name = name,
                      .phase = phase,
                      .attributes_json = attributes};
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const TensorRecord& input = tensors.at(static_cast<std::size_t>(ids.at(inputs[i])));
      record.inputs.push_back({input.shape, input.format, input.id});
      if (input.node)
        edges.push_back({*run.plan, *input.node, input.output, record.id, static_cast<std::int64_t>(i), input.id});
    }
    record.outputs.push_back({shape, format, TensorId{static_cast<std::int64_t>(tensors.size())}});
    add_tensor(name, role, format, std::move(shape), record.id, 0);
    nodes.push_back(std::move(record));
  }
  /// The statistics of sums inside the node made last.
  void inner_sum(const std::string& format = "fp16") {
    add_tensor(nodes.back().name + ".sum", TensorRole::internal, format, {}, nodes.back().id, -1);
  }
  /// x → y (linear) → loss, its backward pass y.dx, and the update of w.
  void small_model(const std::string& format = "fp16") {
    source("x", TensorRole::input, "fp32");
    source("w", TensorRole::master_weight, "fp32");
    node("cast", "w." + format, {"w"}, format, Phase::forward, {4}, "", TensorRole::weight);
    node("linear", "y", {"x", "w." + format}, format);
    node("mean", "loss", {"y"}, "fp32", Phase::forward, {});
    node("expand", "loss.dx", {"loss"}, "fp32", Phase::backward, {4}, "", TensorRole::gradient);
    node("cast", "y.cast", {"loss.dx"}, format, Phase::backward, {4}, "", TensorRole::gradient);
    node("unscale_check", "unscale_check", {"y.cast"}, "fp32", Phase::update, {4}, "", TensorRole::gradient);
    node("global_norm", "global_norm", {"unscale_check"}, "fp32", Phase::update, {}, R"({"max_norm": 1.0})");
    node("sgd", "w.update", {"unscale_check", "global_norm", "w"}, "fp32", Phase::update, {4}, R"({"momentum": 0.0})",
         TensorRole::weight);
  }

  /// The loss differs in its last digits from step to step, as losses do.
  void step(double loss = 1.0, bool skipped = false, Number scale = {}, double rate = 1e-3) {
    applied += skipped ? 0 : 1;
    steps.push_back({.run = run.id,
                     .step = static_cast<std::int64_t>(steps.size()),
                     .applied = applied,
                     .loss = loss * (1.0 + 1e-12 * static_cast<double>(steps.size())),
                     .learning_rate = rate,
                     .loss_scale = scale,
                     .gradient_norm = 1.0,
                     .finite = !skipped,
                     .skipped = skipped});
  }
  /// Every tensor of the plan, with these instead of the ordinary numbers.
  void observe(std::int64_t number, const std::map<std::string, Counts>& special,
               const std::string& observation = "sampled", std::int64_t micro_batch = 0) {
    for (const TensorRecord& tensor : tensors) {
      const auto found = special.find(tensor.name);
      if (tensor.output < 0 && found == special.end()) continue;
      const Counts c = found == special.end() ? Counts{} : found->second;
      stats.push_back({.run = run.id,
                       .step = number,
                       .tensor = tensor.id,
                       .micro_batch = micro_batch,
                       .observation = observation,
                       .elements = c.elements,
                       .nan = c.nan,
                       .positive_infinite = c.positive_infinite,
                       .negative_infinite = c.negative_infinite,
                       .zero = c.zero,
                       .flushed = c.flushed,
                       .overflowed = c.overflowed,
                       .least_magnitude = c.least,
                       .greatest_magnitude = c.greatest,
                       .mean = c.mean,
                       .rms = c.rms,
                       .rounding_error_greatest = c.error_greatest,
                       .lost_updates = c.lost});
    }
  }

  void write(RunFileWriter& writer) const {
    writer.push(run);
    for (const auto& r : nodes) writer.push(r);
    for (const auto& r : tensors) writer.push(r);
    for (const auto& r : edges) writer.push(r);
    for (const auto& r : steps) writer.push(r);
    for (const auto& r : stats) writer.push(r);
    for (const auto& r : events) writer.push(r);
    for (const auto& r : evaluations) writer.push(r);
  }

  RunRecord run{};
  std::vector<NodeRecord> nodes{};
  std::vector<TensorRecord> tensors{};
  std::vector<EdgeRecord> edges{};
  std::vector<StepRecord> steps{};
  std::vector<TensorStatsRecord> stats{};
  std::vector<EventRecord> events{};
  std::vector<EvaluationRecord> evaluations{};

 private:
  void add_tensor(const std::string& name, TensorRole role, const std::string& format, std::vector<std::int64_t> shape,
                  std::optional<NodeId> of, std::int64_t output) {
    const TensorId id{static_cast<std::int64_t>(tensors.size())};
    ids[name] = static_cast<std::int64_t>(tensors.size());
    tensors.push_back({.plan = *run.plan,
                       .id = id,
                       .name = name,
                       .role = role,
                       .node = of,
                       .output = output,
                       .shape = std::move(shape),
                       .format = format});
  }
  std::map<std::string, std::int64_t> ids{};
  std::int64_t applied = 0;
};

inline RunFileReader forge(const std::string& path, const std::vector<const ForgedRun*>& runs,
                           const std::vector<MendRecord>& mends = {}) {
  RunFileWriter writer(path, {.overwrite = true});
  writer.push(ExperimentRecord{.name = "forged", .producer_version = "0.1.0"});
  for (const ForgedRun* run : runs) run->write(writer);
  for (const MendRecord& mend : mends) writer.push(mend);
  writer.close();
  return RunFileReader(path);
}

}  // namespace ulpscope::reports
