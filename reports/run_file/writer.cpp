#include "reports/run_file/writer.h"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <numeric>
#include <thread>
#include <utility>

#include "kernels/error.h"
#include "reports/run_file/create.h"
#include "reports/run_file/insert.h"
#include "reports/run_file/record_queue.h"

namespace ulpscope::reports {
namespace {

template <std::size_t... I>
std::array<const char*, record_kinds> record_tables(std::index_sequence<I...>) {
  return {Table<std::variant_alternative_t<I, Record>>::name...};
}

// The table that records of each alternative go to.
const std::array<const char*, record_kinds>& tables() {
  static const auto names = record_tables(std::make_index_sequence<record_kinds>());
  return names;
}

std::int64_t total(const RecordCounts& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

}  // namespace

class RunFileWriter::Thread {
 public:
  Thread(const std::string& path, const WriterOptions& options)
      : path_(path),
        options_(options),
        file_(create_run_file(path, options)),
        inserter_(file_.database),
        queue_(options.queue_capacity),
        thread_([this] { run(); }) {}

  RecordQueue& queue() { return queue_; }
  const std::string& path() const { return path_; }
  std::int64_t lost() const { return lost_total_.load(std::memory_order_relaxed); }

  std::optional<std::string> fault() const {
    if (!faulty_.load(std::memory_order_acquire)) return std::nullopt;
    const std::lock_guard lock(mutex_);
    return fault_;
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
  void run();
  void write(const RecordQueue::Batch& batch);
  void write_losses();
  void finish();
  void keep_fault(const std::string& what);

  const std::string path_;
  const WriterOptions options_;
  CreatedFile file_;
  Inserter inserter_;
  RecordQueue queue_;

  mutable std::mutex mutex_;  // of fault_, written_, ended_
  std::condition_variable done_;
  std::string fault_;
  std::uint64_t written_ = 0;
  bool ended_ = false;
  std::atomic<bool> faulty_{false};
  std::atomic<std::int64_t> lost_total_{0};

  // Used by the thread alone.
  RecordCounts lost_{};
  RecordCounts dropped_written_{};  // what the file says by now
  RecordCounts lost_written_{};
  bool last_failed_ = false;

  std::thread thread_;  // last: it uses everything above
};

void RunFileWriter::Thread::run() {
  const auto wait =
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(options_.commit_seconds));
  for (bool closed = false; !closed;) {
    const RecordQueue::Batch batch = queue_.take(wait);
    closed = batch.closed;
    write(batch);
    if (closed) finish();
    {
      const std::lock_guard lock(mutex_);
      written_ = batch.batch;
      ended_ = closed;
    }
    done_.notify_all();
  }
}

// One transaction. What fails is counted as lost and not tried again: essential records may come without end, and
// training must not wait for a disk that stays full. The next batch is tried as if nothing had happened.
void RunFileWriter::Thread::write(const RecordQueue::Batch& batch) {
  const bool nothing_new = batch.essential.empty() && batch.statistics.empty();
  if (nothing_new && queue_.dropped() == dropped_written_ && lost_ == lost_written_) return;
  const RecordCounts dropped_before = dropped_written_;
  const RecordCounts lost_before = lost_written_;
  Database& database = file_.database;
  // After a fault, wait only a moment for whoever holds the file: the queue must not stand still for long again and
  // again.
  database.set_busy_timeout(last_failed_ ? std::min(0.05, options_.busy_seconds) : options_.busy_seconds);
  try {
    database.execute("BEGIN IMMEDIATE");
    for (const Record& record : batch.essential) inserter_.insert(record);
    for (const Record& record : batch.statistics) inserter_.insert(record);
    write_losses();
    database.execute("COMMIT");
    last_failed_ = false;
  } catch (const std::exception& error) {
    if (sqlite3_get_autocommit(database.handle()) == 0)
      sqlite3_exec(database.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
    dropped_written_ = dropped_before;
    lost_written_ = lost_before;
    for (const Record& record : batch.essential) ++lost_[record.index()];
    for (const Record& record : batch.statistics) ++lost_[record.index()];
    lost_total_.store(total(lost_), std::memory_order_relaxed);
    last_failed_ = true;
    keep_fault(error.what());
  }
}

void RunFileWriter::Thread::write_losses() {
  const RecordCounts dropped = queue_.dropped();
  for (std::size_t i = 0; i < record_kinds; ++i) {
    if (dropped[i] != dropped_written_[i])
      inserter_.insert(CompletenessRecord{
          .kind = "dropped", .subject = tables()[i], .count = dropped[i], .detail = "the queue was full"});
    if (lost_[i] != lost_written_[i])
      inserter_.insert(CompletenessRecord{
          .kind = "lost", .subject = tables()[i], .count = lost_[i], .detail = fault().value_or("")});
  }
  dropped_written_ = dropped;
  lost_written_ = lost_;
}

void RunFileWriter::Thread::finish() {
  try {
    leave_write_ahead_mode(file_, options_.busy_seconds);
  } catch (const std::exception& error) {
    keep_fault(error.what());
  }
}

void RunFileWriter::Thread::keep_fault(const std::string& what) {
  const std::lock_guard lock(mutex_);
  if (faulty_.load(std::memory_order_relaxed)) return;
  fault_ = fmt::format("{}: recording failed: {}", path_, what);
  faulty_.store(true, std::memory_order_release);
}

RunFileWriter::RunFileWriter(const std::string& path, const WriterOptions& options)
    : path_(path), thread_(std::make_unique<Thread>(path, options)) {}

RunFileWriter::~RunFileWriter() {
  if (thread_) thread_->join();
}

void RunFileWriter::push(Record record) {
  if (!thread_ || !thread_->queue().push(std::move(record)))
    throw Error(fmt::format("{}: a record was pushed after the file was closed", path_));
}

void RunFileWriter::flush() {
  if (thread_) thread_->flush();
}

std::optional<std::string> RunFileWriter::fault() const { return thread_ ? thread_->fault() : fault_; }
std::int64_t RunFileWriter::dropped() const { return thread_ ? total(thread_->queue().dropped()) : dropped_; }
std::int64_t RunFileWriter::lost() const { return thread_ ? thread_->lost() : lost_; }
const std::string& RunFileWriter::path() const { return path_; }

void RunFileWriter::close() {
  if (!thread_) return;
  thread_->join();
  fault_ = thread_->fault();
  dropped_ = dropped();
  lost_ = lost();
  thread_.reset();
  if (fault_) throw Error(lost_ > 0 ? fmt::format("{} ({} records are missing)", *fault_, lost_) : *fault_);
}

}  // namespace ulpscope::reports
