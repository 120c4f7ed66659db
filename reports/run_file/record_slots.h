// What the record queue is made of: room for records, and lines of places in it. Neither takes a lock, allocates or
// calls the system after it was made; any number of threads may use both at a time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>

#include "reports/run_file/records.h"

namespace ulpscope::reports {

/// A first-in, first-out line of at most `size` numbers.
///
/// Every cell carries a turn: 2 · lap when it is free for that lap of the line, one more when it is filled. A cell is
/// therefore in one of both states for exactly one position, and all zeros is an empty line.
class IndexRing {
 public:
  explicit IndexRing(std::size_t size) : size_(size), cells_(std::make_unique<std::atomic<std::uint64_t>[]>(size)) {}

  /// The caller knows that there is room.
  void push(std::uint32_t index) {
    const std::uint64_t position = tail_.fetch_add(1);
    std::atomic<std::uint64_t>& cell = cells_[position % size_];
    // Free already, unless somebody who takes from this cell has not quite finished.
    while (turn_of(cell.load(std::memory_order_acquire)) != free_turn(position)) std::this_thread::yield();
    cell.store(cell_of(free_turn(position) + 1, index), std::memory_order_release);
  }

  /// Nothing if the line is empty or its first number is just being put in.
  std::optional<std::uint32_t> pop() {
    std::uint64_t position = head_.load();
    while (true) {
      std::atomic<std::uint64_t>& cell = cells_[position % size_];
      const std::uint64_t value = cell.load(std::memory_order_acquire);
      if (turn_of(value) == free_turn(position) + 1) {
        if (!head_.compare_exchange_weak(position, position + 1)) continue;
        cell.store(cell_of(free_turn(position) + 2, 0), std::memory_order_release);
        return static_cast<std::uint32_t>(value);
      }
      const std::uint64_t now = head_.load();
      if (now == position) return std::nullopt;
      position = now;
    }
  }

  /// Positions so far: of the first number in the line, and behind the last.
  std::uint64_t begin() const { return head_.load(); }
  std::uint64_t end() const { return tail_.load(); }

 private:
  static std::uint32_t turn_of(std::uint64_t cell) { return static_cast<std::uint32_t>(cell >> 32); }
  static std::uint64_t cell_of(std::uint32_t turn, std::uint32_t index) {
    return static_cast<std::uint64_t>(turn) << 32 | index;
  }
  std::uint32_t free_turn(std::uint64_t position) const { return static_cast<std::uint32_t>(2 * (position / size_)); }

  const std::size_t size_;
  std::unique_ptr<std::atomic<std::uint64_t>[]> cells_;
  alignas(64) std::atomic<std::uint64_t> head_{0};
  alignas(64) std::atomic<std::uint64_t> tail_{0};
};

/// Room for records. The place that was given back last is handed out first: pages are used only as records pile up.
class RecordSlots {
  static_assert(std::is_nothrow_move_constructible_v<Record> && std::is_nothrow_move_assignable_v<Record>);

 public:
  explicit RecordSlots(std::size_t size)
      : size_(static_cast<std::uint32_t>(size)),
        records_(std::allocator<Record>().allocate(size)),
        next_(std::make_unique<std::atomic<std::uint32_t>[]>(size)) {}
  ~RecordSlots() { std::allocator<Record>().deallocate(records_, size_); }
  RecordSlots(const RecordSlots&) = delete;
  RecordSlots& operator=(const RecordSlots&) = delete;

  /// Puts a record into a place of its own. The caller knows that there is one.
  std::uint32_t put(Record&& record) {
    const std::uint32_t index = take_place();
    std::construct_at(records_ + index, std::move(record));
    return index;
  }
  /// The record there; what is left of it goes with forget().
  Record& operator[](std::uint32_t index) { return records_[index]; }

  void forget(std::uint32_t index) {
    std::destroy_at(records_ + index);
    std::uint64_t top = free_.load();
    do {
      next_[index].store(static_cast<std::uint32_t>(top));
    } while (!free_.compare_exchange_weak(top, tagged(top, index + 1)));
  }

 private:
  // The upper half counts changes: a place that went and came back meanwhile is not mistaken for one that stayed.
  static std::uint64_t tagged(std::uint64_t before, std::uint32_t top) {
    return ((before >> 32) + 1) << 32 | top;
  }

  std::uint32_t take_place() {
    while (true) {
      std::uint64_t top = free_.load();
      while (const auto first = static_cast<std::uint32_t>(top)) {
        if (free_.compare_exchange_weak(top, tagged(top, next_[first - 1].load()))) return first - 1;
      }
      std::uint32_t fresh = fresh_.load();
      while (fresh < size_)
        if (fresh_.compare_exchange_weak(fresh, fresh + 1)) return fresh;
    }
  }

  const std::uint32_t size_;
  Record* const records_;
  std::unique_ptr<std::atomic<std::uint32_t>[]> next_;  // of a free place: the next free one + 1, or 0
  std::atomic<std::uint64_t> free_{0};                  // the first free place + 1, or 0
  std::atomic<std::uint32_t> fresh_{0};                 // places from here on were never used
};

}  // namespace ulpscope::reports
