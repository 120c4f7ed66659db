#include "kernels/device.h"

#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "kernels/cpu/matmul.h"
#include "kernels/cpu/register.h"
#include "kernels/cpu/thread_room.h"
#include "kernels/error.h"
#include "kernels/out_of_memory.h"
#include "kernels/formats/instruction_set.h"
#include "kernels/matmul.h"

namespace ulpscope {
namespace {

constexpr std::size_t alignment = 64;
constexpr std::size_t huge_page = std::size_t{2} << 20;  ///< x86 and most of ARM
/// Blocks from here on begin at a huge page and ask for them: a step of a GPT of 10 million parameters takes 1 to 3 %
/// less. Smaller ones would gain nothing, and a few pages of each would lie idle.
constexpr std::size_t huge_from = 2 * huge_page;

/// Null if there is no memory.
void* allocate_aligned(std::size_t bytes) {
  void* memory = nullptr;
  const bool large = bytes >= huge_from;
  if (posix_memalign(&memory, large ? huge_page : alignment, bytes) != 0) return nullptr;
  // Advice: where it is not taken, pages are small. Only whole huge pages become one, so the end costs what it holds.
  if (large) static_cast<void>(madvise(memory, bytes, MADV_HUGEPAGE));
  return memory;
}

/// "model name" of the first processor, as Linux reports it.
std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("model name", 0) != 0) continue;
    const std::size_t colon = line.find(':');
    const std::size_t start = colon == std::string::npos ? colon : line.find_first_not_of(" \t", colon + 1);
    if (start != std::string::npos) return line.substr(start);
  }
  return "CPU";
}

/// Processors this process may run on: a container or taskset may allow fewer than there are.
int usable_processors() {
  for (std::size_t processors = 1024; processors <= (1u << 20); processors *= 2) {
    std::vector<unsigned char> storage(CPU_ALLOC_SIZE(processors));
    auto* set = reinterpret_cast<cpu_set_t*>(storage.data());
    if (sched_getaffinity(0, storage.size(), set) == 0) return std::max(1, CPU_COUNT_S(storage.size(), set));
  }
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

struct CpuEvent : Event {
  std::chrono::steady_clock::time_point time = std::chrono::steady_clock::now();
};

/// Launches run to completion in the calling thread, so an event is a point in time and there is no stream.
class CpuDevice : public Device {
 public:
  CpuDevice(const CpuOptions& options, InstructionSet set) {
    description_.kind = DeviceKind::cpu;
    description_.name = processor_name();
    description_.instruction_set = ulpscope::name(set);
    description_.threads = options.threads > 0 ? options.threads : usable_processors();
    check_thread_room(description_.threads);
    description_.matmul_library = ulpscope::matmul_library(set);
    register_cpu_kernels(kernels_, set);
    register_cpu_products(kernels_, set);
  }

  const DeviceDescription& description() const override { return description_; }
  const KernelTable& kernels() const override { return kernels_; }

  void* allocate(std::size_t bytes) override {
    if (bytes == 0) return nullptr;
    const std::lock_guard lock(mutex_);
    const bool representable =
        bytes <= static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max()) - huge_page;
    void* memory = representable ? allocate_aligned((bytes + alignment - 1) / alignment * alignment) : nullptr;
    if (memory == nullptr) {
      throw OutOfMemory("cpu: cannot allocate " + std::to_string(bytes) + " bytes; " + std::to_string(live_) +
                        " bytes are in use");
    }
    sizes_.emplace(memory, bytes);
    live_ += bytes;
    peak_ = std::max(peak_, live_);
    return memory;
  }

  void release(void* memory) noexcept override {
    if (memory == nullptr) return;
    const std::lock_guard lock(mutex_);
    const auto found = sizes_.find(memory);
    if (found == sizes_.end()) return;  // not ours: leave it alone rather than corrupt the heap
    live_ -= found->second;
    sizes_.erase(found);
    std::free(memory);
  }

  std::size_t live_bytes() const override {
    const std::lock_guard lock(mutex_);
    return live_;
  }
  std::size_t peak_bytes() const override {
    const std::lock_guard lock(mutex_);
    return peak_;
  }
  void reset_peak() override {
    const std::lock_guard lock(mutex_);
    peak_ = live_;
  }

  void copy_to_device(void* device_memory, const void* host_memory, std::size_t bytes) override {
    if (bytes != 0) std::memcpy(device_memory, host_memory, bytes);
  }
  void copy_to_host(void* host_memory, const void* device_memory, std::size_t bytes) override {
    if (bytes != 0) std::memcpy(host_memory, device_memory, bytes);
  }
  void fill(void* device_memory, unsigned char byte, std::size_t bytes) override {
    if (bytes != 0) std::memset(device_memory, byte, bytes);
  }

  void* stream() override { return nullptr; }
  std::unique_ptr<Event> record_event() override { return std::make_unique<CpuEvent>(); }
  double milliseconds_between(const Event& from, const Event& to) override {
    const auto& start = dynamic_cast<const CpuEvent&>(from);
    const auto& end = dynamic_cast<const CpuEvent&>(to);
    return std::chrono::duration<double, std::milli>(end.time - start.time).count();
  }
  void synchronize() override {}

 private:
  DeviceDescription description_;
  KernelTable kernels_;
  mutable std::mutex mutex_;
  std::unordered_map<void*, std::size_t> sizes_;
  std::size_t live_ = 0;
  std::size_t peak_ = 0;
};

}  // namespace

std::unique_ptr<Device> make_cpu_device(const CpuOptions& options) {
  if (options.threads < 0) {
    throw UsageError("threads: " + std::to_string(options.threads) +
                     " is not a number of threads; give 1 or more, or 0 for every processor this process may use");
  }
  if (options.instruction_set.empty()) return std::make_unique<CpuDevice>(options, best_instruction_set());
  const InstructionSet set = parse_instruction_set(options.instruction_set);
  if (!available(set)) {
    throw UsageError("instruction set " + options.instruction_set +
                     " is not available on this processor; available: " + available_instruction_sets());
  }
  return std::make_unique<CpuDevice>(options, set);
}

}  // namespace ulpscope
