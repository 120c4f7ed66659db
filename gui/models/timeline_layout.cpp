#include "gui/models/timeline_layout.h"

#include <QCoreApplication>
#include <algorithm>
#include <array>
#include <cmath>

#include "gui/models/text.h"
#include "gui/models/timeline_text.h"
#include "reports/run_file/counter_rows.h"
#include "reports/run_file/kernel_scan.h"

namespace ulpscope::gui {
namespace {

using reports::TimeCategory;

constexpr std::int64_t untimedStep = 1'000'000;             // ns that a step is drawn with of which nothing says how long it was
constexpr std::int64_t mostClock = std::int64_t{1} << 60;  // ns

std::int64_t nanoseconds(double seconds) { return std::isfinite(seconds) && seconds > 0.0 ? static_cast<std::int64_t>(std::llround(std::min(seconds, 1e9) * 1e9)) : 0; }
std::int64_t plus(std::int64_t a, std::int64_t b) { return std::clamp(std::clamp(a, -mostClock, mostClock) + std::clamp(b, -mostClock, mostClock), -mostClock, mostClock); }

}  // namespace

TimelineLayout::TimelineLayout(const reports::RunFileReader& reader, const reports::RunRecord& run, std::int64_t mostKernels) : m_reader(reader), m_run(run), m_mostKernels(mostKernels) {
  readNodes();
  readTimings();
}

TimelineRow& TimelineLayout::row(TimelineRowKind kind, std::int64_t stream, bool laidOut) {
  TimelineRow& row = m_rows[{kind, laidOut, stream}];
  row.kind = kind;
  row.stream = stream;
  row.laidOut = laidOut;
  return row;
}

std::int32_t TimelineLayout::nodeIndex(reports::NodeId id) {
  const auto found = m_nodes.find(id);
  if (found != m_nodes.end()) return found->second;
  const auto index = static_cast<std::int32_t>(m_timeline.nodes.size());
  const auto number = static_cast<std::int64_t>(id);  // of no plan, or of another
  m_timeline.nodes.push_back({.id = id, .name = QCoreApplication::translate("Timeline", "node %1").arg(number), .position = number, .category = TimeCategory::unmatched});
  return m_nodes.emplace(id, index).first->second;
}

/// What has one name and is of two kinds has two: a node called "forward" is no pass.
std::uint32_t TimelineLayout::nameIndex(TimelineRowKind kind, const std::string& name, TimeCategory category, bool skipped) {
  const std::string key = static_cast<char>('0' + static_cast<int>(kind)) + name;
  const auto found = m_names.find(key);
  if (found != m_names.end()) return found->second;
  const auto index = static_cast<std::uint32_t>(m_timeline.names.size());
  m_timeline.names.push_back({plain(name), category, skipped, {}});
  return m_names.emplace(key, index).first->second;
}

std::uint32_t TimelineLayout::passName(reports::Phase phase) {
  const std::uint32_t index = nameIndex(TimelineRowKind::Passes, phaseName(phase).toStdString());
  m_timeline.names[index].pass = phase;
  return index;
}

void TimelineLayout::readNodes() {
  if (!m_run.plan) return;
  for (const reports::NodeRecord& node : m_reader.nodes(*m_run.plan)) {
    m_nodes.emplace(node.id, static_cast<std::int32_t>(m_timeline.nodes.size()));
    m_timeline.nodes.push_back({node.id, plain(node.name), plain(node.operation), plain(node.compute_format), node.phase, node.position, reports::time_category(node.operation)});
  }
}

void TimelineLayout::readTimings() {
  for (const reports::NodeTiming& timing : m_reader.node_timings(m_run.id)) {
    if (!timing.seconds || !std::isfinite(*timing.seconds)) {
      ++m_untimed;
      continue;
    }
    const std::int32_t node = nodeIndex(timing.node);
    if (timing.step) {
      m_timed[*timing.step].push_back({node, nanoseconds(*timing.seconds), timing.provenance});
    } else if (const std::int64_t sampled = timing.sampled_steps.value_or(0); sampled > 0) {
      m_mean.push_back({node, nanoseconds(*timing.seconds / static_cast<double>(sampled)), timing.provenance});
      m_meanOf = std::max(m_meanOf, sampled);
    }
  }
}

void TimelineLayout::readSteps() {
  const std::vector<reports::StepRecord> steps = m_reader.steps(m_run.id);
  const std::set<std::int64_t> counted = reports::counted_steps(m_reader.completeness(), m_run.id);   // after the steps: of a run that goes on
  for (const reports::StepRecord& step : steps) {
    const bool timed = step.wall_seconds && std::isfinite(*step.wall_seconds) && *step.wall_seconds >= 0.0;
    m_timeline.steps.push_back({.step = step.step, .skipped = step.skipped, .counted = counted.contains(step.step), .wall = timed ? std::optional(nanoseconds(*step.wall_seconds)) : std::nullopt});
  }
}

void TimelineLayout::readKernels() {
  std::string last;  // the same name often comes again at once
  std::uint32_t name = 0;
  std::int64_t iteration = -1;
  std::int32_t step = -1;
  const reports::KernelScan scan = reports::scan_kernels(m_reader, m_run.id, m_mostKernels, [&](const reports::KernelSpan& span) {
    if (span.name != last || m_kernels.empty()) {
      last = span.name;
      name = nameIndex(TimelineRowKind::Kernels, span.name, reports::kernel_category(span.name));
    }
    if (const std::int64_t of = span.step.value_or(-1); of != iteration) {
      iteration = of;
      step = of < 0 ? -1 : m_timeline.stepIndex(of);
    }
    m_kernels.push_back({span.start_ns, span.duration_ns, span.stream, span.row, name, span.node ? nodeIndex(*span.node) : -1, step});
  });
  m_moreKernels = scan.more;
  m_timeline.kernels = scan.kernels;
  const auto by_step = [](const Kernel& a, const Kernel& b) { return a.step < b.step; };
  if (!std::is_sorted(m_kernels.begin(), m_kernels.end(), by_step)) std::stable_sort(m_kernels.begin(), m_kernels.end(), by_step);
}

/// One after the other, as the trace of a report has them.
void TimelineLayout::placeSteps() {
  std::size_t at = 0;
  while (at < m_kernels.size() && m_kernels[at].step < 0) ++at;
  std::int64_t clock = 0;
  for (std::size_t i = 0; i < m_timeline.steps.size(); ++i) {
    TimelineStep& step = m_timeline.steps[i];
    const std::size_t first = at;
    while (at < m_kernels.size() && m_kernels[at].step == static_cast<std::int32_t>(i)) ++at;
    step.start = clock;
    if (at > first) {
      step.start = std::max(clock, plus(m_kernels[first].start, 0));
      step.shift = plus(step.start, -std::clamp(m_kernels[first].start, -mostClock, mostClock));
    }
    std::int64_t end = step.start;
    for (std::size_t k = first; k < at; ++k) end = std::max(end, plus(plus(m_kernels[k].start, step.shift), std::max<std::int64_t>(0, m_kernels[k].duration)));
    if (const auto timed = m_timed.find(step.step); at == first && timed != m_timed.end()) end = std::max(end, plus(step.start, lengthOf(timed->second)));
    if (step.wall) end = std::max(end, plus(step.start, *step.wall));
    step.untimed = !step.wall && end == step.start;
    if (step.untimed) end = plus(end, untimedStep);
    step.end = clock = end;
  }
}

std::int64_t TimelineLayout::lengthOf(const std::vector<Timed>& nodes) const {
  std::int64_t sum = 0;
  for (const Timed& node : nodes) sum = plus(sum, node.duration);
  return sum;
}

void TimelineLayout::addKernels() {
  for (std::size_t first = 0; first < m_kernels.size();) {
    std::size_t end = first + 1;
    const std::int32_t step = m_kernels[first].step;
    while (end < m_kernels.size() && m_kernels[end].step == step) ++end;
    const std::int64_t shift = step < 0 ? 0 : m_timeline.steps[static_cast<std::size_t>(step)].shift;
    for (std::size_t k = first; k < end; ++k) {
      const Kernel& kernel = m_kernels[k];
      TimelineRow& stream = row(TimelineRowKind::Kernels, kernel.stream);
      stream.durations = reports::Provenance::measured;
      stream.spans.add({plus(kernel.start, shift), kernel.duration, kernel.name, kernel.node, kernel.step, kernel.record});
    }
    addStepNodes(first, end, shift);
    first = end;
  }
  m_kernels = {};
}

/// Nodes and passes of kernels that follow one another.
void TimelineLayout::addStepNodes(std::size_t first, std::size_t end, std::int64_t shift) {
  struct Run {
    std::int32_t node;
    std::int64_t start, end;
  };
  std::vector<Run> runs;
  for (std::size_t k = first; k < end; ++k) {
    const Kernel& kernel = m_kernels[k];
    const std::int64_t start = plus(kernel.start, shift), until = plus(start, std::max<std::int64_t>(0, kernel.duration));
    if (!runs.empty() && runs.back().node == kernel.node) runs.back().end = std::max(runs.back().end, until);
    else runs.push_back({kernel.node, start, until});
  }
  // What overlaps on other streams is cut where the next one begins.
  for (std::size_t i = 0; i + 1 < runs.size(); ++i) runs[i].end = std::min(runs[i].end, runs[i + 1].start);
  std::erase_if(runs, [](const Run& run) { return run.node < 0; });
  const std::int32_t step = m_kernels[first].step;
  for (std::size_t i = 0, pass = 0; i < runs.size(); ++i) {
    const auto of = static_cast<std::size_t>(runs[i].node);
    TimelineRow& nodes = row(TimelineRowKind::Nodes);
    nodes.durations = reports::Provenance::measured;
    if (m_nodeNames.size() <= of) m_nodeNames.resize(m_timeline.nodes.size());
    if (!m_nodeNames[of]) m_nodeNames[of] = nameIndex(TimelineRowKind::Nodes, m_timeline.nodes[of].name.toStdString());
    nodes.spans.add({runs[i].start, runs[i].end - runs[i].start, *m_nodeNames[of], runs[i].node, step});
    const reports::Phase phase = m_timeline.nodes[of].phase;
    if (i + 1 < runs.size() && m_timeline.nodes[static_cast<std::size_t>(runs[i + 1].node)].phase == phase) continue;
    TimelineRow& passes = row(TimelineRowKind::Passes);
    passes.durations = reports::Provenance::measured;
    passes.spans.add({runs[pass].start, runs[i].end - runs[pass].start, passName(phase), -1, step});
    pass = i + 1;
  }
}

/// Nodes that were timed by themselves: one after the other, in the order of the plan.
void TimelineLayout::layOut(std::vector<Timed> nodes, std::int64_t start, std::int32_t step) {
  std::stable_sort(nodes.begin(), nodes.end(), [this](const Timed& a, const Timed& b) {
    return m_timeline.nodes[static_cast<std::size_t>(a.node)].position < m_timeline.nodes[static_cast<std::size_t>(b.node)].position;
  });
  std::int64_t at = start, pass = start;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const TimelineNode& node = m_timeline.nodes[static_cast<std::size_t>(nodes[i].node)];
    TimelineRow& of = row(TimelineRowKind::Nodes, 0, true);
    of.durations = nodes[i].provenance;
    of.spans.add({at, nodes[i].duration, nameIndex(TimelineRowKind::Nodes, node.name.toStdString()), nodes[i].node, step});
    at = plus(at, nodes[i].duration);
    if (i + 1 < nodes.size() && m_timeline.nodes[static_cast<std::size_t>(nodes[i + 1].node)].phase == node.phase) continue;
    TimelineRow& passes = row(TimelineRowKind::Passes, 0, true);
    passes.durations = nodes[i].provenance;
    passes.spans.add({pass, at - pass, passName(node.phase), -1, step});
    pass = at;
  }
}

