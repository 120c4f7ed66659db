// 9. Where it comes from.
#include <fmt/format.h>

#include "reports/export/html/markup.h"
#include "reports/export/numbers.h"

namespace ulpscope::reports::html {
namespace {

std::string file_state(const Summary& summary) { return summary.live ? "still being written" : summary.cut_off ? "cut off: its end is missing" : "complete"; }

std::string facts_table(const FileOrigin& origin) {
  const Summary& summary = origin.summary;
  Table table("The recording", {"", ""});
  const auto row = [&](const char* label, const std::string& text) {
    if (!text.empty()) table.row({label, text});
  };
  row("file", fmt::format("{}, {}, schema {}", summary.file, bytes_text(static_cast<double>(summary.bytes)), summary.schema));
  row("state", file_state(summary));
  if (summary.experiment) {
    row("experiment", summary.experiment->name);
    row("made", summary.experiment->created);
    row("by", fmt::format("ulpscope {}{}", summary.experiment->producer_version, summary.experiment->producer_commit.empty() ? "" : fmt::format(" ({})", summary.experiment->producer_commit)));
  }
  for (const MachineRecord& machine : summary.machines) {
    row("machine", machine.host);
    row("system", machine.operating_system);
    row("processor", fmt::format("{}{}{}", machine.processor, machine.cores ? fmt::format(", {} cores", *machine.cores) : "", machine.instruction_set.empty() ? "" : ", kernels for " + machine.instruction_set));
    row("main memory", machine.memory_bytes ? bytes_text(static_cast<double>(*machine.memory_bytes)) : "unknown");
    row("devices", machine.devices_json);
    row("libraries", machine.libraries_json);
    row("environment", machine.environment_json);
  }
  for (const auto& [kind, events] : summary.events) row("events", fmt::format("{}: {}", kind, events));
  return table.text();
}

std::string completeness_table(const FileOrigin& origin) {
  Table table("What the recording missed, and what watching cost", {"kind", "subject", "count", "time", "is", "in words"});
  for (const MissingRuns& missing : origin.missing)
    if (missing.missing > 0) table.row({"missing", missing.mode, number_cell(fmt::format("{}", missing.missing)), "", "counted", fmt::format("of {} runs that were planned", missing.planned)});
  for (const CompletenessRecord& row : origin.summary.completeness)
    table.row({row.kind, row.subject, number_cell(row.count ? fmt::format("{}", *row.count) : ""), number_cell(row.seconds ? seconds_text(*row.seconds) : ""), std::string(name(row.provenance)), row.detail});
  return table.empty() ? element("p", "Nothing was dropped, lost or refused.", "none") : table.text();
}

std::string conditions_table(const FileOrigin& origin) {
  Table table("What the GPU said of itself", {"while", "samples", "clock", "power", "temperature, at most", "held down"}, 1);
  for (const GpuCondition& c : origin.conditions) {
    const auto number = [](const Number& value, const char* unit) { return number_cell(value ? fmt::format("{:.0f} {}", *value, unit) : "unknown"); };
    table.row({c.phase, number_cell(fmt::format("{}", c.samples)), number(c.core_clock_mhz.value, "MHz"), number(c.power_watts.value, "W"), number(c.temperature_celsius.high, "°C"),
               Cell(c.slowed.value ? fmt::format("{:.1f} %", 100.0 * *c.slowed.value) : "unknown", c.why)});
  }
  return table.empty() ? "" : table.text();
}

}  // namespace

std::string origin_html(const Report& report) {
  std::string out = section_begin("origin", "Where it comes from", "");
  for (const FileOrigin& origin : report.origin.files) {
    if (report.origin.files.size() > 1) out += element("h3", origin.summary.file);
    if (origin.summary.experiment && !origin.summary.experiment->command_line.empty()) out += "<p>The command that made it:</p>" + element("pre", origin.summary.experiment->command_line);
    out += facts_table(origin) + conditions_table(origin);
    out += element("h3", "Completeness") + completeness_table(origin);
    if (origin.summary.experiment && !origin.summary.experiment->configuration.empty())
      out += details("Configuration, every value filled in", element("pre", origin.summary.experiment->configuration));
    for (const RunResult& run : origin.summary.runs)
      if (!run.run.versions_json.empty() || !run.run.kernel_choices_json.empty())
        out += details(fmt::format("Versions and kernel choices of {}, seed {}", run.run.mode, run.run.seed), element("pre", run.run.versions_json) + element("pre", run.run.kernel_choices_json));
  }
  return out + std::string(section_end);
}

}  // namespace ulpscope::reports::html
