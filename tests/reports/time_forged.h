// A run file whose times have closed-form figures.
#pragma once

#include <string>
#include <vector>

#include "kernels/error.h"
#include "reports/analysis/time.h"
#include "tests/reports/forged_run.h"

namespace ulpscope::reports {

/// One mode of a model of three launches: a fused product (linear + relu, 64 × 32 times 32 × 16), a check and an update.
class ForgedTime {
 public:
  explicit ForgedTime(const std::string& mode, std::int64_t id = 1) : forged(mode, id) {
    lower = mode == "fp32" ? "fp32" : mode;
    RunRecord& run = forged.run;
    run.device = "Testium 9000";
    run.device_kind = "cpu";
    run.model = "mlp";
    run.threads = 2;
    run.time_provenance = mode == "fp32" ? Provenance::measured : Provenance::emulated;
    forged.source("x", TensorRole::input, lower, {64, 32});
    if (lower == "fp32") {
      forged.source("w", TensorRole::weight, "fp32", {16, 32});
    } else {
      forged.source("master", TensorRole::master_weight, "fp32", {16, 32});
      forged.node("cast", "w", {"master"}, lower, Phase::forward, {16, 32}, "", TensorRole::weight);
      size(512 * 4, 512 * 2, 0);
    }
    forged.node("linear", "y", {"x", "w"}, lower, Phase::forward, {64, 16}, R"({"launched_with": "y"})");
    size(4096, 2048, 65536);  // 2 · 64 · 32 · 16
    forged.nodes.back().compute_format = lower;
    forged.tensors.back().materialised = false;
    forged.node("relu", "y.relu", {"y"}, lower, Phase::forward, {64, 16}, R"({"launched_with": "y"})");
    size(4096, 4096, 1024);
    forged.node("reshape", "view", {"y.relu"}, lower, Phase::forward, {1024});
    size(0, 0, 0);
    if (mode == "fp16") {
      forged.node("scale_loss", "scale_loss", {"view"}, "fp32", Phase::forward, {});
      size(4, 4, 1);
    }
    forged.node("unscale_check", "unscale_check", {"view"}, "fp32", Phase::update, {1024});
    size(4096, 4096, 1024);
    forged.node("sgd", "w.update", {"unscale_check"}, "fp32", Phase::update, {16, 32});
    size(2048, 2048, 1024);
  }

  NodeId id(const std::string& name) const {
    for (const NodeRecord& node : forged.nodes)
      if (node.name == name) return node.id;
    throw Error("no node " + name);
  }
  /// Seconds of a node in one step, summed over 4 sampled steps.
  void timed(const std::string& name, double seconds, std::int64_t calls_in_a_step = 1) {
    timings.push_back({.run = forged.run.id, .node = id(name), .sampled_steps = 4, .calls = 4 * calls_in_a_step, .seconds = 4 * seconds, .provenance = forged.run.time_provenance});
  }
  void sample(double seconds, bool warm_up = false, Number device = {}) {
    samples.push_back({.run = forged.run.id, .repetition = std::ssize(samples), .warm_up = warm_up, .wall_seconds = seconds, .device_seconds = device});
  }
  void kernel(const std::string& name, std::optional<std::int64_t> step, std::optional<NodeId> node, std::int64_t start_us, std::int64_t duration_us, Number pipe = {}) {
    kernels.push_back({.run = forged.run.id, .step = step, .node = node, .correlation = std::ssize(kernels) + 1, .name = name, .start_ns = 1000 * start_us, .duration_ns = 1000 * duration_us, .grid = {1, 1, 1}, .block = {32, 1, 1}, .tensor_pipe = pipe});
  }
  void size(std::int64_t read, std::int64_t written, std::int64_t flops) {
    NodeRecord& node = forged.nodes.back();
    node.bytes_read = read;
    node.bytes_written = written;
    node.flops = flops;
    node.compute_format = "fp32";
  }

  ForgedRun forged;
  std::string lower;
  std::vector<NodeTiming> timings{};
  std::vector<TimingSample> samples{};
  std::vector<KernelRecord> kernels{};
};

inline RunFileReader write_times(const std::string& path, const std::vector<const ForgedTime*>& modes, const std::vector<CompletenessRecord>& rows = {}) {
  RunFileWriter writer(path, {.overwrite = true});
  writer.push(ExperimentRecord{.name = "forged", .producer_version = "0.1.0"});
  for (const ForgedTime* mode : modes) {
    mode->forged.write(writer);
    for (const auto& r : mode->timings) writer.push(r);
    for (const auto& r : mode->samples) writer.push(r);
    for (const auto& r : mode->kernels) writer.push(r);
  }
  for (const auto& r : rows) writer.push(r);
  writer.close();
  return RunFileReader(path);
}

inline const NodeTime& node_named(const ModeTime& mode, const std::string& name) {
  for (const NodeTime& node : mode.nodes)
    if (node.name == name) return node;
  throw Error("no row " + name);
}
inline const LedgerItem& item_named(const ModeTime& mode, const std::string& key) {
  for (const LedgerItem& item : mode.ledger)
    if (item.key == key) return item;
  throw Error("no item " + key);
}
inline std::vector<std::string> reason_keys(const ModeTime& mode) {
  std::vector<std::string> keys;
  for (const Reason& reason : mode.reasons) keys.emplace_back(reason.key);
  return keys;
}

/// fp32: products 6 ms of a step of 10 ms (nodes 8). fp16: emulated, casts 1 ms, check 1.5 ms against 1 ms in fp32.
inline ForgedTime timed_fp32() {
  ForgedTime t("fp32", 1);
  t.timed("y", 6e-3);
  t.timed("unscale_check", 1e-3);
  t.timed("w.update", 1e-3);
  t.sample(1.0, true);
  for (const double s : {9e-3, 10e-3, 12e-3}) t.sample(s);
  return t;
}
inline ForgedTime timed_fp16() {
  ForgedTime t("fp16", 2);
  t.timed("w", 1e-3);
  t.timed("y", 5e-3);
  t.timed("scale_loss", 0.25e-3);
  t.timed("unscale_check", 1.5e-3);
  t.timed("w.update", 1e-3);
  for (const double s : {11e-3, 12.5e-3, 14e-3}) t.sample(s);
  return t;
}

}  // namespace ulpscope::reports
