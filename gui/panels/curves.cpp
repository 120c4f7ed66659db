// Curves: loss, gradient norm, learning rate and step time of the runs that are shown, against steps or time.
#include <QCheckBox>
#include <QComboBox>
#include <QCoreApplication>
#include <QGridLayout>
#include <QLabel>
#include <QSpinBox>
#include <QVBoxLayout>
#include <array>
#include <cmath>

#include "gui/charts/chart.h"
#include "gui/models/curve_points.h"
#include "gui/models/run_colours.h"
#include "gui/models/text.h"
#include "gui/panels/panels.h"
#include "gui/widgets/run_toggles.h"

namespace ulpscope::gui {
namespace {

using reports::FigureStyle;
using reports::RunSeries;

struct Quantity {
  const char* id;
  const char* label;
  FigureStyle style;
  ChartAxis::Scale scale;
  const reports::Curve RunSeries::*curve;
};

constexpr std::array<Quantity, 5> quantities{{
    {"loss", QT_TRANSLATE_NOOP("curves", "Training loss"), FigureStyle::loss, ChartAxis::Scale::Linear, &RunSeries::loss},
    {"held-out-loss", QT_TRANSLATE_NOOP("curves", "Held-out loss"), FigureStyle::loss, ChartAxis::Scale::Linear, &RunSeries::held_out_loss},
    {"gradient-norm", QT_TRANSLATE_NOOP("curves", "Gradient norm"), FigureStyle::loss, ChartAxis::Scale::Log10, &RunSeries::gradient_norm},
    {"learning-rate", QT_TRANSLATE_NOOP("curves", "Learning rate"), FigureStyle::loss, ChartAxis::Scale::Linear, &RunSeries::learning_rate},
    {"step-time", QT_TRANSLATE_NOOP("curves", "Step time"), FigureStyle::seconds, ChartAxis::Scale::Linear, &RunSeries::step_seconds},
}};

QString labelOf(const Quantity& quantity) { return QCoreApplication::translate("curves", quantity.label); }

QString gapText(const QString& run, const CurveGap& gap) {
  const char* const kind = gap.kind == reports::GapKind::nan ? "NaN" : gap.kind == reports::GapKind::positive_infinite ? "inf" : "-inf";
  return QCoreApplication::translate("curves", "%1: %2 (steps: %3)").arg(run, QLatin1String(kind)).arg(gap.steps);
}

class CurvesPanel final : public Panel {
  Q_DECLARE_TR_FUNCTIONS(CurvesPanel)

 public:
  CurvesPanel(const PanelContext& context, QWidget* parent) : Panel(context, parent) {
    auto* const column = new QVBoxLayout(this);
    column->setContentsMargins(8, 6, 8, 8);
    column->addWidget(m_toggles = new RunToggles(session(), selection(), this));
    column->addLayout(makeControls());
    m_grid = new QGridLayout;
    m_grid->setSpacing(6);
    for (std::size_t i = 0; i < quantities.size(); ++i) {
      Chart* const chart = m_charts[i] = new Chart(this);
      chart->setName(QLatin1String(quantities[i].id));
      chart->setAccessibleName(labelOf(quantities[i]));
      connect(chart, &Chart::failed, this, &Panel::failed);
      connect(chart, &Chart::pointClicked, this, [this](double x) { choose(x); });
    }
    column->addLayout(m_grid, 1);
    arrange();
  }

 protected:
  void refresh() override {
    const SnapshotPointer now = snapshot();
    if (now && now->path != m_path) {  // a view belongs to a file
      m_path = now->path;
      m_steps.reset();
      for (Chart* chart : m_charts) chart->showAll();
    }
    const CurveAxis axis = m_axis->currentIndex() == 1 ? CurveAxis::Seconds : CurveAxis::Step;
    const ChartAxis x{.label = axis == CurveAxis::Step ? tr("step") : tr("time since the run began"),
                      .style = axis == CurveAxis::Step ? FigureStyle::count : FigureStyle::seconds};
    for (std::size_t i = 0; i < quantities.size(); ++i) {
      ChartContent content = now ? contentOf(*now, quantities[i], axis) : ChartContent{};
      m_charts[i]->setAxes(x, {.label = labelOf(quantities[i]), .style = quantities[i].style, .scale = scaleOf(quantities[i], content)});
      m_charts[i]->setContent(std::move(content));
      showSteps(*m_charts[i], axis);
    }
    m_steps = selection().steps();
  }

