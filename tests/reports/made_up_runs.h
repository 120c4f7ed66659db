// Run files made up by a test: losses, times and memory as told.
#pragma once

#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "reports/run_file/reader.h"
#include "reports/run_file/writer.h"

namespace ulpscope::reports {

struct MadeUpRun {
  RunRecord run{};
  std::int64_t steps = 20;
  std::function<double(std::int64_t)> loss = [](std::int64_t) { return 2.0; };
  Number held_out{};
  std::function<double(std::int64_t)> scale{};  ///< none: no loss scaling
  std::function<bool(std::int64_t)> overflow = [](std::int64_t) { return false; };
  std::vector<double> step_seconds{};  ///< after two warm-up steps of 9 s
  Count peak_bytes{};
};

/// A CPU run of `mode` with `seed` whose final and held-out loss are `loss`.
inline MadeUpRun made_up(const std::string& mode, std::int64_t seed, double loss) {
  MadeUpRun m;
  m.run = {.mode = mode,
           .seed = seed,
           .device = "Testium 9000",
           .device_kind = "cpu",
           .model = "gpt",
           .data = "README.md",
           .status = RunStatus::finished,
           .parameters = 1000,
           .steps_planned = 20,
           .batch = 8,
           .micro_batches = 1,
           .context = 64,
           .threads = 2,
           .optimizer = "adamw",
           .loss_scaling = "none",
           .time_provenance = mode == "fp32" ? Provenance::measured : Provenance::emulated};
  m.loss = [loss](std::int64_t step) { return step < 10 ? loss + 1.0 : loss; };
  m.held_out = loss;
  return m;
}

inline void write_run(RunFileWriter& writer, const MadeUpRun& m) {
  writer.push(m.run);
  std::int64_t applied = 0;
  for (std::int64_t i = 0; i < m.steps; ++i) {
    const bool overflow = m.overflow(i);
    applied += overflow ? 0 : 1;
    writer.push(StepRecord{.run = m.run.id,
                           .step = i,
                           .applied = applied,
                           .loss = m.loss(i),
                           .loss_scale = m.scale ? Number(m.scale(i)) : std::nullopt,
                           .finite = !overflow,
                           .skipped = overflow,
                           .tokens = 512});
    if (overflow) writer.push(EventRecord{.run = m.run.id, .step = i, .kind = event_kind::skip});
  }
  if (m.held_out) writer.push(EvaluationRecord{.run = m.run.id, .step = m.steps, .loss = m.held_out});
  std::int64_t repetition = 0;
  if (!m.step_seconds.empty())
    for (int i = 0; i < 2; ++i)
      writer.push(TimingSample{
          .run = m.run.id, .repetition = repetition++, .warm_up = true, .wall_seconds = 9.0, .tokens = 512});
  for (const double seconds : m.step_seconds)
    writer.push(TimingSample{.run = m.run.id, .repetition = repetition++, .wall_seconds = seconds, .tokens = 512});
  if (m.peak_bytes) {
    MemoryRecord peak{.run = m.run.id, .kind = MemoryKind::peak, .total_bytes = m.peak_bytes};
    peak.bytes.fill(0);
    peak.bytes[static_cast<std::size_t>(MemoryCategory::weights)] = *m.peak_bytes / 4;
    peak.bytes[static_cast<std::size_t>(MemoryCategory::activations)] = *m.peak_bytes - *m.peak_bytes / 4;
    writer.push(peak);
  }
}

/// Writes a file and opens it.
inline RunFileReader make_run_file(const std::string& path, const std::vector<MadeUpRun>& runs) {
  RunFileWriter writer(path, {.overwrite = true});
  writer.push(ExperimentRecord{.name = "made up",
                               .configuration = "",
                               .command_line = "ulpscope run gpt.toml",
                               .producer_version = "0.1.0",
                               .producer_commit = "abc1234",
                               .created = "2025-01-31T12:00:00Z"});
  std::int64_t id = 1;
  for (MadeUpRun run : runs) {
    run.run.id = RunId{id++};
    write_run(writer, run);
  }
  writer.close();
  return RunFileReader(path);
}

}  // namespace ulpscope::reports
