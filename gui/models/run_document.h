// A run file that is open in the window: finished, followed while it is written, or in trouble.
//
// All reading is done in a thread of the document's own, one read after the other; what comes out is handed over in the window's
// thread. The window never waits.
#pragma once

#include <QObject>
#include <QPointer>
#include <QThreadPool>
#include <QTimer>
#include <functional>
#include <memory>
#include <utility>

#include "gui/models/follower.h"

namespace ulpscope::gui {

class RunDocument final : public QObject {
  Q_OBJECT

 public:
  /// Begins to read at once; changed() says when there is something to see. Never throws.
  explicit RunDocument(const QString& path, QObject* parent = nullptr);
  ~RunDocument() override;

  const QString& path() const { return m_path; }  ///< absolute
  QString name() const;                           ///< of the file
  DocumentState state() const { return m_state; }
  const QString& message() const { return m_message; }  ///< what is wrong; empty if nothing is
  /// None before the first read is done, or if the file could never be read.
  const SnapshotPointer& snapshot() const { return m_snapshot; }
  /// Rises when the snapshot changes: what was read before it may be old.
  int revision() const { return m_revision; }

  /// Reads everything anew.
  void reload();

  /// Reads more than the snapshot has: `body` runs in the document's thread with the open file and returns a value; `done` gets it in
  /// the window's thread, unless `receiver` has gone by then. If the file cannot be read, the document says so and `done` is not called.
  ///
  ///   document->read(this, [run](const reports::RunFileReader& file) { return file.events(run); },
  ///                  [this](std::vector<reports::EventRecord> events) { show(std::move(events)); });
  template <class Body, class Done>
  void read(QObject* receiver, Body body, Done done) {
    QPointer<QObject> to(receiver);
    post([this, to, body = std::move(body), done = std::move(done)] {
      auto value = std::make_shared<decltype(body(std::declval<const reports::RunFileReader&>()))>();
      if (!guarded([&] { *value = body(m_follower->reader()); })) return;
      deliver([to, value, done] {
        if (to) done(std::move(*value));
      });
    });
  }

 signals:
  void changed();  ///< state, message or snapshot

 private:
  void post(std::function<void()> job);
  bool guarded(const std::function<void()>& job);
  void deliver(std::function<void()> result);
  void look(bool all);
  void take(const Finding& finding);

  QString m_path;
  DocumentState m_state = DocumentState::Loading;
  QString m_message;
  SnapshotPointer m_snapshot;
  int m_revision = 0;
  bool m_looking = false;
  QTimer m_timer;
  std::unique_ptr<Follower> m_follower;  // used by the thread alone
  QThreadPool m_thread;                  // of one
};

}  // namespace ulpscope::gui