Timeline TimelineLayout::run() {
  readSteps();
  readKernels();
  placeSteps();
  addKernels();
  for (std::size_t i = 0; i < m_timeline.steps.size(); ++i) {
    const TimelineStep& step = m_timeline.steps[i];
    TimelineRow& steps = row(TimelineRowKind::Steps);
    if (step.wall) steps.durations = m_run.time_provenance;
    QString name = QCoreApplication::translate("Timeline", "step %1").arg(personStep(step.step));
    if (step.skipped) name = QCoreApplication::translate("Timeline", "%1, skipped").arg(name);
    if (step.counted) name = QCoreApplication::translate("Timeline", "%1, nodes counted").arg(name);
    steps.spans.add({step.start, step.wall.value_or(step.end - step.start), nameIndex(TimelineRowKind::Steps, name.toStdString(), TimeCategory::other, step.skipped), -1, static_cast<std::int32_t>(i)});
    if (const auto timed = m_timed.find(step.step); timed != m_timed.end() && m_timeline.kernels == 0) layOut(timed->second, step.start, static_cast<std::int32_t>(i));
  }
  return finished(TimelineView::Run);
}

Timeline TimelineLayout::meanStep() {
  layOut(m_mean, 0, -1);
  return finished(TimelineView::MeanStep);
}

Timeline TimelineLayout::finished(TimelineView view) {
  m_timeline.view = view;
  m_timeline.meanStep = !m_mean.empty();
  addNotes();
  bool any = false;
  for (auto& [key, row] : m_rows) {
    row.spans.finish();
    if (row.spans.empty()) continue;
    m_timeline.begin = any ? std::min(m_timeline.begin, row.spans.start(0)) : row.spans.start(0);
    m_timeline.end = any ? std::max(m_timeline.end, row.spans.lastEnd()) : row.spans.lastEnd();
    any = true;
  }
  std::array<bool, reports::time_category_count> seen{};
  for (auto& [key, row] : m_rows) {
    if (row.spans.empty()) continue;
    const bool work = row.kind == TimelineRowKind::Nodes || row.kind == TimelineRowKind::Kernels;
    for (std::size_t i = 0; work && i < row.spans.size(); ++i) seen[static_cast<std::size_t>(m_timeline.categoryOf(row, i))] = true;
    m_timeline.rows.push_back(std::move(row));
  }
  for (std::size_t i = 0; i < seen.size(); ++i)
    if (seen[i]) m_timeline.categories.push_back(static_cast<TimeCategory>(i));
  return std::move(m_timeline);
}

}  // namespace ulpscope::gui
