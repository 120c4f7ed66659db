// Loss scale: its history on a logarithmic axis, the window of scales that suit the gradients behind it, every overflow as a mark that
// leads to its diagnosis.
#include <QCoreApplication>
#include <QHeaderView>
#include <QLabel>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>

#include "gui/charts/chart.h"
#include "gui/models/curve_points.h"
#include "gui/models/run_colours.h"
#include "gui/models/scale_model.h"
#include "gui/models/text.h"
#include "gui/panels/panels.h"
#include "gui/widgets/run_toggles.h"
#include "gui/widgets/table_view.h"

namespace ulpscope::gui {
namespace {

using reports::FigureStyle;

class LossScalePanel final : public Panel {
  Q_DECLARE_TR_FUNCTIONS(LossScalePanel)

 public:
  LossScalePanel(const PanelContext& context, QWidget* parent) : Panel(context, parent) {
    auto* const column = new QVBoxLayout(this);
    column->setContentsMargins(8, 6, 8, 8);
    column->addWidget(new RunToggles(session(), selection(), this));
    column->addWidget(m_about = new QLabel(this));
    m_about->setTextFormat(Qt::PlainText);
    m_about->setWordWrap(true);
    column->addWidget(m_chart = new Chart(this), 3);
    m_chart->setName(QStringLiteral("loss-scale"));
    m_chart->setAccessibleName(tr("Loss scale"));
    m_chart->setAxes({.label = tr("step"), .style = FigureStyle::count}, {.label = tr("Loss scale"), .style = FigureStyle::scale, .scale = ChartAxis::Scale::Log2});
    m_model = new ScaleModel(this);
    column->addWidget(m_table = new TableView(this), 1);
    m_table->setModel(m_model);
    m_table->verticalHeader()->hide();
    m_table->setSelectionBehavior(QAbstractItemView::SelectRows);
    m_table->setAccessibleName(tr("Runs that scale their loss"));
    connect(m_chart, &Chart::failed, this, &Panel::failed);
    connect(m_chart, &Chart::pointClicked, this, [this](double x) { selection().setStep(std::llround(x) - 1); });
    connect(m_chart, &Chart::markClicked, this, [this](const QString& name, double x) { choose(name, x); });
  }

 protected:
  void readDropped() override { m_reading.forget(); }
  void refresh() override {
    const SnapshotPointer now = snapshot();
    if (!now || !now->comparison) {
      m_data.reset();
      m_reading.forget();
    } else if (m_reading.due(*now)) {
      if (m_path != now->path) m_data.reset();
      m_path = now->path;
      readMore([comparison = now->comparison](const reports::RunFileReader& file) { return readScale(file, comparison); },
               [this](ScaleData section) {
                 m_reading.arrived();
                 m_data = std::make_shared<const ScaleData>(std::move(section));
                 draw();
               });
    }
    draw();
  }

 private:
  void draw() {
    const SnapshotPointer now = snapshot();
    ChartContent content;
    std::vector<std::size_t> rows;
    if (now) {
      for (const RunView* run : shownRuns(*now)) addLine(*run, content);
      for (std::size_t i = 0; m_data && i < m_data->section.runs.size(); ++i) {
        const reports::ReportRun& run = m_data->runs[m_data->section.runs[i].run];
        if (!selection().isShown({now->path, run.run.id})) continue;
        addOverflows(run, m_data->section.runs[i], static_cast<int>(rows.size()), content);
        addWindow(run, m_data->section.runs[i], content);
        rows.push_back(i);
      }
    }
    m_about->setText(!now ? QString() : aboutOf(content));
    m_chart->setContent(std::move(content));
    showSteps();
    const bool first = m_model->rowCount() == 0;
    m_model->setData(m_data, std::move(rows));
    if (first && m_model->rowCount() > 0) m_table->fitColumns(280);
    m_table->setVisible(m_model->rowCount() > 0);
  }

  static QString aboutOf(const ChartContent& content) {
    if (content.lines.empty()) return tr("No run that is shown scales its loss.");
    QString text = content.bands.empty() ? tr("No window of scales is known: no scaled gradient of a narrow range was observed, or no scale suits.")
                                         : tr("Shaded: the window of scales at which no gradient overflows and at most 1 % of a layer's is lost to zero, in the observed steps.");
    if (!content.marks.empty()) text += QLatin1Char(' ') + tr("A click on a mark leads to its overflow.");
    return text;
  }

