#include "gui/models/session.h"

#include <QFileInfo>
#include <QSettings>
#include <algorithm>
#include <utility>

namespace ulpscope::gui {
namespace {
constexpr auto recentKey = "recentFiles";
constexpr qsizetype mostRecent = 10;

QString identity(const QString& path) {
  const QFileInfo file(path);
  const QString canonical = file.canonicalFilePath();  // empty if it is not there
  return canonical.isEmpty() ? file.absoluteFilePath() : canonical;
}
}  // namespace

Session::Session(QObject* parent) : QObject(parent) {}

void Session::setCurrent(RunDocument* document) {
  if (m_current == document) return;
  m_current = document;
  emit currentChanged();
}

RunDocument* Session::open(const QString& path) {
  const auto same = std::find_if(m_documents.begin(), m_documents.end(),
                                 [&](const RunDocument* d) { return identity(d->path()) == identity(path); });
  if (same != m_documents.end()) {
    RunDocument* const document = *same;
    if (document->state() == DocumentState::Failed || document->state() == DocumentState::Vanished) document->reload();
    if (document->snapshot()) remember(document->path());
    setCurrent(document);
    return document;
  }
  auto* const document = new RunDocument(path, this);
  m_documents.push_back(document);
  connect(document, &RunDocument::changed, this, [this, document, remembered = false]() mutable {
    if (document->snapshot() && !std::exchange(remembered, true)) remember(document->path());  // once it was read: what cannot be is no recent file
    emit changed(document);
  });
  emit opened(document);
  setCurrent(document);
  return document;
}

void Session::close(RunDocument* document) {
  const auto found = std::find(m_documents.begin(), m_documents.end(), document);
  if (found == m_documents.end()) return;
  emit aboutToClose(document);
  const auto next = m_documents.erase(found);
  document->disconnect(this);
  if (m_current == document)
    setCurrent(next != m_documents.end() ? *next : m_documents.empty() ? nullptr : m_documents.back());
  document->deleteLater();
  emit closed();
}

void Session::reloadAll() {
  for (RunDocument* document : m_documents) document->reload();
}

QStringList Session::recentFiles() const { return QSettings().value(QLatin1String(recentKey)).toStringList(); }

void Session::clearRecentFiles() {
  QSettings().remove(QLatin1String(recentKey));
  emit recentFilesChanged();
}

void Session::remember(const QString& path) {
  QStringList files = recentFiles();
  if (!files.isEmpty() && files.front() == path) return;
  files.removeAll(path);
  files.prepend(path);
  while (files.size() > mostRecent) files.removeLast();
  QSettings().setValue(QLatin1String(recentKey), files);
  emit recentFilesChanged();
}

}  // namespace ulpscope::gui
