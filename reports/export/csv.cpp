#include "reports/export/csv.h"

#include <initializer_list>

#include "reports/export/fields.h"
#include "reports/export/machines.h"
#include "reports/export/numbers.h"

namespace ulpscope::reports {
namespace {

void line(std::ostream& out, std::initializer_list<std::string> fields) {
  bool first = true;
  for (const std::string& field : fields) {
    out << (first ? "" : ",") << csv_quoted(field);
    first = false;
  }
  out << "\r\n";
}

std::string count(const Count& value) { return value ? std::to_string(*value) : ""; }

class ComparisonLines {
 public:
  ComparisonLines(const ModeResult& mode, std::ostream& out) : mode_(mode), out_(out) {}

  void figure(const FigureInfo& info) const {
    const Figure& f = info.get(mode_);
    line(out_, {mode_.tag, mode_.mode, mode_.device, "", info.key, info.unit, exact(f.value, info.style),
                exact(f.spread, info.style), exact(f.low, info.style), exact(f.high, info.style), count(f.samples),
                std::string(name(f.provenance))});
  }
  void words(const char* key, const std::string& text) const {
    line(out_, {mode_.tag, mode_.mode, mode_.device, "", key, "", text, "", "", "", "", ""});
  }
  void of_run(const RunResult& run, const char* key, const std::string& value, Provenance provenance) const {
    const bool said = !value.empty() && provenance != Provenance::unknown;
    line(out_, {mode_.tag, mode_.mode, mode_.device, std::to_string(run.run.seed), key, "", value, "", "", "", "",
                said ? std::string(name(provenance)) : ""});
  }

 private:
  const ModeResult& mode_;
  std::ostream& out_;
};

void write_run(const ComparisonLines& lines, const RunResult& run) {
  const auto loss = [&](const char* key, const Number& value) {
    lines.of_run(run, key, exact(value, FigureStyle::loss), Provenance::computed);
  };
  const auto counted = [&](const char* key, const Count& value, Provenance provenance = Provenance::counted) {
    lines.of_run(run, key, count(value), provenance);
  };
  lines.of_run(run, "status", status_text(run), Provenance::unknown);
  if (!run.run.message.empty()) lines.of_run(run, "message", run.run.message, Provenance::unknown);
  loss("final_loss", run.final_loss);
  loss("last_finite_loss", run.last_finite_loss);
  counted("last_finite_step", run.last_finite_step);
  loss("best_loss", run.best_loss);
  loss("held_out_loss", run.held_out_loss);
  counted("steps_applied", run.applied, run.steps_from);
  counted("steps_skipped", run.skipped, run.steps_from);
  counted("overflows", run.overflows, run.steps_from);
  counted("diverged_at", run.diverged_at);
  counted("stopped_at", run.stopped_at);
  counted("ran_away_at", run.ran_away_at);
}

}  // namespace

void CsvExporter::write(const Comparison& comparison, std::ostream& out) const {
  line(out,
       {"tag", "mode", "device", "seed", "figure", "unit", "value", "spread", "low", "high", "samples", "provenance"});
  for (const ModeResult& mode : comparison.modes) {
    const ComparisonLines lines(mode, out);
    for (const FigureInfo& info : comparison_figures()) lines.figure(info);
    lines.words("verdict", std::string(name(mode.judgement.verdict)));
    lines.words("verdict_reason", mode.judgement.reason);
    for (const std::string& note : mode.notes) lines.words("note", note);
    for (const RunResult& run : mode.runs) write_run(lines, run);
  }
  for (const std::string& warning : comparison.warnings)
    line(out, {"", "", "", "", "warning", "", warning, "", "", "", "", ""});
  for (const std::string& note : comparison.notes) line(out, {"", "", "", "", "note", "", note, "", "", "", "", ""});
  sums_changes_csv(comparison.sums_changes, out);
  if (comparison.machines) machines_csv(*comparison.machines, out);
}

void CsvExporter::write(const Summary& summary, std::ostream& out) const {
  line(out, {"section", "name", "value", "detail"});
  line(out, {"file", "path", summary.file, ""});
  line(out, {"file", "bytes", std::to_string(summary.bytes), ""});
  line(out, {"file", "schema", std::to_string(summary.schema), ""});
  line(out, {"file", "live", summary.live ? "1" : "0", ""});
  line(out, {"file", "cut_off", summary.cut_off ? "1" : "0", ""});
  if (summary.experiment) {
    line(out, {"experiment", "name", summary.experiment->name, ""});
    line(out, {"experiment", "created", summary.experiment->created, ""});
    line(out, {"experiment", "command_line", summary.experiment->command_line, ""});
    line(out, {"experiment", "producer_version", summary.experiment->producer_version, ""});
    line(out, {"experiment", "producer_commit", summary.experiment->producer_commit, ""});
  }
  for (const MachineRecord& machine : summary.machines)
    line(out, {"machine", machine.host, machine.processor, machine.operating_system});
  for (const RunResult& run : summary.runs)
    line(out, {"run", run.run.mode + " seed " + std::to_string(run.run.seed), status_text(run),
               std::to_string(run.steps) + " steps"});
  for (const auto& [kind, number] : summary.events) line(out, {"events", kind, std::to_string(number), ""});
  for (const auto& [table, number] : summary.rows) line(out, {"rows", table, std::to_string(number), ""});
  for (const CompletenessRecord& row : summary.completeness)
    line(out, {"completeness", row.kind + " " + row.subject, count(row.count), row.detail});
}

}  // namespace ulpscope::reports
