// A device that works beside the host: copies that the host does not wait for, points to wait at, and launches that are recorded
// once and repeated (CUDA graphs). Everything is done in the order in which it was asked for.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "kernels/device.h"

namespace ulpscope {

/// Launches and fills, recorded: done again by one call, with the same addresses and parameters.
class LaunchGraph {
 public:
  virtual ~LaunchGraph() = default;
  virtual void launch() = 0;
};

class CommandQueue {
 public:
  virtual ~CommandQueue() = default;

  /// Host memory that the device reads and writes by itself (page-locked). Throws Error if there is none left.
  virtual void* allocate_host(std::size_t bytes) = 0;
  virtual void release_host(void* memory) noexcept = 0;

  /// Both return at once. host_memory is the queue's own; until the copy is done it must be left alone.
  virtual void copy_to_device_later(void* device_memory, const void* host_memory, std::size_t bytes) = 0;
  virtual void copy_to_host_later(void* host_memory, const void* device_memory, std::size_t bytes) = 0;

  /// A point of the queue. It is nowhere until it was recorded.
  virtual std::unique_ptr<Event> make_event() = 0;
  virtual void record(Event& event) = 0;
  /// Returns when everything before the point has been done. A point that is nowhere has been passed.
  virtual void wait(const Event& event) = 0;

  /// Records what `work` launches; nothing of it is done now. Within, neither memory is allocated nor is the device waited for.
  /// Throws what `work` throws.
  virtual std::unique_ptr<LaunchGraph> capture(const std::function<void()>& work) = 0;
};

/// Owns host memory of a queue.
class HostBuffer {
 public:
  HostBuffer() = default;
  HostBuffer(CommandQueue& queue, std::size_t bytes) : queue_(&queue), data_(queue.allocate_host(bytes)) {}
  ~HostBuffer() { reset(); }
  HostBuffer(HostBuffer&& other) noexcept : queue_(other.queue_), data_(std::exchange(other.data_, nullptr)) {}
  HostBuffer& operator=(HostBuffer&& other) noexcept {
    if (this == &other) return *this;
    reset();
    queue_ = other.queue_;
    data_ = std::exchange(other.data_, nullptr);
    return *this;
  }
  HostBuffer(const HostBuffer&) = delete;
  HostBuffer& operator=(const HostBuffer&) = delete;

  void* data() const { return data_; }

 private:
  void reset() noexcept {
    if (data_ != nullptr) queue_->release_host(data_);
    data_ = nullptr;
  }
  CommandQueue* queue_ = nullptr;
  void* data_ = nullptr;
};

}  // namespace ulpscope
