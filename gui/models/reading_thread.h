// The thread in which a document's file is read, one job after the other. Who closes the document does not wait for it: jobs that have
// not begun are dropped, the one at work is told to give up and ends by itself, out of sight.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "gui/models/follower.h"

namespace ulpscope::gui {

class ReadingThread {
 public:
  using Job = std::function<void(Follower&)>;

  explicit ReadingThread(QString path) : m_path(std::move(path)), m_shared(std::make_shared<Shared>()) {}
  /// Returns at once.
  ~ReadingThread();
  ReadingThread(const ReadingThread&) = delete;
  ReadingThread& operator=(const ReadingThread&) = delete;

  /// The first one begins the thread. Throws std::system_error, and drops the job, if the system has no thread for it; the next one tries again.
  void post(Job job);
  /// True once the ReadingThread is gone: a job need not go on, and nobody takes what it brings. May outlive the ReadingThread.
  std::shared_ptr<const std::atomic<bool>> closed() const;

  /// Waits until no thread of any document is at work any more, closed ones included; false if some still are. A program must not take
  /// down its statics before.
  static bool waitForAll(int milliseconds);

 private:
  struct Shared {
    std::mutex mutex;
    std::condition_variable something;
    std::deque<Job> jobs;
    std::atomic<bool> closed = false;
  };
  static void work(const std::shared_ptr<Shared>& shared, const QString& path);
  void begin();
  QString m_path;
  std::shared_ptr<Shared> m_shared;
  bool m_begun = false;
};

}  // namespace ulpscope::gui
