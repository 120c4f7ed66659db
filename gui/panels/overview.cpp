// The overview: what must be known first, the verdicts, the modes side by side.
#include <QCoreApplication>
#include <QGridLayout>
#include <QHeaderView>
#include <QLabel>
#include <QScrollArea>
#include <QVBoxLayout>

#include "gui/models/modes_model.h"
#include "gui/models/run_colours.h"
#include "gui/models/runs_model.h"
#include "gui/models/text.h"
#include "gui/panels/panels.h"
#include "gui/widgets/message_bar.h"
#include "gui/widgets/table_view.h"

namespace ulpscope::gui {
namespace {

QLabel* makeLabel(const QString& text, QWidget* parent) {
  auto* const label = new QLabel(paragraphs(text), parent);
  label->setTextFormat(Qt::PlainText);
  label->setWordWrap(true);
  label->setAlignment(Qt::AlignTop | Qt::AlignLeading);
  label->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  return label;
}

void clear(QLayout* layout) {
  while (QLayoutItem* const item = layout->takeAt(0)) {
    delete item->widget();
    delete item;
  }
}

class OverviewPanel final : public Panel {
  Q_DECLARE_TR_FUNCTIONS(OverviewPanel)

 public:
  OverviewPanel(const PanelContext& context, QWidget* parent) : Panel(context, parent) {
    auto* const page = new QWidget;
    auto* const column = new QVBoxLayout(page);
    column->setContentsMargins(14, 12, 14, 12);
    column->setSpacing(10);
    m_title = makeLabel({}, page);
    QFont large = font();
    large.setPointSizeF(large.pointSizeF() * 1.35);
    large.setBold(true);
    m_title->setFont(large);
    m_about = makeLabel({}, page);
    m_about->setForegroundRole(QPalette::Text);
    m_notices = new QVBoxLayout;
    m_notices->setSpacing(4);
    m_verdicts = new QGridLayout;
    m_verdicts->setHorizontalSpacing(10);
    m_verdicts->setVerticalSpacing(4);
    m_verdicts->setColumnStretch(2, 1);
    m_model = new ModesModel(this);
    m_table = new TableView(page);
    m_table->setModel(m_model);
    m_table->setAsHighAsRows(true);
    m_table->setAccessibleName(tr("Modes side by side"));
    m_notes = makeLabel({}, page);
    column->addWidget(m_title);
    column->addWidget(m_about);
    column->addLayout(m_notices);
    column->addLayout(m_verdicts);
    column->addWidget(m_table);
    column->addWidget(m_notes);
    column->addStretch(1);
    auto* const scroll = new QScrollArea(this);
    scroll->setWidgetResizable(true);
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    scroll->setWidget(page);
    auto* const all = new QVBoxLayout(this);
    all->setContentsMargins(0, 0, 0, 0);
    all->addWidget(scroll);
  }

 protected:
  void refresh() override {
    const SnapshotPointer now = snapshot();
    m_title->setText(document() != nullptr ? paragraphs(document()->name()) : QString());
    m_about->setText(paragraphs(about(now)));
    showNotices(now);
    showVerdicts(now);
    m_model->setComparison(now ? now->comparison : nullptr);
    m_table->setVisible(m_model->rowCount() > 0);
    m_table->fitColumns();
    QStringList notes;
    if (now && now->comparison) {
      for (const std::string& note : now->comparison->notes) notes << sentence(note);
    }
    m_notes->setText(paragraphs(notes.join(QLatin1Char('\n'))));
    m_notes->setVisible(!notes.isEmpty());
  }

 private:
  QString about(const SnapshotPointer& now) const {
    if (document() == nullptr) return tr("No file is open.");
    if (!now) return document()->state() == DocumentState::Failed ? document()->message() : tr("Reading…");
    QStringList lines;
    if (now->comparison) {
      for (const reports::Setting& setting : now->comparison->settings) {
        const QString tag = setting.tag.empty() ? QString() : plain(setting.tag) + QStringLiteral(": ");
        lines << isolated(tag + plain(setting.experiment)) << isolated(plain(setting.device));
      }
      for (const std::string& producer : now->comparison->producers) lines << tr("Recorded by %1").arg(plain(producer));
    } else {
      lines << tr("There is no run in this file yet.");
    }
    return lines.join(QLatin1Char('\n'));
  }

  void showNotices(const SnapshotPointer& now) {
    QStringList texts;
    for (const Notice& notice : now ? now->notices : std::vector<Notice>{}) texts << notice.text;
    if (texts == m_shown) return;
    m_shown = texts;
    clear(m_notices);
    if (!now) return;
    for (const Notice& notice : now->notices) m_notices->addWidget(new NoticeFrame(notice.severity, notice.text));
  }

  void showVerdicts(const SnapshotPointer& now) {
    clear(m_verdicts);
    if (!now || !now->comparison) return;
    int row = 0;
    for (const reports::ModeResult& mode : now->comparison->modes) {
      auto* const name = makeLabel(modeTitle(mode), nullptr);
      QFont bold = font();
      bold.setBold(true);
      name->setFont(bold);
      name->setWordWrap(false);
      QPixmap swatch(12, 12);
      swatch.fill(runColour(mode.mode));
      auto* const colour = new QLabel;
      colour->setPixmap(swatch);
      QString text = word(mode.judgement.verdict);
      if (!mode.judgement.reason.empty()) text = tr("%1: %2", "verdict: reason").arg(text, sentence(mode.judgement.reason));
      for (const std::string& note : mode.notes) text += QLatin1Char('\n') + sentence(note);
      m_verdicts->addWidget(colour, row, 0, Qt::AlignTop);
      m_verdicts->addWidget(name, row, 1, Qt::AlignTop);
      m_verdicts->addWidget(makeLabel(text, nullptr), row, 2);
      ++row;
    }
  }

  QLabel* m_title;
  QLabel* m_about;
  QVBoxLayout* m_notices;
  QGridLayout* m_verdicts;
  ModesModel* m_model;
  TableView* m_table;
  QLabel* m_notes;
  QStringList m_shown;
};

}  // namespace

Panel* makeOverviewPanel(const PanelContext& context, QWidget* parent) { return new OverviewPanel(context, parent); }

}  // namespace ulpscope::gui
