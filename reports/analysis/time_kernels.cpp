// Kernels as a GPU ran them: added up by launch, and what of a step they fill.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "reports/analysis/imported.h"
#include "reports/analysis/time_parts.h"

namespace ulpscope::reports::time_parts {
namespace {

struct Sum {
  std::int64_t kernels = 0;
  double seconds = 0.0;
  double piped = 0.0;         ///< seconds of the kernels whose tensor pipes were counted
  double pipe_seconds = 0.0;  ///< of them, each times its share
  void add(const KernelRecord& k) {
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

/// Seconds in which at least one of the kernels is at work; they must be sorted by their start.
double covered_seconds(const std::vector<const KernelRecord*>& kernels) {
  std::int64_t covered = 0;
  std::int64_t until = INT64_MIN;
  for (const KernelRecord* k : kernels) {
    const std::int64_t end = k->start_ns + k->duration_ns;
    if (end <= until) continue;
    covered += end - std::max(until, k->start_ns);
    until = end;
  }
  return 1e-9 * static_cast<double>(covered);
}

}  // namespace

bool add_kernels(ModeTime& mode, const Plan& plan, std::map<NodeId, NodeTime>& rows, std::vector<NodeTime>& others,
                 const std::vector<KernelRecord>& kernels) {
  std::map<std::int64_t, std::vector<const KernelRecord*>> by_step;
  DeviceUse use;
  std::int64_t bad = 0;
  for (const KernelRecord& k : kernels) {
    if (k.duration_ns <= 0 || k.start_ns <= 0) {
      ++bad;
    } else if (!k.step) {
      ++use.without_step;
    } else {
      by_step[*k.step].push_back(&k);
    }
  }
  if (by_step.empty() && use.without_step > 0 && imported(mode.run)) {   // its figures are of the whole
    for (const KernelRecord& k : kernels)
      if (k.duration_ns > 0 && k.start_ns > 0) by_step[0].push_back(&k);
    use.without_step = 0;
    mode.notes.emplace_back("the trace marks no steps: figures \"a step\" are of the whole trace");
  }
  if (by_step.empty()) {
    mode.notes.push_back(fmt::format("{} kernels were recorded, none with a time stamp and a known step: no time per step can be made of them", kernels.size()));
    return false;
  }
  use.traced_steps = std::ssize(by_step);
  const auto steps = static_cast<double>(use.traced_steps);
  std::map<NodeId, Sum> by_launch;
  std::map<std::string, Sum> by_name;
  double busy = 0.0, seconds = 0.0;
  for (auto& [step, list] : by_step) {
    std::stable_sort(list.begin(), list.end(), [](const KernelRecord* a, const KernelRecord* b) { return a->start_ns < b->start_ns; });
    busy += covered_seconds(list);
    for (const KernelRecord* k : list) {
      ++use.kernels;
      seconds += 1e-9 * static_cast<double>(k->duration_ns);
      const bool known = k->node && plan.lead_of.contains(*k->node);
      use.without_node += known ? 0 : 1;
      (known ? by_launch[plan.lead_of.at(*k->node)] : by_name[k->name]).add(*k);
    }
  }
  for (const auto& [lead, sum] : by_launch) fill(rows.at(lead), sum, steps);
  for (const auto& [kernel, sum] : by_name) {
    NodeTime row{.name = kernel, .operation = "kernel", .category = kernel_category(kernel), .tensor_cores = TensorCores::not_a_product};
    fill(row, sum, steps);
    others.push_back(std::move(row));
  }
  use.kernels_per_step = figure(static_cast<double>(use.kernels) / steps, Provenance::counted);
  use.kernel_seconds = figure(ratio(seconds, static_cast<double>(use.kernels)), Provenance::measured);
  use.busy_seconds = figure(busy / steps, Provenance::measured);
  use.busy = figure(ratio(use.busy_seconds.value, mode.step.value), Provenance::computed);
  mode.device = use;
  mode.sampled_steps = use.traced_steps;
  if (use.without_step > 0) mode.notes.push_back(fmt::format("{} kernels of no known step are in no figure per step", use.without_step));
  if (bad > 0) mode.notes.push_back(fmt::format("{} of {} kernel records have no usable time stamp or duration: they are left out", bad, kernels.size()));
  return true;
}

}  // namespace ulpscope::reports::time_parts
