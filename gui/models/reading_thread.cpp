#include "gui/models/reading_thread.h"

#include <chrono>
#include <thread>

namespace ulpscope::gui {
namespace {

/// Threads that have not ended. Never destroyed: a thread may outlive what the program takes down at its end.
struct Count {
  std::mutex mutex;
  std::condition_variable changed;
  int threads = 0;
  void add(int more) {
    const std::lock_guard lock(mutex);
    threads += more;
    changed.notify_all();
  }
};
Count& count() {
  static Count* const all = new Count;
  return *all;
}

}  // namespace

void ReadingThread::begin() {
  count().add(1);
  try {
    std::thread([shared = m_shared, path = m_path]() mutable {
      work(shared, path);
      shared.reset();
      count().add(-1);
    }).detach();
  } catch (...) {
    count().add(-1);
    throw;
  }
  m_begun = true;
}

ReadingThread::~ReadingThread() {
  std::deque<Job> dropped;  // ends outside of the lock
  const std::lock_guard lock(m_shared->mutex);
  m_shared->closed = true;
  dropped.swap(m_shared->jobs);
  m_shared->something.notify_all();
}

void ReadingThread::post(Job job) {
  if (!m_begun) begin();
  const std::lock_guard lock(m_shared->mutex);
  m_shared->jobs.push_back(std::move(job));
  m_shared->something.notify_all();
}

std::shared_ptr<const std::atomic<bool>> ReadingThread::closed() const { return {m_shared, &m_shared->closed}; }

void ReadingThread::work(const std::shared_ptr<Shared>& shared, const QString& path) {
  Follower follower(path, {shared, &shared->closed});
  while (true) {
    Job job;
    {
      std::unique_lock lock(shared->mutex);
      shared->something.wait(lock, [&] { return shared->closed || !shared->jobs.empty(); });
      if (shared->closed) return;
      job = std::move(shared->jobs.front());
      shared->jobs.pop_front();
    }
    job(follower);
  }
}

bool ReadingThread::waitForAll(int milliseconds) {
  std::unique_lock lock(count().mutex);
  return count().changed.wait_for(lock, std::chrono::milliseconds(milliseconds), [] { return count().threads == 0; });
}

}  // namespace ulpscope::gui
