#include "reports/analysis/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "kernels/error.h"
#include "reports/analysis/compare_figures.h"
#include "reports/analysis/files.h"
#include "reports/analysis/imported.h"
#include "reports/analysis/likeness.h"
#include "reports/analysis/machine_likeness.h"
#include "reports/analysis/sums.h"
#include "reports/run_file/counter_rows.h"

namespace ulpscope::reports {
namespace {

std::string experiment_text(const RunRecord& run) {
  if (const auto words = imported_words(run)) return *words;
  std::string words =
      fmt::format("{} on {}", run.model.empty() ? "a model" : run.model, run.data.empty() ? "no data" : run.data);
  if (run.steps_planned) words += fmt::format(", {} step{}", *run.steps_planned, *run.steps_planned == 1 ? "" : "s");
  if (run.batch) words += fmt::format(", batch {}", *run.batch);
  if (run.micro_batches && *run.micro_batches != 1) words += fmt::format(" × {} micro-batches", *run.micro_batches);
  if (run.context) words += fmt::format(", context {}", *run.context);
  return words;
}

std::string device_text(const RunRecord& run) {
  std::string words = run.device.empty() ? "unknown device" : run.device;
  if (run.device_kind == "cpu")
    words += run.threads ? fmt::format(" (cpu, {} thread{})", *run.threads, *run.threads == 1 ? "" : "s") : " (cpu)";
  return words;
}

struct Group {
  Likeness like;
  Setting setting;
  std::string device_key;
  std::map<std::string, ModeResult> modes;
};

int mode_rank(const std::string& mode) {
  static const std::array<std::string, 8> order{"fp32", "tf32", "fp16", "bf16", "fp16+tf32", "bf16+tf32", "fp16_pure", "bf16_pure"};
  return static_cast<int>(std::find(order.begin(), order.end(), mode.substr(0, mode.find('@'))) - order.begin());
}

std::string tag_of(std::size_t index) {
  return index < 26 ? std::string(1, static_cast<char>('A' + index)) : fmt::format("S{}", index + 1);
}

class Builder {
 public:
  void add(const RunFileReader& reader);
  void warn(std::string text) {
    if (std::find(out_.warnings.begin(), out_.warnings.end(), text) == out_.warnings.end())
      out_.warnings.push_back(std::move(text));
  }
  Comparison finish();

 private:
  Group& group_of(const RunRecord& run, const std::string& file);
  void add_run(RunResult result);
  void add_machines();
  void warn_of_differences();
  void warn_of_gaps(const RunFileReader& reader);

