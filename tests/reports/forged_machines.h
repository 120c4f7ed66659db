// The same experiment on machines that a test makes up.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <list>
#include <string>
#include <utility>
#include <vector>

#include "reports/analysis/compare.h"
#include "reports/analysis/imported.h"
#include "tests/reports/scratch.h"
#include "tests/reports/time_forged.h"

namespace ulpscope::reports {

/// fp32 (run 1) and fp16 (run 2) of the model of time_forged.h: a launch y, a check, an update.
struct ForgedMachine {
  std::string device = "NVIDIA A100-SXM4-80GB";
  std::string kind = "cuda";
  double fp32_ms = 20.0, fp16_ms = 10.0;
  double busy = 0.9;          ///< of the step, in three kernels: y 6/9, unscale_check 2/9, w.update 1/9. 0: nothing was traced
  double clock_mhz = 0.0;     ///< sampled while it was timed; 0: not
  std::int64_t throttle = 0;  ///< bits, in half of four samples
  double loss = 2.0;
  std::int64_t seed = 1;
  std::int64_t batch = 8, context = 64, threads = 2;
  std::string train = R"({"lr": 0.001, "policy": "torch_cuda", "keep_fp32": [], "fusion": true})";
  std::string extra_node{};   ///< a node at the end of fp16's plan

  bool scaled = false;        ///< fp16 has a loss scaler

  bool log = false;           ///< imported from a log of another program: of no device that is known

  bool cpu() const { return kind == "cpu"; }
  friend bool operator==(const ForgedMachine&, const ForgedMachine&) = default;

  ForgedTime mode(const std::string& name, std::int64_t id) const {
    ForgedTime t(name, id);
    RunRecord& run = t.forged.run;
    run.seed = seed;
    run.device = device;
    run.device_kind = kind;
    run.data = "text.txt";
    run.parameters = 512;
    run.batch = batch;
    run.context = context;
    run.threads = cpu() ? Count(threads) : std::nullopt;
    run.loss_scaling = scaled && name == "fp16" ? "dynamic:pytorch" : "none";
    run.time_provenance = cpu() && name != "fp32" ? Provenance::emulated : Provenance::measured;
    run.attributes_json = R"({"train": )" + train + "}";
    if (log) run.attributes_json = attributes_with({.format = "CSV", .file = "log.csv", .mode_from = "given"});
    if (!extra_node.empty() && name == "fp16") t.forged.node("relu", extra_node, {"y"}, "fp16", Phase::forward, {64, 16});
    for (int i = 0; i < 10; ++i) t.forged.step(loss);
    const double seconds = 1e-3 * (name == "fp32" ? fp32_ms : fp16_ms);
    t.sample(1.0, true);
    for (const double s : {0.9, 1.0, 1.2}) t.samples.push_back({.run = run.id, .repetition = std::ssize(t.samples), .wall_seconds = s * seconds, .tokens = 512});
    if (cpu()) {
      t.timed("y", 0.6 * seconds);
    } else if (busy > 0.0) {
      const auto us = [&](double ninths) { return static_cast<std::int64_t>(1e6 * seconds * busy * ninths / 9.0 + 0.5); };
      t.kernel("gemm", 1, t.id("y"), 1000, us(6));
      t.kernel("check", 1, t.id("unscale_check"), 1000 + us(6), us(2));
      t.kernel("sgd", 1, t.id("w.update"), 1000 + us(8), us(1));
    }
    return t;
  }

  RunFileReader write(const std::string& path) const {
    RunFileWriter writer(path, {.overwrite = true});
    writer.push(ExperimentRecord{.name = "forged", .producer_version = "0.1.0"});
    std::int64_t id = 1;
    for (const char* name : {"fp32", "fp16"}) {
      const ForgedTime t = mode(name, id++);
      t.forged.write(writer);
      for (const auto& r : t.timings) writer.push(r);
      for (const auto& r : t.samples) writer.push(r);
      for (const auto& r : t.kernels) writer.push(r);
      writer.push(MemoryRecord{.run = t.forged.run.id, .kind = MemoryKind::peak, .total_bytes = 1000 * batch});
    }
    for (int i = 0; i < 4 && clock_mhz > 0.0; ++i)
      writer.push(DeviceSample{.phase = "timing", .seconds = static_cast<double>(i), .core_clock_mhz = clock_mhz, .throttle_reasons = i % 2 == 0 ? throttle : 0});
    writer.close();
    return RunFileReader(path);
  }
};

inline ForgedMachine forged_a100() { return {.clock_mhz = 1410.0}; }
inline ForgedMachine forged_h100() { return {.device = "NVIDIA H100 80GB HBM3", .fp32_ms = 8.0, .fp16_ms = 5.0, .clock_mhz = 1755.0}; }
inline ForgedMachine forged_log() { return {.device = "unknown", .kind = "unknown", .busy = 0.0, .batch = 77, .log = true}; }
inline ForgedMachine forged_cpu() { return {.device = "Testium 9000", .kind = "cpu", .fp32_ms = 400.0, .fp16_ms = 900.0}; }

class ForgedMachines : public Scratch {
 protected:
  Comparison compared(const std::vector<ForgedMachine>& machines) {
    std::vector<const RunFileReader*> views;
    for (const ForgedMachine& machine : machines) views.push_back(&file_of(machine));
    return compare(views);
  }
  /// Written once in a test program: a file costs as much as all else in a test.
  static const RunFileReader& file_of(const ForgedMachine& machine) {
    for (const auto& [of, reader] : files_)
      if (of == machine) return reader;
    if (forged_folder_.empty()) {
      forged_folder_ = testing::TempDir() + "ulpscope_forged_machines_" + std::to_string(::getpid());
      std::filesystem::create_directories(forged_folder_);
    }
    files_.emplace_back(machine, machine.write(fmt::format("{}/{}.ulp", forged_folder_, files_.size())));
    return files_.back().second;
  }
  static void TearDownTestSuite() {
    files_.clear();
    std::filesystem::remove_all(forged_folder_);
    forged_folder_.clear();
  }
  static const MachineMode& mode(const Comparison& comparison, const std::string& name) {
    for (const MachineMode& m : comparison.machines.value().modes)
      if (m.mode == name) return m;
    throw Error("no mode " + name);
  }
  static std::vector<std::string> reasons(const Comparison& comparison) {
    return comparison.machines.value().refused.size() == 1 ? comparison.machines->refused[0].reasons : std::vector<std::string>{"not one refusal"};
  }

 private:
  inline static std::list<std::pair<ForgedMachine, RunFileReader>> files_;  // readers are pointed at
  inline static std::string forged_folder_;
};

}  // namespace ulpscope::reports
