#include "reports/run_file/writer_thread.h"

#include <time.h>

#include <new>
#include <utility>

#include "kernels/error.h"

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

constexpr const char* queue_subject = "recording";

// Counts of a kind of loss that a file to be added to already holds.
RecordCounts losses_in(const Database& database, const char* kind) {
  RecordCounts counts{};
  Statement statement(database, "SELECT subject, count FROM completeness WHERE run IS NULL AND kind = ?");
  statement.bind(0, kind);
  while (statement.step()) {
    std::string subject;
    Count count;
    statement.read(0, subject);
    statement.read(1, count);
    for (std::size_t i = 0; i < record_kinds; ++i)
      if (subject == tables()[i]) counts[i] = count.value_or(0);
  }
  return counts;
}

// How often a recording before this one waited for the queue.
std::int64_t waits_in(const Database& database) {
  Statement statement(database, "SELECT sum(count) FROM completeness WHERE run IS NULL AND kind = 'throttled' AND subject = ?");
  statement.bind(0, queue_subject);
  Count count;
  if (statement.step()) statement.read(0, count);
  return count.value_or(0);
}

constexpr std::size_t most_in_a_transaction = 4096;
constexpr double longest_pause = 5.0;  ///< seconds between two tries while writing fails

/// Processor time of the calling thread, in seconds.
double thread_seconds() {
  timespec now{};
  if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) != 0) return 0.0;
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

RunFileWriter::Thread::Thread(const std::string& path, const WriterOptions& options)
    : path_(path),
      options_(options),
      file_(options.append ? reopen_run_file(path, options) : create_run_file(path, options)),
      inserter_(file_.database),
      dropped_earlier_(losses_in(file_.database, "dropped")),
      lost_earlier_(losses_in(file_.database, "lost")),
      waits_earlier_(waits_in(file_.database)),
      queue_(options.queue_capacity),
      thread_([this] { run(); }) {}

RunFileWriter::Thread::Commit RunFileWriter::Thread::kind_of(const SqliteError& error) {
  switch (error.primary()) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return Commit::busy;
    case SQLITE_TOOBIG:
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
    case SQLITE_RANGE:
      return Commit::never;
    default:
      return Commit::later;
  }
}

void RunFileWriter::Thread::run() {
  const auto wait =
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(options_.commit_seconds));
  for (bool closed = false; !closed;) {
    RecordQueue::Batch batch = queue_.take(wait);
    closed = batch.closed;
    write(batch);
    if (closed) finish();
    cpu_seconds_.store(thread_seconds(), std::memory_order_relaxed);
    {
      const std::lock_guard lock(mutex_);
      written_ = batch.batch;
      ended_ = closed;
    }
    done_.notify_all();
  }
}

// Essential records that cannot be written are kept and go before those that come later; statistics that cannot be
// written are lost. While writing fails it is tried at growing intervals, so that training does not wait for a disk
// that stays full.
void RunFileWriter::Thread::write(RecordQueue::Batch& batch) {
  keep(batch.essential);
  const bool wanted = batch.asked || batch.closed;
  if (failing_ && !wanted && Clock::now() < next_try_) {
    lose_statistics(batch.statistics);
    return;
  }
  if (kept_.empty() && batch.statistics.empty() && queue_.dropped() == dropped_written_ && lost_ == lost_written_)
    return;
  // After a fault, wait only a moment for whoever holds the file, so that the queue does not stand still for long again
  // and again; but at the end as long as was asked for.
  file_.database.set_busy_timeout(failing_ && !batch.closed ? std::min(0.05, options_.busy_seconds)
                                                            : options_.busy_seconds);
  failing_ = false;
  write_kept(batch.closed);
  if (!failing_ && (!batch.statistics.empty() || queue_.dropped() != dropped_written_ || lost_ != lost_written_)) {
    failing_ = commit(batch.statistics, batch.statistics.size()) != Commit::done;
    if (failing_) lose_statistics(batch.statistics);
  } else if (failing_) {
    lose_statistics(batch.statistics);
  }
  if (!failing_) return recovered();
  pause_ = std::clamp(2.0 * pause_, options_.commit_seconds, longest_pause);
  next_try_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(pause_));
}

// Beyond the cap the oldest go, but never a run: its last record says how it ended.
void RunFileWriter::Thread::keep(Records& records) {
  try {
    if (kept_.empty()) kept_.swap(records);
    for (Record& record : records) kept_.push_back(std::move(record));
    while (kept_.size() > options_.retry_capacity) {
      const auto oldest = std::find_if(kept_.begin(), kept_.end(),
                                       [](const Record& record) { return !std::holds_alternative<RunRecord>(record); });
      if (oldest == kept_.end()) return;
      ++lost_[oldest->index()];
      kept_.erase(oldest);
    }
  } catch (...) {  // no memory to keep them in
    lose_statistics(records);
    keep_fault("out of memory");
  }
  lost_total_.store(total(lost_), std::memory_order_relaxed);
}

void RunFileWriter::Thread::write_kept(bool at_the_end) {
  std::size_t next = most_in_a_transaction;
  while (!kept_.empty()) {
    const std::size_t count = std::min(next, kept_.size());
    const Commit result = commit(kept_, count);
    if (result == Commit::done) {
      kept_.erase(kept_.begin(), kept_.begin() + static_cast<std::ptrdiff_t>(count));
      next = std::min(2 * next, most_in_a_transaction);
    } else if (result == Commit::never) {  // halves, until the record that is to blame stands alone
      if (count == 1) lose(1);
      next = std::max<std::size_t>(1, count / 2);
    } else if (!at_the_end || !give_way(result, count, next)) {
      failing_ = true;
      return;
    }
  }
}

