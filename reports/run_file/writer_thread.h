// The thread of a RunFileWriter: takes batches from the queue and writes them. Part of the writer.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <numeric>
#include <thread>

#include "reports/run_file/create.h"
#include "reports/run_file/insert.h"
#include "reports/run_file/record_queue.h"
#include "reports/run_file/writer.h"

namespace ulpscope::reports {

inline std::int64_t total(const RecordCounts& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

class RunFileWriter::Thread {
 public:
  Thread(const std::string& path, const WriterOptions& options);

  RecordQueue& queue() { return queue_; }
  const std::string& path() const { return path_; }
  std::int64_t lost() const { return lost_total_.load(std::memory_order_relaxed); }
  double cpu_seconds() const { return cpu_seconds_.load(std::memory_order_relaxed); }

  std::optional<std::string> fault() const {
    if (!faulty_.load(std::memory_order_acquire)) return std::nullopt;
    const std::lock_guard lock(mutex_);
    return fmt::format("{}: recording failed: {}", path_, fault_.empty() ? "out of memory" : fault_);
  }

  void flush() {
    const std::uint64_t batch = queue_.wake();
    std::unique_lock lock(mutex_);
    done_.wait(lock, [&] { return written_ >= batch || ended_; });
  }

  void join() {
    queue_.close();
    if (thread_.joinable()) thread_.join();
  }

 private:
  using Clock = std::chrono::steady_clock;
  using Records = std::deque<Record>;
  /// What came of a transaction: written; another program holds the file; the disk does not take it, now; what is in it
  /// can never be written.
  enum class Commit : std::uint8_t { done, busy, later, never };
  /// At the end, records that find no room one by one before the rest is given up.
  static constexpr int last_tries = 16;

  static Commit kind_of(const SqliteError& error);
  void run();
  void write(RecordQueue::Batch& batch);
  void keep(Records& records);
  void write_kept(bool at_the_end);
  bool give_way(Commit reason, std::size_t tried, std::size_t& next);
  void put_runs_first(std::size_t& next);
  Commit commit(const Records& records, std::size_t count);
  void write_losses();
  void lose(std::size_t count);
  void lose_statistics(const Records& records);
  void recovered();
  void finish();
  void write_remarks();
  void keep_fault(const char* what) noexcept;

  const std::string path_;
  const WriterOptions options_;
  CreatedFile file_;
  Inserter inserter_;
  const RecordCounts dropped_earlier_;  // what the file said when it was opened
  const RecordCounts lost_earlier_;
  const std::int64_t waits_earlier_;
  RecordQueue queue_;

  mutable std::mutex mutex_;  // of fault_, written_, ended_
  std::condition_variable done_;
  std::string fault_;
  std::uint64_t written_ = 0;
  bool ended_ = false;
  std::atomic<bool> faulty_{false};
  std::atomic<std::int64_t> lost_total_{0};
  std::atomic<double> cpu_seconds_{0.0};

  // Used by the thread alone.
  Records kept_;  // essential records not yet written, oldest first
  RecordCounts lost_{};
  RecordCounts dropped_written_{};  // what the file says by now
  RecordCounts lost_written_{};
  bool failing_ = false;  // the last try failed
  bool runs_first_ = false;
  int tries_left_ = last_tries;
  double pause_ = 0.0;  // until the next try
  Clock::time_point next_try_{};
  std::int64_t made_up_for_ = 0;  // faults that cost nothing in the end

  std::thread thread_;  // last: it uses everything above
};

}  // namespace ulpscope::reports