  Comparison out_;
  std::vector<const RunFileReader*> readers_;
  std::vector<Group> groups_;
};

Group& Builder::group_of(const RunRecord& run, const std::string& file) {
  const Likeness like = likeness(run);
  const std::string device = device_text(run);
  auto group = std::find_if(groups_.begin(), groups_.end(),
                            [&](const Group& g) { return g.like == like && g.device_key == device; });
  if (group == groups_.end()) {
    groups_.push_back({.like = like,
                       .setting = {.experiment = experiment_text(run), .device = device},
                       .device_key = device,
                       .modes = {}});
    group = groups_.end() - 1;
  }
  std::vector<std::string>& files = group->setting.files;
  if (std::find(files.begin(), files.end(), file) == files.end()) files.push_back(file);
  return *group;
}

void Builder::add_run(RunResult result) {
  const EmulatedSums sums = emulated_sums(result.run);
  const std::string name = sums.unit.empty() ? result.run.mode : fmt::format("{}@{}", result.run.mode, sums.unit);
  ModeResult& mode = group_of(result.run, result.file).modes[name];
  mode.mode = name;
  mode.sums = sums.unit;
  const auto twin = std::find_if(mode.runs.begin(), mode.runs.end(),
                                 [&](const RunResult& other) { return other.run.seed == result.run.seed; });
  if (twin == mode.runs.end()) {
    mode.runs.push_back(std::move(result));
    return;
  }
  const bool newer_is_better = result.complete() && !twin->complete();
  // Products of fp32 have plain sums whatever was asked for: beside runs that asked for others it is no news.
  if (sums.asked == emulated_sums(twin->run).asked)
    warn(fmt::format("{}: seed {} was run twice; the run in {} is used", name, result.run.seed,
                     newer_is_better ? result.file : twin->file));
  if (newer_is_better) *twin = std::move(result);
}

void Builder::add(const RunFileReader& reader) {
  readers_.push_back(&reader);
  if (reader.runs().empty()) warn(fmt::format("there is no run in {}", reader.path()));
  out_.files.push_back(reader.path());
  if (const auto experiment = reader.experiment()) {
    const std::vector<RunRecord> runs = reader.runs();
    const bool others = std::any_of(runs.begin(), runs.end(), [](const RunRecord& run) { return imported(run).has_value(); });
    const std::string producer = producer_words(*experiment, others);
    if (std::find(out_.producers.begin(), out_.producers.end(), producer) == out_.producers.end())
      out_.producers.push_back(producer);
  }
  std::set<RunId> trials;
  for (const MendRecord& mend : reader.mends())
    if (mend.trial) trials.insert(*mend.trial);
  for (const RunRecord& run : reader.runs())
    if (!trials.contains(run.id)) add_run(summarise_run(reader, run));
  warn_of_gaps(reader);
}

// Notes that say why a time is missing, or was taken in another way than the others.
bool about_timing(const CompletenessRecord& row) { return row.subject.starts_with("timing"); }

// "fp16, seed 3: ", or nothing for a remark about the whole file.
std::string run_name(const RunFileReader& reader, const std::optional<RunId>& id) {
  if (!id) return "";
  for (const RunRecord& run : reader.runs())
    if (run.id == *id) return fmt::format("{}, seed {}: ", run.mode, run.seed);
  return fmt::format("run {}: ", static_cast<std::int64_t>(*id));
}

void Builder::warn_of_gaps(const RunFileReader& reader) {
  for (const CompletenessRecord& row : reader.completeness()) {
    if ((row.kind == "note" && !about_timing(row)) || lacks_counters(row)) continue;
    if (row.kind == "note") {
      out_.notes.push_back(fmt::format("{}: {}{}", reader.path(), run_name(reader, row.run), row.detail));
      continue;
    }
    const bool cost = row.kind == "observation_cost";
    std::string words = cost ? fmt::format("{}: watching ({}) cost", reader.path(), row.subject)
                             : fmt::format("{}: {} {}", reader.path(), row.subject, row.kind);
    if (row.count) words += fmt::format(": {}", *row.count);
    if (row.seconds)
      words += fmt::format("{} {:.3g} s{}", cost ? "" : ":", *row.seconds,
                           cost ? fmt::format(", {}", name(row.provenance)) : "");
    if (!row.detail.empty()) words += fmt::format(" ({})", row.detail);
    if (cost) {
      out_.notes.push_back(std::move(words));
    } else {
      warn(std::move(words));
    }
  }
}

/// The comparison of machines speaks of it: it is beside the first, or refused with the reason.
bool spoken_of(const std::optional<MachineComparison>& machines, const std::string& first, const std::string& tag) {
  if (!machines || machines->machines.empty() || machines->machines.front().tag != first) return false;
  const auto is = [&](const auto& one) { return one.tag == tag; };
  return std::any_of(machines->machines.begin(), machines->machines.end(), is) || std::any_of(machines->refused.begin(), machines->refused.end(), is);
}

void Builder::warn_of_differences() {
  if (out_.producers.size() > 1)
    warn(fmt::format("recorded by different versions: {}", fmt::join(out_.producers, ", ")));
  for (std::size_t i = 1; i < groups_.size(); ++i) {
    const std::string items = fmt::format("{}", fmt::join(differences(groups_[0].like, groups_[i].like), ", "));
    if (items.empty())
      warn(fmt::format("{} and {} ran on different devices: speed and memory against fp32 are of each device alone",
                       groups_[0].setting.tag, groups_[i].setting.tag));
    else if (!spoken_of(out_.machines, groups_[0].setting.tag, groups_[i].setting.tag))
      warn(fmt::format("{} and {} are not alike and not held against each other: they differ in {}",
                       groups_[0].setting.tag, groups_[i].setting.tag, items));
  }
}

/// Where there are runs of several machines, or files of one that may not be alike.
void Builder::add_machines() {
  const Setting* first = nullptr;
  for (const Setting& setting : out_.settings) {
    const auto mode = std::find_if(out_.modes.begin(), out_.modes.end(), [&](const ModeResult& m) { return m.tag == setting.tag && !m.runs.empty(); });
    if (mode == out_.modes.end() || !of_a_machine(mode->runs.front().run)) continue;
    if (first == nullptr) first = &setting;
    else if (of_another_file(setting, *first)) {
      out_.machines = compare_machines(readers_, out_.settings, out_.modes);
      return;
    }
  }
}

/// What else than the mode the held-out loss says something of.
std::optional<std::string> evaluation_note(const RunRecord& run) {
  const auto attributes = nlohmann::json::parse(run.attributes_json, nullptr, false);
  if (!attributes.is_object() || !attributes.contains("train") || !attributes["train"].is_object()) return std::nullopt;
  const std::string format = attributes["train"].value("evaluation_format", "mode");
  if (format == "mode") return std::nullopt;
  return fmt::format("held-out loss: weights and everything in {} (train.evaluation_format)", format);
}

void describe(ModeResult& mode) {
  std::sort(mode.runs.begin(), mode.runs.end(),
            [](const RunResult& a, const RunResult& b) { return a.run.seed < b.run.seed; });
  const RunRecord& run = mode.runs.front().run;
  mode.device = run.device;
  mode.device_kind = run.device_kind;
  mode.loss_scaling = run.loss_scaling;
  mode.emulated = run.time_provenance == Provenance::emulated || (run.device_kind == "cpu" && run.mode != "fp32");
  for (const RunResult& result : mode.runs) {
    for (const std::string& knob : result.run.non_standard)
      if (std::find(mode.non_standard.begin(), mode.non_standard.end(), knob) == mode.non_standard.end())
        mode.non_standard.push_back(knob);
    for (const auto& note : {divergence_note(result), status_note(result)})
      if (note) mode.notes.push_back(fmt::format("seed {}: {}", result.run.seed, *note));
  }
  if (const auto note = evaluation_note(run)) mode.notes.push_back(*note);
  for (const std::string& words : imported_notes(run)) mode.notes.push_back(words);
  for (const std::string& words : emulated_sums(run).words) mode.notes.push_back(words);
  for (const std::string& words : sampled_sums(run)) mode.notes.push_back(words);
  if (!mode.non_standard.empty())
    mode.notes.push_back(fmt::format("non-standard: {}", fmt::join(mode.non_standard, ", ")));
}

Comparison Builder::finish() {
  if (groups_.empty()) throw UsageError(fmt::format("there is no run in {}", fmt::join(out_.files, ", ")));
  if (groups_.size() > 1)
    for (std::size_t i = 0; i < groups_.size(); ++i) groups_[i].setting.tag = tag_of(i);
  for (Group& group : groups_)
    for (auto& [name, mode] : group.modes) {
      describe(mode);
      mode.tag = group.setting.tag;
      fill_own_figures(mode);
    }
  for (Group& group : groups_) {
    // fp32 of the same setting, else of the same experiment on another device: losses do not depend on the device.
    const ModeResult* reference = nullptr;
    bool same_setting = false;
    for (const Group& other : groups_) {
      if (other.like != group.like || !other.modes.contains("fp32") || same_setting) continue;
      same_setting = &other == &group;
      if (reference == nullptr || same_setting) reference = &other.modes.at("fp32");
    }
    std::vector<ModeResult*> order;
    for (auto& [name, mode] : group.modes) order.push_back(&mode);
    std::stable_sort(order.begin(), order.end(),
                     [](const ModeResult* a, const ModeResult* b) { return mode_rank(a->mode) < mode_rank(b->mode); });
    for (ModeResult* mode : order) {
      fill_against_reference(*mode, reference, same_setting);
      const auto plain = mode->sums.empty() ? group.modes.end() : group.modes.find(mode->mode.substr(0, mode->mode.find('@')));
      if (plain != group.modes.end()) fill_against_plain_sums(*mode, plain->second, reference);
      out_.modes.push_back(*mode);
    }
    out_.settings.push_back(group.setting);
    if (reference == nullptr)
      warn(fmt::format("there is no fp32 run{}: nothing can be judged",
                       group.setting.tag.empty() ? "" : " for " + group.setting.tag));
  }
  out_.sums_changes = sums_changes(readers_, out_.modes);
  add_machines();
  warn_of_differences();
  return std::move(out_);
}

}  // namespace

Comparison compare(const std::vector<const RunFileReader*>& readers) {
  if (readers.empty()) throw UsageError("compare needs at least one run file");
  const DistinctFiles files = distinct_files(readers);
  Builder builder;
  for (const RunFileReader* reader : files.readers) builder.add(*reader);
  for (const auto& [path, known] : files.again) builder.warn(fmt::format("{} and {} are one file: it counts once", known, path));
  return builder.finish();
}

}  // namespace ulpscope::reports
