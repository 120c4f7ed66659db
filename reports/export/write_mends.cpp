// Mends for people and for programs: text, JSON, CSV.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "reports/export/csv.h"
#include "reports/export/json.h"
#include "reports/export/layout.h"
#include "reports/export/numbers.h"
#include "reports/export/text.h"

namespace ulpscope::reports {
namespace {

using json = nlohmann::ordered_json;

constexpr std::size_t label_width = 13;

void item(std::ostream& out, std::string_view label, const std::string& text) {
  if (!text.empty()) out << wrap(printable(text), "  " + pad_right(label, label_width));
}

std::string status_text(MendStatus status) { return status == MendStatus::not_tried ? "not tried" : std::string(name(status)); }

std::string cost_text(const MendTrial& t) {
  std::string text;
  if (t.record.time_ratio) text += fmt::format("step time x {:.2f} [{}]", *t.record.time_ratio, name(t.record.time_provenance));
  if (t.record.memory_delta_bytes) text += fmt::format("{}memory {:+} bytes [counted]", text.empty() ? "" : ", ", *t.record.memory_delta_bytes);
  return text;
}

void trial_lines(const MendTrial& t, std::ostream& out) {
  out << '\n';
  item(out, status_text(t.record.status), t.record.change);
  item(out, "", t.why);
  if (t.minimal) item(out, "", fmt::format("{} be left out: without {} the run is not mended, and that was run", t.nodes.size() == 1 ? "it cannot" : "none can", t.nodes.size() == 1 ? "it" : "any of them"));
  for (const auto& [node, outcome] : t.without) item(out, "", fmt::format("  without {}: {}", node, outcome));
  if (!t.remains.empty()) item(out, "", fmt::format("stays: {}", fmt::join(t.remains, "; ")));
  item(out, "  cost", cost_text(t));
  item(out, "  run", t.record.how_run);
  if (t.earlier) item(out, "  tried", fmt::format("by an earlier mend{}", t.when.empty() ? "" : ", " + t.when));
  if (!t.ulpscope.empty()) item(out, "  here", t.ulpscope);
  item(out, "  elsewhere", t.settings);
}

json number(const Number& value) {
  if (!value) return nullptr;
  if (!std::isfinite(*value)) return exact(value, FigureStyle::loss);
  return *value;
}

json trial_json(const MendTrial& t) {
  json without = json::array();
  for (const auto& [node, outcome] : t.without) without.push_back({{"node", node}, {"outcome", outcome}});
  const auto word = [](const std::string& text) { return text.empty() ? json(nullptr) : json(text); };
  return {{"kind", t.record.kind},
          {"change", t.record.change},
          {"status", name(t.record.status)},
          {"why", t.why},
          {"cost", t.cost},
          {"for", t.targets},
          {"stays", t.remains},
          {"nodes", t.nodes},
          {"minimal", t.minimal},
          {"without", std::move(without)},
          {"how_run", word(t.record.how_run)},
          {"runs", t.runs ? json(*t.runs) : json(nullptr)},
          {"step_time_ratio", number(t.record.time_ratio)},
          {"step_time_provenance", name(t.record.time_provenance)},
          {"memory_delta_bytes", t.record.memory_delta_bytes ? json(*t.record.memory_delta_bytes) : json(nullptr)},
          {"ulpscope", word(t.ulpscope)},
          {"settings", word(t.settings)},
          {"when", word(t.when)},
          {"earlier", t.earlier}};
}

std::string field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + "\"";
}

}  // namespace

void TextExporter::write(const Mends& mends, std::ostream& out) const {
  for (const MendsOfRun& run : mends.runs) {
    out << wrapped(fmt::format("{} seed {}: {}", printable(run.run.mode), run.run.seed, printable(run.verdict)), "  ") << '\n';
    item(out, "fault", fmt::format("{}", fmt::join(run.faults, "; ")));
    item(out, "baseline", run.baseline);
    for (const MendTrial& trial : run.trials) trial_lines(trial, out);
    out << '\n';
  }
  for (const std::string& note : mends.notes) out << wrapped(printable(note), "  ") << '\n';
}

void JsonExporter::write(const Mends& mends, std::ostream& out) const {
  json runs = json::array();
  for (const MendsOfRun& run : mends.runs) {
    json trials = json::array();
    for (const MendTrial& trial : run.trials) trials.push_back(trial_json(trial));
    runs.push_back({{"run", static_cast<std::int64_t>(run.run.id)},
                    {"mode", run.run.mode},
                    {"seed", run.run.seed},
                    {"faults", run.faults},
                    {"baseline", run.baseline},
                    {"verdict", run.verdict},
                    {"verified", run.verified},
                    {"refuted", run.refuted},
                    {"not_tried", run.not_tried},
                    {"mends", std::move(trials)}});
  }
  const json document = {{"kind", "ulpscope mends"}, {"version", 1}, {"file", mends.file}, {"runs", std::move(runs)}, {"notes", mends.notes}};
  out << document.dump(2, ' ', false, json::error_handler_t::replace) << '\n';
}

void CsvExporter::write(const Mends& mends, std::ostream& out) const {
  out << "mode,seed,kind,status,change,why,step_time_ratio,step_time_provenance,memory_delta_bytes,ulpscope,when,earlier\r\n";
  for (const MendsOfRun& run : mends.runs)
    for (const MendTrial& t : run.trials)
      out << fmt::format("{},{},{},{},{},{},{},{},{},{},{},{}\r\n", field(run.run.mode), run.run.seed, field(t.record.kind), name(t.record.status), field(t.record.change), field(t.why),
                         exact(t.record.time_ratio, FigureStyle::loss), name(t.record.time_provenance), t.record.memory_delta_bytes ? std::to_string(*t.record.memory_delta_bytes) : "",
                         field(t.ulpscope), t.when, t.earlier);
  for (const std::string& note : mends.notes) out << fmt::format(",,note,,,{},,,,,,\r\n", field(note));
}

}  // namespace ulpscope::reports
