// The CPU, with a look at its allocations: a test finds the memory of what is under test and writes into it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "kernels/device.h"
#include "kernels/error.h"

namespace ulpscope::engine::testing {

class WatchedDevice : public Device {
 public:
  explicit WatchedDevice(int threads) : cpu_(make_cpu_device({threads, ""})) {}

  /// Memory that is allocated now, by address.
  const std::map<void*, std::size_t>& allocations() const { return allocations_; }

  const DeviceDescription& description() const override { return cpu_->description(); }
  const KernelTable& kernels() const override { return cpu_->kernels(); }
  /// From now on there is no memory.
  void refuse(bool all = true) { refuses_ = all; }
  std::int64_t refused() const { return refused_; }
  void* allocate(std::size_t bytes) override {
    if (refuses_) {
      ++refused_;
      throw Error("no memory: refused by the test");
    }
    void* memory = cpu_->allocate(bytes);
    allocations_[memory] = bytes;
    return memory;
  }
  void release(void* memory) noexcept override {
    allocations_.erase(memory);
    cpu_->release(memory);
  }
  std::size_t live_bytes() const override { return cpu_->live_bytes(); }
  std::size_t peak_bytes() const override { return cpu_->peak_bytes(); }
  void reset_peak() override { cpu_->reset_peak(); }
  void copy_to_device(void* to, const void* from, std::size_t bytes) override { cpu_->copy_to_device(to, from, bytes); }
  void copy_to_host(void* to, const void* from, std::size_t bytes) override { cpu_->copy_to_host(to, from, bytes); }
  void fill(void* memory, unsigned char byte, std::size_t bytes) override { cpu_->fill(memory, byte, bytes); }
  void* stream() override { return cpu_->stream(); }
  std::unique_ptr<Event> record_event() override { return cpu_->record_event(); }
  double milliseconds_between(const Event& from, const Event& to) override { return cpu_->milliseconds_between(from, to); }
  void synchronize() override { cpu_->synchronize(); }

 private:
  std::unique_ptr<Device> cpu_;
  std::map<void*, std::size_t> allocations_;
  bool refuses_ = false;
  std::int64_t refused_ = 0;
};

}  // namespace ulpscope::engine::testing
