#include "gui/models/run_document.h"

#include <QCoreApplication>
#include <QFileInfo>
#include <exception>
#include <system_error>
#include <utility>

#include "gui/models/text.h"

namespace ulpscope::gui {
namespace {
constexpr int lookEveryMs = 400;   // a live run: new steps show within a second
constexpr int glanceEveryMs = 1000;  // any other: whether the file is still there, and the same
}  // namespace

RunDocument::RunDocument(const QString& path, QObject* parent) : QObject(parent), m_path(QFileInfo(path).absoluteFilePath()), m_thread(m_path) {
  m_timer.setSingleShot(true);
  connect(&m_timer, &QTimer::timeout, this, [this] { look(false); });
  look(true);
}

QString RunDocument::name() const { return QFileInfo(m_path).fileName(); }

void RunDocument::reload() {
  if (!m_message.isEmpty()) {
    m_message.clear();
    emit changed();
  }
  look(true);
}

void RunDocument::look(bool all) {
  if (m_looking && !all) return;
  if (m_readingAll) {  // many times in a row, it is done twice: what changed since this one began is seen by the next
    m_readAgain = true;
    return;
  }
  m_looking = true;
  m_readingAll = all;
  m_timer.stop();
  post([back = back(), all](Follower& follower) {
    const std::optional<Finding> finding = follower.look(all);
    deliver(back, [finding, all](RunDocument& document) {
      document.m_looking = false;
      if (all) document.m_readingAll = false;
      if (finding) document.take(*finding);
      if (all && std::exchange(document.m_readAgain, false)) return document.look(true);
      document.m_timer.start(document.m_state == DocumentState::Live ? lookEveryMs : glanceEveryMs);
    });
  });
}

/// Without a thread nothing is read; "Try again" tries that, too.
void RunDocument::post(ReadingThread::Job job) {
  try {
    m_thread.post(std::move(job));
  } catch (const std::system_error& error) {
    m_looking = m_readingAll = false;
    deliver(back(), [why = tr("No thread could be begun to read it: %1").arg(plain(error.what()))](RunDocument& document) { document.fail(why); });
  }
}

void RunDocument::take(const Finding& finding) {
  m_state = finding.state;
  m_message = finding.message;
  if (finding.snapshot != m_snapshot) {
    m_snapshot = finding.snapshot;
    ++m_revision;
  }
  emit changed();
}

bool RunDocument::guarded(const Back& back, const std::function<void()>& job) {
  QString message;
  try {
    job();
    return true;
  } catch (const std::exception& error) {
    message = plain(error.what());
  }
  deliver(back, [message](RunDocument& document) { document.fail(message); });
  return false;
}

void RunDocument::fail(const QString& why) {
  if (m_state == DocumentState::Vanished) return;  // which says more
  m_state = DocumentState::Failed;
  m_message = namingFile(why, m_path);
  emit changed();
}

/// Through the program's own object, which outlives every document: this one may end at any moment.
void RunDocument::deliver(const Back& back, std::function<void(RunDocument&)> result) {
  if (*back.closed || QCoreApplication::instance() == nullptr) return;
  QMetaObject::invokeMethod(
      QCoreApplication::instance(),
      [to = back.to, result = std::move(result)] {
        if (to) result(*to);
      },
      Qt::QueuedConnection);
}

}  // namespace ulpscope::gui
