// A run file that is open in the window: finished, followed while it is written, or in trouble.
//
// All reading is done in a thread of the document's own, one read after the other; what comes out is handed over in the window's
// thread. The window never waits, not even for a read that goes on when the document is closed.
#pragma once

#include <QObject>
#include <QPointer>
#include <QTimer>
#include <functional>
#include <memory>
#include <utility>

#include "gui/models/follower.h"
#include "gui/models/reading_thread.h"

namespace ulpscope::gui {

class RunDocument final : public QObject {
  Q_OBJECT

 public:
  /// Begins to read at once; changed() says when there is something to see. Never throws.
  explicit RunDocument(const QString& path, QObject* parent = nullptr);

  const QString& path() const { return m_path; }  ///< absolute
  QString name() const;                           ///< of the file
  DocumentState state() const { return m_state; }
  const QString& message() const { return m_message; }  ///< what is wrong; empty if nothing is
  /// None before the first read is done, or if the file could never be read.
  const SnapshotPointer& snapshot() const { return m_snapshot; }
  /// Rises when the snapshot changes: what was read before it may be old.
  int revision() const { return m_revision; }

  /// Reads everything anew. What was wrong is forgotten, and said again if it still is.
  void reload();

  /// Reads more than the snapshot has: `body` runs in the document's thread with the open file and returns a value; `done` gets it in
  /// the window's thread, unless `receiver` has gone by then. If the file cannot be read, the document says so and `done` is not called.
  ///
  ///   document->read(this, [run](const reports::RunFileReader& file) { return file.events(run); },
  ///                  [this](std::vector<reports::EventRecord> events) { show(std::move(events)); });
  template <class Body, class Done>
  void read(QObject* receiver, Body body, Done done) {
    post([back = back(), to = QPointer<QObject>(receiver), body = std::move(body), done = std::move(done)](Follower& follower) {
      auto value = std::make_shared<decltype(body(std::declval<const reports::RunFileReader&>()))>();
      if (!guarded(back, [&] { *value = body(follower.reader()); })) return;
      deliver(back, [to, value, done](RunDocument&) {
        if (to) done(std::move(*value));
      });
    });
  }

 signals:
  void changed();  ///< state, message or snapshot

 private:
  /// The way from the reading thread back to the document, which may be gone by then.
  struct Back {
    QPointer<RunDocument> to;
    std::shared_ptr<const std::atomic<bool>> closed;
  };
  Back back() { return {this, m_thread.closed()}; }
  static void deliver(const Back& back, std::function<void(RunDocument&)> result);
  static bool guarded(const Back& back, const std::function<void()>& job);
  void look(bool all);
  void post(ReadingThread::Job job);
  void take(const Finding& finding);
  void fail(const QString& why);

  QString m_path;
  DocumentState m_state = DocumentState::Loading;
  QString m_message;
  SnapshotPointer m_snapshot;
  int m_revision = 0;
  bool m_looking = false;
  bool m_readingAll = false;
  bool m_readAgain = false;  // it was asked for while everything was being read
  QTimer m_timer;
  ReadingThread m_thread;
};

}  // namespace ulpscope::gui
