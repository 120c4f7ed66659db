// Policies on recorded ranges, for programs: JSON and CSV.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "reports/export/csv.h"
#include "reports/export/json.h"
#include "reports/export/numbers.h"

namespace ulpscope::reports {
namespace {

using json = nlohmann::ordered_json;

json scale(const Number& value) {
  if (!value) return nullptr;
  if (!std::isfinite(*value)) return exact(value, FigureStyle::scale);
  return *value;
}

template <class T>
json optional(const std::optional<T>& value) {
  return value ? json(*value) : json(nullptr);
}

json policy_json(const PolicyReplay& p) {
  json skipped = json::array(), changes = json::array(), inferred = json::array(), unknown = json::array();
  float before = 0.0f;
  for (const ReplayedStep& step : p.history) {
    if (step.overflow) skipped.push_back(step.step);
    if (step.basis == Basis::inferred) inferred.push_back(step.step);
    if (step.basis == Basis::unknown) unknown.push_back(step.step);
    if (step.scale != before) changes.push_back({{"step", step.step}, {"scale", scale(static_cast<double>(step.scale))}});
    before = step.scale;
  }
  return {{"name", p.name},
          {"policy", p.policy},
          {"provenance", name(p.provenance)},
          {"steps", p.steps},
          {"skips", p.known() ? json(p.skips) : json(nullptr)},
          {"skips_at_least", p.skips},
          {"skips_at_most", p.skips_at_most()},
          {"search_skips", p.known() ? json(p.searching) : json(nullptr)},
          {"wasted", optional(p.wasted())},
          {"first_scale", scale(p.first)},
          {"settled_scale", scale(p.settled)},
          {"settled_at", optional(p.settled_at)},
          {"last_scale", scale(p.last)},
          {"least_scale", scale(p.least)},
          {"greatest_scale", scale(p.greatest)},
          {"gave_up", optional(p.gave_up)},
          {"skipped", std::move(skipped)},
          {"scales", std::move(changes)},
          {"inferred", std::move(inferred)},
          {"unknown", std::move(unknown)}};
}

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + "\"";
}

}  // namespace

void JsonExporter::write(const ScaleReplay& replay, std::ostream& out) const {
  json runs = json::array();
  for (const RunScaleReplay& run : replay.runs) {
    json policies = json::array();
    for (const PolicyReplay& policy : run.policies) policies.push_back(policy_json(policy));
    runs.push_back({{"run", static_cast<std::int64_t>(run.run.id)},
                    {"mode", run.run.mode},
                    {"seed", run.run.seed},
                    {"steps", run.steps},
                    {"steps_without_range", run.without_range},
                    {"steps_incomplete", run.incomplete},
                    {"steps_never_finite", run.never_finite},
                    {"recorded", policy_json(run.recorded)},
                    {"policies", std::move(policies)},
                    {"notes", run.notes}});
  }
  const json document = {{"kind", "ulpscope scale"},
                         {"version", 1},
                         {"file", replay.file},
                         {"steps_are", "iterations, counted from 0 as in the run file; texts count steps from 1"},
                         {"runs", std::move(runs)}};
  out << document.dump(2, ' ', false, json::error_handler_t::replace) << '\n';
}

void CsvExporter::write(const ScaleReplay& replay, std::ostream& out) const {
  out << "mode,seed,policy,figure,value,provenance\r\n";
  for (const RunScaleReplay& run : replay.runs) {
    const auto print = [&](const PolicyReplay& p) {
      const auto figure = [&](const char* key, const Number& value, FigureStyle style) {
        out << fmt::format("{},{},{},{},{},{}\r\n", quoted(run.run.mode), run.run.seed, quoted(p.name), key, exact(value, style), name(p.provenance));
      };
      const auto whole = [&](const char* key, std::int64_t value) { figure(key, static_cast<double>(value), FigureStyle::count); };
      whole("steps", p.steps);
      const auto if_known = [&](std::int64_t value) { return p.known() ? Number(static_cast<double>(value)) : std::nullopt; };
      figure("skips", if_known(p.skips), FigureStyle::count);
      whole("skips_at_least", p.skips);
      whole("skips_at_most", p.skips_at_most());
      figure("search_skips", if_known(p.searching), FigureStyle::count);
      figure("wasted", p.wasted(), FigureStyle::loss);
      figure("first_scale", p.first, FigureStyle::scale);
      figure("settled_scale", p.settled, FigureStyle::scale);
      figure("last_scale", p.last, FigureStyle::scale);
      figure("least_scale", p.least, FigureStyle::scale);
      figure("greatest_scale", p.greatest, FigureStyle::scale);
      whole("inferred", p.inferred);
      whole("unknown", p.unknown);
    };
    print(run.recorded);
    for (const PolicyReplay& policy : run.policies) print(policy);
  }
}

}  // namespace ulpscope::reports
