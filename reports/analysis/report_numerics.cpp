#include "reports/analysis/report_numerics.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "reports/analysis/diagnosis/words.h"
#include "reports/analysis/report_histograms.h"
#include "reports/analysis/steps_to_read.h"

namespace ulpscope::reports {
namespace {

using report_parts::Placed;

void raise(Number& greatest, const Number& value) {
  if (value && !std::isnan(*value) && (!greatest || *value > *greatest)) greatest = value;
}

/// Sums of one layer in one step.
struct LayerSums {
  NumericsCell cell{};
  double flushed = 0.0, not_zero = 0.0;
  double lost = 0.0, weights = 0.0;
};

void add_row(const Placed& tensor, const TensorStatsRecord& row, LayerSums& sums) {
  if (row.observation == "shadow") return raise(sums.cell.error, row.shadow_error);
  raise(sums.cell.error, row.shadow_error);
  const bool weight = tensor.role == TensorRole::weight || tensor.role == TensorRole::master_weight;
  if (weight && row.lost_updates) {
    sums.lost += static_cast<double>(*row.lost_updates);
    sums.weights += static_cast<double>(row.elements);
  }
  const std::int64_t odd = row.nan.value_or(0) + row.positive_infinite.value_or(0) + row.negative_infinite.value_or(0);
  if (tensor.phase.empty() || tensor.phase == "update" || tensor.role == TensorRole::internal) return;
  if (odd + row.overflowed.value_or(0) > 0) sums.cell.not_finite = true;
  if (!tensor.narrow) return;
  if (const Number room = tensor.head_room(row); room && (!sums.cell.head_room || *room < *sums.cell.head_room)) sums.cell.head_room = room;
  if (row.rounding_error_rms && row.rms.value_or(0.0) > 0.0) raise(sums.cell.rounding, *row.rounding_error_rms / *row.rms);
  if (tensor.phase != "backward" || !row.flushed) return;
  sums.flushed += static_cast<double>(*row.flushed);
  sums.not_zero += static_cast<double>(row.elements - row.zero.value_or(0) - odd);
}

NumericsCell closed(const LayerSums& sums) {
  NumericsCell cell = sums.cell;
  if (sums.not_zero > 0.0) cell.flushed = sums.flushed / sums.not_zero;
  if (sums.weights > 0.0) cell.lost = sums.lost / sums.weights;
  return cell;
}

void join(NumericsCell& into, const NumericsCell& cell) {
  if (cell.head_room && (!into.head_room || *cell.head_room < *into.head_room)) into.head_room = cell.head_room;
  raise(into.flushed, cell.flushed);
  raise(into.error, cell.error);
  raise(into.rounding, cell.rounding);
  raise(into.lost, cell.lost);
  into.not_finite = into.not_finite || cell.not_finite;
}

bool known(const NumericsCell& cell) {
  return cell.head_room || cell.flushed || cell.error || cell.rounding || cell.lost || cell.not_finite;
}

/// What comes first is left out last.
double trouble(const std::vector<NumericsCell>& row) {
  NumericsCell worst;
  for (const NumericsCell& cell : row) join(worst, cell);
  return (worst.not_finite ? 1e6 : 0.0) - worst.head_room.value_or(100.0) + 100.0 * (worst.flushed.value_or(0.0) + worst.lost.value_or(0.0) + worst.error.value_or(0.0));
}

void keep_the_worst(NumericsMap& map, std::size_t most) {
  if (map.layers.size() <= most) return;
  std::vector<std::size_t> order(map.layers.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return trouble(map.cells[a]) > trouble(map.cells[b]); });
  map.more_layers = std::ssize(map.layers) - static_cast<std::int64_t>(most);
  order.resize(most);
  std::sort(order.begin(), order.end());
  std::vector<std::string> layers;
  std::vector<std::vector<NumericsCell>> cells;
  for (const std::size_t i : order) {
    layers.push_back(std::move(map.layers[i]));
    cells.push_back(std::move(map.cells[i]));
  }
  map.layers = std::move(layers);
  map.cells = std::move(cells);
}

/// What was observed of a run, or nothing.
void add_run(const std::vector<ReportRun>& runs, std::size_t index, const NumericsLimits& limits, NumericsSection& section) {
  const ReportRun& run = runs[index];
  NumericsMap map{.run = index};
  map.observed = std::ssize(run.reader->observed_steps(run.run.id));
  const std::vector<std::int64_t> steps = steps_to_read(*run.reader, run.run.id, limits.rows);
  map.read = std::ssize(steps);
  map.reading = words_of_reading(*run.reader, run.run.id, steps);
  const PlanView plan(*run.reader, *run.run.plan);
  const report_parts::Places places(plan);
  report_parts::HistogramPick pick(places);
  map.layers = places.layers();
  map.cells.resize(map.layers.size());
  const std::int64_t width = std::max<std::int64_t>(1, (map.read + limits.columns - 1) / limits.columns);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (static_cast<std::int64_t>(i) % width == 0) {
      map.columns.push_back({.first = steps[i]});
      for (auto& row : map.cells) row.emplace_back();
    }
    map.columns.back().last = steps[i];
    ++map.columns.back().steps;
    std::vector<LayerSums> sums(map.layers.size());
    std::vector<TensorStatsRecord> rows = run.reader->tensor_stats(run.run.id, {.first = steps[i], .end = steps[i] + 1});
    const bool replay = std::any_of(rows.begin(), rows.end(), [](const TensorStatsRecord& r) { return r.observation == "replay"; });
    for (TensorStatsRecord& row : rows) {
      const Placed* tensor = places.find(row.tensor);
      if (tensor == nullptr || row.step != steps[i] || row.observation == (replay ? "sampled" : "replay")) continue;
      add_row(*tensor, row, sums[tensor->layer]);
      if (row.observation != "shadow") pick.add(*tensor, std::move(row));
    }
    for (std::size_t l = 0; l < sums.size(); ++l) join(map.cells[l].back(), closed(sums[l]));
  }
  for (std::size_t l = map.layers.size(); l-- > 0;)
    if (std::none_of(map.cells[l].begin(), map.cells[l].end(), known)) {
      map.cells.erase(map.cells.begin() + static_cast<std::ptrdiff_t>(l));
      map.layers.erase(map.layers.begin() + static_cast<std::ptrdiff_t>(l));
    }
  keep_the_worst(map, limits.layers);
  if (!map.layers.empty()) section.maps.push_back(std::move(map));
  for (TensorHistogram& histogram : pick.chosen(limits.tensors)) {
    histogram.run = index;
    section.histograms.push_back(std::move(histogram));
  }
}

FormatSpan span(Format format) {
  const FormatInfo& i = info(format);
  return {i.name, std::ilogb(i.min_subnormal), std::ilogb(i.min_normal), std::ilogb(i.max_finite)};
}

}  // namespace

NumericsSection numerics_section(const std::vector<ReportRun>& runs, const NumericsLimits& limits) {
  NumericsSection section;
  std::set<std::size_t> modes;
  std::vector<std::size_t> observed;  // the first such run of each mode
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (modes.contains(runs[i].mode_index) || !runs[i].run.plan || runs[i].reader->observed_steps(runs[i].run.id).empty()) continue;
    modes.insert(runs[i].mode_index);
    observed.push_back(i);
  }
  NumericsLimits each = limits;
  each.rows = std::max<std::int64_t>(1, limits.rows / std::max<std::int64_t>(1, std::ssize(observed)));
  for (const std::size_t i : observed) add_run(runs, i, each, section);
  for (const Format format : {Format::fp16, Format::bf16, Format::tf32, Format::fp32, Format::fp8_e4m3, Format::fp8_e5m2}) section.formats.push_back(span(format));
  return section;
}

}  // namespace ulpscope::reports
