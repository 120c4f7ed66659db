#include "reports/export/json.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "reports/export/documents.h"
#include "reports/export/machines.h"
#include "reports/export/numbers.h"

namespace ulpscope::reports {
namespace {

using json = nlohmann::ordered_json;  // keys in the order written here

json number(const Number& value, FigureStyle style) {
  if (!value) return nullptr;
  if (!std::isfinite(*value)) return exact(value, style);
  if (whole(style) && *value == std::floor(*value) && std::fabs(*value) < 9007199254740992.0)
    return static_cast<std::int64_t>(*value);
  return *value;
}

template <class T>
json optional(const std::optional<T>& value) {
  return value ? json(*value) : json(nullptr);
}

json figure(const Figure& f, FigureStyle style) {
  return {{"value", number(f.value, style)}, {"spread", number(f.spread, style)}, {"low", number(f.low, style)},
          {"high", number(f.high, style)},   {"samples", optional(f.samples)},    {"provenance", name(f.provenance)}};
}

// Documents inside the run file are passed on as documents; what does not parse, as text.
json document(const std::string& text) {
  if (text.empty()) return nullptr;
  json parsed = json::parse(text, nullptr, false);
  return parsed.is_discarded() ? json(text) : parsed;
}

json run(const RunResult& r) {
  const auto loss = [](const Number& value) { return number(value, FigureStyle::loss); };
  const auto scale = [](const Number& value) { return number(value, FigureStyle::scale); };
  return {{"file", r.file},
          {"run", static_cast<std::int64_t>(r.run.id)},
          {"mode", r.run.mode},
          {"seed", r.run.seed},
          {"status", status_text(r)},
          {"message", r.run.message},
          {"steps_planned", optional(r.run.steps_planned)},
          {"steps", r.steps},
          {"applied", optional(r.applied)},
          {"skipped", optional(r.skipped)},
          {"overflows", optional(r.overflows)},
          {"final_loss", loss(r.final_loss)},
          {"last_finite_loss", loss(r.last_finite_loss)},
          {"last_finite_step", optional(r.last_finite_step)},
          {"best_loss", loss(r.best_loss)},
          {"held_out_loss", loss(r.held_out_loss)},
          {"best_held_out_loss", loss(r.best_held_out_loss)},
          {"losses_not_finite", r.losses_not_finite},
          {"first_not_finite", optional(r.first_not_finite)},
          {"diverged_at", optional(r.diverged_at)},
          {"stopped_at", optional(r.stopped_at)},
          {"ran_away_at", optional(r.ran_away_at)},
          {"loss_scale_first", scale(r.scale_first)},
          {"loss_scale_least", scale(r.scale_least)},
          {"loss_scale_greatest", scale(r.scale_greatest)},
          {"loss_scale_last", scale(r.scale_last)},
          {"non_standard", r.run.non_standard}};
}

// What the members of a run mean where the name does not say it.
json run_meanings() {
  constexpr const char* iteration =
      "iteration, counted from 0 as in the run file; texts count steps from 1: iteration 0 is step 1";
  return {
      {{"key", "last_finite_step"}, {"meaning", fmt::format("last step whose loss is finite: {}", iteration)}},
      {{"key", "first_not_finite"}, {"meaning", fmt::format("first loss that is not finite: {}", iteration)}},
      {{"key", "diverged_at"}, {"meaning", fmt::format("from here on no loss is finite: {}", iteration)}},
      {{"key", "stopped_at"}, {"meaning", fmt::format("a gradient that is not finite ended the run: {}", iteration)}},
      {{"key", "ran_away_at"}, {"meaning", fmt::format("the loss counted as run away: {}", iteration)}},
      {{"key", "loss_scale_last"}, {"meaning", "in force during the last step"}}};
}

json mode(const ModeResult& m) {
  json figures = json::object();
  for (const FigureInfo& info : comparison_figures()) figures[info.key] = figure(info.get(m), info.style);
  json runs = json::array();
  for (const RunResult& result : m.runs) runs.push_back(run(result));
  return {{"mode", m.mode},
          {"tag", m.tag},
          {"device", m.device},
          {"device_kind", m.device_kind},
          {"loss_scaling", m.loss_scaling},
          {"emulated", m.emulated},
          {"sums", m.sums.empty() ? json(nullptr) : json(m.sums)},
          {"sums_verdict", m.sums.empty() ? json(nullptr) : json(name(m.against_plain.verdict))},
          {"verdict", name(m.judgement.verdict)},
          {"verdict_reason", m.judgement.reason},
          {"judged_on", m.metric},
          {"figures", std::move(figures)},
          {"non_standard", m.non_standard},
          {"notes", m.notes},
          {"runs", std::move(runs)}};
}

void print(const json& value, std::ostream& out) {
  out << value.dump(2, ' ', false, json::error_handler_t::replace) << '\n';
}

}  // namespace

nlohmann::ordered_json comparison_json(const Comparison& comparison) {
  json settings = json::array();
  for (const Setting& s : comparison.settings)
    settings.push_back({{"tag", s.tag}, {"experiment", s.experiment}, {"device", s.device}, {"files", s.files}});
  json meanings = json::array();
  for (const FigureInfo& info : comparison_figures())
    meanings.push_back({{"key", info.key}, {"label", info.label}, {"unit", info.unit}, {"meaning", info.meaning}});
  json modes = json::array();
  for (const ModeResult& m : comparison.modes) modes.push_back(mode(m));
  return {{"kind", "ulpscope comparison"},
          {"version", 1},
          {"files", comparison.files},
          {"producers", comparison.producers},
          {"settings", std::move(settings)},
          {"warnings", comparison.warnings},
          {"notes", comparison.notes},
          {"modes", std::move(modes)},
          {"figures", std::move(meanings)},
          {"run_members", run_meanings()},
          {"sums_changes", sums_changes_json(comparison.sums_changes)},
          {"machines", comparison.machines ? machines_json(*comparison.machines) : json(nullptr)}};
}

void JsonExporter::write(const Comparison& comparison, std::ostream& out) const { print(comparison_json(comparison), out); }

nlohmann::ordered_json summary_json(const Summary& summary) {
  json experiment = nullptr;
  if (summary.experiment)
    experiment = {{"name", summary.experiment->name},
                  {"created", summary.experiment->created},
                  {"command_line", summary.experiment->command_line},
                  {"producer_version", summary.experiment->producer_version},
                  {"producer_commit", summary.experiment->producer_commit},
                  {"configuration", summary.experiment->configuration}};
  json machines = json::array();
  for (const MachineRecord& m : summary.machines)
    machines.push_back({{"id", static_cast<std::int64_t>(m.id)},
                        {"host", m.host},
                        {"operating_system", m.operating_system},
                        {"processor", m.processor},
                        {"instruction_set", m.instruction_set},
                        {"cores", optional(m.cores)},
                        {"memory_bytes", optional(m.memory_bytes)},
                        {"devices", document(m.devices_json)},
                        {"libraries", document(m.libraries_json)},
                        {"environment", document(m.environment_json)}});
  json runs = json::array();
  for (const RunResult& result : summary.runs) runs.push_back(run(result));
  json rows = json::object();
  for (const auto& [table, count] : summary.rows) rows[table] = count;
  json completeness = json::array();
  for (const CompletenessRecord& row : summary.completeness)
    completeness.push_back({{"run", row.run ? json(static_cast<std::int64_t>(*row.run)) : json(nullptr)},
                            {"kind", row.kind},
                            {"subject", row.subject},
                            {"count", optional(row.count)},
                            {"seconds", number(row.seconds, FigureStyle::seconds)},
                            {"provenance", name(row.provenance)},
                            {"detail", row.detail}});
  return {{"kind", "ulpscope summary"},
          {"version", 1},
          {"file", summary.file},
          {"bytes", summary.bytes},
          {"schema", summary.schema},
          {"live", summary.live},
          {"cut_off", summary.cut_off},
          {"experiment", std::move(experiment)},
          {"machines", std::move(machines)},
          {"runs", std::move(runs)},
          {"run_members", run_meanings()},
          {"events", summary.events},
          {"rows", std::move(rows)},
          {"completeness", std::move(completeness)}};
}

void JsonExporter::write(const Summary& summary, std::ostream& out) const { print(summary_json(summary), out); }

}  // namespace ulpscope::reports
