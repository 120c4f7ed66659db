#include "reports/analysis/diagnosis/evidence.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "reports/analysis/steps_to_read.h"

namespace ulpscope::reports {
namespace {

/// Those that overflow are the greatest: the others lie in what is left of the binades.
Number greatest_kept(const TensorStatsRecord& row) {
  std::int64_t beyond = row.overflowed.value_or(0);
  if (beyond == 0) return row.greatest_magnitude.value_or(0.0);
  if (!row.histogram) return std::nullopt;
  const ExponentHistogram& h = *row.histogram;
  for (std::size_t i = h.counts.size(); i > 0; --i) {
    const auto here = static_cast<std::int64_t>(h.counts[i - 1]);
    if (here > beyond) return std::ldexp(1.0, h.first + static_cast<int>(i));
    beyond -= here;
  }
  return 0.0;
}

Stat stat_of(const TensorStatsRecord& row) {
  Stat s;
  s.elements = row.elements;
  s.nan = row.nan.value_or(0);
  s.positive_infinite = row.positive_infinite.value_or(0);
  s.negative_infinite = row.negative_infinite.value_or(0);
  s.overflowed = row.overflowed.value_or(0);
  s.flushed = row.flushed.value_or(0);
  s.zero = row.zero.value_or(0);
  s.lost = row.lost_updates.value_or(0);
  s.least = row.least_magnitude.value_or(0.0);
  s.greatest = row.greatest_magnitude.value_or(0.0);
  s.greatest_kept = greatest_kept(row);
  s.mean = row.mean;
  s.rms = row.rms;
  s.shadow_error = row.shadow_error;
  s.error_greatest = row.rounding_error_greatest;
  s.rounding_rms = row.rounding_error_rms;
  s.row_error = row.rounding_error_rms;
  s.provenance = row.provenance;
  return s;
}

/// Weighted by the finite elements of each.
Number mixed(const Number& a, double weight_a, const Number& b, double weight_b) {
  if (!a) return b;
  if (!b || weight_a + weight_b <= 0.0) return a;
  return (*a * weight_a + *b * weight_b) / (weight_a + weight_b);
}

void merge(Stat& into, const Stat& from) {
  if (into.elements == 0) {
    into = from;
    return;
  }
  const auto a = static_cast<double>(into.elements - into.nan - into.infinite());
  const auto b = static_cast<double>(from.elements - from.nan - from.infinite());
  into.mean = mixed(into.mean, a, from.mean, b);
  const auto square = [](const Number& x) { return x ? Number(*x * *x) : x; };
  into.rms = mixed(square(into.rms), a, square(from.rms), b);
  if (into.rms) into.rms = std::sqrt(*into.rms);
  into.rounding_rms = mixed(square(into.rounding_rms), a, square(from.rounding_rms), b);
  if (into.rounding_rms) into.rounding_rms = std::sqrt(*into.rounding_rms);
  into.elements += from.elements;
  into.nan += from.nan;
  into.positive_infinite += from.positive_infinite;
  into.negative_infinite += from.negative_infinite;
  into.overflowed += from.overflowed;
  into.flushed += from.flushed;
  into.zero += from.zero;
  into.lost += from.lost;
  if (from.least > 0.0 && (into.least == 0.0 || from.least < into.least)) into.least = from.least;
  into.greatest = std::max(into.greatest, from.greatest);
  into.greatest_kept = into.greatest_kept && from.greatest_kept ? Number(std::max(*into.greatest_kept, *from.greatest_kept)) : std::nullopt;
  if (from.row_error) into.row_error = std::max(into.row_error.value_or(0.0), *from.row_error);
  if (from.shadow_error) into.shadow_error = std::max(into.shadow_error.value_or(0.0), *from.shadow_error);
  if (from.error_greatest) into.error_greatest = std::max(into.error_greatest.value_or(0.0), *from.error_greatest);
}

/// A damaged file may say anything.
constexpr std::int64_t most_micro_batches = 1 << 20;

// Shadow steps, rehearsals and ranges are other calculations: they say nothing of what this run computed.
bool of_the_run(const TensorStatsRecord& row) {
  if (row.micro_batch < 0 || row.micro_batch >= most_micro_batches) return false;
  return row.observation == "sampled" || row.observation == "replay";
}

std::vector<ObservedStep> gather(const std::vector<TensorStatsRecord>& rows) {
  std::set<std::int64_t> replayed;
  for (const TensorStatsRecord& row : rows)
    if (row.observation == "replay") replayed.insert(row.step);
  std::map<std::int64_t, ObservedStep> steps;
  for (const TensorStatsRecord& row : rows) {
    const bool replay = replayed.contains(row.step);
    if (!of_the_run(row) || (replay && row.observation != "replay")) continue;  // the replay has every node
    ObservedStep& step = steps[row.step];
    step.step = row.step;
    step.replay = replay;
    step.micro_batches = std::max(step.micro_batches, row.micro_batch + 1);
    if (static_cast<std::int64_t>(step.by_micro_batch.size()) <= row.micro_batch)
      step.by_micro_batch.resize(static_cast<std::size_t>(row.micro_batch) + 1);
    const Stat stat = stat_of(row);
    step.by_micro_batch[static_cast<std::size_t>(row.micro_batch)][row.tensor] = stat;
    merge(step.all[row.tensor], stat);
  }
  std::vector<ObservedStep> list;
  for (auto& [number, step] : steps) list.push_back(std::move(step));
  return list;
}

/// What a view shows is what it is a view of.
void fill_views(const PlanView& plan, std::map<TensorId, Stat>& stats) {
  for (const PlanNode& node : plan.nodes()) {
    if (!is_view(node) || node.outputs.empty() || node.inputs.empty() || !node.inputs.front() ||
        stats.contains(node.outputs.front()))
      continue;
    if (const auto of = stats.find(*node.inputs.front()); of != stats.end())
      stats.emplace(node.outputs.front(), Stat(of->second));
  }
}

}  // namespace

const Stat* ObservedStep::stat(TensorId tensor) const {
  const auto found = all.find(tensor);
  return found == all.end() ? nullptr : &found->second;
}

const Stat* ObservedStep::stat(TensorId tensor, std::int64_t micro_batch) const {
  if (micro_batch >= 0 && micro_batch < static_cast<std::int64_t>(by_micro_batch.size())) {
    const auto& map = by_micro_batch[static_cast<std::size_t>(micro_batch)];
    if (const auto found = map.find(tensor); found != map.end()) return &found->second;
  }
  return stat(tensor);
}

Evidence::Evidence(const RunFileReader& reader, const RunRecord& run, std::int64_t most_rows) : run_(run) {
  if (run.plan) plan_ = PlanView(reader, *run.plan);
  steps_ = reader.steps(run.id);
  events_ = reader.events(run.id);
  evaluations_ = reader.evaluations(run.id);
  if (most_rows > 0) {
    const std::size_t all = reader.observed_steps(run.id).size();
    std::vector<std::int64_t> steps = steps_to_read(reader, run.id, most_rows);
    left_out_ = static_cast<std::int64_t>(all - steps.size());
    reading_ = words_of_reading(reader, run.id, steps);
    if (left_out_ > 0) read_ = std::move(steps);
  }
  const std::vector<TensorStatsRecord> rows = statistics(reader);
  for (const TensorStatsRecord& row : rows)
    if (row.observation == "shadow") see_shadow(row);
  for (const CompletenessRecord& row : reader.completeness())
    if ((row.kind == "dropped" || row.kind == "lost") && row.subject == "tensor_stats") lost_statistics_ += row.count.value_or(1);
  look_at(rows);
}

Evidence::Evidence(const RunRecord& run, PlanView plan, const StepRecord& step, const std::vector<TensorStatsRecord>& rows)
    : run_(run), plan_(std::move(plan)), steps_{step} {
  look_at(rows);
}

void Evidence::look_at(const std::vector<TensorStatsRecord>& rows) {
  observed_ = gather(rows);
  for (ObservedStep& step : observed_) {
    fill_views(plan_, step.all);
    for (auto& stats : step.by_micro_batch) fill_views(plan_, stats);
  }
  const nlohmann::json attributes = nlohmann::json::parse(run_.attributes_json, nullptr, false);
  if (attributes.is_object() && attributes.contains("train")) train_ = attributes["train"];
}

void Evidence::see_shadow(const TensorStatsRecord& row) {
  if (plan_.loss() == row.tensor && row.mean) shadow_losses_[row.step].push_back(*row.mean);
  const PlanNode* const made_by = plan_.producer(row.tensor);
  if (made_by != nullptr && made_by->record.phase == Phase::forward && is_norm(*made_by)) merge(shadow_norms_[row.step][row.tensor], stat_of(row));
}

std::vector<TensorStatsRecord> Evidence::statistics(const RunFileReader& reader) const {
  if (!read_) return reader.tensor_stats(run_.id);
  std::vector<TensorStatsRecord> rows;
  for (const std::int64_t step : *read_)
    for (TensorStatsRecord& row : reader.tensor_stats(run_.id, {.first = step, .end = step + 1}))
      if (row.step == step) rows.push_back(std::move(row));   // from 0 on is everything below it, too
  return rows;
}

const ObservedStep* Evidence::observed_step(std::int64_t step) const {
  const auto found =
      std::find_if(observed_.begin(), observed_.end(), [&](const ObservedStep& o) { return o.step == step; });
  return found == observed_.end() ? nullptr : &*found;
}

void Evidence::look_only_at(std::int64_t step) {
  one_step_ = true;
  std::erase_if(observed_, [&](const ObservedStep& o) { return o.step != step; });
}

const StepRecord* Evidence::step(std::int64_t step) const {
  const auto found = std::lower_bound(steps_.begin(), steps_.end(), step,
                                      [](const StepRecord& s, std::int64_t n) { return s.step < n; });
  return found == steps_.end() || found->step != step ? nullptr : &*found;
}

const nlohmann::json* Evidence::find_setting(const std::string& key) const {
  if (!train_.is_object()) return nullptr;
  const std::size_t dot = key.find('.');
  const auto outer = train_.find(key.substr(0, dot));
  if (outer == train_.end()) return nullptr;
  if (dot == std::string::npos) return &*outer;
  if (!outer->is_object()) return nullptr;
  const auto inner = outer->find(key.substr(dot + 1));
  return inner == outer->end() ? nullptr : &*inner;
}

std::string Evidence::setting(const std::string& key) const {
  const nlohmann::json* found = find_setting(key);
  return found != nullptr && found->is_string() ? found->get<std::string>() : "";
}

Number Evidence::numeric_setting(const std::string& key) const {
  const nlohmann::json* found = find_setting(key);
  if (found == nullptr) return std::nullopt;
  if (found->is_boolean()) return found->get<bool>() ? 1.0 : 0.0;
  return found->is_number() ? Number(found->get<double>()) : std::nullopt;
}

Number Evidence::shadow_loss(std::int64_t number) const {
  const auto found = shadow_losses_.find(number);
  if (found == shadow_losses_.end()) return std::nullopt;
  return std::accumulate(found->second.begin(), found->second.end(), 0.0) / static_cast<double>(found->second.size());
}

const Stat* Evidence::in_shadow(std::int64_t number, TensorId tensor) const {
  const auto found = shadow_norms_.find(number);
  if (found == shadow_norms_.end()) return nullptr;
  const auto stat = found->second.find(tensor);
  return stat == found->second.end() ? nullptr : &stat->second;
}

double Evidence::scale(std::int64_t number) const {
  const StepRecord* found = step(number);
  return found != nullptr && found->loss_scale ? *found->loss_scale : 1.0;
}

}  // namespace ulpscope::reports
