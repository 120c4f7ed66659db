// The bounded queue between those who record and the thread that writes.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <variant>

#include "reports/run_file/record_slots.h"
#include "reports/run_file/records.h"

namespace ulpscope::reports {

inline constexpr std::size_t record_kinds = std::variant_size_v<Record>;
/// One count for each alternative of Record.
using RecordCounts = std::array<std::int64_t, record_kinds>;

/// May be dropped when the queue is full: tensor statistics, ranges, node timings of a step (not of a whole run), kernels,
/// memory samples (not peaks).
bool is_statistic(const Record& record);

/// Statistics and other records wait in two lines of one capacity. push() may be called from any thread, at any time; it
/// takes no lock, allocates nothing and makes no system call, so that it may stand in the middle of a step. The one
/// exception is an essential record that finds the queue full of essential records: then push() waits.
///
/// Nobody is woken by a push: take() looks by itself, every look_every.
class RecordQueue {
 public:
  static constexpr std::chrono::milliseconds look_every{20};

  /// capacity: below 2^31.
  explicit RecordQueue(std::size_t capacity);
  ~RecordQueue();
  RecordQueue(const RecordQueue&) = delete;
  RecordQueue& operator=(const RecordQueue&) = delete;

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
  /// Everything waiting; returns at once when woken or closed, soon when half full, else after `wait`, perhaps with
  /// nothing. One thread.
  Batch take(std::chrono::nanoseconds wait);

  /// Makes take() return. Returns the number of the batch that will hold everything pushed so far.
  std::uint64_t wake();
  /// Refuses further records (also those that wait for room) and wakes take().
  void close();

  RecordCounts dropped() const;
  /// Records that had to wait for room.
  std::int64_t waits() const { return waits_.load(); }

 private:
  enum class Place : std::uint8_t { reserved, full, closed };
  using Counts = std::array<std::atomic<std::int64_t>, record_kinds>;

  Place reserve();
  bool displace();
  void wait_for_room();
  bool due() const;
  void drain(Batch& batch);
  void drain(IndexRing& line, std::uint64_t end, std::deque<Record>& into);

  static bool closed(std::uint64_t held) { return (held & 1u) != 0; }
  static std::size_t records(std::uint64_t held) { return static_cast<std::size_t>(held >> 1); }

  const std::size_t capacity_;
  RecordSlots slots_;
  IndexRing essential_, statistics_;
  // 2 · places reserved, + 1 when closed: whoever has reserved a place is waited for, and nobody can after close().
  std::atomic<std::uint64_t> held_{0};
  Counts dropped_{};
  std::atomic<std::int64_t> waits_{0};

  std::mutex mutex_;              // of what follows, and of waiting
  std::condition_variable work_;  // take() waits
  std::condition_variable room_;  // push() waits
  std::uint64_t batches_ = 0;
  bool woken_ = false;
};

}  // namespace ulpscope::reports
