// A GPU: memory, one stream, events. And the module's one symbol.
#include <cuda_runtime.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "kernels/cuda/grid.h"
#include "kernels/cuda/observation_memory.h"
#include "kernels/cuda/product.h"
#include "kernels/cuda/queue.h"
#include "kernels/cuda/register.h"
#include "kernels/cuda_module.h"
#include "kernels/device.h"
#include "kernels/out_of_memory.h"

namespace ulpscope::cuda {
namespace {

/// Blocks of 256 threads that one multiprocessor holds at a time, on every generation: 2048 threads, or 1536.
constexpr std::int64_t blocks_per_multiprocessor = 8;

/// Of the device in use: one for each process, as the program has one device.
struct Current {
  std::int64_t blocks = blocks_per_multiprocessor;
  Device* device = nullptr;
  ObservationMemory* observation = nullptr;
};
Current& current() {
  static Current state;
  return state;
}

std::string compute_capability(const cudaDeviceProp& p) { return "sm_" + std::to_string(p.major) + std::to_string(p.minor); }

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(int ordinal) {
    int count = 0;
    expect(cudaGetDeviceCount(&count), "no GPU can be used");
    if (ordinal < 0 || ordinal >= count)
      throw UsageError("cuda:" + std::to_string(ordinal) + " is not here; there " + (count == 1 ? "is 1 GPU" : "are " + std::to_string(count) + " GPUs") +
                       ", numbered from 0");
    expect(cudaSetDevice(ordinal), "the GPU cannot be used");
    cudaDeviceProp properties = {};
    expect(cudaGetDeviceProperties(&properties, ordinal), "the GPU does not say what it is");
    expect(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "a stream could not be made");
    queue_ = make_queue(stream_);
    description_.kind = DeviceKind::cuda;
    description_.name = properties.name;
    description_.instruction_set = compute_capability(properties);
    description_.threads = properties.multiProcessorCount;
    description_.matmul_library = product_library();
    register_kernels(kernels_);
    register_products(kernels_);
    current() = {properties.multiProcessorCount * blocks_per_multiprocessor, this, &observation_};
  }
  ~CudaDevice() override {
    observation_.give_back();
    if (current().device == this) current() = {};
    cudaStreamDestroy(stream_);
  }
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  const DeviceDescription& description() const override { return description_; }
  const KernelTable& kernels() const override { return kernels_; }

  void* allocate(std::size_t bytes) override {
    if (bytes == 0) return nullptr;
    void* memory = nullptr;
    const cudaError_t status = cudaMalloc(&memory, bytes);
    const std::lock_guard lock(mutex_);
    if (status == cudaErrorMemoryAllocation) {
      cudaGetLastError();   // it has been answered
      std::size_t free = 0, total = 0;
      cudaMemGetInfo(&free, &total);
      throw OutOfMemory("cuda: cannot allocate " + std::to_string(bytes) + " bytes; " + std::to_string(live_) + " bytes are in use, " +
                  std::to_string(free) + " of " + std::to_string(total) + " are free on " + description_.name);
    }
    expect(status, "memory could not be allocated");
    sizes_.emplace(memory, bytes);
    live_ += bytes;
    peak_ = std::max(peak_, live_);
    return memory;
  }

