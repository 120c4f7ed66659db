#include <fmt/format.h>

#include <algorithm>

#include "reports/analysis/imported.h"
#include "reports/analysis/sums.h"
#include "reports/export/layout.h"
#include "reports/export/numbers.h"
#include "reports/export/text.h"

namespace ulpscope::reports {
namespace {

void item(std::ostream& out, std::string_view label, const std::string& text) {
  if (!text.empty()) out << wrap(printable(text), pad_right(label, 16));
}

std::string loss(const Number& value) { return value ? number_text(*value) : "unknown"; }

void run_line(std::ostream& out, std::string_view mode, std::string_view seed, std::string_view status,
              std::string_view steps, std::string_view final_loss, std::string_view held_out) {
  out << "  " << pad_right(shorten(mode, 12), 12) << pad_left(shorten(seed, 7), 7) << "  " << pad_right(status, 12)
      << pad_left(steps, 13) << pad_left(final_loss, 13) << pad_left(held_out, 13) << '\n';
}

void run_lines(const RunResult& run, std::ostream& out) {
  std::string steps =
      run.run.steps_planned ? fmt::format("{}/{}", run.steps, *run.run.steps_planned) : std::to_string(run.steps);
  run_line(out, printable(run.run.mode), std::to_string(run.run.seed), status_text(run), steps, final_loss_words(run, [](double x) { return number_text(x); }),
           loss(run.held_out_loss));
  const std::string indent(23, ' ');
  if (!run.run.message.empty()) out << wrap(printable(run.run.message), indent);
  if (const auto note = divergence_note(run)) out << wrap(printable(*note), indent);
  for (const std::string& knob : run.run.non_standard) out << wrap(printable(knob), indent + "non-standard: ");
  if (const std::string sums = sums_remark(run.run); !sums.empty()) out << wrap(printable(sums), indent);
  for (const std::string& note : imported_notes(run.run)) out << wrap(printable(note), indent);
}

}  // namespace

void TextExporter::write(const Summary& summary, std::ostream& out) const {
  item(out, "file",
       fmt::format("{} ({}, schema {}{})", summary.file, bytes_text(static_cast<double>(summary.bytes)), summary.schema,
                   summary.live ? ", being written" : ""));
  if (summary.experiment) {
    const ExperimentRecord& e = *summary.experiment;
    item(out, "experiment", e.name);
    item(out, "created", e.created);
    item(out, "command", e.command_line);
    const bool others = std::any_of(summary.runs.begin(), summary.runs.end(), [](const RunResult& r) { return imported(r.run).has_value(); });
    item(out, "recorded by", producer_words(e, others));
  } else {
    item(out, "experiment", "not recorded: the file was cut off early");
  }
  for (const MachineRecord& m : summary.machines) {
    std::string text = m.processor;
    if (m.cores) text += fmt::format(", {} cores", *m.cores);
    if (m.memory_bytes) text += fmt::format(", {}", bytes_text(static_cast<double>(*m.memory_bytes)));
    if (!m.operating_system.empty()) text += ", " + m.operating_system;
    item(out, "machine", text);
  }
  out << '\n';
  run_line(out, "run", "seed", "status", "steps", "final loss", "held-out");
  for (const RunResult& run : summary.runs) run_lines(run, out);
  if (summary.runs.empty()) out << "  none\n";

  std::string rows;
  for (const auto& [table, count] : summary.rows)
    if (count > 0) rows += fmt::format("{}{} {}", rows.empty() ? "" : ", ", table, count);
  std::string events;
  for (const auto& [kind, count] : summary.events)
    events += fmt::format("{}{} {}", events.empty() ? "" : ", ", kind, count);
  out << '\n';
  item(out, "rows", rows.empty() ? "none" : rows);
  item(out, "events", events.empty() ? "none" : events);
  std::string label = "completeness";
  if (summary.cut_off) {
    item(out, label, "unknown: the file was cut off");
    label.clear();
  } else if (summary.completeness.empty()) {
    item(out, label,
         summary.live ? "nothing was dropped, lost or refused so far" : "nothing was dropped, lost or refused");
  }
  for (const CompletenessRecord& row : summary.completeness) {
    std::string text = fmt::format("{} {}", row.kind, row.subject);
    if (row.run) text += fmt::format(" (run {})", static_cast<std::int64_t>(*row.run));
    if (row.count) text += fmt::format(": {}", *row.count);
    if (row.seconds) text += fmt::format(": {} {}", seconds_text(*row.seconds), name(row.provenance));
    if (!row.detail.empty()) text += ", " + row.detail;
    item(out, label, text);
    label.clear();
  }
}

}  // namespace ulpscope::reports
