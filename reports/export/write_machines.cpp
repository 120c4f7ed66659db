// Machines side by side, for programs.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "reports/analysis/machine_modes.h"
#include "reports/export/fields.h"
#include "reports/export/machines.h"
#include "reports/export/numbers.h"

namespace ulpscope::reports {
namespace {

using json = nlohmann::ordered_json;

json yardstick_json(const Yardstick& yardstick) { return {{"value", number_json(yardstick.value)}, {"from", yardstick.from}}; }

json figures_json(const MachineComparison& all, const MachineMode& mode, std::size_t i) {
  const MachineFigures& m = mode.at[i];
  json object{{"machine", all.machines[i].tag}, {"there", m.there}};
  if (!m.there) return object;
  object["runs"] = m.runs;
  object["emulated"] = m.emulated;
  object["step_from"] = m.step_from;
  object["peak_tflops"] = yardstick_json(m.peak);
  object["bandwidth_gbs"] = yardstick_json(m.bandwidth);
  object["clock_mhz"] = yardstick_json(m.clock);
  for (const MachineFigureInfo& info : machine_figures()) object[info.key] = figure_json(info.get(m));
  object["no_ratio"] = m.no_ratio.empty() ? json(nullptr) : json(m.no_ratio);
  object["throttled"] = m.throttled;
  object["slowed_why"] = m.slowed_why;
  object["nodes_from"] = mode.node_times[i];
  return object;
}

json mode_json(const MachineComparison& all, const MachineMode& mode) {
  json at = json::array(), nodes = json::array();
  for (std::size_t i = 0; i < mode.at.size(); ++i) at.push_back(figures_json(all, mode, i));
  for (const NodeAcross& node : mode.nodes) {
    json times = json::array();
    for (std::size_t i = 0; i < node.at.size(); ++i)
      times.push_back({{"machine", all.machines[i].tag}, {"seconds", figure_json(node.at[i].seconds)}, {"ratio", figure_json(node.at[i].ratio)}});
    nodes.push_back({{"name", node.name}, {"operation", node.operation}, {"phase", node.phase}, {"at", std::move(times)}});
  }
  return {{"mode", mode.mode}, {"at", std::move(at)}, {"nodes", std::move(nodes)}, {"notes", mode.notes}};
}

using Fields = std::vector<std::string>;

void line(std::ostream& out, const Fields& fields) {
  for (std::size_t i = 0; i < fields.size(); ++i) out << (i == 0 ? "" : ",") << csv_quoted(fields[i]);
  out << "\r\n";
}

Fields figure_fields(const Machine& machine, const std::string& mode, const std::string& key, const std::string& unit, const Figure& f) {
  const auto number = [](const Number& value) { return exact(value, FigureStyle::loss); };
  return {machine.tag, mode, machine.device, "", key, unit, number(f.value), number(f.spread), number(f.low), number(f.high), f.samples ? std::to_string(*f.samples) : "",
          std::string(name(f.provenance))};
}

void mode_lines(const MachineComparison& all, const MachineMode& mode, std::ostream& out) {
  for (std::size_t i = 0; i < mode.at.size(); ++i) {
    const MachineFigures& m = mode.at[i];
    const Machine& machine = all.machines[i];
    if (!m.there) continue;
    const auto words = [&](const char* key, const std::string& text) { line(out, {machine.tag, mode.mode, machine.device, "", key, "", text, "", "", "", "", ""}); };
    const auto yardstick = [&](const char* key, const char* unit, const Yardstick& y) {
      line(out, {machine.tag, mode.mode, machine.device, "", key, unit, exact(y.value, FigureStyle::loss), "", "", "", "", std::string(name(machine_parts::provenance_of(y)))});
      words(fmt::format("{}_from", key).c_str(), y.from);
    };
    words("machines.runs", m.runs);
    yardstick("machines.peak_tflops", "TFLOP/s", m.peak);
    yardstick("machines.bandwidth_gbs", "GB/s", m.bandwidth);
    yardstick("machines.clock_mhz", "MHz", m.clock);
    for (const MachineFigureInfo& info : machine_figures()) line(out, figure_fields(machine, mode.mode, fmt::format("machines.{}", info.key), info.unit, info.get(m)));
    if (!m.no_ratio.empty()) words("machines.no_ratio", m.no_ratio);
    words("machines.throttled", m.throttled ? "1" : "0");
    for (const NodeAcross& node : mode.nodes) {
      line(out, figure_fields(machine, mode.mode, fmt::format("machines.node_seconds {} {}", node.phase, node.name), "s", node.at[i].seconds));
      line(out, figure_fields(machine, mode.mode, fmt::format("machines.node_ratio {} {}", node.phase, node.name), "", node.at[i].ratio));
    }
  }
  for (const std::string& note : mode.notes) line(out, {"", mode.mode, "", "", "machines.note", "", note, "", "", "", "", ""});
}

}  // namespace

nlohmann::ordered_json machines_json(const MachineComparison& machines) {
  json list = json::array(), refused = json::array(), modes = json::array(), figures = json::array();
  for (const Machine& m : machines.machines)
    list.push_back({{"tag", m.tag}, {"device", m.device}, {"device_kind", m.device_kind}, {"gpu", m.gpu.empty() ? json(nullptr) : json(m.gpu)}, {"files", m.files}});
  for (const MachineRefusal& r : machines.refused) refused.push_back({{"tag", r.tag}, {"device", r.device}, {"files", r.files}, {"reasons", r.reasons}});
  for (const MachineMode& mode : machines.modes) modes.push_back(mode_json(machines, mode));
  for (const MachineFigureInfo& info : machine_figures()) figures.push_back({{"key", info.key}, {"unit", info.unit}, {"meaning", info.meaning}});
  return {{"machines", std::move(list)}, {"refused", std::move(refused)}, {"warnings", machines.warnings}, {"modes", std::move(modes)}, {"bits", bits_json(machines.bits)}, {"figures", std::move(figures)}};
}

void machines_csv(const MachineComparison& machines, std::ostream& out) {
  for (const MachineMode& mode : machines.modes) mode_lines(machines, mode, out);
  bits_csv(machines.bits, out);
  for (const MachineRefusal& r : machines.refused) line(out, {r.tag, "", r.device, "", "machines.refused", "", fmt::format("{}", fmt::join(r.reasons, "; ")), "", "", "", "", ""});
  for (const std::string& warning : machines.warnings) line(out, {"", "", "", "", "machines.warning", "", warning, "", "", "", "", ""});
}

}  // namespace ulpscope::reports
