#include "reports/analysis/likeness.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

namespace ulpscope::reports {
namespace {

using nlohmann::json;

std::string text(const Count& count) { return count ? std::to_string(*count) : "unknown"; }

// {"lr": 1, "scaler": {"init": 2}} as train.lr, train.scaler.init.
void add_settings(Likeness& like, const std::string& name, const json& value) {
  if (!value.is_object()) {
    like[name] = value.dump(-1, ' ', false, json::error_handler_t::replace);
    return;
  }
  for (const auto& [key, member] : value.items()) add_settings(like, name + "." + key, member);
}

// A document that does not parse is compared as the text it is.
void add_document(Likeness& like, const std::string& name, const std::string& document) {
  if (document.empty()) return;
  const json parsed = json::parse(document, nullptr, false);
  if (parsed.is_discarded())
    like[name] = document;
  else
    add_settings(like, name, parsed);
}

void add_data(Likeness& like, const RunRecord& run) {
  const json data = json::parse(run.data_json, nullptr, false);
  const bool known = data.is_object() && data.contains("fingerprint");
  like["data"] = known ? data["fingerprint"].dump() : run.data;
  if (data.is_object() && data.contains("held_out")) like["data.held_out"] = data["held_out"].dump();
}

void add_training(Likeness& like, const RunRecord& run) {
  const json attributes = json::parse(run.attributes_json, nullptr, false);
  if (!attributes.is_object() || !attributes.contains("train")) return;
  add_settings(like, "train", attributes["train"]);
  like.erase("train.evaluate_every");
  like.erase("train.accumulate_as");  // as the mode: it is what is compared
  for (const char* same_bits : {"fusion", "recompute", "weight_copies"}) like.erase(std::string("train.") + same_bits);
  for (const char* twin : {"steps", "batch", "micro_batches", "optimizer"}) like.erase(std::string("train.") + twin);  // said once
}

}  // namespace

Likeness likeness(const RunRecord& run) {
  Likeness like{
      {"model", run.model},           {"parameters", text(run.parameters)},
      {"optimizer", run.optimizer},   {"steps", text(run.steps_planned)},
      {"batch", text(run.batch)},     {"micro-batches", text(run.micro_batches)},
      {"context", text(run.context)}, {"non-standard knobs", fmt::format("{}", fmt::join(run.non_standard, "; "))}};
  add_document(like, "model", run.model_json);
  add_data(like, run);
  add_training(like, run);
  return like;
}

std::vector<std::string> differences(const Likeness& a, const Likeness& b) {
  std::set<std::string> names;
  for (const auto& [name, value] : a) names.insert(name);
  for (const auto& [name, value] : b) names.insert(name);
  std::vector<std::string> different;
  for (const std::string& name : names) {
    const auto in_a = a.find(name);
    const auto in_b = b.find(name);
    if (in_a == a.end() || in_b == b.end() || in_a->second != in_b->second) different.push_back(name);
  }
  return different;
}

}  // namespace ulpscope::reports
