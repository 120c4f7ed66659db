#include "reports/run_file/record_queue.h"

#include <utility>

namespace ulpscope::reports {

bool is_statistic(const Record& record) {
  if (const auto* memory = std::get_if<MemoryRecord>(&record)) return memory->kind == MemoryKind::sample;
  if (const auto* timing = std::get_if<NodeTiming>(&record)) return timing->step.has_value();
  return std::holds_alternative<TensorStatsRecord>(record) || std::holds_alternative<KernelRecord>(record);
}

// Only at the crossing: a notification is a system call when the thread sleeps.
void RecordQueue::wake_if_half_full() {
  if (size() == (capacity_ + 1) / 2) work_.notify_one();
}

bool RecordQueue::push(Record record) {
  const bool statistic = is_statistic(record);
  std::unique_lock lock(mutex_);
  if (closed_) return false;
  if (size() >= capacity_) {
    if (statistic) {
      ++dropped_[record.index()];
      return true;
    }
    if (!statistics_.empty()) {
      ++dropped_[statistics_.back().index()];
      statistics_.pop_back();
    } else {
      work_.notify_one();
      room_.wait(lock, [this] { return size() < capacity_ || closed_; });
      if (closed_) return false;
    }
  }
  (statistic ? statistics_ : essential_).push_back(std::move(record));
  wake_if_half_full();
  return true;
}

RecordQueue::Batch RecordQueue::take(std::chrono::nanoseconds wait) {
  Batch batch;
  {
    std::unique_lock lock(mutex_);
    work_.wait_for(lock, wait, [this] { return woken_ || closed_ || size() >= (capacity_ + 1) / 2; });
    batch.asked = std::exchange(woken_, false);
    batch.essential.swap(essential_);
    batch.statistics.swap(statistics_);
    batch.batch = ++batches_;
    batch.closed = closed_;
  }
  room_.notify_all();
  return batch;
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
    closed_ = true;
  }
  work_.notify_all();
  room_.notify_all();
}

RecordCounts RecordQueue::dropped() const {
  const std::lock_guard lock(mutex_);
  return dropped_;
}

}  // namespace ulpscope::reports
