// A device: memory, streams, events, and its kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/launch.h"

namespace ulpscope {

enum class DeviceKind : std::uint8_t { cpu, cuda };

class CommandQueue;

/// A point in a device's work. Created by a device, recorded on its stream.
class Event {
 public:
  virtual ~Event() = default;
};

/// Facts of a device, as it reports them.
struct DeviceDescription {
  DeviceKind kind = DeviceKind::cpu;
  std::string name;              ///< "AMD EPYC …", "NVIDIA H200"
  std::string instruction_set;   ///< CPU: the kernels in use, "portable", "avx2", "avx512"; GPU: "sm_90"
  int threads = 1;
  std::string matmul_library;    ///< what computes matrix products: "own kernels (avx512)", "cuBLASLt 13.0"
};

/// Memory and execution of one device. All memory is 64-byte aligned. Every byte goes through allocate, so that the
/// memory ledger can be checked against live_bytes and peak_bytes to the byte.
class Device {
 public:
  virtual ~Device() = default;

  virtual const DeviceDescription& description() const = 0;
  virtual const KernelTable& kernels() const = 0;

  /// Throws OutOfMemory (out_of_memory.h) with the size asked for and the bytes in use.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* memory) noexcept = 0;
  virtual std::size_t live_bytes() const = 0;
  virtual std::size_t peak_bytes() const = 0;
  virtual void reset_peak() = 0;
  /// What can still be allocated, of memory of the device's own; nothing where it is the host's.
  virtual std::optional<std::int64_t> free_bytes() const { return std::nullopt; }
  /// What was chosen while it ran and can change a bit or a time: algorithms of products, variables that libraries obey.
  virtual std::vector<std::pair<std::string, std::string>> kernel_choices() const { return {}; }

  /// Bytes allocated by the kernels themselves, to observe with, and given back by release_observation: part of live_bytes. 0: none, or what
  /// they observe with is given to them.
  virtual std::size_t observation_bytes() const { return 0; }
  virtual void release_observation() {}

  virtual void copy_to_device(void* device_memory, const void* host_memory, std::size_t bytes) = 0;
  virtual void copy_to_host(void* host_memory, const void* device_memory, std::size_t bytes) = 0;
  virtual void fill(void* device_memory, unsigned char byte, std::size_t bytes) = 0;

  virtual void* stream() = 0;                                   ///< null on the CPU
  virtual std::unique_ptr<Event> record_event() = 0;
  virtual double milliseconds_between(const Event& from, const Event& to) = 0;
  virtual void synchronize() = 0;
  /// Where work is put that the host does not wait for (kernels/command_queue.h). Null: a launch has run when it returns, as on the CPU.
  virtual CommandQueue* queue() { return nullptr; }
};

/// Owns device memory.
class Buffer {
 public:
  Buffer() = default;
  Buffer(Device& device, std::size_t bytes) : device_(&device), data_(device.allocate(bytes)), bytes_(bytes) {}
  ~Buffer() { reset(); }
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    swap(other);
    return *this;
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  void reset() noexcept {
    if (data_ != nullptr) device_->release(data_);
    data_ = nullptr;
    bytes_ = 0;
  }

 private:
  void swap(Buffer& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
  }
  Device* device_ = nullptr;
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

struct CpuOptions {
  int threads = 0;                ///< 0: the processors this process may run on
  std::string instruction_set;    ///< empty: the best this processor has (or the variable ULPSCOPE_ISA)
};

/// The CPU. Throws UsageError for an instruction set that is unknown or not available here, listing the valid ones.
std::unique_ptr<Device> make_cpu_device(const CpuOptions& options = {});

}  // namespace ulpscope