  void release(void* memory) noexcept override {
    if (memory == nullptr) return;
    const std::lock_guard lock(mutex_);
    const auto found = sizes_.find(memory);
    if (found == sizes_.end()) return;
    live_ -= found->second;
    sizes_.erase(found);
    cudaFree(memory);
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
  std::optional<std::int64_t> free_bytes() const override {
    std::size_t free = 0, total = 0;
    expect(cudaMemGetInfo(&free, &total), "the GPU does not say how much memory is free");
    return static_cast<std::int64_t>(free);
  }
  std::vector<std::pair<std::string, std::string>> kernel_choices() const override;
  std::size_t observation_bytes() const override { return observation_.bytes(); }
  void release_observation() override { observation_.give_back(); }

  // In the stream's order. Of pageable memory CUDA may have taken a copy on return, and need not (where the GPU reads it itself): who calls may free it.
  void copy_to_device(void* device_memory, const void* host_memory, std::size_t bytes) override {
    if (bytes == 0) return;
    expect(cudaMemcpyAsync(device_memory, host_memory, bytes, cudaMemcpyHostToDevice, stream_), "memory could not be written");
    synchronize();
  }
  void copy_to_host(void* host_memory, const void* device_memory, std::size_t bytes) override {
    cuda::copy_to_host(host_memory, device_memory, bytes, stream_);
  }
  void fill(void* device_memory, unsigned char byte, std::size_t bytes) override {
    fill_memory(device_memory, byte, bytes, stream_);
  }

  void* stream() override { return stream_; }
  std::unique_ptr<Event> record_event() override {
    auto event = std::make_unique<CudaEvent>();
    expect(cudaEventRecord(event->event, stream_), "an event could not be recorded");
    return event;
  }
  double milliseconds_between(const Event& from, const Event& to) override {
    const auto& start = dynamic_cast<const CudaEvent&>(from);
    const auto& end = dynamic_cast<const CudaEvent&>(to);
    expect(cudaEventSynchronize(end.event), "a kernel failed");
    float milliseconds = 0.0f;
    expect(cudaEventElapsedTime(&milliseconds, start.event, end.event), "two events give no time");
    return static_cast<double>(milliseconds);
  }
  void synchronize() override { expect(cudaStreamSynchronize(stream_), "a kernel failed"); }
  CommandQueue* queue() override { return queue_.get(); }

 private:
  DeviceDescription description_;
  KernelTable kernels_;
  cudaStream_t stream_ = nullptr;
  std::unique_ptr<CommandQueue> queue_;
  mutable std::mutex mutex_;
  std::unordered_map<void*, std::size_t> sizes_;
  std::size_t live_ = 0, peak_ = 0;
  ObservationMemory observation_{*this};
};

std::string shape_of(const ProductChoice& p) {
  return "product [" + std::to_string(p.rows) + ", " + std::to_string(p.columns) + "] x " + std::to_string(p.depth) +
         (p.batch == 1 ? "" : ", " + std::to_string(p.batch) + " times") + ", " + name(p.a) + (p.transposed_a ? "^T" : "") + " " + name(p.b) +
         (p.transposed_b ? "^T" : "") + " -> " + name(p.c) + (p.bias ? " + bias" : "") + ", rows apart " + std::to_string(p.leading_a) + ", " +
         std::to_string(p.leading_b) + ", " + std::to_string(p.leading_c);
}

std::string algorithm_of(const ProductChoice& p) {
  return std::string(p.compute) + ", algorithm " + std::to_string(p.algorithm) + ", tile " + std::to_string(p.tile) + ", stages " +
         std::to_string(p.stages) + ", split-k " + std::to_string(p.split_k) + ", reduction " + std::to_string(p.reduction) + ", swizzle " +
         std::to_string(p.swizzle) + ", custom " + std::to_string(p.custom) + ", inner shape " + std::to_string(p.inner_shape) +
         ", cluster shape " + std::to_string(p.cluster_shape) + ", numerics " + std::to_string(p.numerics) + ", workspace " +
         std::to_string(p.workspace);
}

std::vector<std::pair<std::string, std::string>> CudaDevice::kernel_choices() const {
  std::vector<std::pair<std::string, std::string>> choices;
  if (const std::string tf32 = tf32_override(); !tf32.empty()) choices.emplace_back("NVIDIA_TF32_OVERRIDE", tf32);
  for (const ProductChoice& p : product_choices()) choices.emplace_back(shape_of(p), algorithm_of(p));
  return choices;
}

Device* make_device(int ordinal) { return new CudaDevice(ordinal); }

}  // namespace

std::int64_t blocks_for(std::int64_t pieces) { return std::clamp<std::int64_t>(pieces, 0, current().blocks); }

void* observation_memory(void*, std::size_t bytes) { return current().observation->of(bytes); }

}  // namespace ulpscope::cuda

extern "C" __attribute__((visibility("default"))) const ulpscope::CudaModuleFacts* ulpscope_cuda_module() {
  static const ulpscope::CudaModuleFacts facts = {ulpscope::cuda_module_interface, CUDART_VERSION, ULPSCOPE_ARCHITECTURES,
                                                  ulpscope::cuda::make_device};
  return &facts;
}
