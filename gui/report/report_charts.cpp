#include "gui/report/report_charts.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "gui/charts/heat_map.h"
#include "gui/charts/timeline_chart.h"
#include "gui/models/curve_points.h"
#include "gui/models/memory_model.h"
#include "gui/models/numerics_quantity.h"
#include "gui/models/run_colours.h"
#include "gui/models/text.h"
#include "gui/widgets/theme.h"
#include "reports/analysis/files.h"

namespace ulpscope::gui {
namespace {

using reports::FigureStyle;
using reports::Report;
using Charts = std::map<QString, ReportChart>;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr int pageWidth = 680, ratioHeight = 150, chartHeight = 210;

QString text(std::string_view words) { return plain(words); }

/// On paper: light, and with letters that are as large as on the page whatever the resolution.
template <class C>
void dress(C& chart, QSize size) {
  chart.setPalette(makePalette(false));
  QFont font;
  font.setPixelSize(10);
  chart.setFont(font);
  chart.setMinimumSize(1, 1);
  chart.resize(size);
}

ReportChart drawn(Chart& chart, QSize size) {
  ReportChart out{.size = size};
  chart.setViewport(QRect(QPoint(0, 0), size));
  chart.replot();  // how many ticks there is room for is known only then
  QCPPainter painter;
  painter.begin(&out.picture);
  painter.setMode(QCPPainter::pmVectorized);
  painter.setMode(QCPPainter::pmNoCaching);
  chart.toPainter(&painter, size.width(), size.height());
  painter.end();
  for (const ChartLine& line : chart.content().lines) {
    const bool known = std::any_of(out.legend.begin(), out.legend.end(), [&](const auto& entry) { return entry.first == line.name; });
    if (!line.name.isEmpty() && line.style != Qt::NoPen && !known) out.legend.emplace_back(line.name, line.colour);
  }
  return out;
}

ReportChart chartOf(ChartContent content, const ChartAxis& x, const ChartAxis& y, QSize size, const QStringList& places = {}) {
  Chart chart;
  dress(chart, size);
  chart.setAxes(x, y);
  if (!places.isEmpty()) {
    const auto ticks = QSharedPointer<QCPAxisTickerText>::create();
    for (qsizetype i = 0; i < places.size(); ++i) ticks->addTick(static_cast<double>(i), places[i]);
    chart.xAxis->setTicker(ticks);
  }
  std::vector<std::pair<QString, QColor>> stack;
  for (const ChartBar& bar : content.bars)
    if (!bar.name.isEmpty() && std::none_of(stack.begin(), stack.end(), [&](const auto& entry) { return entry.first == bar.name; })) stack.emplace_back(bar.name, bar.colour);
  chart.setContent(std::move(content));
  ReportChart out = drawn(chart, size);
  out.legend.insert(out.legend.end(), stack.begin(), stack.end());
  return out;
}

QString modeLabel(const reports::ModeResult& mode) { return mode.tag.empty() ? text(mode.mode) : text(mode.tag) + QLatin1Char(' ') + text(mode.mode); }

// --- the modes side by side ---

using FigureOf = reports::Figure reports::ModeResult::*;

/// `base`: what the ratio is of. An fp32 that has it is the reference; one without is unknown.
void addRatio(const Report& report, const QString& id, const QString& label, FigureOf figure, FigureOf base, Charts& charts) {
  ChartContent content;
  QStringList places;
  bool any = false;
  for (const reports::ModeResult& mode : report.modes.modes) {
    const auto at = static_cast<double>(places.size());
    places << modeLabel(mode);
    const reports::Figure& of = mode.*figure;
    const bool reference = mode.mode == "fp32" && !of.value && (mode.*base).value;
    if (!reference && (!of.value || !std::isfinite(*of.value))) continue;
    any = any || !reference;
    content.bars.push_back({.colour = runColour(mode.mode), .left = at - 0.3, .right = at + 0.3, .low = 0.0, .high = reference ? 1.0 : *of.value, .hollow = of.provenance == reports::Provenance::emulated});
  }
  if (!any) return;
  content.lines.push_back({.x = {-0.6, static_cast<double>(places.size()) - 0.4}, .y = {1.0, 1.0}, .style = Qt::DotLine, .width = 1.0});
  charts[id] = chartOf(std::move(content), {.style = FigureStyle::count}, {.label = label, .style = FigureStyle::loss}, {pageWidth, ratioHeight}, places);
}

void addDistance(const Report& report, Charts& charts) {
  ChartContent content;
  QStringList places;
  reports::Number noise;
  for (const reports::ModeResult& mode : report.modes.modes) {
    const auto at = static_cast<double>(places.size());
    places << modeLabel(mode);
    const reports::Judgement& judged = mode.judgement;
    if (judged.reference_spread && std::isfinite(*judged.reference_spread)) noise = judged.reference_spread;
    if (!judged.difference || !std::isfinite(*judged.difference)) continue;
    const QColor colour = runColour(mode.mode);
    if (judged.low && judged.high) content.bars.push_back({.colour = colour, .left = at - 0.06, .right = at + 0.06, .low = *judged.low, .high = *judged.high});
    content.lines.push_back({.colour = colour, .x = {at}, .y = {*judged.difference}, .dots = true});
  }
  if (content.lines.empty()) return;
  const double end = static_cast<double>(places.size()) - 0.5;
  content.lines.push_back({.x = {-0.5, end}, .y = {nan, nan}, .style = Qt::NoPen});
  if (noise) content.bands.push_back({.colour = QColor(0x7f, 0x87, 0x94), .x = {-0.5, end}, .low = {-*noise, -*noise}, .high = {*noise, *noise}});
  charts[QStringLiteral("distance")] = chartOf(std::move(content), {.style = FigureStyle::count}, {.label = QStringLiteral("loss − fp32's"), .style = FigureStyle::loss}, {pageWidth, chartHeight}, places);
}

// --- curves ---

void addLoss(const Report& report, Charts& charts) {
  ChartContent content;
  int row = 0;
  bool any = false;
  for (const reports::RunCurves& of : report.curves.runs) {
    const reports::ReportRun& run = report.runs[of.run];
    const QColor colour = runColour(run.mode, run.run.seed);
    CurvePoints points = curvePoints(of.series, of.series.loss, CurveAxis::Step);
    any = any || !points.x.empty();
    ChartGaps gaps{.colour = colour, .toolTip = [label = text(run.label)](std::size_t) { return label + QStringLiteral(": NaN or infinite"); }};
    for (const CurveGap& gap : points.gaps) gaps.at.emplace_back(gap.first, gap.last);
    content.gaps.push_back(std::move(gaps));
    content.lines.push_back({.name = text(run.label), .colour = colour, .x = std::move(points.x), .y = std::move(points.y), .width = 1.1});
    if (of.series.held_out_loss.points.empty()) {
    } else if (CurvePoints heldOut = curvePoints(of.series, of.series.held_out_loss, CurveAxis::Step); !heldOut.x.empty()) {
      content.lines.push_back({.colour = colour, .x = std::move(heldOut.x), .y = std::move(heldOut.y), .style = Qt::DotLine, .width = 0.8, .dots = true});
    }
    if (of.series.skipped.empty()) continue;
    ChartMarks marks{.colour = colour, .row = row++};
    for (const reports::SkippedStep& skipped : of.series.skipped) marks.x.push_back(static_cast<double>(personStep(skipped.step)));
    content.marks.push_back(std::move(marks));
  }
  for (const reports::SeedBand& band : report.curves.bands) {
    ChartBand shaded{.colour = runColour("fp32")};
    for (const reports::BandPoint& point : band.points) {
      shaded.x.push_back(static_cast<double>(personStep(point.first)));
      shaded.low.push_back(point.low);
      shaded.high.push_back(point.high);
    }
    content.bands.push_back(std::move(shaded));
  }
  if (!any) return;
  charts[QStringLiteral("loss")] = chartOf(std::move(content), {.label = QStringLiteral("step"), .style = FigureStyle::count}, {.label = QStringLiteral("loss"), .style = FigureStyle::loss}, {pageWidth, chartHeight + 60});
}

void addScale(const Report& report, Charts& charts) {
  ChartContent content;
  int row = 0;
  for (const reports::ScaleHistory& history : report.scale.runs) {
    const reports::ReportRun& run = report.runs[history.run];
    const QColor colour = runColour(run.mode, run.run.seed);
    ChartLine line{.name = text(run.label), .colour = colour, .steps = true};
    for (const auto& point : history.scale.points) {
      line.x.push_back(static_cast<double>(personStep(point.step)));
      line.y.push_back(point.value);
    }
    if (line.x.empty()) continue;
    content.lines.push_back(std::move(line));
    if (!history.overflows.empty()) {
      ChartMarks marks{.colour = colour, .row = row++};
      for (const reports::ScaleOverflow& overflow : history.overflows) marks.x.push_back(static_cast<double>(personStep(overflow.step)));
      content.marks.push_back(std::move(marks));
    }
    if (!history.window || !history.window->exists() || history.window->steps.empty()) continue;
    const auto& model = history.window->model;
    if (!model.lowest || !model.highest || !(*model.lowest > 0.0)) continue;
    const auto first = static_cast<double>(personStep(history.window->steps.front())) - 0.5, last = static_cast<double>(personStep(history.window->steps.back())) + 0.5;
    content.bands.push_back({.colour = runColour(run.mode), .x = {first, last}, .low = {*model.lowest, *model.lowest}, .high = {*model.highest, *model.highest}});
  }
  if (content.lines.empty()) return;
  charts[QStringLiteral("scale")] = chartOf(std::move(content), {.label = QStringLiteral("step"), .style = FigureStyle::count},
                                            {.label = QStringLiteral("loss scale"), .style = FigureStyle::scale, .scale = ChartAxis::Scale::Log2}, {pageWidth, chartHeight});
}

// --- numerics ---

/// Of the first mode with something to worry about: fp32 comes first and has none.
const reports::NumericsMap* mapToDraw(const Report& report) {
  for (const reports::NumericsMap& map : report.numerics.maps)
    for (const auto& row : map.cells)
      if (std::any_of(row.begin(), row.end(), [](const reports::NumericsCell& cell) { return cell.head_room.has_value(); })) return &map;
  return nullptr;
}

void addMap(const Report& report, Charts& charts) {
  const reports::NumericsMap* const map = mapToDraw(report);
  if (map == nullptr || map->columns.empty()) return;
  const NumericsQuantity& quantity = numericsQuantities().front();
  HeatMapContent content;
  for (const reports::NumericsColumn& column : map->columns) content.columns << QString::number(personStep(column.first));
  for (std::size_t r = 0; r < map->layers.size(); ++r) {
    content.rows << text(map->layers[r]);
    auto& row = content.gravity.emplace_back();
    for (const reports::NumericsCell& cell : map->cells[r]) {
      if (cell.not_finite) content.marks.emplace_back(static_cast<int>(r), static_cast<int>(row.size()));
      row.push_back(gravity(quantity, cell).value_or(nan));
    }
  }
  constexpr int rowHeight = 12, axes = 56, most = 620;
  const QSize size(pageWidth, std::clamp(axes + rowHeight * static_cast<int>(map->layers.size()), 110, most));
  HeatMap heat;
  dress(heat, size);
  heat.setCells(QStringLiteral("step"), std::move(content));
  ReportChart out = drawn(heat, size);
  out.note = QStringLiteral("Drawn: head-room of %1, from blue (16 bits and more) to red (none).").arg(text(report.runs[map->run].label));
  charts[QStringLiteral("map")] = std::move(out);
}

void addHistogram(const Report& report, Charts& charts) {
  if (report.numerics.histograms.empty()) return;
  const reports::NumericsMap* const map = mapToDraw(report);
  const auto& all = report.numerics.histograms;
  auto of = std::find_if(all.begin(), all.end(), [&](const reports::TensorHistogram& h) { return map != nullptr && h.run == map->run; });
  if (of == all.end()) of = all.begin();
  if (!of->stats.histogram) return;
  ChartContent content;
  for (std::size_t i = 0; i < of->stats.histogram->counts.size(); ++i) {
    if (of->stats.histogram->counts[i] == 0) continue;
    const double exponent = of->stats.histogram->first + static_cast<double>(i);
    content.bars.push_back({.colour = runColour(report.runs[of->run].mode), .left = exponent, .right = exponent + 1.0, .low = 0.5, .high = static_cast<double>(of->stats.histogram->counts[i])});
  }
  if (content.bars.empty()) return;
  const double most = std::max_element(content.bars.begin(), content.bars.end(), [](const ChartBar& a, const ChartBar& b) { return a.high < b.high; })->high;
  // The edges of its format, as far as they are within reach.
  for (const reports::FormatSpan& span : report.numerics.formats) {
    if (of->format != span.name || span.greatest > 40) continue;
    for (const int edge : {span.least_subnormal, span.least_normal, span.greatest + 1}) content.lines.push_back({.colour = QColor(0x55, 0x5b, 0x63), .x = {edge + 0.0, edge + 1e-6}, .y = {0.5, 2.0 * most}, .style = Qt::DashLine, .width = 1.0});
  }
  ReportChart out = chartOf(std::move(content), {.label = QStringLiteral("binary exponent"), .style = FigureStyle::loss}, {.label = QStringLiteral("elements"), .style = FigureStyle::count, .scale = ChartAxis::Scale::Log10}, {pageWidth, chartHeight});
  out.note = QStringLiteral("Drawn: %1 of %2 (%3), step %4: %5. Dashed: least subnormal, least normal and greatest number of its format.")
                 .arg(text(of->tensor), text(report.runs[of->run].label), text(of->format)).arg(personStep(of->stats.step)).arg(text(of->why));
  charts[QStringLiteral("histogram")] = std::move(out);
}

// --- memory and time ---

void addMemory(const Report& report, Charts& charts) {
  ChartContent stacks, curves;
  QStringList places;
  for (const reports::ModeMemory& mode : report.memory.modes) {
    const reports::ReportRun& run = report.runs[mode.run];
    const auto at = static_cast<double>(places.size());
    places << text(run.mode_label);
    double low = 0.0;
    for (const reports::MemoryCategory category : stackedCategories()) {
      const reports::Count bytes = mode.peak ? mode.peak->bytes[static_cast<std::size_t>(category)] : std::nullopt;
      if (!bytes || *bytes <= 0 || category == reports::MemoryCategory::observation) continue;
      const auto size = static_cast<double>(*bytes);
      stacks.bars.push_back({.name = text(name(category)).replace(QLatin1Char('_'), QLatin1Char(' ')), .colour = categoryColour(category), .left = at - 0.32, .right = at + 0.32, .low = low, .high = low + size});
      low += size;
    }
    if (std::all_of(mode.curve.begin(), mode.curve.end(), [](const reports::MemoryPoint& point) { return point.bytes == 0; })) continue;
    ChartLine line{.name = text(run.mode_label), .colour = runColour(run.mode), .steps = true};
    for (const reports::MemoryPoint& point : mode.curve) {
      line.x.push_back(static_cast<double>(point.position));
      line.y.push_back(static_cast<double>(point.bytes));
    }
    curves.lines.push_back(std::move(line));
  }
  if (!stacks.bars.empty()) charts[QStringLiteral("memory")] = chartOf(std::move(stacks), {.style = FigureStyle::count}, {.label = QStringLiteral("bytes at the peak"), .style = FigureStyle::bytes}, {pageWidth, chartHeight}, places);
  if (!curves.lines.empty()) charts[QStringLiteral("memory-step")] = chartOf(std::move(curves), {.label = QStringLiteral("node of the step, in execution order"), .style = FigureStyle::count}, {.label = QStringLiteral("bytes"), .style = FigureStyle::bytes}, {pageWidth, chartHeight});
}

void addTime(const Report& report, Charts& charts) {
  ChartContent content;
  QStringList places;
  for (const reports::TimeReport& time : report.time) {
    for (const reports::ModeTime& mode : time.modes) {
      const auto at = static_cast<double>(places.size());
      const std::string file = report.time.size() > 1 ? ", " + reports::short_name(time.file, report.files) : "";
      places << text(mode.run.mode + file);
      double low = 0.0;
      for (const reports::CategoryTime& category : mode.categories) {
        if (!category.seconds.value || !(*category.seconds.value > 0.0)) continue;
        QColor colour = categoryColour(category.category);
        if (mode.emulated) colour = colour.lighter(145);
        content.bars.push_back({.name = text(label(category.category)), .colour = colour, .left = at - 0.32, .right = at + 0.32, .low = low, .high = low + *category.seconds.value});
        low += *category.seconds.value;
      }
    }
  }
  if (content.bars.empty()) return;
  charts[QStringLiteral("time")] = chartOf(std::move(content), {.style = FigureStyle::count}, {.label = QStringLiteral("seconds of a step"), .style = FigureStyle::seconds}, {pageWidth, chartHeight + 30}, places);
}

}  // namespace

std::map<QString, ReportChart> drawReportCharts(const Report& report) {
  Charts charts;
  addRatio(report, QStringLiteral("speed"), QStringLiteral("× fp32's speed"), &reports::ModeResult::speed, &reports::ModeResult::step_seconds, charts);
  addRatio(report, QStringLiteral("peak"), QStringLiteral("× fp32's peak"), &reports::ModeResult::memory_ratio, &reports::ModeResult::peak_bytes, charts);
  addDistance(report, charts);
  addLoss(report, charts);
  addScale(report, charts);
  addMap(report, charts);
  addHistogram(report, charts);
  addMemory(report, charts);
  addTime(report, charts);
  return charts;
}

}  // namespace ulpscope::gui
