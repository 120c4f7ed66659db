// 8. Time.
#include <fmt/format.h>

#include <algorithm>

#include "reports/export/html/markup.h"
#include "reports/export/numbers.h"

namespace ulpscope::reports::html {
namespace {

constexpr std::size_t most_nodes = 15;

std::string seconds(const Number& value) { return value ? seconds_text(*value) : "unknown"; }
std::string percent(const Number& value) { return value ? fmt::format("{:.1f} %", 100.0 * *value) : "unknown"; }
std::string factor(const Figure& f) { return f.value ? fmt::format("{:.2f} ×", *f.value) : "unknown"; }
std::string rate(const Number& value) { return value ? number_text(*value, 4) : "unknown"; }

Cell figure_cell(const Figure& f, std::string text) { return {std::move(text), f.known() ? std::string(name(f.provenance)) : ""}; }

std::string steps_table(const TimeReport& time) {
  std::vector<std::string> head{"per step"};
  for (const ModeTime& mode : time.modes) head.push_back(mode.run.mode);
  Table table("Time of a step", head, 1);
  const auto row = [&](const char* label, auto&& cell) {
    std::vector<Cell> cells{Cell(label)};
    for (const ModeTime& mode : time.modes) cells.push_back(cell(mode));
    table.row(cells);
  };
  row("step, median", [](const ModeTime& m) { return figure_cell(m.step, seconds(m.step.value)); });
  row("from", [](const ModeTime& m) { return number_cell(std::string(name(m.step_from))); });
  row("nodes together", [](const ModeTime& m) { return figure_cell(m.nodes_sum, seconds(m.nodes_sum.value)); });
  row("between nodes, idle", [](const ModeTime& m) { return Cell(seconds(m.between.value), m.between_share ? percent(m.between_share) + " of the step" : ""); });
  row("GPU busy", [](const ModeTime& m) { return m.device ? figure_cell(m.device->busy, percent(m.device->busy.value)) : number_cell(m.run.device_kind == "cpu" ? "no GPU" : "unknown"); });
  row("products on tensor cores", [](const ModeTime& m) { return m.device ? figure_cell(m.device->tensor_core_share, percent(m.device->tensor_core_share.value)) : number_cell(m.run.device_kind == "cpu" ? "no GPU" : "unknown"); });
  row("share that products take of fp32's step", [](const ModeTime& m) { return figure_cell(m.bound.products, percent(m.bound.products.value)); });
  row("greatest speed-up, products free", [](const ModeTime& m) { return figure_cell(m.bound.free, factor(m.bound.free)); });
  row("greatest speed-up, products k × as fast", [](const ModeTime& m) { return figure_cell(m.bound.ideal, factor(m.bound.ideal)); });
  row("speed-up that came", [](const ModeTime& m) { return figure_cell(m.bound.speed, factor(m.bound.speed)); });
  return table.text();
}

std::string ledger_table(const TimeReport& time) {
  std::vector<std::string> head{"per step, unless said"};
  std::vector<const ModeTime*> modes;
  for (const ModeTime& mode : time.modes)
    if (!mode.ledger.empty()) modes.push_back(&mode);
  if (modes.empty()) return "";
  for (const ModeTime* mode : modes) head.push_back(mode->run.mode);
  Table table("What mixed precision itself costs", head, 1);
  for (const LedgerItem& item : modes.front()->ledger) {
    std::vector<Cell> cells{Cell(item.label, item.what, false)};
    for (const ModeTime* mode : modes) {
      const auto own = std::find_if(mode->ledger.begin(), mode->ledger.end(), [&](const LedgerItem& i) { return std::string_view(i.key) == item.key; });
      if (own == mode->ledger.end()) {
        cells.push_back(number_cell("none"));
        continue;
      }
      std::string text = own->seconds.value ? fmt::format("{}{}", own->at_least ? "at least " : "", seconds(own->seconds.value))
                         : own->bytes.value ? bytes_text(*own->bytes.value) : own->count.value ? fmt::format("{:.0f}", *own->count.value) : "unknown";
      const Figure& shown = own->seconds.value ? own->seconds : own->bytes.value ? own->bytes : own->count;
      std::string note = shown.value ? std::string(name(shown.provenance)) : "";
      if (own->extra.value.value_or(0.0) != 0.0) note += fmt::format(", {} {} than fp32", seconds_text(std::abs(*own->extra.value)), *own->extra.value < 0.0 ? "less" : "more");
      cells.emplace_back(std::move(text), std::move(note));
    }
    table.row(cells);
  }
  return table.text();
}

std::string nodes_table(const ModeTime& mode) {
  Table table(fmt::format("Nodes of {} by time", mode.run.mode), {"node", "category", "formats", "seconds", "share", "TFLOP/s", "GB/s", "tensor cores"}, 3);
  for (std::size_t i = 0; i < std::min(most_nodes, mode.nodes.size()); ++i) {
    const NodeTime& node = mode.nodes[i];
    std::string cores(name(node.tensor_cores));
    std::replace(cores.begin(), cores.end(), '_', ' ');
    table.row({Cell(node.name, node.members.empty() ? node.operation : fmt::format("{}, and {} more in the launch", node.operation, node.members.size()), false),
               std::string(label(node.category)), node.formats, figure_cell(node.seconds, seconds(node.seconds.value)), number_cell(percent(node.share)),
               number_cell(rate(node.tflops)), number_cell(rate(node.gbps)), Cell(cores, node.tensor_cores_why)});
  }
  return table.text();
}

std::string mode_html(const ModeTime& mode) {
  std::string content = nodes_table(mode);
  std::vector<std::string> reasons;
  for (const Reason& reason : mode.reasons) reasons.push_back(fmt::format("{} [{}]", reason.text, name(reason.provenance)));
  if (!mode.invalid.empty()) reasons.insert(reasons.begin(), "these times cannot be true: " + mode.invalid);
  if (!reasons.empty()) content += element("h4", "Why it is not faster") + list(reasons);
  content += list(mode.notes, "notes");
  return details(fmt::format("{}: its nodes, and what bounds it{}", mode.run.mode, mode.emulated ? " (emulated)" : ""), content);
}

}  // namespace

std::string time_html(const Report& report) {
  std::string out = section_begin("time", "Time", "By category of node, per step.");
  std::vector<std::string> emulated;
  for (const ReportRun& run : report.runs)
    if (run.emulated && std::find(emulated.begin(), emulated.end(), run.mode_label) == emulated.end()) emulated.push_back(run.mode_label);
  if (!emulated.empty())
    out += fmt::format("<div class=\"caveats\" role=\"note\"><p>Carried out in software on the device that ran {}: {}. {} times are emulated and say nothing of hardware.</p></div>\n",
                       emulated.size() == 1 ? "it" : "them", escaped(fmt::format("{}", fmt::join(emulated, ", "))), emulated.size() == 1 ? "Its" : "Their");
  out += chart("time", "Where a step's time goes", "Seconds of a step by category, as far as nodes were timed. Pale: emulated.");
  for (const TimeReport& time : report.time) {
    if (report.time.size() > 1) out += element("h3", time.file);
    out += steps_table(time) + ledger_table(time);
    for (const ModeTime& mode : time.modes) out += mode_html(mode);
    out += list(time.notes, "notes");
  }
  return out + std::string(section_end);
}

}  // namespace ulpscope::reports::html
