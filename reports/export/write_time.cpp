// The time report for programs: JSON and CSV, from the same lists of figures.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "reports/export/csv.h"
#include "reports/export/documents.h"
#include "reports/export/fields.h"
#include "reports/export/json.h"
#include "reports/export/numbers.h"

namespace ulpscope::reports {
namespace {

using json = nlohmann::ordered_json;

/// One figure of a row, as both forms write it.
struct Field {
  const char* key;
  const char* unit;
  Figure figure;
};

Figure plain(const Number& value, Provenance provenance) {
  Figure f;
  f.value = value;
  if (value) f.provenance = provenance;
  return f;
}
Figure whole_number(std::int64_t value) { return plain(static_cast<double>(value), Provenance::counted); }

std::vector<Field> fields(const NodeTime& n) {
  const Provenance rate = n.seconds.provenance == Provenance::emulated ? Provenance::emulated : Provenance::computed;
  return {{"calls", "1/step", plain(n.calls, Provenance::counted)},
          {"kernels", "1/step", plain(n.kernels, Provenance::counted)},
          {"seconds", "s/step", n.seconds},
          {"share", "", plain(n.share, rate)},
          {"flops", "FLOP/step", plain(n.flops, Provenance::computed)},
          {"bytes", "B/step", plain(n.bytes, Provenance::computed)},
          {"tflops", "TFLOP/s", plain(n.tflops, rate)},
          {"gbps", "GB/s", plain(n.gbps, rate)},
          {"of_peak", "", plain(n.of_peak, rate)},
          {"tensor_pipe", "", plain(n.tensor_pipe, Provenance::counted)}};
}

std::vector<Field> fields(const CategoryTime& c) {
  const Provenance rate = c.seconds.provenance == Provenance::emulated ? Provenance::emulated : Provenance::computed;
  return {{"launches", "", whole_number(c.launches)},
          {"untimed", "", whole_number(c.untimed)},
          {"seconds", "s/step", c.seconds},
          {"share", "", plain(c.share, rate)},
          {"of_step", "", plain(c.of_step, rate)},
          {"flops", "FLOP/step", plain(c.flops, Provenance::computed)},
          {"bytes", "B/step", plain(c.bytes, Provenance::computed)},
          {"tflops", "TFLOP/s", plain(c.tflops, rate)},
          {"gbps", "GB/s", plain(c.gbps, rate)}};
}

std::vector<Field> fields(const LedgerItem& i) {
  const bool step = i.per_step;
  const char* seconds = step ? "s/step" : "s";
  return {{"count", step ? "1/step" : "", i.count}, {"bytes", step ? "B/step" : "B", i.bytes}, {"seconds", seconds, i.seconds}, {"in_fp32", seconds, i.in_fp32}, {"extra", seconds, i.extra}};
}

std::vector<Field> fields(const SpeedBound& b) {
  return {{"products_share", "", b.products}, {"lower_share", "", b.lower}, {"products_free", "", b.free}, {"factor", "", b.factor}, {"products_ideal", "", b.ideal}, {"speed", "", b.speed}};
}

std::vector<Field> fields(const DeviceUse& d) {
  return {{"traced_steps", "", whole_number(d.traced_steps)},
          {"kernels", "", whole_number(d.kernels)},
          {"kernels_per_step", "1/step", d.kernels_per_step},
          {"kernel_seconds", "s", d.kernel_seconds},
          {"busy_seconds", "s/step", d.busy_seconds},
          {"busy", "", d.busy},
          {"tensor_core_share", "", d.tensor_core_share},
          {"without_step", "", whole_number(d.without_step)},
          {"without_node", "", whole_number(d.without_node)}};
}

std::vector<Field> fields(const GpuCondition& c) {
  return {{"samples", "", whole_number(c.samples)},
          {"core_clock", "MHz", c.core_clock_mhz},
          {"memory_clock", "MHz", c.memory_clock_mhz},
          {"power", "W", c.power_watts},
          {"temperature", "°C", c.temperature_celsius},
          {"held_down", "", c.slowed}};
}

std::vector<Field> fields(const ModeTime& m) {
  const Provenance rate = m.between.provenance;
  return {{"seconds", "s/step", m.step},
          {"device_seconds", "s/step", m.device_step},
          {"nodes_sum", "s/step", m.nodes_sum},
          {"between", "s/step", m.between},
          {"between_share", "", plain(m.between_share, rate)},
          {"sampled_steps", "", m.sampled_steps ? whole_number(*m.sampled_steps) : Figure{}},
          {"untimed", "", whole_number(m.untimed)},
          {"views", "", whole_number(m.views)},
          {"ledger_extra", "s/step", m.ledger_extra}};
}

template <class Row>
json figures(const Row& row) {
  json all = json::object();
  for (const Field& field : fields(row)) all[field.key] = figure_json(field.figure);
  return all;
}

json word(const std::string& text) { return text.empty() ? json(nullptr) : json(text); }

json node_json(const NodeTime& n) {
  json members = json::array();
  for (const NodeTime::Member& m : n.members) members.push_back({{"name", m.name}, {"operation", m.operation}});
  json all{{"node", n.node ? json(static_cast<std::int64_t>(*n.node)) : json(nullptr)},
           {"name", n.name},
           {"operation", n.operation},
           {"category", name(n.category)},
           {"phase", n.phase ? json(name(*n.phase)) : json(nullptr)},
           {"compute_format", word(n.compute_format)},
           {"formats", word(n.formats)},
           {"members", std::move(members)}};
  all.update(figures(n));
  all["tensor_cores"] = {{"value", name(n.tensor_cores)}, {"provenance", name(n.tensor_cores_provenance)}};
  all["tensor_cores"]["why"] = word(n.tensor_cores_why);
  all["faster_than_peak"] = n.faster_than_peak;
  return all;
}

json condition_json(const GpuCondition& c) {
  json all{{"phase", c.phase}};
  all.update(figures(c));
  all["why"] = word(c.why);
  return all;
}

json mode_json(const ModeTime& m) {
  json nodes = json::array(), categories = json::array(), ledger = json::array(), reasons = json::array();
  for (const NodeTime& n : m.nodes) nodes.push_back(node_json(n));
  for (const CategoryTime& c : m.categories) {
    json all{{"category", name(c.category)}};
    all.update(figures(c));
    categories.push_back(std::move(all));
  }
  for (const LedgerItem& i : m.ledger) {
    json all{{"item", i.key}, {"what", i.what}, {"per", i.per_step ? "step" : "run"}};
    all.update(figures(i));
    all["at_least"] = i.at_least;
    all["note"] = word(i.note);
    ledger.push_back(std::move(all));
  }
  for (const Reason& r : m.reasons) reasons.push_back({{"reason", r.key}, {"text", r.text}, {"provenance", name(r.provenance)}});
  json bound = figures(m.bound);
  bound["factor_from"] = word(m.bound.factor_from);
  return {{"mode", m.run.mode},
          {"seed", m.run.seed},
          {"run", static_cast<std::int64_t>(m.run.id)},
          {"device", m.run.device},
          {"device_kind", m.run.device_kind},
          {"emulated", m.emulated},
          {"step_from", name(m.step_from)},
          {"nodes_from", name(m.nodes_from)},
          {"step", figures(m)},
          {"categories", std::move(categories)},
          {"ledger", std::move(ledger)},
          {"ledger_at_least", m.ledger_at_least},
          {"bound", std::move(bound)},
          {"invalid", word(m.invalid)},
          {"device_use", m.device ? figures(*m.device) : json(nullptr)},
          {"gpu_condition", m.condition ? condition_json(*m.condition) : json(nullptr)},
          {"reasons", std::move(reasons)},
          {"notes", m.notes},
          {"nodes", std::move(nodes)}};
}

class CsvLines {
 public:
  CsvLines(const ModeTime& mode, std::ostream& out) : mode_(mode), out_(out) {}
  template <class Row>
  void row(const char* section, const std::string& name_of_row, const Row& row, const std::string& operation = "", const std::string& phase = "", const std::string& text = "") const {
    for (const Field& f : fields(row)) {
      line(section, name_of_row, operation, phase, f.key, exact(f.figure.value, FigureStyle::loss), f.unit, f.figure.value ? std::string(name(f.figure.provenance)) : "", text);
      if (f.figure.spread) line(section, name_of_row, operation, phase, std::string(f.key) + "_spread", exact(f.figure.spread, FigureStyle::loss), f.unit, std::string(name(f.figure.provenance)), "");
    }
  }
  void line(const char* section, const std::string& name_of_row, const std::string& operation, const std::string& phase, const std::string& key, const std::string& value, const char* unit,
            const std::string& provenance, const std::string& text) const {
    out_ << fmt::format("{},{},{},{},{},{},{},{},{},{},{}\r\n", csv_quoted(mode_.run.mode), mode_.run.seed, section, csv_quoted(name_of_row), csv_quoted(operation), phase, key, value, unit, provenance, csv_quoted(text));
  }

