// The open files and their runs as a tree: mode and seed with a tick (shown or not), how far it is, its status.
#pragma once

#include <QAbstractItemModel>
#include <vector>

#include "gui/models/selection.h"
#include "gui/models/session.h"

namespace ulpscope::gui {

class RunsModel final : public QAbstractItemModel {
  Q_OBJECT

 public:
  enum Column { NameColumn, StepsColumn, StatusColumn, ColumnCount };
  enum Role {
    ProgressRole = Qt::UserRole,  ///< steps done ÷ planned, 0 … 1; invalid if unknown
    DocumentRole,                 ///< RunDocument*, as QObject*
  };

  RunsModel(Session& session, Selection& selection, QObject* parent = nullptr);

  QModelIndex index(int row, int column, const QModelIndex& parent = {}) const override;
  QModelIndex parent(const QModelIndex& index) const override;
  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  bool setData(const QModelIndex& index, const QVariant& value, int role = Qt::EditRole) override;
  QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;
  Qt::ItemFlags flags(const QModelIndex& index) const override;

  QModelIndex indexOf(const RunDocument* document) const;
  /// Which run a row is; none for a file.
  std::optional<RunKey> key(const QModelIndex& index) const;

 private:
  struct File {
    RunDocument* document = nullptr;
    std::vector<RunView> runs{};
    quintptr id = 0;  ///< from 1, never used again: indexes that a view still holds of a file that was closed lead nowhere
  };
  void add(RunDocument* document);
  void remove(RunDocument* document);
  void update(RunDocument* document);
  /// Of a run: its file; null for a file, and for a run of a file that was closed.
  const File* fileOf(const QModelIndex& index) const;
  const RunView* run(const QModelIndex& index) const;
  QVariant fileData(const File& file, int column, int role) const;
  QVariant runData(const File& file, const RunView& run, int column, int role) const;

  Selection& m_selection;
  std::vector<File> m_files;
  quintptr m_lastId = 0;
};

/// "finished", "running", "cut off" … of a document.
QString stateText(DocumentState state);

}  // namespace ulpscope::gui
