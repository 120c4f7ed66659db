#include "reports/analysis/diagnosis/remedy_trials.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

namespace ulpscope::reports {
namespace {

using nlohmann::json;

/// "train.scaler.init=0.5, train.scaler.min=0.5" begins with a key and a number.
struct Setting {
  std::string key{};
  Number number{};
};

Setting first_setting(const std::string& settings) {
  const std::string first = settings.substr(0, settings.find(','));
  const std::size_t equals = first.find('=');
  if (equals == std::string::npos) return {};
  Setting setting{.key = first.substr(0, equals)};
  double number = 0.0;
  const char* const end = first.data() + first.size();
  if (const auto [stop, error] = std::from_chars(first.data() + equals + 1, end, number); error == std::errc() && stop == end) setting.number = number;
  return setting;
}

std::string own_settings(const MendRecord& mend) {
  const json settings = json::parse(mend.settings_json, nullptr, false);
  const bool told = settings.is_object() && settings.contains("ulpscope") && settings["ulpscope"].is_string();
  return told ? settings["ulpscope"].get<std::string>() : "";
}

/// As Fault::words of profiler/mend names what a trial is for, but for the format at the end of a cast's name.
bool made_for(const MendRecord& mend, const Cause& cause) {
  const std::string_view kind = name(cause.kind);
  const std::string& place = cause.node.empty() ? cause.tensor : cause.node;
  const json detail = json::parse(mend.detail_json, nullptr, false);
  if (!detail.is_object() || !detail.contains("targets") || !detail["targets"].is_array()) return false;
  return std::any_of(detail["targets"].begin(), detail["targets"].end(), [&](const json& target) {
    if (!target.is_string()) return false;
    const std::string text = target.get<std::string>();
    if (text == kind) return true;
    const std::string before = fmt::format("{} at ", kind);
    return text.starts_with(before) && text.size() > before.size() && place.starts_with(text.substr(before.size()));
  });
}

/// 0: it does not stand for the remedy.
int likeness(const Remedy& remedy, const Cause& cause, const MendRecord& mend) {
  const Setting wanted = first_setting(remedy.ulpscope), tried = first_setting(own_settings(mend));
  if (wanted.number && tried.number && wanted.key == tried.key) return *wanted.number == *tried.number ? 3 : 0;
  return made_for(mend, cause) ? 2 : 1;
}

/// Of two that are as like, the one that says more.
int weight(MendStatus status) { return status == MendStatus::verified ? 2 : status == MendStatus::refuted ? 1 : 0; }

}  // namespace

const MendRecord* trial_for(const Remedy& remedy, const Cause& cause, RunId run, const std::vector<MendRecord>& mends) {
  const MendRecord* best = nullptr;
  std::pair<int, int> rank{0, 0};
  for (const MendRecord& mend : mends) {
    if (mend.run != run || remedy.mend.empty() || mend.kind != remedy.mend) continue;
    const std::pair<int, int> here{likeness(remedy, cause, mend), weight(mend.status)};
    if (here.first == 0 || (best != nullptr && here <= rank)) continue;
    best = &mend;
    rank = here;
  }
  return best;
}

std::string status_of(const MendRecord& mend) {
  std::string text(name(mend.status));
  if (mend.status == MendStatus::not_tried) {
    const auto detail = json::parse(mend.detail_json, nullptr, false);
    const bool told = detail.is_object() && detail.contains("why") && detail["why"].is_string();
    return told ? fmt::format("not tried ({})", detail["why"].get<std::string>()) : text;
  }
  if (!mend.how_run.empty()) text += fmt::format(" ({})", mend.how_run);
  if (mend.time_ratio) text += fmt::format(", step time x {:.3g} [{}]", *mend.time_ratio, name(mend.time_provenance));
  if (mend.memory_delta_bytes) text += fmt::format(", memory {:+} bytes", *mend.memory_delta_bytes);
  return text;
}

}  // namespace ulpscope::reports
