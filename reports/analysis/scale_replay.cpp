#include "reports/analysis/scale_replay.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>

#include "kernels/error.h"
#include "kernels/nearest.h"
#include "reports/analysis/diagnosis/normality.h"
#include "reports/analysis/diagnosis/words.h"
#include "reports/analysis/recorded_ranges.h"

namespace ulpscope::reports {
namespace {

std::string described(const scaling::Policy& policy) {
  std::string text = scaling::name(policy);
  if (std::holds_alternative<scaling::NoScaling>(policy)) return text;
  const auto start = static_cast<double>(scaling::initial_state(policy).scale);
  return scaling::is_dynamic(policy) ? fmt::format("{} from {}", text, scale_amount(start)) : fmt::format("{} {}", text, scale_amount(start));
}

/// One more step of a policy.
void count(PolicyReplay& replay, const ReplayedStep& step, std::map<float, std::pair<std::int64_t, std::int64_t>>& in_force) {
  const auto scale = static_cast<double>(step.scale);
  if (!replay.first) replay.first = scale;
  replay.least = std::min(replay.least.value_or(scale), scale);
  replay.greatest = std::max(replay.greatest.value_or(scale), scale);
  ++replay.steps;
  replay.skips += step.overflow ? 1 : 0;
  if (step.overflow && !replay.settled_at) ++replay.searching;
  if (!step.overflow) {
    if (!replay.settled_at) replay.settled_at = step.step;
    auto& [steps, latest] = in_force[step.scale];
    ++steps;
    latest = step.step;
  }
  replay.inferred += step.basis == Basis::inferred ? 1 : 0;
  replay.unknown += step.basis == Basis::unknown ? 1 : 0;
  replay.history.push_back(step);
}

void settle(PolicyReplay& replay, const std::map<float, std::pair<std::int64_t, std::int64_t>>& in_force) {
  const auto longest = std::max_element(in_force.begin(), in_force.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (longest != in_force.end() && replay.known()) replay.settled = static_cast<double>(longest->first);
}

PolicyReplay run_policy(const RecordedRanges& ranges, const NamedPolicy& named) {
  PolicyReplay replay{.name = named.name, .policy = described(named.policy)};
  std::map<float, std::pair<std::int64_t, std::int64_t>> in_force;
  scaling::ScalerState state = scaling::initial_state(named.policy);
  for (std::size_t i = 0; i < ranges.steps() && !replay.gave_up; ++i) {
    const RecordedRanges::Answer answer = ranges.overflows(i, state.scale);
    const scaling::Transition transition = scaling::next(named.policy, state, answer.overflow);
    count(replay, {ranges.record(i).step, state.scale, answer.overflow, answer.basis, transition.event}, in_force);
    if (transition.event == scaling::ScaleEvent::gave_up) replay.gave_up = ranges.record(i).step;
    state = transition.state;
  }
  if (replay.known()) replay.last = static_cast<double>(state.scale);
  settle(replay, in_force);
  return replay;
}

/// What happened.
PolicyReplay history(const RecordedRanges& ranges, const Evidence& evidence, const std::optional<scaling::Policy>& policy) {
  PolicyReplay replay{.name = recorded_policy_name, .policy = policy ? described(*policy) : evidence.run().loss_scaling, .provenance = Provenance::counted};
  std::map<float, std::pair<std::int64_t, std::int64_t>> in_force;
  for (std::size_t i = 0; i < ranges.steps(); ++i)
    count(replay, {ranges.record(i).step, ranges.scale(i), !ranges.record(i).finite, Basis::recorded, scaling::ScaleEvent::unchanged}, in_force);
  settle(replay, in_force);
  if (ranges.steps() > 0) replay.last = static_cast<double>(ranges.scale(ranges.steps() - 1));
  for (const EventRecord& event : evidence.events())
    if (ranges.steps() > 0 && event.kind == event_kind::scale_change && event.value && event.step == ranges.record(ranges.steps() - 1).step) replay.last = event.value;
  return replay;
}

void add_notes(RunScaleReplay& run) {
  if (run.incomplete > 0)
    run.notes.push_back(fmt::format("in {} something overflowed when it was recorded: what lies behind it was not seen{}", counted(run.incomplete, "step"),
                                    run.incomplete + run.without_range < run.steps ? ", and is taken from the nearest step in which everything was [inferred]" : ""));
  if (run.without_range > 0)
    run.notes.push_back(fmt::format("{} no ranges (completeness says why): taken from the nearest step that has [inferred]", counted(run.without_range, "step") + (run.without_range == 1 ? " has" : " have")));
  if (run.never_finite > 0)
    run.notes.push_back(fmt::format("{} not finite at any scale: ulpscope diagnose says where it begins", counted(run.never_finite, "step") + (run.never_finite == 1 ? " is" : " are")));
  for (const PolicyReplay& policy : run.policies)
    if (policy.unknown > 0)
      run.notes.push_back(fmt::format("{}: whether {} overflow{} is unknown: {} skips at least, {} at most. In every recorded step something overflowed, and how large it "
                                      "would have been was not seen; a run that begins with a lower scale (train.scaler.init, train.scaler.fixed) sees it",
                                      policy.name, counted(policy.unknown, "step"), policy.unknown == 1 ? "s" : "", policy.skips, policy.skips_at_most()));
}

RunScaleReplay replay_run(const RunFileReader& reader, const RunRecord& record, const ScaleReplayOptions& options) {
  const Evidence evidence(reader, record);
  if (evidence.steps().empty() || evidence.steps().front().step < 0)
    throw UsageError(fmt::format("{}: the steps of {} seed {} {}: there is nothing to go by", reader.path(), record.mode, record.seed,
                                 evidence.steps().empty() ? "are missing from the recording" : "are damaged: one has a negative number"));
  const RecordedRanges ranges(reader, evidence);
  const std::optional<scaling::Policy> policy = recorded_policy(evidence);
  RunScaleReplay run{.run = record, .steps = std::ssize(evidence.steps())};
  run.without_range = ranges.without_range();
  run.incomplete = ranges.incomplete();
  run.never_finite = ranges.never_finite();
  run.recorded = history(ranges, evidence, policy);
  for (NamedPolicy named : options.policies) {
    if (named.name == recorded_policy_name) {
      if (!policy) throw UsageError(fmt::format("--policy recorded: {} of {} has no policy on record; name one of {}", record.mode, reader.path(), fmt::join(scaling::policy_names(), ", ")));
      named.policy = *policy;
    }
    run.policies.push_back(run_policy(ranges, named));
  }
  add_notes(run);
  return run;
}

double number_of(const std::string& text, const std::string& place) {
  std::size_t end = 0;
  double value = 0.0;
  try {
    value = std::stod(text, &end);
    if (end < text.size() && text[end] == '^') {
      const std::size_t at = end + 1;
      std::size_t used = 0;
      value = std::pow(value, std::stod(text.substr(at), &used));
      end = at + used;
    }
  } catch (const std::exception&) {
    end = 0;
  }
  if (end == 0 || end != text.size() || !std::isfinite(value)) throw UsageError(fmt::format("{}: \"{}\" is no number; write 65536 or 2^16", place, text));
  return value;
}

template <class Field>
void assign(Field& field, double value, const std::string& place, const std::string& key) {
  if constexpr (std::is_same_v<Field, bool>) {
    if (value != 0.0 && value != 1.0) throw UsageError(fmt::format("{}: {} is 0 or 1", place, key));
    field = value != 0.0;
  } else if constexpr (std::is_same_v<Field, std::int64_t>) {
    if (value != std::floor(value) || std::fabs(value) > 0x1p53) throw UsageError(fmt::format("{}: {} is a whole number", place, key));
    field = static_cast<std::int64_t>(value);
  } else {
    field = static_cast<Field>(value);
  }
}

/// "init=65536", or the number alone: of the first scale.
void override_number(scaling::Policy& policy, const std::string& words, const std::string& place, std::set<std::string>& given) {
  const std::size_t equals = words.find('=');
  if (equals == 0) throw UsageError(fmt::format("{}: \"{}\" names no number; write init=65536, or 65536 alone for the first scale", place, words));
  std::string key = equals == std::string::npos ? "" : words.substr(0, equals);
  const double value = number_of(equals == std::string::npos ? words : words.substr(equals + 1), place);
  std::vector<std::string> keys;
  bool found = false;
  std::visit(
      [&](auto& p) {
        p.fields([&](const char* each, auto& field) {
          keys.emplace_back(each);
          if (found || (!key.empty() && key != each)) return;
          if (!given.insert(each).second) throw UsageError(fmt::format("{}: {} is given twice", place, each));
          assign(field, value, place, each);
          found = true;
        });
      },
      policy);
  if (!found)
    throw UsageError(fmt::format("{}: the policy {} has no {}; it has {}", place, scaling::name(policy), key.empty() ? "scale" : key, keys.empty() ? "no numbers" : fmt::format("{}", fmt::join(keys, ", "))));
}

NamedPolicy parse_policy(const std::string& text) {
  const std::string place = fmt::format("--policy {}", text);
  std::size_t end = text.find(':');
  NamedPolicy named{.name = text};
  if (text == recorded_policy_name) return named;
  const std::string wanted = text.substr(0, end);
  if (wanted == recorded_policy_name) throw UsageError(fmt::format("{}: {} is the policy of the run as it was, and takes no numbers", place, wanted));
  if (const std::vector<std::string> all = scaling::policy_names(); std::find(all.begin(), all.end(), wanted) == all.end())
    throw UsageError(fmt::format("{}: unknown policy '{}'; did you mean {}? Policies: {}, and {}: that of the run", place, wanted, nearest(wanted, all), fmt::join(all, ", "), recorded_policy_name));
  named.policy = scaling::find_policy(wanted, place);
  std::set<std::string> given;
  while (end != std::string::npos) {
    const std::size_t begin = end + 1;
    end = text.find(':', begin);
    override_number(named.policy, text.substr(begin, end == std::string::npos ? end : end - begin), place, given);
  }
  scaling::check(named.policy, place);
  return named;
}

}  // namespace

std::string_view name(Basis basis) {
  constexpr std::string_view names[] = {"recorded", "projected", "inferred", "unknown"};
  return names[static_cast<std::size_t>(basis)];
}

std::vector<NamedPolicy> parse_policies(const std::vector<std::string>& words) {
  std::vector<NamedPolicy> list;
  for (const std::string& word : words) {
    std::size_t begin = 0;
    while (begin <= word.size()) {
      const std::size_t end = std::min(word.find(',', begin), word.size());
      if (end > begin) list.push_back(parse_policy(word.substr(begin, end - begin)));
      begin = end + 1;
    }
  }
  if (list.empty()) throw UsageError(fmt::format("--policy is missing: say which, as --policy deepspeed,megatron,fixed:1024; there are {}, and {}", fmt::join(scaling::policy_names(), ", "), recorded_policy_name));
  return list;
}

ScaleReplay replay_scales(const RunFileReader& reader, const ScaleReplayOptions& options) {
  ScaleReplay result{.file = reader.path()};
  std::vector<std::string> there;
  std::int64_t chosen = 0;
  const std::vector<MendRecord> mends = reader.mends();
  for (const RunRecord& run : reader.runs()) {
    if (std::any_of(mends.begin(), mends.end(), [&](const MendRecord& m) { return m.trial == run.id; })) continue;
    there.push_back(fmt::format("{} seed {}", run.mode, run.seed));
    if ((!options.mode.empty() && run.mode != options.mode) || (options.seed && run.seed != *options.seed)) continue;
    ++chosen;
    const bool scaled = run.loss_scaling != "none" && !run.loss_scaling.empty();
    if (reader.ranges(run.id, {.limit = 1}).empty() || (!scaled && options.mode.empty())) continue;
    result.runs.push_back(replay_run(reader, run, options));
  }
  if (chosen == 0)
    throw UsageError(fmt::format("{} has no run of {}{}; there are {}", reader.path(), options.mode.empty() ? "any mode" : options.mode,
                                 options.seed ? fmt::format(" with seed {}", *options.seed) : "", there.empty() ? "none" : fmt::format("{}", fmt::join(there, ", "))));
  if (result.runs.empty())
    throw UsageError(fmt::format("{}: no ranges of a run with a loss scale were recorded; record it with ulpscope run ... --ranges (observe.ranges = true), in a mode that scales its loss, such as fp16", reader.path()));
  return result;
}

}  // namespace ulpscope::reports
