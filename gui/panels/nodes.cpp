// Nodes: the plan of a mode as a table that can be sorted and filtered, with the time of a step in every mode.
#include <QComboBox>
#include <QCoreApplication>
#include <QElapsedTimer>
#include <QHeaderView>
#include <QLabel>
#include <QVBoxLayout>

#include "gui/models/nodes_model.h"
#include "gui/models/text.h"
#include "gui/panels/panels.h"
#include "gui/widgets/table_view.h"

namespace ulpscope::gui {
namespace {

class NodesPanel final : public Panel {
  Q_DECLARE_TR_FUNCTIONS(NodesPanel)

 public:
  NodesPanel(const PanelContext& context, QWidget* parent) : Panel(context, parent) {
    m_model = new NodesModel(this);
    m_proxy = new NodesProxy(this);
    m_proxy->setSourceModel(m_model);
    m_table = new TableView(this);
    m_table->setModel(m_proxy);
    m_table->setSortingEnabled(true);
    m_table->sortByColumn(NodesModel::PositionColumn, Qt::AscendingOrder);
    m_table->verticalHeader()->hide();
    m_table->setSelectionBehavior(QAbstractItemView::SelectRows);
    m_table->setAccessibleName(tr("Nodes of the plan"));
    m_mode = new QComboBox(this);
    m_mode->setAccessibleName(tr("Mode whose plan is shown"));
    m_count = new QLabel(this);
    auto* const row = new QHBoxLayout;
    row->addWidget(new QLabel(tr("Plan of"), this));
    row->addWidget(m_mode);
    row->addWidget(m_count);
    row->addStretch(1);
    auto* const column = new QVBoxLayout(this);
    column->setContentsMargins(8, 6, 8, 8);
    column->addLayout(row);
    column->addWidget(m_table, 1);
    connect(m_mode, &QComboBox::currentIndexChanged, this, [this] { invalidate(); });
    connect(m_table->selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this](const QModelIndex& now) {
      if (now.isValid()) selection().setNode(plain(m_model->row(m_proxy->mapToSource(now).row()).node.name));
    });
  }

 protected:
  void refresh() override {
    const SnapshotPointer now = snapshot();
    fillModes(now);
    m_proxy->setFilter(selection().nodeFilter());
    if (!now) {
      m_model->setTable({});
      m_read.clear();
    } else if (isOld(*now)) {
      m_read = keyOf(*now);
      m_age.start();
      const std::string mode = m_mode->currentText().toStdString();
      readMore([mode](const reports::RunFileReader& file) { return file.runs().empty() ? NodeTable{} : readNodes(file, mode); },
               [this](NodeTable table) { show(std::move(table)); });
    }
    showSelected();
    count();
  }

 private:
  QString keyOf(const Snapshot& now) const {
    return QStringLiteral("%1|%2|%3|%4|%5").arg(now.path, m_mode->currentText()).arg(now.runs.size()).arg(now.live).arg(now.live ? 0 : document()->revision());
  }
  /// The times of a live run are summed up anew every few seconds.
  bool isOld(const Snapshot& now) const {
    constexpr qint64 whileLiveMs = 5000;
    return keyOf(now) != m_read || (now.live && m_age.hasExpired(whileLiveMs));
  }

  void fillModes(const SnapshotPointer& now) {
    QStringList modes;
    for (const RunView& run : now ? now->runs : std::vector<RunView>{}) {
      if (run.record.plan && !modes.contains(plain(run.record.mode))) modes << plain(run.record.mode);
    }
    QStringList shown;
    for (int i = 0; i < m_mode->count(); ++i) shown << m_mode->itemText(i);
    if (shown == modes) return;
    const QSignalBlocker quiet(m_mode);
    const QString before = m_mode->currentText();
    m_mode->clear();
    m_mode->addItems(modes);
    m_mode->setCurrentText(before);
  }

  void show(NodeTable table) {
    const bool first = m_model->rowCount() == 0 || m_model->table().modes != table.modes;
    m_model->setTable(std::move(table));
    if (first) {
      // The reason is the longest: last.
      QHeaderView* const head = m_table->horizontalHeader();
      head->moveSection(head->visualIndex(NodesModel::WhyColumn), head->count() - 1);
      m_table->fitColumns(260);
    }
    showSelected();
    count();
  }

  void showSelected() {
    const int row = m_model->rowOf(selection().node());
    if (row < 0) return;
    const QModelIndex at = m_proxy->mapFromSource(m_model->index(row, NodesModel::NameColumn));
    if (!at.isValid() || at.row() == m_table->currentIndex().row()) return;
    m_table->setCurrentIndex(at);
    m_table->scrollTo(at);
  }

  void count() {
    if (m_model->rowCount() == 0) m_count->setText(document() == nullptr || !snapshot() ? QString() : tr("no plan is on record"));
    else m_count->setText(tr("nodes: %1 of %2").arg(m_proxy->rowCount()).arg(m_model->rowCount()));
  }

  NodesModel* m_model;
  NodesProxy* m_proxy;
  TableView* m_table;
  QComboBox* m_mode;
  QLabel* m_count;
  QString m_read;
  QElapsedTimer m_age;
};

}  // namespace

Panel* makeNodesPanel(const PanelContext& context, QWidget* parent) { return new NodesPanel(context, parent); }

}  // namespace ulpscope::gui
