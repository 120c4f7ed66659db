#include "gui/widgets/runs_view.h"

#include <QContextMenuEvent>
#include <QHeaderView>
#include <QMenu>
#include <QPainter>
#include <QStyledItemDelegate>

namespace ulpscope::gui {
namespace {

/// "120 of 300" on a thin bar.
class ProgressDelegate final : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;
  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    QStyledItemDelegate::paint(painter, option, index);
    const QVariant progress = index.data(RunsModel::ProgressRole);
    if (!progress.isValid()) return;
    QRect bar = option.rect.adjusted(4, 0, -4, -1);
    bar.setTop(bar.bottom() - 2);
    painter->fillRect(bar, option.palette.color(QPalette::Mid));
    bar.setWidth(static_cast<int>(bar.width() * progress.toDouble()));
    painter->fillRect(bar, option.palette.color(QPalette::Highlight));
  }
  QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    QSize size = QStyledItemDelegate::sizeHint(option, index);
    size.rheight() += 6;
    size.rwidth() += 10;
    return size;
  }
};

}  // namespace

RunsView::RunsView(Session& session, Selection& selection, QWidget* parent)
    : QTreeView(parent), m_session(session), m_selection(selection), m_model(new RunsModel(session, selection, this)) {
  setModel(m_model);
  setItemDelegateForColumn(RunsModel::StepsColumn, new ProgressDelegate(this));
  setAccessibleName(tr("Open files and their runs"));
  setUniformRowHeights(true);
  setIndentation(14);
  setAllColumnsShowFocus(true);
  header()->setStretchLastSection(false);
  header()->setSectionResizeMode(QHeaderView::ResizeToContents);
  header()->setSectionResizeMode(RunsModel::NameColumn, QHeaderView::Stretch);
  setMinimumWidth(fontMetrics().averageCharWidth() * 46);
  connect(m_model, &QAbstractItemModel::rowsInserted, this, [this](const QModelIndex& parent_row) {
    if (parent_row.isValid()) expand(parent_row);
  });
  connect(selectionModel(), &QItemSelectionModel::currentChanged, this, [this](const QModelIndex& now) {
    if (RunDocument* document = documentAt(now)) m_session.setCurrent(document);
    if (const auto key = m_model->key(now)) m_selection.setRun(key);
  });
  connect(&session, &Session::currentChanged, this, [this] {
    const QModelIndex file = m_model->indexOf(m_session.current());
    if (file.isValid() && documentAt(currentIndex()) != m_session.current()) setCurrentIndex(file);
  });
  expandAll();
}

RunDocument* RunsView::documentAt(const QModelIndex& index) const {
  return index.isValid() ? qobject_cast<RunDocument*>(index.data(RunsModel::DocumentRole).value<QObject*>()) : nullptr;
}

void RunsView::contextMenuEvent(QContextMenuEvent* event) {
  QModelIndex index = indexAt(viewport()->mapFromGlobal(event->globalPos()));
  if (!index.isValid()) index = currentIndex();
  RunDocument* const document = documentAt(index);
  if (document == nullptr) return;
  QMenu menu(this);
  const QModelIndex file = m_model->indexOf(document);
  std::vector<RunKey> all;
  for (int row = 0; row < m_model->rowCount(file); ++row) all.push_back(*m_model->key(m_model->index(row, 0, file)));
  if (const auto key = m_model->key(index)) menu.addAction(tr("Show only this run"), this, [this, key, all] { m_selection.setOnlyShown(*key, all); });
  menu.addAction(tr("Show all runs"), this, [this, all] {
    for (const RunKey& run : all) m_selection.setShown(run, true);
  });
  menu.addSeparator();
  menu.addAction(tr("Reload"), document, &RunDocument::reload);
  menu.addAction(tr("Close file"), this, [this, document] { m_session.close(document); });
  menu.exec(event->globalPos());
}

}  // namespace ulpscope::gui
