#include "gui/models/run_document.h"

#include <QFileInfo>
#include <exception>

#include "gui/models/text.h"

namespace ulpscope::gui {
namespace {
constexpr int lookEveryMs = 400;   // a live run: new steps show within a second
constexpr int glanceEveryMs = 1000;  // any other: whether the file is still there, and the same
}  // namespace

RunDocument::RunDocument(const QString& path, QObject* parent)
    : QObject(parent), m_path(QFileInfo(path).absoluteFilePath()), m_follower(std::make_unique<Follower>(m_path)) {
  m_thread.setMaxThreadCount(1);
  m_thread.setExpiryTimeout(-1);
  m_timer.setSingleShot(true);
  connect(&m_timer, &QTimer::timeout, this, [this] { look(false); });
  look(true);
}

RunDocument::~RunDocument() {
  m_thread.clear();
  m_thread.waitForDone();
}

QString RunDocument::name() const { return QFileInfo(m_path).fileName(); }

void RunDocument::reload() { look(true); }

void RunDocument::look(bool all) {
  if (m_looking && !all) return;
  m_looking = true;
  m_timer.stop();
  post([this, all] {
    const std::optional<Finding> finding = m_follower->look(all);
    deliver([this, finding] {
      m_looking = false;
      if (finding) take(*finding);
      m_timer.start(m_state == DocumentState::Live ? lookEveryMs : glanceEveryMs);
    });
  });
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

void RunDocument::post(std::function<void()> job) { m_thread.start(std::move(job)); }

bool RunDocument::guarded(const std::function<void()>& job) {
  QString message;
  try {
    job();
    return true;
  } catch (const std::exception& error) {
    message = plain(error.what());
  }
  deliver([this, message] {
    if (m_state == DocumentState::Vanished) return;  // which says more
    m_state = DocumentState::Failed;
    m_message = message;
    emit changed();
  });
  return false;
}

void RunDocument::deliver(std::function<void()> result) {
  QMetaObject::invokeMethod(this, std::move(result), Qt::QueuedConnection);
}

}  // namespace ulpscope::gui
