#include "gui/models/sections.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "reports/analysis/diagnosis/plan_view.h"
#include "reports/analysis/report_curves.h"
#include "reports/analysis/report_histograms.h"
#include "reports/analysis/scaled_tensors.h"

namespace ulpscope::gui {
namespace {

using reports::RunFileReader;

std::vector<reports::ReportRun> runsOf(const RunFileReader& reader, const ComparisonPointer& comparison) { return reports::report_runs(*comparison, {&reader}); }

std::vector<reports::ReportRun> withoutReaders(std::vector<reports::ReportRun> runs) {
  for (reports::ReportRun& run : runs) run.reader = nullptr;
  return runs;
}

/// Two panels rest on the diagnosis: of the same analysis it is made once.
std::shared_ptr<const reports::Diagnosis> diagnosisOf(const RunFileReader& reader, const ComparisonPointer& comparison) {
  constexpr std::size_t most = 4;  // files
  static std::mutex mutex;
  static std::vector<std::pair<std::weak_ptr<const reports::Comparison>, std::shared_ptr<const reports::Diagnosis>>> known;
  {
    const std::lock_guard lock(mutex);
    for (const auto& [of, diagnosis] : known)
      if (of.lock() == comparison) return diagnosis;
  }
  auto made = std::make_shared<const reports::Diagnosis>(reports::diagnose(reader, {.most_rows = reports::NumericsLimits{}.rows}));
  const std::lock_guard lock(mutex);
  std::erase_if(known, [](const auto& entry) { return entry.first.expired(); });
  if (known.size() == most) known.erase(known.begin());
  known.emplace_back(comparison, made);
  return made;
}

}  // namespace

ScaleData readScale(const RunFileReader& reader, const ComparisonPointer& comparison) {
  std::vector<reports::ReportRun> runs = runsOf(reader, comparison);
  reports::ScaleSection section = reports::scale_section(runs, reports::curves_section(runs), {*diagnosisOf(reader, comparison)});
  return {withoutReaders(std::move(runs)), std::move(section)};
}

OverflowsData readOverflows(const RunFileReader& reader, const ComparisonPointer& comparison) {
  OverflowsData data{.runs = runsOf(reader, comparison)};
  const std::vector<reports::Diagnosis> diagnoses{*diagnosisOf(reader, comparison)};
  data.section = reports::overflows_section(data.runs, diagnoses);
  for (const reports::ReportRun& run : data.runs) {
    const reports::RunDiagnosis* const diagnosis = reports::diagnosis_of(run, diagnoses);
    data.verdicts.push_back(diagnosis == nullptr ? "" : diagnosis->verdict);
  }
  std::map<reports::PlanId, int> depths;
  for (const reports::OverflowEvent& event : data.section.events) {
    std::string& layer = data.layers.emplace_back();
    const auto& plan = data.runs[event.run].run.plan;
    if (event.node.empty() || !plan) continue;
    if (!depths.contains(*plan)) depths[*plan] = reports::layer_depth(reports::PlanView(reader, *plan));
    layer = reports::layer_name(event.node, depths[*plan]);
  }
  data.runs = withoutReaders(std::move(data.runs));
  return data;
}

MemoryData readMemory(const RunFileReader& reader, const ComparisonPointer& comparison) {
  std::vector<reports::ReportRun> runs = runsOf(reader, comparison);
  reports::MemorySection section = reports::memory_section(runs, *comparison);
  return {withoutReaders(std::move(runs)), std::move(section)};
}

NumericsData readNumerics(const RunFileReader& reader, const ComparisonPointer& comparison) {
  std::vector<reports::ReportRun> runs = runsOf(reader, comparison);
  reports::NumericsSection section = reports::numerics_section(runs);
  return {withoutReaders(std::move(runs)), std::move(section)};
}

namespace {

struct Seen {
  std::int64_t elements = 0, bad = 0;
  reports::Number greatest{};
};

/// Of one step, over the micro-batches; a step that was run again under observation shows what happened in it.
std::map<reports::TensorId, Seen> seenIn(const RunFileReader& reader, reports::RunId run, std::int64_t step) {
  const std::vector<reports::TensorStatsRecord> rows = reader.tensor_stats(run, {.first = step, .end = step + 1});
  const bool replay = std::any_of(rows.begin(), rows.end(), [](const auto& row) { return row.observation == "replay"; });
  std::map<reports::TensorId, Seen> seen;
  for (const reports::TensorStatsRecord& row : rows) {
    if (row.observation != (replay ? "replay" : "sampled")) continue;
    Seen& of = seen[row.tensor];
    of.elements += row.elements;
    of.bad += row.nan.value_or(0) + row.positive_infinite.value_or(0) + row.negative_infinite.value_or(0) + row.overflowed.value_or(0);
    if (row.greatest_magnitude) of.greatest = std::max(of.greatest.value_or(0.0), *row.greatest_magnitude);
  }
  return seen;
}

Operand operandOf(const reports::PlanView& plan, reports::TensorId id, bool input, const std::map<reports::TensorId, Seen>& seen) {
  Operand operand{.input = input, .tensor = plan.title(id)};
  if (const reports::TensorRecord* const tensor = plan.tensor(id)) {
    operand.format = tensor->format;
    operand.shape = tensor->shape;
    operand.role = name(tensor->role);
  }
  if (input) {
    if (const reports::PlanNode* const producer = plan.producer(id)) operand.others.push_back(producer->record.name);
  } else {
    for (const std::size_t reader : plan.readers(id)) operand.others.push_back(plan.nodes()[reader].record.name);
  }
  if (const auto found = seen.find(id); found != seen.end()) {
    operand.observed = true;
    operand.elements = found->second.elements;
    operand.notFinite = found->second.bad;
    operand.greatestMagnitude = found->second.greatest;
  }
  return operand;
}

}  // namespace

Neighbourhood readNeighbourhood(const RunFileReader& reader, reports::RunId run, const std::string& node, std::int64_t step) {
  Neighbourhood around;
  const std::vector<reports::RunRecord> runs = reader.runs();
  const auto of = std::find_if(runs.begin(), runs.end(), [&](const reports::RunRecord& r) { return r.id == run; });
  if (of == runs.end() || !of->plan) return around;
  const reports::PlanView plan(reader, *of->plan);
  const reports::PlanNode* const found = plan.node(node);
  if (found == nullptr) return around;
  const std::map<reports::TensorId, Seen> seen = seenIn(reader, run, step);
  around.node = found->record;
  for (std::size_t i = 0; i < found->inputs.size(); ++i) {
    if (found->inputs[i]) around.operands.push_back(operandOf(plan, *found->inputs[i], true, seen));
    else if (i < found->record.inputs.size()) around.operands.push_back({.input = true, .format = found->record.inputs[i].format, .shape = found->record.inputs[i].shape});
  }
  for (const reports::TensorId id : found->outputs) around.operands.push_back(operandOf(plan, id, false, seen));
  if (found->outputs.empty()) {
    for (const reports::Signature& out : found->record.outputs) around.operands.push_back({.input = false, .format = out.format, .shape = out.shape});
  }
  return around;
}

std::vector<reports::TensorHistogram> readHistograms(const RunFileReader& reader, reports::RunId run, const std::string& layer, std::int64_t first, std::int64_t last) {
  constexpr std::int64_t mostSteps = 32;  // of a column that stands for many: its ends and what is between them, evenly
  constexpr std::size_t mostTensors = 64;
  const std::vector<reports::RunRecord> runs = reader.runs();
  const auto of = std::find_if(runs.begin(), runs.end(), [&](const reports::RunRecord& r) { return r.id == run; });
  if (of == runs.end() || !of->plan) return {};
  const reports::PlanView plan(reader, *of->plan);
  const reports::report_parts::Places places(plan);
  reports::report_parts::HistogramPick pick(places);
  std::vector<std::int64_t> steps = reader.observed_steps(run);
  std::erase_if(steps, [&](std::int64_t step) { return step < first || step > last; });
  const auto stride = std::max<std::size_t>(1, (steps.size() + mostSteps - 1) / mostSteps);
  for (std::size_t i = 0; i < steps.size(); i += stride) {
    std::vector<reports::TensorStatsRecord> rows = reader.tensor_stats(run, {.first = steps[i], .end = steps[i] + 1});
    const bool replay = std::any_of(rows.begin(), rows.end(), [](const auto& row) { return row.observation == "replay"; });
    for (reports::TensorStatsRecord& row : rows) {
      const auto* const tensor = places.find(row.tensor);
      if (tensor == nullptr || row.observation != (replay ? "replay" : "sampled") || places.layers()[tensor->layer] != layer) continue;
      pick.add(*tensor, std::move(row));
    }
  }
  std::vector<reports::TensorHistogram> chosen = pick.chosen(mostTensors);
  // The worst of each tensor; what is latest besides is not asked for here.
  for (std::size_t i = 1; i < chosen.size();) {
    if (chosen[i].stats.tensor == chosen[i - 1].stats.tensor) chosen.erase(chosen.begin() + static_cast<std::ptrdiff_t>(i));
    else ++i;
  }
  return chosen;
}

bool Reading::due(const Snapshot& now) {
  constexpr qint64 whileLiveMs = 5000;
  if (!now.comparison || now.comparison == m_of) return false;
  const bool same = m_path == now.path && m_of;
  if (same && now.live && !m_begun.hasExpired(std::max(whileLiveMs, 5 * m_took))) return false;
  m_of = now.comparison;
  m_path = now.path;
  m_begun.start();
  return true;
}

}  // namespace ulpscope::gui
