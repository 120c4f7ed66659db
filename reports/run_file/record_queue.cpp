#include "reports/run_file/record_queue.h"

#include <algorithm>
#include <new>
#include <utility>

namespace ulpscope::reports {

bool is_statistic(const Record& record) {
  if (const auto* memory = std::get_if<MemoryRecord>(&record)) return memory->kind == MemoryKind::sample;
  if (const auto* timing = std::get_if<NodeTiming>(&record)) return timing->step.has_value();
  return std::holds_alternative<TensorStatsRecord>(record) || std::holds_alternative<RangeRecord>(record) || std::holds_alternative<KernelRecord>(record) ||
         std::holds_alternative<DeviceSample>(record);
}

RecordQueue::RecordQueue(std::size_t capacity)
    : capacity_(capacity), slots_(capacity), essential_(capacity), statistics_(capacity) {}

RecordQueue::~RecordQueue() {
  for (IndexRing* line : {&essential_, &statistics_})
    while (const auto index = line->pop()) slots_.forget(*index);
}

// A place that is reserved will be filled, and there is a slot for each.
RecordQueue::Place RecordQueue::reserve() {
  std::uint64_t held = held_.load();
  while (true) {
    if (closed(held)) return Place::closed;
    if (records(held) >= capacity_) return Place::full;
    if (held_.compare_exchange_weak(held, held + 2)) return Place::reserved;
  }
}

// Throws out a waiting statistic: its place is the caller's now.
bool RecordQueue::displace() {
  const auto index = statistics_.pop();
  if (!index) return false;
  dropped_[slots_[*index].index()].fetch_add(1);
  slots_.forget(*index);
  return true;
}

bool RecordQueue::push(Record record) {
  const bool statistic = is_statistic(record);
  for (bool waited = false;; waited = true) {
    const Place place = reserve();
    if (place == Place::closed) return false;
    if (place == Place::reserved) break;
    if (statistic) {
      dropped_[record.index()].fetch_add(1);
      return true;
    }
    if (displace()) break;
    if (!waited) waits_.fetch_add(1);
    wait_for_room();
  }
  (statistic ? statistics_ : essential_).push(slots_.put(std::move(record)));
  return true;
}

void RecordQueue::wait_for_room() {
  std::unique_lock lock(mutex_);
  work_.notify_one();
  room_.wait(lock, [this] {
    const std::uint64_t held = held_.load();
    return closed(held) || records(held) < capacity_;
  });
}

bool RecordQueue::due() const {
  const std::uint64_t held = held_.load();
  return woken_ || closed(held) || records(held) >= (capacity_ + 1) / 2;
}

RecordQueue::Batch RecordQueue::take(std::chrono::nanoseconds wait) {
  using Clock = std::chrono::steady_clock;
  Batch batch;
  {
    std::unique_lock lock(mutex_);
    const Clock::time_point until = Clock::now() + wait;
    while (!due()) {
      const Clock::duration left = until - Clock::now();
      if (left <= Clock::duration::zero()) break;
      work_.wait_for(lock, std::min<Clock::duration>(left, look_every), [this] { return due(); });
    }
    batch.asked = std::exchange(woken_, false);
    batch.batch = ++batches_;
    batch.closed = closed(held_.load());
  }
  drain(batch);
  while (batch.closed && records(held_.load()) > 0) {  // somebody had a place, but had not come to fill it
    std::this_thread::yield();
    drain(batch);
  }
  { const std::lock_guard lock(mutex_); }  // whoever looked for room before there was some is asleep by now
  room_.notify_all();
  return batch;
}

// What stands in the lines now. Later records are left: a batch is no longer than the queue.
void RecordQueue::drain(Batch& batch) {
  const std::uint64_t essential_end = essential_.end();
  const std::uint64_t statistics_end = statistics_.end();
  drain(essential_, essential_end, batch.essential);
  drain(statistics_, statistics_end, batch.statistics);
}

void RecordQueue::drain(IndexRing& line, std::uint64_t end, std::deque<Record>& into) {
  while (line.begin() < end) {
    const auto index = line.pop();
    if (!index) {
      std::this_thread::yield();  // it is just being put in
      continue;
    }
    try {
      into.push_back(std::move(slots_[*index]));
    } catch (const std::bad_alloc&) {
      dropped_[slots_[*index].index()].fetch_add(1);
    }
    slots_.forget(*index);
    held_.fetch_sub(2);
  }
}

std::uint64_t RecordQueue::wake() {
  const std::lock_guard lock(mutex_);
  woken_ = true;
  work_.notify_one();
  return batches_ + 1;
}

void RecordQueue::close() {
  {
    const std::lock_guard lock(mutex_);
    held_.fetch_or(1);
  }
  work_.notify_all();
  room_.notify_all();
}

RecordCounts RecordQueue::dropped() const {
  RecordCounts counts{};
  for (std::size_t i = 0; i < record_kinds; ++i) counts[i] = dropped_[i].load();
  return counts;
}

}  // namespace ulpscope::reports
