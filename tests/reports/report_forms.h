// A run file with something in every section of a report, and its tables of CSV taken apart.
#pragma once

#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "reports/export/report_tables.h"
#include "tests/reports/forged_run.h"

namespace ulpscope::reports {

/// A name that no form may take for its own markup.
inline const std::string evil_name = "a|`b`,\"<script>\n#8 \xc3\xbc";

/// fp32 and fp16 with seeds 0, 1 and 2. In step 3 fp16's node of an evil name overflows, the step is skipped, the scale halves; in step 5
/// the loss of seed 1 is NaN; the held-out loss of seed 2 is infinite. Times, memory, statistics, a cause, a mend, rows of completeness.
inline void forge_everything(const std::string& path, std::int64_t steps = 12) {
  RunFileWriter writer(path, {.overwrite = true});
  writer.push(ExperimentRecord{.name = "forged | <b>", .configuration = "[run]\nsteps = 12\n", .command_line = "ulpscope run gpt.toml", .producer_version = "0.1.0", .producer_commit = "abc1234"});
  writer.push(MachineRecord{.id = MachineId{1}, .host = "host", .processor = "Testium 9000", .cores = 2, .memory_bytes = 1 << 30, .devices_json = R"({"devices": []})"});
  std::int64_t id = 1;
  for (const std::string mode : {"fp32", "fp16"})
    for (std::int64_t seed = 0; seed < 3; ++seed, ++id) {
      const bool narrow = mode == "fp16";
      ForgedRun run(mode, id);
      run.run.machine = MachineId{1};
      run.run.seed = seed;
      run.run.device = "Testium 9000";
      run.run.device_kind = "cpu";
      run.run.model = "gpt";
      run.run.data = "README.md";
      run.run.steps_planned = steps;
      run.run.batch = 8;
      run.run.time_provenance = narrow ? Provenance::emulated : Provenance::measured;
      const std::string format = narrow ? "fp16" : "fp32";
      run.source("x", TensorRole::input, "fp32");
      run.source("w", TensorRole::master_weight, "fp32");
      run.node("linear", evil_name, {"x", "w"}, format);
      run.node("mean", "loss", {evil_name}, "fp32", Phase::forward, {});
      run.node("expand", "loss.dx", {"loss"}, "fp32", Phase::backward, {4}, "", TensorRole::gradient);
      run.node("cast", "y.cast", {"loss.dx"}, format, Phase::backward, {4}, "", TensorRole::gradient);
      run.node("sgd", "w.update", {"y.cast", "w"}, "fp32", Phase::update, {4}, R"({"momentum": 0.0})", TensorRole::weight);
      for (NodeRecord& node : run.nodes) {
        node.flops = 64;
        node.bytes_read = 32;
        node.bytes_written = 16;
      }
      for (std::int64_t i = 0; i < steps; ++i) {
        const bool bad = narrow && i == 3;
        run.step(narrow && seed == 1 && i == 5 ? nan_number : 2.0 + 0.1 * static_cast<double>(seed) + 1.0 / static_cast<double>(i + 1) + (narrow ? 1e-3 : 0.0), bad,
                 narrow ? Number(i <= 3 ? 65536.0 : 32768.0) : std::nullopt);
        run.steps.back().wall_seconds = narrow ? 0.011 : 0.010;
        run.steps.back().tokens = 512;
        if (narrow && seed == 0) run.observe(i, {{evil_name, {.greatest = bad ? 70000.0 : 2048.0, .overflowed = bad ? 3 : 0}}, {"y.cast", {.greatest = 16.0, .flushed = 1, .zero = 1}}}, bad ? "replay" : "sampled");
        if (!bad) continue;
        run.events.push_back({.run = run.run.id, .step = i, .kind = event_kind::overflow, .node = NodeId{0}, .value = 70000.0});
        run.events.push_back({.run = run.run.id, .step = i, .kind = event_kind::skip});
        run.events.push_back({.run = run.run.id, .step = i, .kind = event_kind::scale_change, .value = 32768.0});
      }
      for (TensorStatsRecord& row : run.stats) row.histogram = ExponentHistogram{-1, {3, 1}};
      run.evaluations.push_back({.run = run.run.id, .step = steps, .loss = narrow && seed == 2 ? inf_number : 2.0 + 0.1 * static_cast<double>(seed)});
      run.write(writer);
      if (seed == 0) {
        for (int i = 0; i < 5; ++i) writer.push(TimingSample{.run = run.run.id, .repetition = i, .warm_up = i == 0, .wall_seconds = (narrow ? 0.0101 : 0.0123) + 1e-5 * i, .tokens = 512});
        for (const NodeRecord& node : run.nodes) writer.push(NodeTiming{.run = run.run.id, .node = node.id, .sampled_steps = 4, .calls = 4, .seconds = 0.004, .provenance = run.run.time_provenance});
        for (const MemoryKind kind : {MemoryKind::peak, MemoryKind::predicted}) {
          MemoryRecord peak{.run = run.run.id, .kind = kind, .total_bytes = narrow ? 17'000'001 : 20'000'000};
          peak.bytes.fill(0);
          peak.bytes[static_cast<std::size_t>(MemoryCategory::weights)] = 10'000'000;
          peak.bytes[static_cast<std::size_t>(MemoryCategory::activations)] = *peak.total_bytes - 10'000'000;
          writer.push(peak);
        }
      }
    }
  writer.push(MendRecord{.id = MendId{1}, .run = RunId{4}, .kind = "keep_fp32", .change = evil_name + " in fp32", .how_run = "from step 0", .status = MendStatus::verified});
  writer.push(CompletenessRecord{.kind = "dropped", .subject = "tensor_stats", .count = 7, .seconds = 0.25, .detail = "queue, \"full\""});
  writer.close();
}

using Records = std::vector<std::map<std::string, std::string>>;

/// By RFC 4180: lines end in CRLF, fields in quotes may hold anything. Throws std::runtime_error where the text is no such file.
inline std::vector<std::vector<std::string>> csv_lines(const std::string& text) {
  std::vector<std::vector<std::string>> lines;
  std::vector<std::string> line;
  std::string field;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') {
      if (!field.empty()) throw std::runtime_error("a quote inside of a plain field");
      for (++i; i < text.size() && !(text[i] == '"' && (i + 1 == text.size() || text[i + 1] != '"')); ++i) {
        if (text[i] == '"') ++i;
        field += text[i];
      }
      if (i + 1 >= text.size() || (text[i + 1] != ',' && text[i + 1] != '\r')) throw std::runtime_error("something behind a closing quote");
    } else if (text[i] == ',') {
      line.push_back(std::exchange(field, {}));
    } else if (text[i] == '\r') {
      if (i + 1 >= text.size() || text[++i] != '\n') throw std::runtime_error("CR without LF");
      line.push_back(std::exchange(field, {}));
      lines.push_back(std::exchange(line, {}));
    } else if (text[i] == '\n') {
      throw std::runtime_error("LF without CR");
    } else {
      field += text[i];
    }
  }
  if (!field.empty() || !line.empty()) throw std::runtime_error("the last line does not end");
  return lines;
}

inline Records records(const std::vector<std::vector<std::string>>& lines) {
  Records all;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    if (lines[i].size() != lines[0].size()) throw std::runtime_error("a line of another length");
    std::map<std::string, std::string>& record = all.emplace_back();
    for (std::size_t c = 0; c < lines[0].size(); ++c) record[lines[0][c]] = lines[i][c];
  }
  return all;
}

/// Every table of a report by its file.
inline std::map<std::string, Records> tables_of(const Report& report) {
  std::map<std::string, Records> all;
  for (const ReportTable& table : report_tables()) {
    std::ostringstream out;
    write_table(table, report, out);
    all[table.file] = records(csv_lines(out.str()));
  }
  return all;
}

}  // namespace ulpscope::reports
