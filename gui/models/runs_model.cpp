#include "gui/models/runs_model.h"

#include <QDir>
#include <algorithm>

#include "gui/models/run_colours.h"
#include "gui/models/text.h"

namespace ulpscope::gui {

QString stateText(DocumentState state) {
  switch (state) {
    case DocumentState::Loading: return RunsModel::tr("loading");
    case DocumentState::Live: return RunsModel::tr("live");
    case DocumentState::Finished: return RunsModel::tr("finished");
    case DocumentState::CutOff: return RunsModel::tr("cut off");
    case DocumentState::Vanished: return RunsModel::tr("vanished");
    case DocumentState::Failed: return RunsModel::tr("cannot be read");
  }
  return {};
}

RunsModel::RunsModel(Session& session, Selection& selection, QObject* parent) : QAbstractItemModel(parent), m_selection(selection) {
  for (RunDocument* document : session.documents()) add(document);
  connect(&session, &Session::opened, this, &RunsModel::add);
  connect(&session, &Session::aboutToClose, this, &RunsModel::remove);
  connect(&session, &Session::changed, this, &RunsModel::update);
  connect(&selection, &Selection::runsChanged, this, [this] {
    for (int i = 0; i < rowCount(); ++i) {
      const QModelIndex file = index(i, 0);
      if (const int rows = rowCount(file); rows > 0) emit dataChanged(index(0, 0, file), index(rows - 1, 0, file), {Qt::CheckStateRole});
    }
  });
}

void RunsModel::add(RunDocument* document) {
  const int row = static_cast<int>(m_files.size());
  beginInsertRows({}, row, row);
  m_files.push_back({document, document->snapshot() ? document->snapshot()->runs : std::vector<RunView>{}, ++m_lastId});
  endInsertRows();
}

void RunsModel::remove(RunDocument* document) {
  const QModelIndex file = indexOf(document);
  if (!file.isValid()) return;
  beginRemoveRows({}, file.row(), file.row());
  m_files.erase(m_files.begin() + file.row());
  endRemoveRows();
}

void RunsModel::update(RunDocument* document) {
  const QModelIndex at = indexOf(document);
  if (!at.isValid()) return;
  File& file = m_files[static_cast<std::size_t>(at.row())];
  const std::vector<RunView> now = document->snapshot() ? document->snapshot()->runs : std::vector<RunView>{};
  const int before = static_cast<int>(file.runs.size());
  const int after = static_cast<int>(now.size());
  if (after > before) {
    beginInsertRows(at, before, after - 1);
    file.runs = now;
    endInsertRows();
  } else if (after < before) {
    beginRemoveRows(at, after, before - 1);
    file.runs = now;
    endRemoveRows();
  } else {
    file.runs = now;
  }
  emit dataChanged(at, at.siblingAtColumn(ColumnCount - 1));
  if (after > 0) emit dataChanged(index(0, 0, at), index(after - 1, ColumnCount - 1, at));
}

// Of a run the internal id is that of its file; of a file it is 0.
QModelIndex RunsModel::index(int row, int column, const QModelIndex& parent) const {
  if (!hasIndex(row, column, parent)) return {};
  return createIndex(row, column, parent.isValid() ? m_files[static_cast<std::size_t>(parent.row())].id : 0);
}

QModelIndex RunsModel::parent(const QModelIndex& index) const {
  const File* const file = fileOf(index);
  return file == nullptr ? QModelIndex() : createIndex(static_cast<int>(file - m_files.data()), 0, quintptr{0});
}

int RunsModel::rowCount(const QModelIndex& parent) const {
  if (!parent.isValid()) return static_cast<int>(m_files.size());
  if (parent.internalId() != 0 || parent.column() != 0) return 0;
  return static_cast<int>(m_files[static_cast<std::size_t>(parent.row())].runs.size());
}

int RunsModel::columnCount(const QModelIndex&) const { return ColumnCount; }

QModelIndex RunsModel::indexOf(const RunDocument* document) const {
  const auto found = std::find_if(m_files.begin(), m_files.end(), [&](const File& f) { return f.document == document; });
  return found == m_files.end() ? QModelIndex() : createIndex(static_cast<int>(found - m_files.begin()), 0, quintptr{0});
}

const RunsModel::File* RunsModel::fileOf(const QModelIndex& index) const {
  if (!index.isValid() || index.internalId() == 0) return nullptr;
  const auto found = std::find_if(m_files.begin(), m_files.end(), [&](const File& f) { return f.id == index.internalId(); });
  return found == m_files.end() ? nullptr : &*found;
}

const RunView* RunsModel::run(const QModelIndex& index) const {
  const File* const file = fileOf(index);
  return file == nullptr || index.row() >= static_cast<int>(file->runs.size()) ? nullptr : &file->runs[static_cast<std::size_t>(index.row())];
}

std::optional<RunKey> RunsModel::key(const QModelIndex& index) const {
  const RunView* const view = run(index);
  if (view == nullptr) return std::nullopt;
  return RunKey{fileOf(index)->document->path(), view->record.id};
}

QVariant RunsModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  if (const RunView* const view = run(index)) return runData(*fileOf(index), *view, index.column(), role);
  if (index.internalId() != 0 || index.row() >= rowCount()) return {};
  return fileData(m_files[static_cast<std::size_t>(index.row())], index.column(), role);
}

