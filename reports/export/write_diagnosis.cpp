// A diagnosis for programs: JSON and CSV.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "reports/analysis/sums.h"
#include "reports/export/csv.h"
#include "reports/export/documents.h"
#include "reports/export/json.h"
#include "reports/export/numbers.h"
#include "reports/export/write_window.h"

namespace ulpscope::reports {
namespace {

using json = nlohmann::ordered_json;

json number(const Number& value) {
  if (!value) return nullptr;
  if (!std::isfinite(*value)) return exact(value, FigureStyle::loss);
  return *value;
}

template <class T>
json optional(const std::optional<T>& value) {
  return value ? json(*value) : json(nullptr);
}

json word(const std::string& text) { return text.empty() ? json(nullptr) : json(text); }

json cause_json(const Cause& c) {
  json facts = json::array(), operands = json::array(), remedies = json::array();
  for (const Fact& f : c.facts)
    facts.push_back({{"key", f.key},
                     {"label", f.label},
                     {"value", number(f.value)},
                     {"text", f.text},
                     {"provenance", name(f.provenance)}});
  for (const Operand& o : c.operands)
    operands.push_back({{"tensor", o.tensor},
                        {"format", o.format},
                        {"observed", o.observed},
                        {"elements", optional(o.elements)},
                        {"not_finite", optional(o.not_finite)},
                        {"greatest_magnitude", number(o.greatest_magnitude)}});
  for (const Remedy& r : c.remedies)
    remedies.push_back({{"cost", r.cost},
                        {"change", r.change},
                        {"ulpscope", word(r.ulpscope)},
                        {"settings", word(r.settings)},
                        {"mend", word(r.mend)},
                        {"status", r.status}});
  return {{"kind", name(c.kind)},       {"meaning", meaning(c.kind)},      {"gravity", name(c.gravity)},
          {"step", optional(c.step)},   {"steps_seen", c.steps_seen},      {"node", word(c.node)},
          {"others", c.others},         {"operation", word(c.operation)},  {"phase", word(c.phase)},
          {"tensor", word(c.tensor)},   {"format", word(c.format)},        {"what", c.what},
          {"facts", std::move(facts)},  {"operands", std::move(operands)}, {"chain", c.chain},
          {"reaches", word(c.reaches)}, {"remedies", std::move(remedies)}};
}

json run_json(const RunDiagnosis& r) {
  json causes = json::array(), layers = json::array(), watch = json::array();
  for (const Cause& c : r.causes) causes.push_back(cause_json(c));
  for (const LayerRoom& l : r.layers)
    layers.push_back({{"layer", l.layer},
                      {"format", l.format},
                      {"tensor", l.tensor},
                      {"above_forward_bits", number(l.above_forward)},
                      {"above_forward_change", number(l.above_forward_change)},
                      {"above_backward_bits", number(l.above_backward)},
                      {"above_backward_change", number(l.above_backward_change)},
                      {"forward_not_finite", l.forward_not_finite},
                      {"backward_not_finite", l.backward_not_finite},
                      {"flushed_share", number(l.flushed)},
                      {"flushed_change", number(l.flushed_change)},
                      {"provenance", name(Provenance::computed)}});
  for (const Watched& w : r.watch)
    watch.push_back({{"node", w.node},
                     {"tensor", w.tensor},
                     {"format", w.format},
                     {"greatest_magnitude", number(w.greatest_magnitude)},
                     {"room_bits", number(w.room)},
                     {"growth_bits_per_step", number(w.growth)},
                     {"leaves_at_step", optional(w.leaves)},
                     {"provenance", name(w.leaves ? Provenance::projected : Provenance::counted)}});
  return {{"run", static_cast<std::int64_t>(r.run.id)},
          {"mode", r.run.mode},
          {"seed", r.run.seed},
          {"outcome", name(r.outcome)},
          {"verdict", r.verdict},
          {"reasons", r.reasons},
          {"steps", r.steps},
          {"skipped", r.skipped},
          {"observed_steps", r.observed},
          {"not_materialised", optional(r.not_materialised)},
          {"not_observed", optional(r.not_observed)},
          {"lost_statistics", r.lost_statistics},
          {"non_standard", r.run.non_standard},
          {"sums", sums_remark(r.run).empty() ? json(nullptr) : json(sums_remark(r.run))},
          {"causes", std::move(causes)},
          {"layers", std::move(layers)},
          {"watch", std::move(watch)},
          {"window", r.window ? window_json(*r.window) : json(nullptr)},
          {"notes", r.notes}};
}

std::string field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + "\"";
}

struct Row {
  std::string section{}, kind{}, gravity{}, step{}, node{}, key{}, value{}, provenance{}, text{};
};

void print(const RunDiagnosis& run, const Row& row, std::ostream& out) {
  out << fmt::format("{},{},{},{},{},{},{},{},{},{},{}\r\n", field(run.run.mode), run.run.seed, row.section, row.kind,
                     row.gravity, row.step, field(row.node), field(row.key), row.value, row.provenance,
                     field(row.text));
}

}  // namespace