 private:
  QLayout* makeControls() {
    auto* const row = new QHBoxLayout;
    row->addWidget(new QLabel(tr("Show"), this));
    row->addWidget(m_which = new QComboBox(this));
    m_which->addItem(tr("all curves"));
    for (const Quantity& quantity : quantities) m_which->addItem(labelOf(quantity));
    row->addWidget(new QLabel(tr("against"), this));
    row->addWidget(m_axis = new QComboBox(this));
    m_axis->addItems({tr("steps"), tr("time")});
    row->addWidget(m_band = new QCheckBox(tr("fp32 band"), this));
    m_band->setChecked(true);
    m_band->setToolTip(tr("mean of the fp32 seeds ± one standard deviation between them [%1]").arg(word(reports::Provenance::computed)));
    row->addWidget(new QLabel(tr("Smoothing"), this));
    row->addWidget(m_smoothing = new QSpinBox(this));
    m_smoothing->setRange(1, 101);
    m_smoothing->setSingleStep(2);
    m_smoothing->setSpecialValueText(tr("off"));
    m_smoothing->setSuffix(tr(" points"));
    m_smoothing->setToolTip(tr("Mean over neighbouring points. Only for the eye: no number anywhere else is smoothed."));
    row->addStretch(1);
    connect(m_which, &QComboBox::currentIndexChanged, this, [this] { arrange(); });
    connect(m_axis, &QComboBox::currentIndexChanged, this, [this] {
      for (Chart* chart : m_charts) chart->showAll();
      m_steps.reset();
      invalidate();
    });
    connect(m_band, &QCheckBox::toggled, this, [this] { invalidate(); });
    connect(m_smoothing, &QSpinBox::valueChanged, this, [this] { invalidate(); });
    return row;
  }

  /// All curves: the loss large, the others beneath it; or one alone.
  void arrange() {
    const int chosen = m_which->currentIndex() - 1;
    for (std::size_t i = 0; i < quantities.size(); ++i) {
      m_grid->removeWidget(m_charts[i]);
      const bool shown = chosen < 0 || chosen == static_cast<int>(i);
      m_charts[i]->setVisible(shown);
      if (!shown) continue;
      const int at = static_cast<int>(i);
      if (chosen >= 0) m_grid->addWidget(m_charts[i], 0, 0, 2, 6);
      else if (at < 2) m_grid->addWidget(m_charts[i], 0, 3 * at, 1, 3);
      else m_grid->addWidget(m_charts[i], 1, 2 * (at - 2), 1, 2);
    }
    for (int c = 0; c < 6; ++c) m_grid->setColumnStretch(c, 1);
    m_grid->setRowStretch(0, 3);
    m_grid->setRowStretch(1, 2);
  }

  static ChartAxis::Scale scaleOf(const Quantity& quantity, const ChartContent& content) {
    if (quantity.scale == ChartAxis::Scale::Linear) return quantity.scale;
    for (const ChartLine& line : content.lines) {  // no logarithm of zero
      for (const double y : line.y)
        if (y <= 0.0) return ChartAxis::Scale::Linear;
    }
    return quantity.scale;
  }

  ChartContent contentOf(const Snapshot& now, const Quantity& quantity, CurveAxis axis) const {
    ChartContent content;
    int row = 0;
    for (const RunView* run : shownRuns(now)) {
      CurvePoints points = curvePoints(*run->series, run->series.get()->*quantity.curve, axis);
      const QColor colour = runColour(run->record.mode, run->record.seed);
      const reports::Provenance provenance = quantity.style == FigureStyle::seconds ? run->series->time : reports::Provenance::computed;
      ChartGaps gaps{.colour = colour, .toolTip = [title = run->title(), all = points.gaps](std::size_t i) { return gapText(title, all[i]); }};
      for (const CurveGap& gap : points.gaps) gaps.at.emplace_back(gap.first, gap.last);
      content.gaps.push_back(std::move(gaps));
      const int window = m_smoothing->value();
      ChartLine line{.name = run->title(), .colour = colour, .x = points.x, .y = smoothed(points.y, window),
                     .dots = quantity.curve == &RunSeries::held_out_loss, .provenance = word(provenance)};
      if (window > 1) line.provenance += tr(", smoothed for the eye");
      content.lines.push_back(std::move(line));
      addSkipped(*run, axis, colour, row, content);
      if (quantity.curve == &RunSeries::step_seconds) addCounted(*run, axis, colour, row, content);
    }
    if (m_band->isChecked() && quantity.curve == &RunSeries::loss) addBand(now, axis, content);
    return content;
  }

