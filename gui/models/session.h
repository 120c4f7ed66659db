// The run files that are open, and those that were.
#pragma once

#include <QObject>
#include <QStringList>
#include <vector>

#include "gui/models/run_document.h"

namespace ulpscope::gui {

class Session final : public QObject {
  Q_OBJECT

 public:
  explicit Session(QObject* parent = nullptr);

  const std::vector<RunDocument*>& documents() const { return m_documents; }
  RunDocument* current() const { return m_current; }  ///< whom most panels show; none if nothing is open
  void setCurrent(RunDocument* document);

  /// Opens the file, or makes it the current one if it is open already. What is wrong with it, the document says.
  RunDocument* open(const QString& path);
  void close(RunDocument* document);
  void reloadAll();

  QStringList recentFiles() const;  ///< the latest first
  void clearRecentFiles();

 signals:
  void opened(ulpscope::gui::RunDocument* document);
  void aboutToClose(ulpscope::gui::RunDocument* document);
  void closed();
  void changed(ulpscope::gui::RunDocument* document);  ///< state, message or snapshot of one of them
  void currentChanged();
  void recentFilesChanged();

 private:
  void remember(const QString& path);

  std::vector<RunDocument*> m_documents;
  RunDocument* m_current = nullptr;
};

}  // namespace ulpscope::gui
