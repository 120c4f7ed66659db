#include "reports/analysis/mends.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace ulpscope::reports {
namespace {

using nlohmann::json;

json document(const std::string& text) {
  json parsed = json::parse(text, nullptr, false);
  return parsed.is_object() ? parsed : json::object();
}

std::string text(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

std::vector<std::string> texts(const json& object, const char* key) {
  std::vector<std::string> list;
  if (const auto found = object.find(key); found != object.end() && found->is_array())
    for (const json& element : *found)
      if (element.is_string()) list.push_back(element.get<std::string>());
  return list;
}

std::int64_t integer(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_integer() ? found->get<std::int64_t>() : 0;
}

MendTrial trial_of(const MendRecord& record, const json& detail) {
  MendTrial trial{.record = record};
  const json settings = document(record.settings_json);
  trial.cost = static_cast<int>(integer(detail, "cost"));
  trial.why = text(detail, "why");
  trial.when = text(detail, "when");
  trial.ulpscope = text(settings, "ulpscope");
  trial.settings = text(settings, "frameworks");
  trial.targets = texts(detail, "targets");
  trial.remains = texts(detail, "remains");
  trial.nodes = texts(detail, "nodes");
  trial.minimal = detail.contains("minimal") && detail["minimal"] == true;
  if (detail.contains("without") && detail["without"].is_array())
    for (const json& each : detail["without"])
      if (each.is_object()) trial.without.emplace_back(text(each, "node"), text(each, "outcome"));
  if (const std::int64_t runs = integer(detail, "runs"); runs > 0) trial.runs = runs;
  return trial;
}

/// A verified change that leaves another fault where it is does not mend the run alone.
std::string verdict_of(const MendsOfRun& run) {
  const auto whole = std::find_if(run.trials.begin(), run.trials.end(), [](const MendTrial& t) { return t.record.status == MendStatus::verified && t.remains.empty(); });
  if (whole != run.trials.end()) return fmt::format("mended by: {}", whole->record.change);
  if (run.verified > 0) return "no single change mends everything; each verified one mends what it is for";
  if (run.refuted > 0 && run.not_tried == 0) return "nothing that was tried helps";
  if (run.refuted > 0) return "nothing that was tried helps; not everything was tried";
  return "nothing was tried";
}

}  // namespace

Mends mends(const RunFileReader& reader) {
  Mends all{.file = reader.path()};
  const std::vector<MendRecord> records = reader.mends();
  for (const RunRecord& record : reader.runs()) {
    MendsOfRun run{.run = record};
    for (const MendRecord& mend : records) {
      if (mend.run != record.id) continue;
      const json detail = document(mend.detail_json);
      if (run.trials.empty()) {
        run.faults = texts(detail, "faults");
        run.baseline = text(detail, "baseline");
      }
      run.trials.push_back(trial_of(mend, detail));
      (mend.status == MendStatus::verified ? run.verified : mend.status == MendStatus::refuted ? run.refuted : run.not_tried) += 1;
    }
    if (run.trials.empty()) continue;
    run.verdict = verdict_of(run);
    all.runs.push_back(std::move(run));
  }
  return all;
}

}  // namespace ulpscope::reports
