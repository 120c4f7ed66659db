#include "reports/analysis/machine_modes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kernels/error.h"
#include "reports/analysis/statistics.h"

namespace ulpscope::reports::machine_parts {
namespace {

Figure made_of(const Number& value, Provenance provenance) {
  Figure f;
  f.value = value;
  if (value) f.provenance = provenance;
  return f;
}

/// No better than what it is made of.
Provenance weaker(Provenance a, Provenance b) {
  for (const Provenance p : {Provenance::unknown, Provenance::inferred, Provenance::projected, Provenance::emulated})
    if (a == p || b == p) return p;
  return Provenance::computed;
}

Figure ratio(const Figure& above, const Figure& below) {
  if (!above.value || !below.value || *below.value == 0.0) return {};
  return made_of(*above.value / *below.value, weaker(above.provenance, below.provenance));
}

Figure times(const Figure& seconds, const Yardstick& yardstick) {
  if (!seconds.value || !yardstick.value) return {};
  return made_of(*seconds.value * *yardstick.value, weaker(seconds.provenance, provenance_of(yardstick)));
}

std::string base_mode(const std::string& mode) { return mode.substr(0, mode.find('@')); }

void add_time(MachineFigures& figures, const ModeOfMachine& of) {
  figures.step = of.mode->step_seconds;
  figures.tokens_per_second = of.mode->tokens_per_second;
  figures.step_from = figures.step.value ? name(StepSource::timing_phase) : name(StepSource::none);
  if (!figures.step.value && of.time != nullptr) {
    figures.step = of.time->step;
    figures.step_from = name(of.time->step_from);
  }
  if (figures.emulated && figures.step.value) figures.step.provenance = Provenance::emulated;
  if (figures.emulated && figures.tokens_per_second.value) figures.tokens_per_second.provenance = Provenance::emulated;
}

void add_yardsticks(MachineFigures& figures, const ModeOfMachine& of, const ModeSupport& there) {
  if (of.time == nullptr) return;
  if (of.time->peaks) {
    const Gpu& gpu = of.time->peaks->gpu;
    const char* rates = gpu.present ? "reported" : "table";
    if (there.support == Support::native || there.support == Support::no_gain || there.support == Support::no_effect)
      if (there.peak) figures.peak = {there.peak, rates};
    if (gpu.bandwidth_gbs) figures.bandwidth = {gpu.bandwidth_gbs, "table"};
    figures.clock = {gpu.boost_mhz, rates};
  }
  if (!of.time->condition) return;
  const GpuCondition& condition = *of.time->condition;
  if (condition.core_clock_mhz.value) figures.clock = {condition.core_clock_mhz.value, "measured"};
  figures.slowed = condition.slowed;
  figures.slowed_why = condition.why;
  figures.throttled = condition.slowed.value.value_or(0.0) >= often_slowed;
}

/// What one machine says, without the others.
MachineFigures own_figures(const ModeOfMachine& of) {
  MachineFigures figures;
  if (of.mode == nullptr) return figures;
  figures.there = true;
  ModeSupport there{.support = Support::unknown};
  if (of.time != nullptr && of.time->peaks) there = how_it_runs(of.time->peaks->gpu, base_mode(of.mode->mode));
  const bool in_software = of.mode->emulated || !of.mode->sums.empty() || (of.time != nullptr && of.time->emulated);
  figures.emulated = in_software || there.support == Support::emulated;
  figures.runs = figures.emulated ? name(Support::emulated) : of.machine->device_kind == "cpu" ? name(Support::native) : name(there.support);
  add_time(figures, of);
  add_yardsticks(figures, of, there);
  if (of.time != nullptr && of.time->device) figures.busy = of.time->device->busy;
  figures.peak_bytes = of.mode->peak_bytes;
  if (figures.emulated || (of.time != nullptr && !of.time->invalid.empty())) return figures;
  figures.by_peak = times(figures.step, figures.peak);
  figures.by_bandwidth = times(figures.step, figures.bandwidth);
  figures.by_clock = times(figures.step, figures.clock);
  return figures;
}

/// Why its time is no time of a device's speed; empty: nothing says so.
std::string no_speed(const MachineFigures& figures, const ModeOfMachine& of) {
  const std::string& tag = of.machine->tag;
  if (!figures.step.value) return fmt::format("no step was timed on {}", tag);
  if (figures.emulated) return fmt::format("the times of {} are emulated: no claim on speed", tag);
  if (of.time != nullptr && !of.time->invalid.empty()) return fmt::format("the time of {} is invalid: {}", tag, of.time->invalid);
  if (of.machine->device_kind != "cpu" && figures.busy.value && *figures.busy.value < launch_bound_below)
    return fmt::format("hosts are compared: the GPU of {} is busy for {:.0f} % of the step", tag, 100.0 * *figures.busy.value);
  return "";
}

void add_ratios(MachineFigures& figures, const MachineFigures& first) {
  figures.ratio = ratio(figures.step, first.step);
  figures.by_peak_ratio = ratio(figures.by_peak, first.by_peak);
  figures.by_bandwidth_ratio = ratio(figures.by_bandwidth, first.by_bandwidth);
  figures.by_clock_ratio = ratio(figures.by_clock, first.by_clock);
}

/// Of the seeds that both finished.
Figure loss_difference(const ModeResult& mode, const ModeResult& first) {
  std::vector<double> differences;
  for (const RunResult& run : mode.runs)
    for (const RunResult& twin : first.runs)
      if (twin.run.seed == run.run.seed && run.complete() && twin.complete() && run.final_loss && twin.final_loss) differences.push_back(*run.final_loss - *twin.final_loss);
  Figure f = made_of(mean(differences), Provenance::computed);
  f.samples = std::ssize(differences);
  if (const auto interval = mean_interval(differences)) {
    f.low = interval->low;
    f.high = interval->high;
  }
  return f;
}

void add_notes(MachineMode& row, const std::vector<ModeOfMachine>& at) {
  for (std::size_t i = 0; i < at.size(); ++i) {
    const MachineFigures& figures = row.at[i];
    if (!figures.there) continue;
    const std::string& tag = at[i].machine->tag;
    if (figures.throttled)
      row.notes.push_back(fmt::format("{} was throttled: its clock was held down in {:.0f} % of the samples{}", tag, 100.0 * *figures.slowed.value,
                                      figures.slowed_why.empty() ? "" : ": " + figures.slowed_why));
    if (figures.step_from == name(StepSource::recorded_steps)) row.notes.push_back(fmt::format("{} has no timing phase: its step is the median of recorded steps, with recording going on", tag));
    if (at[i].machine->device_kind != "cpu" && figures.step.value && !figures.busy.value)
      row.notes.push_back(fmt::format("how busy the GPU of {} was is not on record: whether hosts are compared cannot be said", tag));
    if (!figures.no_ratio.empty() && std::find(row.notes.begin(), row.notes.end(), figures.no_ratio) == row.notes.end()) row.notes.push_back(figures.no_ratio);
  }
}

}  // namespace

Provenance provenance_of(const Yardstick& yardstick) {
  if (!yardstick.value || yardstick.from == "unknown") return Provenance::unknown;
  return yardstick.from == "measured" ? Provenance::measured : Provenance::inferred;
}

const RunFileReader& Sources::reader(const std::string& path) const {
  for (const RunFileReader* reader : readers_)
    if (reader->path() == path) return *reader;
  throw Error(fmt::format("no reader of {}", path));
}

const ModeTime* Sources::timed(const ModeResult& mode) {
  const ModeTime* best = nullptr;
  for (const RunResult& run : mode.runs) {
    std::unique_ptr<TimeReport>& report = reports_[run.file];
    if (!report) report = std::make_unique<TimeReport>(time_report(reader(run.file)));
    for (const ModeTime& time : report->modes) {
      if (time.run.id != run.run.id) continue;
      if (best == nullptr || (best->step_from != StepSource::timing_phase && time.step_from == StepSource::timing_phase)) best = &time;
    }
  }
  return best;
}

MachineMode side_by_side(const std::string& mode, const std::vector<ModeOfMachine>& at) {
  MachineMode row{.mode = mode};
  std::vector<std::string> why;
  for (const ModeOfMachine& of : at) {
    row.at.push_back(own_figures(of));
    row.node_times.emplace_back(of.time == nullptr ? name(NodeSource::none) : name(of.time->nodes_from));
    why.push_back(row.at.back().there ? no_speed(row.at.back(), of) : "");
  }
  MachineFigures& first = row.at.front();
  std::vector<bool> no_ratio;
  for (std::size_t i = 0; i < at.size(); ++i) {
    MachineFigures& figures = row.at[i];
    figures.no_ratio = !figures.there ? "" : !first.there ? fmt::format("{} has no runs of {}", at.front().machine->tag, mode) : !why[i].empty() ? why[i] : why[0];
    no_ratio.push_back(!figures.there || !figures.no_ratio.empty());
    if (no_ratio.back()) continue;
    add_ratios(figures, first);
  }
  for (std::size_t i = 1; i < at.size(); ++i)
    if (at[i].mode != nullptr && at[0].mode != nullptr) row.at[i].final_loss_difference = loss_difference(*at[i].mode, *at[0].mode);
  row.nodes = nodes_across(at, no_ratio);
  add_notes(row, at);
  return row;
}

std::vector<NodeAcross> nodes_across(const std::vector<ModeOfMachine>& at, const std::vector<bool>& no_ratio) {
  std::map<std::string, std::size_t> index;
  std::vector<NodeAcross> nodes;
  std::vector<double> weight;
  for (std::size_t i = 0; i < at.size(); ++i) {
    if (at[i].time == nullptr) continue;
    for (const NodeTime& node : at[i].time->nodes) {
      if (!node.seconds.value) continue;
      const std::string phase(node.phase ? name(*node.phase) : "");
      std::string key = fmt::format("{}\n{}\n{}", node.name, node.operation, phase);
      for (const NodeTime::Member& member : node.members) key += fmt::format("\n{} {}", member.operation, member.name);
      const auto [place, fresh] = index.emplace(key, nodes.size());
      if (fresh) {
        nodes.push_back({.name = node.name, .operation = node.operation, .phase = phase, .at = std::vector<NodeAcross::At>(at.size())});
        weight.push_back(0.0);
      }
      Figure& seconds = nodes[place->second].at[i].seconds;
      seconds = node.seconds;
      weight[place->second] = std::max(weight[place->second], node.share.value_or(0.0));
    }
  }
  for (NodeAcross& node : nodes)
    for (std::size_t i = 0; i < at.size(); ++i)
      if (!no_ratio[i] && !no_ratio[0]) node.at[i].ratio = ratio(node.at[i].seconds, node.at[0].seconds);
  std::vector<std::size_t> order(nodes.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return weight[a] > weight[b]; });
  std::vector<NodeAcross> sorted;
  for (const std::size_t i : order) sorted.push_back(std::move(nodes[i]));
  return sorted;
}

}  // namespace ulpscope::reports::machine_parts
