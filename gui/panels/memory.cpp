// Memory: by category at the peak, a stack for each mode; over one step; and why a mode did not halve it.
#include <QCoreApplication>
#include <QHeaderView>
#include <QPlainTextEdit>
#include <QSplitter>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>

#include "gui/charts/chart.h"
#include "gui/models/memory_model.h"
#include "gui/models/run_colours.h"
#include "gui/models/text.h"
#include "gui/panels/panels.h"
#include "gui/widgets/run_toggles.h"
#include "gui/widgets/table_view.h"
#include "gui/widgets/theme.h"

namespace ulpscope::gui {
namespace {

using reports::FigureStyle;
using reports::ModeMemory;

class MemoryPanel final : public Panel {
  Q_DECLARE_TR_FUNCTIONS(MemoryPanel)

 public:
  MemoryPanel(const PanelContext& context, QWidget* parent) : Panel(context, parent) {
    auto* const column = new QVBoxLayout(this);
    column->setContentsMargins(8, 6, 8, 8);
    column->addWidget(new RunToggles(session(), selection(), this));
    auto* const split = new QSplitter(Qt::Vertical, this);
    split->setChildrenCollapsible(false);
    auto* const charts = new QSplitter(Qt::Horizontal, split);
    charts->setChildrenCollapsible(false);
    charts->addWidget(m_stacks = new Chart(charts));
    charts->addWidget(m_curve = new Chart(charts));
    charts->setSizes({1000, 1200});
    m_stacks->setName(QStringLiteral("memory-at-the-peak"));
    m_stacks->setAccessibleName(tr("Memory at the peak by category"));
    m_curve->setName(QStringLiteral("memory-over-a-step"));
    m_curve->setAccessibleName(tr("Memory over one step"));
    auto* const below = new QSplitter(Qt::Horizontal, split);
    below->setChildrenCollapsible(false);
    m_model = new MemoryModel(this);
    below->addWidget(m_table = new TableView(below));
    m_table->setModel(m_model);
    m_table->verticalHeader()->hide();
    m_table->setAccessibleName(tr("Memory at the peak by category"));
    below->addWidget(m_why = new QPlainTextEdit(below));
    m_why->setReadOnly(true);
    m_why->setTabChangesFocus(true);
    readAsWindow(*m_why->document());
    m_why->setAccessibleName(tr("Why it did not halve"));
    below->setSizes({1300, 1000});
    split->addWidget(charts);
    split->addWidget(below);
    split->setSizes({1000, 800});
    column->addWidget(split, 1);
    for (Chart* chart : {m_stacks, m_curve}) connect(chart, &Chart::failed, this, &Panel::failed);
    connect(m_curve, &Chart::pointClicked, this, [this](double x) { choose(std::llround(x)); });
  }

 protected:
  void readDropped() override { m_reading.forget(); }
  void refresh() override {
    const SnapshotPointer now = snapshot();
    if (!now || !now->comparison) {
      m_section.reset();
      m_reading.forget();
    } else if (m_reading.due(*now)) {
      if (m_path != now->path) m_section.reset();
      m_path = now->path;
      readMore([comparison = now->comparison](const reports::RunFileReader& file) { return readMemory(file, comparison); },
               [this](MemoryData section) {
                 m_reading.arrived();
                 m_section = std::make_shared<const MemoryData>(std::move(section));
                 draw();
               });
    }
    draw();
  }

 private:
  const reports::ReportRun& runOf(const ModeMemory& mode) const { return m_section->runs[mode.run]; }

  /// A mode is shown while any of its runs is.
  std::vector<std::size_t> shownModes() const {
    std::vector<std::size_t> shown;
    for (std::size_t i = 0; m_section && i < m_section->section.modes.size(); ++i) {
      for (const reports::ReportRun& run : m_section->runs) {
        if (run.mode_index != runOf(m_section->section.modes[i]).mode_index || !selection().isShown({m_path, run.run.id})) continue;
        shown.push_back(i);
        break;
      }
    }
    return shown;
  }

