#include "reports/analysis/calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "reports/analysis/time.h"
#include "reports/hardware/support.h"
#include "reports/hardware/table.h"

namespace ulpscope::reports {
namespace {

/// Of sorted values, interpolated; there is at least one.
double quantile(const std::vector<double>& sorted, double q) {
  const double place = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const double rest = place - static_cast<double>(below);
  return below + 1 < sorted.size() ? sorted[below] + rest * (sorted[below + 1] - sorted[below]) : sorted[below];
}

Share fit(std::vector<double> values, double greatest) {
  std::sort(values.begin(), values.end());
  Share share{.samples = static_cast<std::int64_t>(values.size())};
  share.spread = {std::min(quantile(values, 0.25), greatest), std::min(quantile(values, 0.5), greatest), std::min(quantile(values, 0.75), greatest)};
  std::vector<double> errors;
  for (const double value : values) errors.push_back(std::fabs(value / share.spread.likely - 1.0));
  std::sort(errors.begin(), errors.end());
  share.error = quantile(errors, 0.5);
  return share;
}

/// The least launch cost that makes the launches add up to the step, by bisection: the sum grows with it.
Number launch_cost(const ModeTime& mode) {
  if (!mode.step.value || mode.untimed > 0 || mode.nodes.empty()) return std::nullopt;
  struct Timed {
    double calls, seconds;
  };
  std::vector<Timed> timed;
  for (const NodeTime& row : mode.nodes) {
    if (!row.seconds.value || !row.calls || *row.calls <= 0.0) return std::nullopt;
    timed.push_back({*row.calls, *row.seconds.value / *row.calls});
  }
  const auto sum = [&](double launch) {
    double all = 0.0;
    for (const Timed& t : timed) all += t.calls * std::max(t.seconds, launch);
    return all;
  };
  double low = 0.0, high = *mode.step.value;
  if (sum(low) >= *mode.step.value || sum(high) <= *mode.step.value) return std::nullopt;
  for (int i = 0; i < 60; ++i) {
    const double middle = 0.5 * (low + high);
    (sum(middle) < *mode.step.value ? low : high) = middle;
  }
  return low;
}

void add_samples(MeasuredRun& measured, const ModeTime& mode) {
  std::map<NodeId, PlannedLaunch> launches;
  for (PlannedLaunch& launch : planned_launches(measured.plan)) launches.emplace(launch.lead, std::move(launch));
  for (const NodeTime& row : mode.nodes) {
    if (!row.node || !row.seconds.value || !row.calls || *row.calls <= 0.0 || *row.seconds.value <= 0.0) continue;
    const auto launch = launches.find(*row.node);
    if (launch == launches.end() || !launch->second.complete) continue;
    const auto work = work_on(launch->second, measured.gpu);
    const Number ideal = work ? ideal_seconds(*work, measured.gpu) : std::nullopt;
    if (!ideal || *ideal <= 0.0) continue;
    const WorkClass product = work->product == WorkClass::memory ? WorkClass::fp32_products : work->product;
    measured.samples.push_back({limited_by_products(*work, measured.gpu) ? product : WorkClass::memory, size_of(*ideal), *ideal * *row.calls / *row.seconds.value});
  }
}

}  // namespace

std::vector<MeasuredRun> measured_runs(const RunFileReader& reader, std::vector<std::string>& left_out) {
  std::vector<MeasuredRun> runs;
  for (const ModeTime& mode : time_report(reader).modes) {
    const auto without = [&](const std::string& why) { left_out.push_back(fmt::format("{}, {}: {}", reader.path(), mode.run.mode, why)); };
    if (mode.run.device_kind != "cuda") {
      without("made on a CPU: it says nothing of a GPU");
      continue;
    }
    if (mode.run.time_provenance != Provenance::measured) {
      without("its device emulates the mode");
      continue;
    }
    const Gpu* gpu = gpu_table().of_device(mode.run.device);
    if (gpu == nullptr) {
      without(fmt::format("{} is not in the table", mode.run.device));
      continue;
    }
    MeasuredRun measured{.file = reader.path(), .run = mode.run, .gpu = *gpu, .plan = time_parts::read_plan(reader, mode.run), .step_seconds = mode.step.value};
    measured.launch_seconds = launch_cost(mode);
    add_samples(measured, mode);
    if (!measured.step_seconds && measured.samples.empty()) without("nothing in it was timed");
    else runs.push_back(std::move(measured));
  }
  return runs;
}

Attainable fitted(const Gpu& gpu, const std::vector<const MeasuredRun*>& runs) {
  Attainable all = assumed(gpu);
  const auto values = [&](bool same, auto&& collect) {
    std::vector<double> found;
    for (const MeasuredRun* run : runs)
      if (!same || run->gpu.name == gpu.name) collect(*run, found);
    return found;
  };
  for (std::size_t c = 0; c < work_class_count; ++c)
    for (std::size_t s = 0; s < work_size_count; ++s) {
      const auto of_kind = [&](const MeasuredRun& run, std::vector<double>& found) {
        for (const MeasuredRun::Sample& sample : run.samples)
          if (static_cast<std::size_t>(sample.work) == c && static_cast<std::size_t>(sample.size) == s) found.push_back(sample.share);
      };
      std::vector<double> found = values(true, of_kind);
      if (std::ssize(found) < least_samples) found = values(false, of_kind);
      // Bytes that stay in the L2 are read faster than the memory gives them: a share of the bandwidth may exceed 1.
      if (std::ssize(found) >= least_samples) all.share[c][s] = fit(std::move(found), c == static_cast<std::size_t>(WorkClass::memory) ? 10.0 : 1.0);
    }
  const auto of_launch = [](const MeasuredRun& run, std::vector<double>& found) {
    if (run.launch_seconds) found.push_back(*run.launch_seconds);
  };
  std::vector<double> found = values(true, of_launch);
  if (found.empty()) found = values(false, of_launch);
  if (!found.empty()) all.launch = fit(std::move(found), 1.0);
  return all;
}

}  // namespace ulpscope::reports
