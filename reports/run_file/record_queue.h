// The bounded queue between those who record and the thread that writes.
#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <variant>

#include "reports/run_file/records.h"

namespace ulpscope::reports {

inline constexpr std::size_t record_kinds = std::variant_size_v<Record>;
/// One count for each alternative of Record.
using RecordCounts = std::array<std::int64_t, record_kinds>;

/// May be dropped when the queue is full: tensor statistics, node timings of a step (not of a whole run), kernels,
/// memory samples (not peaks).
bool is_statistic(const Record& record);

/// Statistics and other records wait in two lines of one capacity. No call but take() lasts longer than a few moves,
/// unless an essential record finds the queue full of essential records: then push() waits.
class RecordQueue {
 public:
  explicit RecordQueue(std::size_t capacity) : capacity_(capacity) {}

  /// False after close(): the record was not taken.
  bool push(Record record);

  /// What take() hands over. `batch` numbers from 1.
  struct Batch {
    std::deque<Record> essential;
    std::deque<Record> statistics;
    std::uint64_t batch = 0;
    bool asked = false;   ///< wake() was called: somebody waits for it
    bool closed = false;  ///< nothing comes after this batch
  };
  /// Everything waiting; returns at once when half full, woken or closed, else after `wait`, perhaps with nothing.
  Batch take(std::chrono::nanoseconds wait);

  /// Makes take() return. Returns the number of the batch that will hold everything pushed so far.
  std::uint64_t wake();
  /// Refuses further records (also those that wait for room) and wakes take().
  void close();

  RecordCounts dropped() const;

 private:
  std::size_t size() const { return essential_.size() + statistics_.size(); }
  void wake_if_half_full();

  const std::size_t capacity_;
  mutable std::mutex mutex_;
  std::condition_variable work_;  // take() waits
  std::condition_variable room_;  // push() waits
  std::deque<Record> essential_;
  std::deque<Record> statistics_;
  RecordCounts dropped_{};
  std::uint64_t batches_ = 0;
  bool woken_ = false;
  bool closed_ = false;
};

}  // namespace ulpscope::reports
