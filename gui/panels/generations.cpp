// Generations: the open files side by side by the machine they were recorded on. What is emulated or projected is drawn as an outline;
// what cannot be compared is said and left out.
#include <QCoreApplication>
#include <QElapsedTimer>
#include <QHeaderView>
#include <QLabel>
#include <QPlainTextEdit>
#include <QSplitter>
#include <QVBoxLayout>
#include <array>

#include "gui/charts/chart.h"
#include "gui/models/machines_model.h"
#include "gui/models/text.h"
#include "gui/panels/panels.h"
#include "gui/widgets/table_view.h"
#include "gui/widgets/theme.h"

namespace ulpscope::gui {
namespace {

using reports::FigureStyle;
using reports::Provenance;

class GenerationsPanel final : public Panel {
  Q_DECLARE_TR_FUNCTIONS(GenerationsPanel)

 public:
  GenerationsPanel(const PanelContext& context, QWidget* parent) : Panel(context, parent) {
    auto* const column = new QVBoxLayout(this);
    column->setContentsMargins(8, 6, 8, 8);
    column->addWidget(m_about = new QLabel(this));
    m_about->setTextFormat(Qt::PlainText);
    m_about->setWordWrap(true);
    auto* const split = m_split = new QSplitter(Qt::Vertical, this);
    split->setChildrenCollapsible(false);
    split->addWidget(m_chart = new Chart(split));
    m_chart->setName(QStringLiteral("generations"));
    m_chart->setAccessibleName(tr("Step time by mode and machine"));
    m_model = new MachinesModel(this);
    split->addWidget(m_table = new TableView(split));
    m_table->setModel(m_model);
    m_table->verticalHeader()->hide();
    m_table->setAccessibleName(tr("Machines side by side"));
    split->addWidget(m_notes = new QPlainTextEdit(split));
    m_notes->setReadOnly(true);
    m_notes->setTabChangesFocus(true);
    readAsWindow(*m_notes->document());
    m_notes->setAccessibleName(tr("What cannot be compared, and why"));
    split->setSizes({420, 600, 160});
    column->addWidget(split, 1);
    column->addStretch(0);
    connect(m_chart, &Chart::failed, this, &Panel::failed);
  }

 protected:
  void refresh() override {
    std::vector<const void*> now;
    std::vector<std::string> others;
    bool live = false;
    for (const RunDocument* of : session().documents()) {
      if (!of->snapshot() || !of->snapshot()->comparison) continue;
      now.push_back(of->snapshot()->comparison.get());
      live = live || of->snapshot()->live;
      if (of != document()) others.push_back(of->path().toStdString());
    }
    const bool readable = document() != nullptr && snapshot() && snapshot()->comparison;
    if (!readable || others.empty()) {
      m_read.clear();
      return take(nullptr, readable ? tr("Open the run file of another machine beside this one: machines are compared with the current file's.") : QString());
    }
    now.push_back(document());
    constexpr qint64 whileLiveMs = 10000;
    if (now != m_read && (m_read.empty() || now.size() != m_read.size() || now.back() != m_read.back() || !live || m_age.hasExpired(whileLiveMs))) {
      m_read = now;
      m_age.start();
      readMore([others](const reports::RunFileReader& file) { return readMachines(file, others); },
               [this](MachinesData section) {
                 const bool several = section.machines.has_value();
                 auto shared = std::make_shared<const MachinesData>(std::move(section));
                 take(shared, several ? tr("Ratios are to the first machine. Outlines: emulated or projected, which says nothing about hardware.")
                                      : tr("All files that are open were recorded on the same device: there are no machines to compare."));
               });
    }
    if (m_section) draw();
  }

 private:
  void take(std::shared_ptr<const MachinesData> section, const QString& about) {
    m_section = std::move(section);
    m_about->setText(about);
    const bool several = m_section && m_section->machines;
    const QStringList notes = m_section ? machineNotes(*m_section) : QStringList();
    m_chart->setVisible(several);
    m_table->setVisible(several);
    m_notes->setVisible(!notes.isEmpty());
    m_split->setVisible(several || !notes.isEmpty());
    m_notes->setPlainText(notes.join(QLatin1Char('\n')));
    m_model->setData(m_section);
    if (several) m_table->fitColumns(340);
    draw();
  }

  /// Okabe and Ito's, by machine.
  static QColor machineColour(std::size_t machine) {
    static constexpr std::array<QRgb, 6> colours{0xff0072b2, 0xffe69f00, 0xff009e73, 0xffcc79a7, 0xff56b4e9, 0xffd55e00};
    return QColor::fromRgb(colours[machine % colours.size()]);
  }

  void draw() {
    ChartContent content;
    const auto ticks = QSharedPointer<QCPAxisTickerText>::create();
    if (m_section && m_section->machines) {
      const reports::MachineComparison& all = *m_section->machines;
      const double width = 0.8 / static_cast<double>(std::max<std::size_t>(1, all.machines.size()));
      for (std::size_t m = 0; m < all.modes.size(); ++m) {
        ticks->addTick(static_cast<double>(m), plain(all.modes[m].mode));
        for (std::size_t i = 0; i < all.machines.size(); ++i) {
          const reports::Figure& step = all.modes[m].at[i].step;
          if (!step.value) continue;
          const double left = static_cast<double>(m) - 0.4 + width * static_cast<double>(i);
          content.bars.push_back({.name = plain(all.machines[i].device), .colour = machineColour(i), .left = left + 0.02, .right = left + width - 0.02, .low = 0.0, .high = *step.value,
                                  .toolTip = tr("%1, %2: a step takes %3 [%4]").arg(machineTitle(all.machines[i]), plain(all.modes[m].mode), valueText(step.value, FigureStyle::seconds), word(step.provenance)),
                                  .hollow = step.provenance == Provenance::emulated || step.provenance == Provenance::projected});
        }
      }
    }
    m_chart->setAxes({.label = tr("mode"), .style = FigureStyle::count}, {.label = tr("Step time"), .style = FigureStyle::seconds});
    if (!content.bars.empty()) m_chart->xAxis->setTicker(ticks);
    m_chart->setContent(std::move(content));
  }

  QLabel* m_about;
  QSplitter* m_split;
  Chart* m_chart = nullptr;
  MachinesModel* m_model;
  TableView* m_table = nullptr;
  QPlainTextEdit* m_notes = nullptr;
  std::vector<const void*> m_read;  // the analyses it rests on, and the current file: compared, never followed
  QElapsedTimer m_age;
  std::shared_ptr<const MachinesData> m_section;
};

}  // namespace

Panel* makeGenerationsPanel(const PanelContext& context, QWidget* parent) { return new GenerationsPanel(context, parent); }

}  // namespace ulpscope::gui