  void draw() {
    const std::vector<std::size_t> shown = shownModes();
    drawStacks(shown);
    drawCurve(shown);
    QStringList why;
    for (const std::size_t i : shown) {
      const ModeMemory& mode = m_section->section.modes[i];
      if (mode.why.empty()) continue;
      why << tr("%1 does not halve the memory of fp32:").arg(plain(runOf(mode).mode_label));
      for (const std::string& reason : mode.why) why << QStringLiteral("   • ") + sentence(reason);
    }
    if (const QString text = why.join(QLatin1Char('\n')); text != m_why->toPlainText()) m_why->setPlainText(text);
    m_why->setVisible(!why.isEmpty());
    const bool first = m_model->rowCount() == 0;
    m_model->setData(m_section, shown);
    m_table->setVisible(m_model->rowCount() > 0);
    if (first && m_model->rowCount() > 0) m_table->fitColumns(260);
  }

  void drawStacks(const std::vector<std::size_t>& shown) {
    ChartContent content;
    const auto ticks = QSharedPointer<QCPAxisTickerText>::create();
    for (std::size_t at = 0; at < shown.size(); ++at) {
      const ModeMemory& mode = m_section->section.modes[shown[at]];
      const auto middle = static_cast<double>(at);
      ticks->addTick(middle, plain(runOf(mode).mode_label));
      double low = 0.0;
      for (const reports::MemoryCategory category : stackedCategories()) {
        const reports::Count bytes = mode.peak ? mode.peak->bytes[static_cast<std::size_t>(category)] : std::nullopt;
        if (!bytes || *bytes <= 0) continue;
        const auto size = static_cast<double>(*bytes);
        content.bars.push_back({.name = categoryText(category), .colour = categoryColour(category), .left = middle - 0.32, .right = middle + 0.32, .low = low, .high = low + size,
                                .toolTip = tr("%1, %2: %3 [%4]").arg(plain(runOf(mode).mode_label), categoryText(category), valueText(size, FigureStyle::bytes), word(mode.peak->provenance))});
        low += size;
      }
      if (mode.predicted && mode.predicted->total_bytes) {
        const auto planned = static_cast<double>(*mode.predicted->total_bytes);
        content.bars.push_back({.name = tr("planned"), .colour = palette().color(QPalette::Text), .left = middle - 0.38, .right = middle + 0.38, .low = 0.0, .high = planned,
                                .toolTip = tr("%1, as planned: %2 [%3]").arg(plain(runOf(mode).mode_label), valueText(planned, FigureStyle::bytes), word(mode.predicted->provenance)), .hollow = true});
      }
    }
    m_stacks->setAxes({.label = tr("mode"), .style = FigureStyle::count}, {.label = tr("bytes at the peak"), .style = FigureStyle::bytes});
    if (!shown.empty()) m_stacks->xAxis->setTicker(ticks);
    m_stacks->setContent(std::move(content));
  }

  void drawCurve(const std::vector<std::size_t>& shown) {
    ChartContent content;
    bool computed = false;
    for (const std::size_t i : shown) {
      const ModeMemory& mode = m_section->section.modes[i];
      // A plan without its tensors: nothing is known of them, and no step holds nothing.
      if (std::all_of(mode.curve.begin(), mode.curve.end(), [](const reports::MemoryPoint& point) { return point.bytes == 0; })) continue;
      computed = computed || mode.curve_provenance == reports::Provenance::computed;
      ChartLine line{.name = plain(runOf(mode).mode_label), .colour = runColour(runOf(mode).mode), .steps = true, .provenance = word(mode.curve_provenance)};
      for (const reports::MemoryPoint& point : mode.curve) {
        line.x.push_back(static_cast<double>(point.position));
        line.y.push_back(static_cast<double>(point.bytes));
      }
      content.lines.push_back(std::move(line));
    }
    m_curve->setAxes({.label = tr("node of the step, in execution order"), .style = FigureStyle::count},
                     {.label = computed ? tr("bytes of results still to be read") : tr("bytes in use"), .style = FigureStyle::bytes});
    m_curve->setContent(std::move(content));
  }

  /// The node at a place of the curve.
  void choose(std::int64_t position) {
    for (const std::size_t i : shownModes()) {
      for (const reports::MemoryPoint& point : m_section->section.modes[i].curve) {
        if (point.position == position && !point.node.empty()) return selection().setNode(plain(point.node));
      }
    }
  }

  Chart* m_stacks = nullptr;
  Chart* m_curve = nullptr;
  MemoryModel* m_model;
  TableView* m_table = nullptr;
  QPlainTextEdit* m_why = nullptr;
  Reading m_reading;
  QString m_path;
  std::shared_ptr<const MemoryData> m_section;
};

}  // namespace

Panel* makeMemoryPanel(const PanelContext& context, QWidget* parent) { return new MemoryPanel(context, parent); }

}  // namespace ulpscope::gui
