#include "reports/analysis/report_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "reports/analysis/diagnosis/plan_view.h"
#include "reports/analysis/thinning.h"

namespace ulpscope::reports {
namespace {

constexpr std::size_t count = memory_category_count;
constexpr double half = 0.55;          ///< a category (or the whole) that is not above this share of fp32's did halve
constexpr double worth_saying = 0.02;  ///< of the mode's peak

std::int64_t part(const MemoryRecord& row, MemoryCategory category) { return row.bytes[static_cast<std::size_t>(category)].value_or(0); }

std::string mib(std::int64_t bytes) {
  if (bytes == 0) return "none";
  const double b = static_cast<double>(bytes);
  return b >= 1024.0 * 1024.0 ? fmt::format("{:.1f} MiB", b / 1048576.0) : fmt::format("{:.1f} KiB", b / 1024.0);
}

/// Share of the bytes that the forward pass stores which are results in 4 bytes an element.
Number wide_activations(const PlanView& plan) {
  double wide = 0.0, all = 0.0;
  for (const PlanNode& node : plan.nodes()) {
    if (node.record.phase != Phase::forward || is_view(node) || !node.record.materialised || node.record.operation == "cast") continue;
    for (const TensorId id : node.outputs) {
      const TensorRecord* tensor = plan.tensor(id);
      if (tensor == nullptr || tensor->role != TensorRole::activation || !is_float(plan.format(id))) continue;
      const double bytes = static_cast<double>(elements(tensor->shape)) * storage_bytes(plan.format(id));
      all += bytes;
      if (storage_bytes(plan.format(id)) >= 4) wide += bytes;
    }
  }
  return all > 0.0 ? Number(wide / all) : std::nullopt;
}

std::string reason(MemoryCategory category, const MemoryRecord& mode, const PlanView& plan) {
  switch (category) {
    case MemoryCategory::weights:
      return part(mode, MemoryCategory::master_weights) > 0 ? "copies in 16 bits, beside the master weights" : "they are kept in fp32";
    case MemoryCategory::master_weights: return "fp32 weights that the optimizer updates, beside the 16-bit copies";
    case MemoryCategory::gradients: return "gradients of the weights are kept in the weights' own format";
    case MemoryCategory::optimizer_state: return "moments are kept in fp32 whatever the mode computes in";
    case MemoryCategory::casts: return "values cast to 16 bits, beside what they were cast from";
    case MemoryCategory::activations:
      if (const Number wide = wide_activations(plan)) return fmt::format("{:.0f} % of the bytes that the forward pass stores stay in fp32 by the policy", 100.0 * *wide);
      return "results that stay in fp32 by the policy";
    case MemoryCategory::buffers: return "running statistics stay in fp32";
    case MemoryCategory::inputs: return "the batch and constants do not depend on the mode";
    case MemoryCategory::gaps: return "alignment and placement in the arena";
    case MemoryCategory::workspace: return "scratch of the kernels";
    case MemoryCategory::observation: return "what is held to observe";
  }
  return "";
}

void explain(const MemoryRecord& fp32, const PlanView& plan, bool tf32, ModeMemory& mode) {
  const auto own = bytes_without_observation(*mode.peak);
  if (!own || !mode.ratio || *mode.ratio <= half) return;
  if (tf32) {
    mode.why.emplace_back("tf32 is stored in 32 bits: products read less of each value, and nothing is kept narrower");
    return;
  }
  std::vector<std::pair<std::int64_t, MemoryCategory>> parts;   // what halving each category would still save
  for (std::size_t i = 0; i < count; ++i) {
    const auto category = static_cast<MemoryCategory>(i);
    const std::int64_t here = part(*mode.peak, category), there = part(fp32, category);
    if (category == MemoryCategory::observation || static_cast<double>(here) <= half * static_cast<double>(there)) continue;
    if (static_cast<double>(here) > worth_saying * static_cast<double>(*own)) parts.emplace_back(here - there / 2, category);
  }
  std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  for (const auto& [excess, category] : parts) {
    std::string words(name(category));
    std::replace(words.begin(), words.end(), '_', ' ');
    mode.why.push_back(fmt::format("{}: {} against fp32's {}: {}", words, mib(part(*mode.peak, category)), mib(part(fp32, category)), reason(category, *mode.peak, plan)));
  }
}

/// Results that are made and still to be read, after each node. None where the plan does not say what its tensors are.
std::vector<MemoryPoint> live_results(const PlanView& plan) {
  const std::vector<PlanNode>& nodes = plan.nodes();
  std::map<TensorId, TensorId> of;   // views: what they are views of
  const auto base = [&](TensorId id) {
    for (auto found = of.find(id); found != of.end(); found = of.find(id)) id = found->second;
    return id;
  };
  std::map<TensorId, std::size_t> last;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const auto& in : nodes[i].inputs)
      if (in) last[base(*in)] = i;
    if (is_view(nodes[i]) && !nodes[i].outputs.empty() && !nodes[i].inputs.empty() && nodes[i].inputs.front() && *nodes[i].inputs.front() != nodes[i].outputs.front())
      of[nodes[i].outputs.front()] = base(*nodes[i].inputs.front());
  }
  std::vector<std::int64_t> change(nodes.size() + 1, 0);
  bool known = false;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (is_view(nodes[i]) || !nodes[i].record.materialised) continue;
    for (const TensorId id : nodes[i].outputs) {
      const TensorRecord* tensor = plan.tensor(id);
      if (tensor == nullptr || !tensor->materialised) continue;
      if (tensor->role != TensorRole::activation && tensor->role != TensorRole::gradient && tensor->role != TensorRole::weight) continue;
      const std::int64_t bytes = elements(tensor->shape) * storage_bytes(plan.format(id));
      const auto end = last.find(id);
      known = true;
      change[i] += bytes;
      change[end == last.end() ? i + 1 : std::max(end->second, i) + 1] -= bytes;
    }
  }
  std::vector<MemoryPoint> points;
  if (!known) return points;
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    bytes += change[i];
    points.push_back({static_cast<std::int64_t>(i), bytes, nodes[i].record.name, std::string(name(nodes[i].record.phase))});
  }
  return points;
}

