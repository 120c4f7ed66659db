// An advice for programs.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "reports/export/csv.h"
#include "reports/export/documents.h"
#include "reports/export/fields.h"
#include "reports/export/json.h"
#include "reports/export/numbers.h"

namespace ulpscope::reports {
namespace {

using json = nlohmann::ordered_json;

json word(const std::string& text) { return text.empty() ? json(nullptr) : json(text); }
json count(const Count& value) { return value ? json(*value) : json(nullptr); }
json finding_json(const Trouble& f) { return {{"known", name(f.known)}, {"provenance", name(f.provenance)}, {"words", word(f.words)}}; }

json settings_json(const FrameworkSettings& s) { return {{"hugging_face", word(s.hugging_face)}, {"pytorch", word(s.pytorch)}, {"deepspeed", word(s.deepspeed)}}; }

json mode_json(const ModeAdvice& m, bool on_device) {
  const ModeEvidence& e = m.evidence;
  json all = {{"mode", e.mode},
              {"from", word(e.from)},
              {"trained", e.trained},
              {"unfinished", word(e.unfinished)},
              {"diverged", word(e.diverged)},
              {"verdict", name(e.verdict)},
              {"verdict_reason", word(e.verdict_words)},
              {"pairs", e.pairs},
              {"loss_difference", figure_json(e.distance)},
              {"overflow", finding_json(e.overflow)},
              {"flushed", finding_json(e.flushed)},
              {"lost_updates", finding_json(e.lost)},
              {"other_damage", finding_json(e.other)},
              {"no_scale", finding_json(e.no_scale)},
              {"loss_scaler", e.scaling_known ? json(e.scaled) : json(nullptr)},
              {"steps", figure_json(e.steps)},
              {"skipped", figure_json(e.skipped)},
              {"shadow_error", figure_json(e.error)},
              {"weights_in_16_bits", e.weights_in_16_bits},
              {"non_standard", e.non_standard},
              {"mend", word(e.mend)}};
  if (on_device)
    all.update({{"runs", name(m.there.support)},
                {"runs_why", word(m.there.why)},
                {"measured_step_seconds", figure_json(e.measured)},
                {"projected_step_seconds", figure_json(e.projected)},
                {"no_time", word(e.no_time)},
                {"speed_against_fp32", figure_json(m.speed)},
                {"memory_bytes", figure_json(e.memory)},
                {"plan_bytes", count(e.plan_bytes)},
                {"fits", name(e.fits)},
                {"largest_batch", count(e.largest_batch)},
                {"largest_batch_capped", e.batch_capped},
                {"launch_share", number_json(e.launch_share)},
                {"cast_share", number_json(e.cast_share)}});
  all.update({{"refused", m.refused}, {"against", m.against}, {"in_favour", m.in_favour}});
  return all;
}

json device_json(const DeviceAdvice& a) {
  json modes = json::array();
  for (const ModeAdvice& m : a.modes) modes.push_back(mode_json(m, !a.device.empty()));
  return {{"asked", word(a.asked)},         {"gpu", word(a.device)},
          {"outcome", name(a.outcome)},     {"winner", word(a.winner)},
          {"runner_up", word(a.runner_up)}, {"margin", figure_json(a.margin)},
          {"reason", a.reason},             {"costs", a.costs},
          {"would_change", a.would_change}, {"to_know", a.said},
          {"settings", settings_json(a.settings)}, {"modes", std::move(modes)}};
}

/// One line of the CSV form.
struct Row {
  const DeviceAdvice& device;
  std::ostream& out;
  void operator()(const std::string& mode, const char* section, std::string_view key, const Figure& figure, const char* unit, const std::string& text) const {
    out << fmt::format("{},{},{},{},{},{},{},{},{},{}\r\n", csv_quoted(device.device), csv_quoted(mode), section, key, exact(figure.value, FigureStyle::loss), exact(figure.low, FigureStyle::loss),
                       exact(figure.high, FigureStyle::loss), unit, figure.known() ? std::string(name(figure.provenance)) : "", csv_quoted(text));
  }
  void text(const std::string& mode, const char* section, std::string_view key, const std::string& words) const {
    if (!words.empty()) (*this)(mode, section, key, {}, "", words);
  }
  void found(const std::string& mode, std::string_view key, const Trouble& f) const {
    out << fmt::format("{},{},evidence,{},,,,,{},{}\r\n", csv_quoted(device.device), csv_quoted(mode), key, f.known == Known::unknown ? std::string() : std::string(name(f.provenance)),
                       csv_quoted(f.words.empty() ? std::string(name(f.known)) : fmt::format("{}: {}", name(f.known), f.words)));
  }
};

Figure share(const Number& value, Provenance provenance) { return value ? Figure{.value = *value, .provenance = provenance} : Figure{}; }
Figure counted(int value) { return {.value = static_cast<double>(value), .provenance = Provenance::counted}; }
Figure projected_count(std::int64_t value) { return {.value = static_cast<double>(value), .provenance = Provenance::projected}; }

void mode_rows(const Row& row, const ModeAdvice& m, bool on_device) {
  const ModeEvidence& e = m.evidence;
  row(e.mode, "evidence", "loss_difference", e.distance, "", std::string(e.trained ? name(e.verdict) : e.from.empty() ? "not run" : "not ended"));
  row.text(e.mode, "evidence", "from", e.from);
  row.found(e.mode, "overflow", e.overflow);
  row.found(e.mode, "flushed", e.flushed);
  row.found(e.mode, "lost_updates", e.lost);
  row.found(e.mode, "other_damage", e.other);
  row(e.mode, "evidence", "steps", e.steps, "steps", "");
  row(e.mode, "evidence", "skipped", e.skipped, "steps", "");
  row.text(e.mode, "evidence", "diverged", e.diverged);
  row.text(e.mode, "evidence", "unfinished", e.unfinished);
  if (!e.from.empty()) row(e.mode, "evidence", "seeds_under_both", counted(e.pairs), "seeds", "");
  row.found(e.mode, "no_scale", e.no_scale);
  row.text(e.mode, "evidence", "loss_scaler", e.scaling_known ? (e.scaled ? "yes" : "no") : "unknown");
  row(e.mode, "evidence", "shadow_error", e.error, "", "");
  if (on_device) {
    row.text(e.mode, "evidence", "runs", std::string(name(m.there.support)));
    row(e.mode, "evidence", "measured_step_seconds", e.measured, "s/step", "");
    row(e.mode, "evidence", "projected_step_seconds", e.projected, "s/step", e.no_time);
    row(e.mode, "evidence", "speed_against_fp32", m.speed, "", "");
    row(e.mode, "evidence", "memory_bytes", e.memory, "bytes", "");
    row.text(e.mode, "evidence", "fits", std::string(name(e.fits)));
    row(e.mode, "evidence", "largest_batch", e.largest_batch ? projected_count(*e.largest_batch) : Figure{}, "samples", e.batch_capped ? "at least" : "");
    row(e.mode, "evidence", "launch_share", share(e.launch_share, Provenance::projected), "", "");
    row(e.mode, "evidence", "cast_share", share(e.cast_share, Provenance::computed), "", e.cast_words);
  }
  for (const std::string& words : m.refused) row.text(e.mode, "refused", "", words);
  for (const std::string& words : m.against) row.text(e.mode, "against", "", words);
  for (const std::string& words : m.in_favour) row.text(e.mode, "in_favour", "", words);
}

}  // namespace

json advice_json(const DeviceAdvice& advice) { return device_json(advice); }

void JsonExporter::write(const Advice& advice, std::ostream& out) const {
  json devices = json::array();
  for (const DeviceAdvice& device : advice.devices) devices.push_back(device_json(device));
  const json document = {{"kind", "ulpscope advice"}, {"version", 1}, {"file", advice.file}, {"experiment", advice.experiment}, {"devices", std::move(devices)}, {"notes", advice.notes}};
  out << document.dump(2, ' ', false, json::error_handler_t::replace) << '\n';
}

void CsvExporter::write(const Advice& advice, std::ostream& out) const {
  out << "gpu,mode,section,key,value,low,high,unit,provenance,text\r\n";
  for (const DeviceAdvice& a : advice.devices) {
    const Row row{a, out};
    row.text(a.winner, "answer", "outcome", std::string(name(a.outcome)));
    row.text(a.winner, "answer", "reason", a.reason);
    if (!a.runner_up.empty()) row(a.runner_up, "answer", "runner_up", a.margin, "", "");
    for (const std::string& words : a.costs) row.text(a.winner, "cost", "", words);
    for (const std::string& words : a.would_change) row.text("", "change", "", words);
    for (const std::string& words : a.said) row.text("", "said", "", words);
    row.text(a.winner, "setting", "hugging_face", a.settings.hugging_face);
    row.text(a.winner, "setting", "pytorch", a.settings.pytorch);
    row.text(a.winner, "setting", "deepspeed", a.settings.deepspeed);
    for (const ModeAdvice& m : a.modes) mode_rows(row, m, !a.device.empty());
  }
  for (const std::string& note : advice.notes) out << fmt::format(",,note,,,,,,,{}\r\n", csv_quoted(note));
}

}  // namespace ulpscope::reports