// The last chance: what still fits is written, runs before anything else. False if nothing more can be done.
bool RunFileWriter::Thread::give_way(Commit reason, std::size_t tried, std::size_t& next) {
  if (reason == Commit::busy) {  // in smaller pieces it would not go either
    lose(kept_.size());
    return false;
  }
  if (!runs_first_) {
    put_runs_first(next);
    return true;
  }
  next = std::max<std::size_t>(1, tried / 2);
  if (tried > 1) return true;
  lose(1);
  if (--tries_left_ > 0) return true;
  lose(kept_.size());
  return false;
}

void RunFileWriter::Thread::put_runs_first(std::size_t& next) {
  runs_first_ = true;
  // Folding the log into the file lets the log begin anew: room without a larger file.
  sqlite3_wal_checkpoint_v2(file_.database.handle(), nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
  const auto is_run = [](const Record& record) { return std::holds_alternative<RunRecord>(record); };
  const auto end = std::stable_partition(kept_.begin(), kept_.end(), is_run);
  next = std::max<std::size_t>(1, static_cast<std::size_t>(end - kept_.begin()));
}

// One transaction with the first `count` records.
RunFileWriter::Thread::Commit RunFileWriter::Thread::commit(const Records& records, std::size_t count) {
  const RecordCounts dropped_before = dropped_written_;
  const RecordCounts lost_before = lost_written_;
  Commit result = Commit::done;
  try {
    file_.database.execute("BEGIN IMMEDIATE");
    for (std::size_t i = 0; i < count; ++i) inserter_.insert(records[i]);
    write_losses();
    file_.database.execute("COMMIT");
    return result;
  } catch (const SqliteError& error) {
    result = kind_of(error);
    keep_fault(error.what());
  } catch (const std::bad_alloc&) {
    result = Commit::later;
    keep_fault("out of memory");
  } catch (const std::exception& error) {
    result = Commit::never;
    keep_fault(error.what());
  }
  if (sqlite3_get_autocommit(file_.database.handle()) == 0)
    sqlite3_exec(file_.database.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
  dropped_written_ = dropped_before;
  lost_written_ = lost_before;
  return result;
}

// The first `count` of those kept.
void RunFileWriter::Thread::lose(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) ++lost_[kept_[i].index()];
  kept_.erase(kept_.begin(), kept_.begin() + static_cast<std::ptrdiff_t>(count));
  lost_total_.store(total(lost_), std::memory_order_relaxed);
}

void RunFileWriter::Thread::lose_statistics(const Records& records) {
  for (const Record& record : records) ++lost_[record.index()];
  lost_total_.store(total(lost_), std::memory_order_relaxed);
}

// Everything is written again. A fault that cost nothing is forgotten.
void RunFileWriter::Thread::recovered() {
  pause_ = 0.0;
  if (!faulty_.load(std::memory_order_relaxed) || total(lost_) > 0) return;
  const std::lock_guard lock(mutex_);
  ++made_up_for_;
  fault_.clear();
  faulty_.store(false, std::memory_order_release);
}

void RunFileWriter::Thread::write_losses() {
  const RecordCounts dropped = queue_.dropped();
  for (std::size_t i = 0; i < record_kinds; ++i) {
    if (dropped[i] != dropped_written_[i])
      inserter_.insert(CompletenessRecord{.kind = "dropped",
                                          .subject = tables()[i],
                                          .count = dropped_earlier_[i] + dropped[i],
                                          .detail = "the queue was full"});
    if (lost_[i] != lost_written_[i])
      inserter_.insert(CompletenessRecord{.kind = "lost",
                                          .subject = tables()[i],
                                          .count = lost_earlier_[i] + lost_[i],
                                          .detail = fault().value_or("")});
  }
  dropped_written_ = dropped;
  lost_written_ = lost_;
}

void RunFileWriter::Thread::write_remarks() {
  if (made_up_for_ > 0 && total(lost_) == 0)
    inserter_.insert(CompletenessRecord{.kind = "note",
                                        .subject = "writing",
                                        .count = made_up_for_,
                                        .detail = "times that writing failed for a while; nothing is missing"});
  if (queue_.waits() > 0)
    inserter_.insert(CompletenessRecord{.kind = "throttled",
                                        .subject = queue_subject,
                                        .count = waits_earlier_ + queue_.waits(),
                                        .detail = "records that had to wait for room in the queue; nothing is missing"});
}

void RunFileWriter::Thread::finish() {
  try {
    write_remarks();
    leave_write_ahead_mode(file_, options_.busy_seconds);
  } catch (const std::exception& error) {
    keep_fault(error.what());
  }
}

// Called where an exception was caught: it must not throw another.
void RunFileWriter::Thread::keep_fault(const char* what) noexcept {
  if (faulty_.load(std::memory_order_relaxed)) return;
  try {
    const std::lock_guard lock(mutex_);
    fault_ = what;
  } catch (...) {  // no memory for the words; fault() finds others
  }
  faulty_.store(true, std::memory_order_release);
}

}  // namespace ulpscope::reports