/// Of one step: the first that was sampled within.
std::vector<MemoryPoint> sampled(const ReportRun& run, const PlanView& plan) {
  std::vector<MemoryPoint> points;
  std::optional<std::int64_t> step;
  for (const MemoryRecord& row : run.reader->memory(run.run.id, MemoryKind::sample)) {
    if (!row.position || !row.total_bytes || (step && row.step != step)) continue;
    step = row.step;
    MemoryPoint point{.position = *row.position, .bytes = *row.total_bytes};
    if (*row.position >= 0 && *row.position < std::ssize(plan.nodes())) {
      const NodeRecord& node = plan.nodes()[static_cast<std::size_t>(*row.position)].record;
      point.node = node.name;
      point.phase = name(node.phase);
    }
    if (points.empty() || point.position > points.back().position) points.push_back(std::move(point));
  }
  return points;
}

std::vector<MemoryPoint> thinned(const std::vector<MemoryPoint>& points, std::int64_t buckets) {
  Thinning thinning(buckets);
  for (const MemoryPoint& point : points) thinning.add(point.position, static_cast<double>(point.bytes));
  std::vector<MemoryPoint> kept;
  auto next = points.begin();
  for (const SeriesPoint& point : thinning.curve().points) {
    next = std::find_if(next, points.end(), [&](const MemoryPoint& p) { return p.position == point.step; });
    kept.push_back(*next);
  }
  return kept;
}

void add_curve(const ReportRun& run, const PlanView& plan, std::int64_t buckets, ModeMemory& mode) {
  std::vector<MemoryPoint> points = sampled(run, plan);
  mode.curve_provenance = Provenance::counted;
  if (points.empty()) {
    points = live_results(plan);
    mode.curve_provenance = points.empty() ? Provenance::unknown : Provenance::computed;
  }
  mode.curve = thinned(points, buckets);
}

}  // namespace

std::optional<std::int64_t> bytes_without_observation(const MemoryRecord& row) {
  if (!row.total_bytes) return std::nullopt;
  return *row.total_bytes - part(row, MemoryCategory::observation);
}

MemorySection memory_section(const std::vector<ReportRun>& runs, const Comparison& comparison, std::int64_t buckets) {
  MemorySection section;
  std::map<std::string, MemoryRecord> fp32;   // by setting
  for (std::size_t m = 0; m < comparison.modes.size(); ++m) {
    const ModeResult& result = comparison.modes[m];
    ModeMemory mode;
    bool any = false;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      if (runs[i].mode_index != m) continue;
      const RunResult& own = result.runs[static_cast<std::size_t>(std::find_if(result.runs.begin(), result.runs.end(), [&](const RunResult& r) {
        return r.run.id == runs[i].run.id && r.file == runs[i].file;
      }) - result.runs.begin())];
      const bool greater = own.peak && (!mode.peak || *own.peak->total_bytes > *mode.peak->total_bytes);
      if (any && !greater) continue;
      mode.run = i;
      if (own.peak) mode.peak = own.peak;
      any = true;
    }
    if (!any) continue;
    const ReportRun& run = runs[mode.run];
    for (const MemoryRecord& row : run.reader->memory(run.run.id, MemoryKind::predicted)) mode.predicted = row;
    const PlanView plan = run.run.plan ? PlanView(*run.reader, *run.run.plan) : PlanView();
    add_curve(run, plan, buckets, mode);
    if (mode.peak && run.mode == "fp32") fp32[run.tag] = *mode.peak;
    if (const auto reference = fp32.find(run.tag); mode.peak && reference != fp32.end() && run.mode != "fp32") {
      const auto there = bytes_without_observation(reference->second);
      const auto here = bytes_without_observation(*mode.peak);
      if (here && there && *there > 0) mode.ratio = static_cast<double>(*here) / static_cast<double>(*there);
      explain(reference->second, plan, run.run.mode == "tf32", mode);
    }
    if (mode.peak || mode.predicted || !mode.curve.empty()) section.modes.push_back(std::move(mode));
  }
  return section;
}

}  // namespace ulpscope::reports
