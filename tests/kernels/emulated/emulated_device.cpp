#include "tests/kernels/emulated/emulated_device.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "kernels/cuda/grid.h"
#include "kernels/cuda/observation_memory.h"
#include "kernels/cuda/product.h"
#include "kernels/cuda/register.h"
#include "kernels/error.h"
#include "tests/kernels/emulated/late_queue.h"

namespace ulpscope::test {
namespace {

/// Pages of one allocation, with a closed one before and behind.
struct Pages {
  unsigned char* mapped;
  std::size_t length;   ///< the closed ones included
  std::size_t bytes;    ///< as asked for
};

std::size_t page() {
  static const auto size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return size;
}

std::map<void*, Pages>& blocks() {
  static std::map<void*, Pages> all;
  return all;
}

int open_count = 0;

void access(bool open) {
  open_count += open ? 1 : -1;
  if (open_count != (open ? 1 : 0)) return;
  for (const auto& [data, p] : blocks())
    if (mprotect(p.mapped + page(), p.length - 2 * page(), open ? PROT_READ | PROT_WRITE : PROT_NONE) != 0) std::abort();
}

struct Instant final : Event {
  std::chrono::steady_clock::time_point time = std::chrono::steady_clock::now();
};

class EmulatedDevice final : public Device {
 public:
  explicit EmulatedDevice(bool queued) {
    if (cuda::emulated_access != nullptr) throw Error("emulated device: there is one already");
    blocks();   // is there longer than a device that lives to the program's end
    cuda::emulated_access = access;
    cuda::emulated_observation = &observation_;
    description_.kind = DeviceKind::cuda;
    description_.name = "emulated GPU";
    description_.instruction_set = "sm_00";
    description_.matmul_library = cuda::product_library();
    cuda::register_kernels(kernels_);
    cuda::register_products(kernels_);
    if (queued) queue_ = std::make_unique<LateQueue>();
  }
  ~EmulatedDevice() override {
    observation_.give_back();
    cuda::emulated_observation = nullptr;
    cuda::emulated_access = nullptr;
  }
  EmulatedDevice(const EmulatedDevice&) = delete;
  EmulatedDevice& operator=(const EmulatedDevice&) = delete;

  const DeviceDescription& description() const override { return description_; }
  const KernelTable& kernels() const override { return kernels_; }

  void* allocate(std::size_t bytes) override {
    if (bytes == 0) return nullptr;
    Pages p;
    p.bytes = bytes;
    const std::size_t lines = (bytes + 63) / 64 * 64, inside = (lines + page() - 1) / page() * page();
    p.length = inside + 2 * page();
    void* mapped = mmap(nullptr, p.length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) throw Error("emulated device: cannot allocate " + std::to_string(bytes) + " bytes");
    p.mapped = static_cast<unsigned char*>(mapped);
    void* data = p.mapped + page() + inside - lines;   // ends where the closed page begins
    blocks().emplace(data, p);
    live_ += bytes;
    peak_ = std::max(peak_, live_);
    return data;
  }
  void release(void* memory) noexcept override {
    synchronize();
    const auto found = blocks().find(memory);
    if (found == blocks().end()) return;
    live_ -= found->second.bytes;
    munmap(found->second.mapped, found->second.length);
    blocks().erase(found);
  }
  std::size_t live_bytes() const override { return live_; }
  std::size_t peak_bytes() const override { return peak_; }
  void reset_peak() override { peak_ = live_; }

  std::size_t observation_bytes() const override { return observation_.bytes(); }
  void release_observation() override { observation_.give_back(); }

  void copy_to_device(void* device_memory, const void* host_memory, std::size_t bytes) override {
    synchronize();
    const cuda::EmulatedAccess open;
    if (bytes != 0) std::memcpy(device_memory, host_memory, bytes);
  }
  void copy_to_host(void* host_memory, const void* device_memory, std::size_t bytes) override {
    cuda::copy_to_host(host_memory, device_memory, bytes, nullptr);
  }
  void fill(void* device_memory, unsigned char byte, std::size_t bytes) override { cuda::fill_memory(device_memory, byte, bytes, nullptr); }

  void* stream() override { return nullptr; }
  std::unique_ptr<Event> record_event() override { return std::make_unique<Instant>(); }
  double milliseconds_between(const Event& from, const Event& to) override {
    if (queue_ != nullptr) return queue_->milliseconds_between(from, to);
    return std::chrono::duration<double, std::milli>(dynamic_cast<const Instant&>(to).time - dynamic_cast<const Instant&>(from).time).count();
  }
  void synchronize() override {
    if (queue_ != nullptr) queue_->finish();
  }
  CommandQueue* queue() override { return queue_.get(); }

 private:
  std::unique_ptr<LateQueue> queue_;
  DeviceDescription description_;
  KernelTable kernels_;
  std::size_t live_ = 0, peak_ = 0;
  cuda::ObservationMemory observation_{*this};
};

}  // namespace

std::unique_ptr<Device> make_emulated_device() { return std::make_unique<EmulatedDevice>(false); }
std::unique_ptr<Device> make_queued_device() { return std::make_unique<EmulatedDevice>(true); }

}  // namespace ulpscope::test