  static void addLine(const RunView& run, ChartContent& content) {
    CurvePoints points = curvePoints(*run.series, run.series->loss_scale, CurveAxis::Step);
    if (run.series->loss_scale.points.empty()) return;
    content.lines.push_back({.name = run.title(), .colour = runColour(run.record.mode, run.record.seed), .x = std::move(points.x), .y = std::move(points.y), .steps = true, .provenance = word(reports::Provenance::counted)});
  }

  void addOverflows(const reports::ReportRun& run, const reports::ScaleHistory& history, int row, ChartContent& content) const {
    if (history.overflows.empty()) return;
    ChartMarks marks{.name = plain(run.label), .colour = runColour(run.mode, run.run.seed), .row = row};
    for (const reports::ScaleOverflow& overflow : history.overflows) marks.x.push_back(static_cast<double>(personStep(overflow.step)));
    // Of a hundred thousand marks one is looked at.
    marks.toolTip = [data = m_data, label = plain(run.label), of = &history](std::size_t i) {
      const reports::ScaleOverflow& overflow = of->overflows[i];
      QString text = tr("%1: overflow in step %2\nloss scale %3 [%4]").arg(label).arg(personStep(overflow.step))
                         .arg(valueText(overflow.scale, FigureStyle::scale), word(reports::Provenance::counted));
      if (overflow.next) text += tr(", afterwards %1").arg(valueText(overflow.next, FigureStyle::scale));
      return text + QLatin1Char('\n') + (overflow.skipped ? tr("The step was skipped.") : tr("The step was applied all the same."));
    };
    content.marks.push_back(std::move(marks));
  }

  /// Over the observed steps. A side that is open reaches a little farther than all scales.
  static void addWindow(const reports::ReportRun& run, const reports::ScaleHistory& history, ChartContent& content) {
    constexpr double farther = 16.0;
    if (!history.window || !history.window->exists() || history.window->steps.empty() || history.scale.points.empty()) return;
    const auto [least, greatest] = std::minmax_element(history.scale.points.begin(), history.scale.points.end(), [](const auto& a, const auto& b) { return a.value < b.value; });
    const reports::LayerWindow& model = history.window->model;
    const double low = model.lowest.value_or(std::min(least->value, model.highest.value_or(least->value)) / farther);
    const double high = model.highest.value_or(std::max(greatest->value, low) * farther);
    if (!(low > 0.0) || !std::isfinite(low) || !(high >= low)) return;
    const auto first = static_cast<double>(personStep(history.window->steps.front())) - 0.5, last = static_cast<double>(personStep(history.window->steps.back())) + 0.5;
    content.bands.push_back({tr("%1: window").arg(plain(run.label)), runColour(run.mode), {first, last}, {low, low}, {high, high}});
  }

  void showSteps() {
    const auto& steps = selection().steps();
    if (steps == m_steps) return;
    m_steps = steps;
    if (!steps) return m_chart->showAll();
    const SnapshotPointer now = snapshot();
    std::int64_t last = 1;
    for (const RunView& run : now ? now->runs : std::vector<RunView>{}) last = std::max(last, run.steps);
    m_chart->showX(static_cast<double>(personStep(steps->first)), static_cast<double>(personStep(std::min(steps->second, last) - 1)));
  }

  void choose(const QString& label, double x) {
    for (const reports::ReportRun& run : m_data ? m_data->runs : std::vector<reports::ReportRun>{}) {
      if (plain(run.label) == label) selection().setRun(RunKey{m_path, run.run.id});
    }
    selection().setStep(std::llround(x) - 1);
    emit panelWanted(QStringLiteral("overflows"));
  }

  Chart* m_chart;
  ScaleModel* m_model;
  TableView* m_table;
  QLabel* m_about;
  Reading m_reading;
  QString m_path;
  std::shared_ptr<const ScaleData> m_data;
  std::optional<std::pair<std::int64_t, std::int64_t>> m_steps;
};

}  // namespace

Panel* makeLossScalePanel(const PanelContext& context, QWidget* parent) { return new LossScalePanel(context, parent); }

}  // namespace ulpscope::gui
