// Kernels as a GPU ran them: added up by launch, and what of a step they fill.
#include <fmt/format.h>

#include <algorithm>

#include "reports/analysis/imported.h"
#include "reports/analysis/time_parts.h"
#include "reports/run_file/kernel_scan.h"

namespace ulpscope::reports::time_parts {
namespace {

struct Sum {
  std::int64_t kernels = 0;
  double seconds = 0.0;
  double piped = 0.0;         ///< seconds of the kernels whose tensor pipes were counted
  double pipe_seconds = 0.0;  ///< of them, each times its share
  void add(const KernelSpan& k) {
    const double s = 1e-9 * static_cast<double>(k.duration_ns);
    ++kernels;
    seconds += s;
    if (!k.tensor_pipe) return;
    piped += s;
    pipe_seconds += s * *k.tensor_pipe;
  }
};

void fill(NodeTime& row, const Sum& sum, double steps) {
  row.kernels = static_cast<double>(sum.kernels) / steps;
  row.seconds = figure(sum.seconds / steps, Provenance::measured);
  row.seconds.samples = static_cast<std::int64_t>(steps);
  if (sum.piped > 0.0) row.tensor_pipe = sum.pipe_seconds / sum.piped;
}

/// Time in which at least one of the kernels is at work; they come by their start.
struct Covered {
  std::int64_t nanoseconds = 0;
  std::int64_t until = INT64_MIN;
  void add(const KernelSpan& k) {
    const std::int64_t end = k.start_ns > INT64_MAX - k.duration_ns ? INT64_MAX : k.start_ns + k.duration_ns;
    if (end <= until) return;
    nanoseconds += end - std::max(until, k.start_ns);
    until = end;
  }
};

/// Kernels added up as they come: a run has millions.
struct Tally {
  const Plan& plan;
  std::map<std::int64_t, Covered> steps{};
  std::map<NodeId, Sum> by_launch{};
  std::map<std::string, Sum> by_name{};
  std::int64_t kernels = 0, without_node = 0;
  double seconds = 0.0;

  void add(const KernelSpan& k, std::int64_t step) {
    ++kernels;
    steps[step].add(k);
    seconds += 1e-9 * static_cast<double>(k.duration_ns);
    const auto lead = k.node ? plan.lead_of.find(*k.node) : plan.lead_of.end();
    without_node += lead == plan.lead_of.end() ? 1 : 0;
    (lead != plan.lead_of.end() ? by_launch[lead->second] : by_name[k.name]).add(k);
  }
};

}  // namespace

bool add_kernels(ModeTime& mode, const Plan& plan, std::map<NodeId, NodeTime>& rows, std::vector<NodeTime>& others, const RunFileReader& reader) {
  Tally in_steps{plan}, of_no_step{plan};
  DeviceUse use;
  std::int64_t bad = 0;
  const KernelScan scan = scan_kernels(reader, mode.run.id, INT64_MAX, [&](const KernelSpan& k) {
    if (k.duration_ns <= 0 || k.start_ns <= 0) ++bad;
    else if (k.step) in_steps.add(k, *k.step);
    else of_no_step.add(k, 0);
  });
  if (scan.kernels == 0) return false;
  use.without_step = of_no_step.kernels;
  const bool whole = in_steps.kernels == 0 && of_no_step.kernels > 0 && imported(mode.run);
  if (whole) {   // its figures are of the whole
    use.without_step = 0;
    mode.notes.emplace_back("the trace marks no steps: figures \"a step\" are of the whole trace");
  }
  const Tally& tally = whole ? of_no_step : in_steps;
  if (tally.kernels == 0) {
    mode.notes.push_back(fmt::format("{} kernels were recorded, none with a time stamp and a known step: no time per step can be made of them", scan.kernels));
    return false;
  }
  use.traced_steps = std::ssize(tally.steps);
  use.kernels = tally.kernels;
  use.without_node = tally.without_node;
  const auto steps = static_cast<double>(use.traced_steps);
  double busy = 0.0;
  for (const auto& [step, covered] : tally.steps) busy += 1e-9 * static_cast<double>(covered.nanoseconds);
  for (const auto& [lead, sum] : tally.by_launch) fill(rows.at(lead), sum, steps);
  for (const auto& [kernel, sum] : tally.by_name) {
    NodeTime row{.name = kernel, .operation = "kernel", .category = kernel_category(kernel), .tensor_cores = TensorCores::not_a_product};
    fill(row, sum, steps);
    others.push_back(std::move(row));
  }
  use.kernels_per_step = figure(static_cast<double>(use.kernels) / steps, Provenance::counted);
  use.kernel_seconds = figure(ratio(tally.seconds, static_cast<double>(use.kernels)), Provenance::measured);
  use.busy_seconds = figure(busy / steps, Provenance::measured);
  use.busy = figure(ratio(use.busy_seconds.value, mode.step.value), Provenance::computed);
  mode.device = use;
  mode.sampled_steps = use.traced_steps;
  if (use.without_step > 0) mode.notes.push_back(fmt::format("{} kernels of no known step are in no figure per step", use.without_step));
  if (bad > 0) mode.notes.push_back(fmt::format("{} of {} kernel records have no usable time stamp or duration: they are left out", bad, scan.kernels));
  return true;
}

}  // namespace ulpscope::reports::time_parts
