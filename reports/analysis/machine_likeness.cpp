#include "reports/analysis/machine_likeness.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "reports/analysis/imported.h"
#include "reports/analysis/likeness.h"

namespace ulpscope::reports {
namespace {

using nlohmann::json;

/// Settings that change no bit, and times.
void add_time_settings(Likeness& like, const RunRecord& run) {
  const json attributes = json::parse(run.attributes_json, nullptr, false);
  if (!attributes.is_object() || !attributes.contains("train") || !attributes["train"].is_object()) return;
  for (const char* key : {"fusion", "recompute", "weight_copies"})
    if (attributes["train"].contains(key)) like[fmt::format("train.{}", key)] = attributes["train"][key].dump(-1, ' ', false, json::error_handler_t::replace);
}

enum class Kind : std::uint8_t { batch, sequence, policy, configuration };

/// Differences of a kind that are named.
constexpr std::size_t most_items = 6;

bool of_scaler(const std::string& key) { return key == "train.scaler" || key.starts_with("train.scaler."); }

Kind kind_of(const std::string& key) {
  if (key == "batch" || key == "micro-batches") return Kind::batch;
  if (key == "context" || key == "model.context") return Kind::sequence;
  static const std::set<std::string> policy{"train.policy",        "train.keep_fp32",      "train.tables",          "train.accumulator_format", "train.gradient_format",
                                            "train.moment_format", "train.scalar_format",  "train.scalar_rounding", "train.norm_accumulate",    "train.evaluation_format",
                                            "train.update_rounding", "train.update_arithmetic", "train.widen",      "train.scale_all",          "train.scale_pure"};
  return policy.contains(key) || of_scaler(key) || key.starts_with("train.tables.") ? Kind::policy : Kind::configuration;
}

std::string_view word(Kind kind) {
  switch (kind) {
    case Kind::batch:
      return "another batch";
    case Kind::sequence:
      return "another sequence";
    case Kind::policy:
      return "another precision policy";
    case Kind::configuration:
      break;
  }
  return "another configuration";
}

/// A value as it stands in the record, cut where it is long; in one line.
std::string shown(const std::string* value) {
  if (value == nullptr || value->empty()) return "not set";
  std::string text = *value;
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  constexpr std::size_t most = 40;
  if (text.size() <= most) return text;
  std::size_t end = most;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + "…";
}

const std::string* find(const Likeness& like, const std::string& key) {
  const auto found = like.find(key);
  return found == like.end() ? nullptr : &found->second;
}

bool has_document(const Likeness& like, const std::string& prefix) {
  const auto next = like.lower_bound(prefix);
  return next != like.end() && next->first.starts_with(prefix);
}

/// A recording made elsewhere may not say a thing at all; that is no difference, and no likeness.
std::string not_said(const Likeness& a, const Likeness& b, const std::string& key) {
  for (const char* prefix : {"train.", "model."})
    if (key.starts_with(prefix) && (!has_document(a, prefix) || !has_document(b, prefix))) return fmt::format("settings of the {}", key.starts_with("train.") ? "training" : "model");
  const std::string *in_a = find(a, key), *in_b = find(b, key);
  const auto silent = [](const std::string* value) { return value != nullptr && (*value == "unknown" || value->empty()); };
  static const std::set<std::string> always{"batch", "context", "data", "micro-batches", "model", "optimizer", "parameters", "steps"};
  return always.contains(key) && (silent(in_a) || silent(in_b)) ? key : "";
}

std::string signature_text(const std::vector<Signature>& list) {
  std::string text;
  for (const Signature& s : list) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", s.format, fmt::join(s.shape, "×"));
  return text;
}

/// All that has to be the same.
std::string node_text(const NodeRecord& node) {
  return fmt::format("{} {} ({}): {} > {}", node.operation, node.name, name(node.phase), signature_text(node.inputs), signature_text(node.outputs));
}

}  // namespace

bool of_a_machine(const RunRecord& run) { return !imported(run) || !(run.device.empty() || run.device == "unknown"); }

Alike alike_runs(const RunRecord& first, const RunRecord& other, const std::string& tag, bool scaled) {
  Likeness a = likeness(first), b = likeness(other);
  add_time_settings(a, first);
  add_time_settings(b, other);
  Alike alike;
  std::map<Kind, std::vector<std::string>> of;
  for (const std::string& key : differences(a, b)) {
    if (of_scaler(key) && !scaled) continue;
    if (const std::string silent = not_said(a, b, key); !silent.empty()) {
      if (std::find(alike.unchecked.begin(), alike.unchecked.end(), silent) == alike.unchecked.end()) alike.unchecked.push_back(silent);
      continue;
    }
    // The sequence is part of the model's settings, too: said once.
    if (key == "model.context" && a["context"] != b["context"]) continue;
    // Of another model every setting is another one.
    if ((key.starts_with("model.") || key == "parameters") && a["model"] != b["model"]) continue;
    of[kind_of(key)].push_back(fmt::format("{} is {}, in {} {}", key, shown(find(b, key)), tag, shown(find(a, key))));
  }
  for (auto& [kind, items] : of) {
    const std::size_t more = items.size() > most_items ? items.size() - most_items : 0;
    items.resize(items.size() - more);
    alike.reasons.push_back(fmt::format("{}: {}{}", word(kind), fmt::join(items, "; "), more > 0 ? fmt::format("; and {} more", more) : ""));
  }
  return alike;
}

std::string other_plan(const std::vector<NodeRecord>& first, const std::vector<NodeRecord>& other, const std::string& mode, const std::string& tag) {
  const auto lines = [](std::vector<NodeRecord> nodes) {
    std::stable_sort(nodes.begin(), nodes.end(), [](const NodeRecord& x, const NodeRecord& y) { return x.position < y.position; });
    std::vector<std::string> list;
    for (const NodeRecord& node : nodes) list.push_back(node_text(node));
    return list;
  };
  const std::vector<std::string> a = lines(first), b = lines(other);
  if (a == b) return "";
  std::string text = fmt::format("another plan of {}", mode);
  if (a.size() != b.size()) text += fmt::format(": {} nodes, in {} {}", b.size(), tag, a.size());
  const std::size_t both = std::min(a.size(), b.size());
  std::size_t i = 0;
  while (i < both && a[i] == b[i]) ++i;
  const auto at = [&](const std::vector<std::string>& list) { return i < list.size() ? list[i] : std::string("not there"); };
  return text + fmt::format("{} node {} is {}, in {} {}", a.size() != b.size() ? ";" : ":", i + 1, at(b), tag, at(a));
}

}  // namespace ulpscope::reports
