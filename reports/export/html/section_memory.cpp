// 7. Memory.
#include <fmt/format.h>

#include <algorithm>

#include "reports/export/html/markup.h"
#include "reports/export/numbers.h"

namespace ulpscope::reports::html {
namespace {

std::string words(MemoryCategory category) {
  std::string text(name(category));
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

std::string peaks_table(const Report& report) {
  std::vector<std::string> head{"at the peak"};
  for (const ModeMemory& mode : report.memory.modes) head.push_back(report.runs[mode.run].mode_label);
  Table table("Memory at the peak by category", head, 1);
  const auto row = [&](const std::string& label, auto&& cell) {
    std::vector<Cell> cells{Cell(label)};
    for (const ModeMemory& mode : report.memory.modes) cells.push_back(cell(mode));
    table.row(cells);
  };
  const auto bytes = [](const Count& value, std::string_view note) { return Cell(value ? bytes_text(static_cast<double>(*value)) : "unknown", value ? std::string(note) : ""); };
  row("all, with observation", [&](const ModeMemory& m) { return m.peak ? bytes(m.peak->total_bytes, name(m.peak->provenance)) : number_cell("unknown"); });
  row("× fp32's, without observation", [&](const ModeMemory& m) { return number_cell(m.ratio ? fmt::format("{:.2f}", *m.ratio) : report.runs[m.run].mode == "fp32" ? "reference" : "unknown"); });
  row("as planned before the first step", [&](const ModeMemory& m) { return m.predicted ? bytes(m.predicted->total_bytes, name(m.predicted->provenance)) : number_cell("unknown"); });
  for (int i = 0; i < memory_category_count; ++i) {
    const auto index = static_cast<std::size_t>(i);
    if (std::none_of(report.memory.modes.begin(), report.memory.modes.end(), [&](const ModeMemory& m) { return m.peak && m.peak->bytes[index].value_or(0) > 0; })) continue;
    row(words(static_cast<MemoryCategory>(i)), [&](const ModeMemory& m) { return m.peak ? bytes(m.peak->bytes[index], "") : number_cell("unknown"); });
  }
  return table.text();
}

}  // namespace

std::string memory_html(const Report& report) {
  std::string out = section_begin("memory", "Memory", "");
  if (report.memory.modes.empty()) return out + element("p", "No memory was recorded.", "none") + std::string(section_end);
  out += "<div class=\"cards two\">";
  out += chart("memory", "At the peak, by category", "The allocator's peak of each mode [counted], split by what the bytes are for [computed by the memory plan]; without what was held to observe.");
  const bool sampled = std::any_of(report.memory.modes.begin(), report.memory.modes.end(), [](const ModeMemory& m) { return m.curve_provenance == Provenance::counted; });
  out += chart("memory-step", "Over one step",
               sampled ? "Bytes allocated after each node [counted]."
                       : "Results made and still to be read after each node [computed from the plan]: without weights, optimizer state, gaps and workspace.");
  out += "</div>\n" + peaks_table(report);
  for (const ModeMemory& mode : report.memory.modes) {
    if (mode.why.empty()) continue;
    out += element("h3", fmt::format("Why {} did not halve", report.runs[mode.run].mode_label));
    out += list(mode.why);
  }
  return out + std::string(section_end);
}

}  // namespace ulpscope::reports::html