  void addSkipped(const RunView& run, CurveAxis axis, const QColor& colour, int& row, ChartContent& content) const {
    if (run.series->skipped.empty()) return;
    ChartMarks marks{.name = tr("%1: skipped").arg(run.title()), .colour = colour, .row = row++};
    std::vector<std::int64_t> steps;
    for (const auto& [step, seconds] : run.series->skipped) {
      const auto x = axis == CurveAxis::Step ? std::optional(static_cast<double>(personStep(step))) : seconds;
      if (!x) continue;
      marks.x.push_back(*x);
      steps.push_back(step);
    }
    marks.toolTip = [title = run.title(), steps = std::move(steps)](std::size_t i) { return tr("%1: step %2 was skipped").arg(title).arg(personStep(steps[i])); };
    content.marks.push_back(std::move(marks));
  }

  /// Their time is no step's: it is in no line.
  void addCounted(const RunView& run, CurveAxis axis, const QColor& colour, int& row, ChartContent& content) const {
    if (run.series->counted.empty()) return;
    ChartMarks marks{.name = tr("%1: nodes counted, time left out").arg(run.title()), .colour = colour, .row = row++};
    std::vector<reports::CountedTime> counted;
    for (const reports::CountedTime& step : run.series->counted) {
      const auto x = axis == CurveAxis::Step ? std::optional(static_cast<double>(personStep(step.step))) : step.seconds;
      if (!x) continue;
      marks.x.push_back(*x);
      counted.push_back(step);
    }
    marks.toolTip = [title = run.title(), counted = std::move(counted)](std::size_t i) {
      return tr("%1: step %2 is left out (%3): its nodes were counted one after the other by the GPU's hardware counters")
          .arg(title).arg(personStep(counted[i].step)).arg(counted[i].wall_seconds ? valueText(*counted[i].wall_seconds, FigureStyle::seconds) : unknownText());
    };
    content.marks.push_back(std::move(marks));
  }

  void addBand(const Snapshot& now, CurveAxis axis, ChartContent& content) const {
    std::vector<CurvePoints> seeds;
    for (const RunView* run : shownRuns(now)) {
      if (run->record.mode == "fp32") seeds.push_back(curvePoints(*run->series, run->series->loss, axis));
    }
    Band band = bandBetween(seeds);
    if (band.x.empty()) return;
    content.bands.push_back({tr("fp32 ± 1 standard deviation"), runColour("fp32"), std::move(band.x), std::move(band.low), std::move(band.high)});
  }

  /// The range of steps of the shared filter.
  void showSteps(Chart& chart, CurveAxis axis) const {
    const auto& steps = selection().steps();
    if (steps == m_steps) return;
    if (!steps) return chart.showAll();
    const SnapshotPointer now = snapshot();
    if (!now || now->runs.empty()) return;
    std::int64_t last = 1;
    for (const RunView& run : now->runs) last = std::max(last, run.steps);
    const RunSeries& series = *now->runs.front().series;
    const auto first = axisPosition(series, steps->first, axis), end = axisPosition(series, std::min(steps->second, last) - 1, axis);
    if (first && end) chart.showX(*first, *end);
  }

  /// A click chooses the step for the other panels.
  void choose(double x) {
    const SnapshotPointer now = snapshot();
    if (!now || m_axis->currentIndex() != 0) return;
    selection().setStep(std::llround(x) - 1);
  }

  RunToggles* m_toggles;
  QComboBox* m_which = nullptr;
  QComboBox* m_axis = nullptr;
  QCheckBox* m_band = nullptr;
  QSpinBox* m_smoothing = nullptr;
  QGridLayout* m_grid;
  QString m_path;
  std::array<Chart*, quantities.size()> m_charts{};
  std::optional<std::pair<std::int64_t, std::int64_t>> m_steps;
};

}  // namespace

Panel* makeCurvesPanel(const PanelContext& context, QWidget* parent) { return new CurvesPanel(context, parent); }

}  // namespace ulpscope::gui
