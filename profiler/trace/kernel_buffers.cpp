#include "profiler/trace/kernel_buffers.h"

#include <algorithm>
#include <new>

namespace ulpscope::profiler {

std::byte* BufferPool::take() noexcept {
  const std::lock_guard lock(mutex_);
  for (Held& held : buffers_) {
    if (held.in_use) continue;
    held.in_use = true;
    return held.memory.get();
  }
  try {
    if (buffers_.size() < most_) {
      buffers_.push_back({std::make_unique_for_overwrite<std::byte[]>(bytes_), true});
      return buffers_.back().memory.get();
    }
  } catch (const std::bad_alloc&) {
  }
  ++declined_;
  return nullptr;
}

bool BufferPool::give_back(std::byte* buffer) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(buffers_.begin(), buffers_.end(), [&](const Held& h) { return h.memory.get() == buffer; });
  if (found == buffers_.end() || !found->in_use) return false;
  found->in_use = false;
  return true;
}

std::size_t BufferPool::made() const {
  const std::lock_guard lock(mutex_);
  return buffers_.size();
}
std::size_t BufferPool::in_use() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(std::count_if(buffers_.begin(), buffers_.end(), [](const Held& h) { return h.in_use; }));
}
std::int64_t BufferPool::declined() const {
  const std::lock_guard lock(mutex_);
  return declined_;
}

BufferPool& process_buffers() {
  // 1 MiB holds the records of some 1500 launches; 64 of them more than the window of any trace.
  static BufferPool* const pool = new BufferPool(std::size_t{1} << 20, 64);
  return *pool;
}

}  // namespace ulpscope::profiler
