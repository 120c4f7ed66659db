// What kernels observe with: one piece of memory of a device, as large as any launch has needed.
#pragma once

#include <cstddef>
#include <utility>

#include "kernels/device.h"

namespace ulpscope::cuda {

class ObservationMemory {
 public:
  explicit ObservationMemory(Device& device) : device_(device) {}
  ~ObservationMemory() { give_back(); }
  ObservationMemory(const ObservationMemory&) = delete;
  ObservationMemory& operator=(const ObservationMemory&) = delete;

  /// Valid until it is asked for again. Throws OutOfMemory.
  void* of(std::size_t bytes) {
    if (bytes <= bytes_) return memory_;
    if (memory_ != nullptr) device_.synchronize();   // kernels may still read it
    give_back();
    memory_ = device_.allocate(bytes);
    bytes_ = bytes;
    return memory_;
  }
  std::size_t bytes() const { return bytes_; }
  /// For a moment in which no kernel that observes is under way: an observed launch has its counts before it returns.
  void give_back() noexcept {
    bytes_ = 0;
    device_.release(std::exchange(memory_, nullptr));
  }

 private:
  Device& device_;
  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace ulpscope::cuda