QVariant RunsModel::fileData(const File& file, int column, int role) const {
  if (role == DocumentRole) return QVariant::fromValue(static_cast<QObject*>(file.document));
  if (role == Qt::ToolTipRole) {
    const QString path = QDir::toNativeSeparators(file.document->path());
    return file.document->message().isEmpty() ? path : QStringLiteral("%1\n%2").arg(path, file.document->message());
  }
  if (role != Qt::DisplayRole) return {};
  if (column == NameColumn) return file.document->name();
  if (column == StatusColumn) return stateText(file.document->state());
  return {};
}

QVariant RunsModel::runData(const File& file, const RunView& run, int column, int role) const {
  const reports::Count planned = run.record.steps_planned;
  switch (role) {
    case Qt::DisplayRole:
      if (column == NameColumn) return run.title();
      if (column == StepsColumn) return planned ? tr("%1 of %2", "steps").arg(run.steps).arg(*planned) : QString::number(run.steps);
      return run.cutOff ? tr("cut off") : word(run.record.status);
    case Qt::CheckStateRole:
      if (column != NameColumn) return {};
      return m_selection.isShown({file.document->path(), run.record.id}) ? Qt::Checked : Qt::Unchecked;
    case Qt::DecorationRole:
      if (column == NameColumn) return runColour(run.record.mode);
      return {};
    case Qt::ToolTipRole: {
      QString text = tr("%1 on %2, device %3 (%4)").arg(plain(run.record.model), plain(run.record.data), plain(run.record.device), plain(run.record.device_kind));
      if (!run.record.message.empty()) text += QLatin1Char('\n') + plain(run.record.message);
      return text;
    }
    case ProgressRole:
      if (!planned || *planned <= 0) return {};
      return std::min(1.0, static_cast<double>(run.steps) / static_cast<double>(*planned));
    case DocumentRole: return QVariant::fromValue(static_cast<QObject*>(file.document));
    default: return {};
  }
}

bool RunsModel::setData(const QModelIndex& index, const QVariant& value, int role) {
  const std::optional<RunKey> which = key(index);
  if (role != Qt::CheckStateRole || !which || index.column() != NameColumn) return false;
  m_selection.setShown(*which, value.toInt() == Qt::Checked);
  return true;
}

QVariant RunsModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
  switch (section) {
    case NameColumn: return tr("Run");
    case StepsColumn: return tr("Steps");
    case StatusColumn: return tr("Status");
    default: return {};
  }
}

Qt::ItemFlags RunsModel::flags(const QModelIndex& index) const {
  if (!index.isValid()) return Qt::NoItemFlags;
  Qt::ItemFlags flags = Qt::ItemIsEnabled | Qt::ItemIsSelectable;
  if (run(index) != nullptr) {
    flags |= Qt::ItemNeverHasChildren;
    if (index.column() == NameColumn) flags |= Qt::ItemIsUserCheckable;
  }
  return flags;
}

}  // namespace ulpscope::gui
