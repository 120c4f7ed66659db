#include "reports/analysis/calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "reports/analysis/sums.h"
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

/// Of one or two runs there is no range: the assumed one, in proportion.
Share fit_launch(std::vector<double> seconds, const Spread& assumed) {
  Share share = fit(std::move(seconds), 1.0);
  if (share.samples >= least_samples) return share;
  const double likely = share.spread.likely;
  share.spread = {assumed.low / assumed.likely * likely, likely, assumed.high / assumed.likely * likely};
  share.error.reset();
  return share;
}

/// The least launch cost that makes the launches add up to the step, by bisection: the sum grows with it.
Number launch_cost(const ModeTime& mode) {
  if (!mode.step.value || mode.untimed > 0 || mode.nodes.empty()) return std::nullopt;
  struct Row {
    double calls, seconds;
  };
  std::vector<Row> timed;
  for (const NodeTime& row : mode.nodes) {
    if (!row.seconds.value || !row.calls || *row.calls <= 0.0) return std::nullopt;
    timed.push_back({*row.calls, *row.seconds.value / *row.calls});
  }
  const auto sum = [&](double launch) {
    double all = 0.0;
    for (const Row& t : timed) all += t.calls * std::max(t.seconds, launch);
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

/// A launch that was timed.
struct Timed {
  MeasuredRun::Sample sample{};
  double kernel_seconds = 0.0;  ///< of one kernel of it
  bool tiny = false;            ///< its work is too little to fill a launch
};

std::vector<Timed> timed_launches(const MeasuredRun& measured, const ModeTime& mode) {
  std::map<NodeId, PlannedLaunch> launches;
  for (PlannedLaunch& launch : planned_launches(measured.plan)) launches.emplace(launch.lead, std::move(launch));
  Attainable shares = assumed(measured.gpu);
  const double least_launch = shares.launch.spread.low;
  shares.launch.spread = {};
  std::vector<Timed> all;
  for (const NodeTime& row : mode.nodes) {
    if (!row.node || !row.seconds.value || !row.calls || *row.calls <= 0.0 || *row.seconds.value <= 0.0 || row.faster_than_peak) continue;
    const auto launch = launches.find(*row.node);
    if (launch == launches.end() || !launch->second.complete) continue;
    const auto work = work_on(launch->second, measured.gpu);
    const Number ideal = work ? ideal_seconds(*work, measured.gpu) : std::nullopt;
    if (!ideal || *ideal <= 0.0) continue;
    const WorkClass product = work->product == WorkClass::memory ? WorkClass::fp32_products : work->product;
    all.push_back({{limited_by_products(*work, measured.gpu) ? product : WorkClass::memory, size_of(*ideal), *ideal * *row.calls / *row.seconds.value},
                   *row.seconds.value / std::max(*row.calls, row.kernels.value_or(*row.calls)),
                   seconds_of(*work, measured.gpu, shares).seconds.high < least_launch});
  }
  return all;
}

void add_samples(MeasuredRun& measured, const ModeTime& mode) {
  const std::vector<Timed> timed = timed_launches(measured, mode);
  std::vector<double> tiny;
  for (const Timed& t : timed)
    if (t.tiny) tiny.push_back(t.kernel_seconds);
  std::sort(tiny.begin(), tiny.end());
  Number floor;
  if (std::ssize(tiny) >= least_samples) floor = quantile(tiny, 0.5);
  const double launch = floor ? *floor : measured.launch_seconds ? *measured.launch_seconds : assumed(measured.gpu).launch.spread.likely;
  for (const Timed& t : timed) {
    // Whatever too little work for a launch took: it was not the work.
    if (t.tiny || t.kernel_seconds < floor_multiple * launch) ++measured.near_floor;
    else measured.samples.push_back(t.sample);
  }
  if (!measured.launch_seconds) measured.launch_seconds = floor;
}

/// Why the times of this run are none of a GPU's; empty: they are.
std::string no_times(const ModeTime& mode) {
  const RunRecord& run = mode.run;
  if (run.device_kind != "cuda") return "made on a CPU: it says nothing of a GPU";
  if (run.time_provenance == Provenance::emulated) return "its device emulates the mode";
  if (run.time_provenance == Provenance::unknown) return "it does not say whether its times were measured";
  if (run.time_provenance != Provenance::measured) return fmt::format("its times are {}, not measured", name(run.time_provenance));
  if (const std::string sums = sums_remark(run); !sums.empty()) return sums;
  if (!mode.invalid.empty()) return fmt::format("its time is invalid: {}", mode.invalid);
  return {};
}

}  // namespace

std::vector<MeasuredRun> measured_runs(const RunFileReader& reader, std::vector<std::string>& left_out) { return measured_runs(reader, time_report(reader), left_out); }

std::vector<MeasuredRun> measured_runs(const RunFileReader& reader, const TimeReport& times, std::vector<std::string>& left_out) {
  std::vector<MeasuredRun> runs;
  for (const ModeTime& mode : times.modes) {
    const auto without = [&](const std::string& why) { left_out.push_back(fmt::format("{}, {}: {}", reader.path(), mode.run.mode, why)); };
    if (const std::string why = no_times(mode); !why.empty()) {
      without(why);
      continue;
    }
    const Gpu* gpu = gpu_table().of_device(mode.run.device);
    if (gpu == nullptr) {
      without(fmt::format("{} is not in the table", mode.run.device));
      continue;
    }
    MeasuredRun measured{.file = reader.path(), .run = mode.run, .gpu = *gpu, .plan = time_parts::read_plan(reader, mode.run), .step_seconds = mode.step.value};
    const auto impossible = std::count_if(mode.nodes.begin(), mode.nodes.end(), [](const NodeTime& row) { return row.faster_than_peak; });
    if (impossible > 0) {
      without(fmt::format("{} faster than the hardware can be in the plan's format: left out, and so is the step's time", impossible == 1 ? "a product is" : fmt::format("{} products are", impossible)));
      measured.step_seconds.reset();
    } else {
      measured.launch_seconds = launch_cost(mode);
    }
    add_samples(measured, mode);
    if (measured.step_seconds || measured.launch_seconds || !measured.samples.empty()) runs.push_back(std::move(measured));
    else if (impossible == 0) without("nothing in it was timed");
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
  if (!found.empty()) all.launch = fit_launch(std::move(found), all.launch.spread);
  return all;
}

}  // namespace ulpscope::reports