 private:
  const ModeTime& mode_;
  std::ostream& out_;
};

}  // namespace

nlohmann::ordered_json time_json(const TimeReport& report) {
  json modes = json::array();
  for (const ModeTime& mode : report.modes) modes.push_back(mode_json(mode));
  return {{"kind", "ulpscope time"}, {"version", 1}, {"file", report.file}, {"experiment", report.experiment}, {"modes", std::move(modes)}, {"notes", report.notes}};
}

void JsonExporter::write(const TimeReport& report, std::ostream& out) const {
  out << time_json(report).dump(2, ' ', false, json::error_handler_t::replace) << '\n';
}

void CsvExporter::write(const TimeReport& report, std::ostream& out) const {
  out << "mode,seed,section,name,operation,phase,figure,value,unit,provenance,text\r\n";
  for (const ModeTime& m : report.modes) {
    const CsvLines lines(m, out);
    lines.row("step", "", m, "", "", fmt::format("step: {}; nodes: {}", name(m.step_from), name(m.nodes_from)));
    for (const CategoryTime& c : m.categories) lines.row("category", std::string(name(c.category)), c);
    for (const LedgerItem& i : m.ledger) lines.row("ledger", i.key, i, "", "", i.note);
    lines.row("bound", "", m.bound, "", "", m.bound.factor_from);
    if (m.device) lines.row("device", "", *m.device);
    if (m.condition) lines.row("gpu_condition", m.condition->phase, *m.condition, "", "", m.condition->why);
    if (!m.invalid.empty()) lines.line("step", "", "", "", "invalid", "", "", "", m.invalid);
    for (const NodeTime& n : m.nodes) {
      const std::string phase = n.phase ? std::string(name(*n.phase)) : "";
      lines.row("node", n.name, n, n.operation, phase, n.formats);
      lines.line("node", n.name, n.operation, phase, "tensor_cores", std::string(name(n.tensor_cores)), "", n.tensor_cores_provenance == Provenance::unknown ? "" : std::string(name(n.tensor_cores_provenance)), n.compute_format);
      for (const NodeTime::Member& member : n.members) lines.line("node", n.name, n.operation, phase, "member", "", "", "", fmt::format("{} {}", member.operation, member.name));
    }
    for (const Reason& r : m.reasons) lines.line("reason", r.key, "", "", "", "", "", std::string(name(r.provenance)), r.text);
    for (const std::string& note : m.notes) lines.line("note", "", "", "", "", "", "", "", note);
  }
  for (const std::string& note : report.notes) out << fmt::format(",,note,,,,,,,,{}\r\n", csv_quoted(note));
}

}  // namespace ulpscope::reports