nlohmann::ordered_json diagnosis_json(const Diagnosis& diagnosis) {
  json runs = json::array();
  for (const RunDiagnosis& run : diagnosis.runs) runs.push_back(run_json(run));
  return {{"kind", "ulpscope diagnosis"},
          {"version", 1},
          {"file", diagnosis.file},
          {"step", optional(diagnosis.step)},
          {"steps_are", "iterations, counted from 0 as in the run file; texts count steps from 1"},
          {"runs", std::move(runs)}};
}

void JsonExporter::write(const Diagnosis& diagnosis, std::ostream& out) const {
  out << diagnosis_json(diagnosis).dump(2, ' ', false, json::error_handler_t::replace) << '\n';
}

void CsvExporter::write(const Diagnosis& diagnosis, std::ostream& out) const {
  out << "mode,seed,section,kind,gravity,step,node,key,value,provenance,text\r\n";
  const auto exactly = [](const Number& value) { return exact(value, FigureStyle::loss); };
  for (const RunDiagnosis& run : diagnosis.runs) {
    print(run, {.section = "verdict", .kind = std::string(name(run.outcome)), .text = run.verdict}, out);
    for (const std::string& reason : run.reasons)
      print(run, {.section = "verdict", .key = "reason", .text = reason}, out);
    for (const Cause& c : run.causes) {
      Row row{.section = "cause",
              .kind = std::string(name(c.kind)),
              .gravity = std::string(name(c.gravity)),
              .step = c.step ? std::to_string(*c.step) : "",
              .node = c.node};
      row.text = c.what;
      print(run, row, out);
      for (const Fact& f : c.facts) {
        row.section = "fact";
        row.key = f.key;
        row.value = exactly(f.value);
        row.provenance = name(f.provenance);
        row.text = f.text;
        print(run, row, out);
      }
      for (const Remedy& r : c.remedies)
        print(run,
              {.section = "remedy",
               .kind = row.kind,
               .gravity = row.gravity,
               .node = c.node,
               .key = r.ulpscope,
               .value = std::to_string(r.cost),
               .text = fmt::format("{} [{}]", r.change, r.status)},
              out);
    }
    for (const LayerRoom& l : run.layers) {
      const auto room = [&](const char* key, const Number& value) {
        print(run,
              {.section = "layer",
               .node = l.layer,
               .key = key,
               .value = exactly(value),
               .provenance = std::string(name(Provenance::computed)),
               .text = l.tensor},
              out);
      };
      room("above_forward_bits", l.above_forward);
      room("above_backward_bits", l.above_backward);
      room("flushed_share", l.flushed);
      if (l.forward_not_finite) room("forward_not_finite", 1.0);
      if (l.backward_not_finite) room("backward_not_finite", 1.0);
    }
    for (const Watched& w : run.watch)
      print(run,
            {.section = "watch",
             .step = w.leaves ? std::to_string(*w.leaves) : "",
             .node = w.node,
             .key = "room_bits",
             .value = exactly(w.room),
             .provenance = std::string(name(Provenance::counted)),
             .text = w.tensor},
            out);
    const auto window = [&](const LayerWindow& w) {
      print(run, {.section = "window", .node = w.layer, .key = "lowest_scale", .value = exactly(w.lowest), .provenance = std::string(name(run.window->provenance)), .text = w.lowest_tensor}, out);
      print(run, {.section = "window", .node = w.layer, .key = "flushed_share", .value = exactly(w.flushed), .provenance = std::string(name(run.window->provenance)), .text = ""}, out);
      print(run, {.section = "window", .node = w.layer, .key = "flushed_share_most", .value = exactly(w.flushed_most), .provenance = std::string(name(run.window->provenance)), .text = ""}, out);
      print(run, {.section = "window", .node = w.layer, .key = "highest_scale", .value = exactly(w.highest), .provenance = std::string(name(run.window->provenance)), .text = w.highest_tensor}, out);
      if (w.blind) print(run, {.section = "window", .node = w.layer, .key = "bounds_only", .value = "1", .provenance = std::string(name(run.window->provenance)), .text = w.blind_tensor}, out);
    };
    if (run.window) {
      window(run.window->model);
      for (const LayerWindow& layer : run.window->layers) window(layer);
    }
    for (const std::string& note : run.notes) print(run, {.section = "note", .text = note}, out);
  }
}

}  // namespace ulpscope::reports
