// What the host does not wait for: copies from and to page-locked memory, events, and launches recorded as CUDA graphs.
#include "kernels/cuda/queue.h"

#include "kernels/error.h"

namespace ulpscope::cuda {
namespace {

class CudaGraph final : public LaunchGraph {
 public:
  CudaGraph(cudaGraph_t graph, cudaStream_t stream) : stream_(stream) {
    const cudaError_t status = cudaGraphInstantiate(&executable_, graph, 0);
    cudaGraphDestroy(graph);
    expect(status, "recorded launches could not be made a graph");
  }
  ~CudaGraph() override { cudaGraphExecDestroy(executable_); }
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;

  void launch() override { expect(cudaGraphLaunch(executable_, stream_), "a graph could not be launched"); }

 private:
  cudaStream_t stream_;
  cudaGraphExec_t executable_ = nullptr;
};

class CudaQueue final : public CommandQueue {
 public:
  explicit CudaQueue(cudaStream_t stream) : stream_(stream) {}

  void* allocate_host(std::size_t bytes) override {
    void* memory = nullptr;
    expect(cudaMallocHost(&memory, bytes), "page-locked memory could not be allocated");
    return memory;
  }
  void release_host(void* memory) noexcept override { cudaFreeHost(memory); }

  void copy_to_device_later(void* device_memory, const void* host_memory, std::size_t bytes) override {
    if (bytes != 0) expect(cudaMemcpyAsync(device_memory, host_memory, bytes, cudaMemcpyHostToDevice, stream_), "memory could not be written");
  }
  void copy_to_host_later(void* host_memory, const void* device_memory, std::size_t bytes) override {
    if (bytes != 0) expect(cudaMemcpyAsync(host_memory, device_memory, bytes, cudaMemcpyDeviceToHost, stream_), "memory could not be read");
  }

  std::unique_ptr<Event> make_event() override { return std::make_unique<CudaEvent>(); }
  void record(Event& event) override {
    expect(cudaEventRecord(dynamic_cast<CudaEvent&>(event).event, stream_), "an event could not be recorded");
  }
  // An event that was never recorded counts as passed.
  void wait(const Event& event) override { expect(cudaEventSynchronize(dynamic_cast<const CudaEvent&>(event).event), "a kernel failed"); }

  std::unique_ptr<LaunchGraph> capture(const std::function<void()>& work) override {
    expect(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "launches could not be recorded");
    cudaGraph_t graph = nullptr;
    try {
      work();
    } catch (...) {
      if (cudaStreamEndCapture(stream_, &graph) == cudaSuccess && graph != nullptr) cudaGraphDestroy(graph);
      cudaGetLastError();   // the first error is the one that counts
      throw;
    }
    expect(cudaStreamEndCapture(stream_, &graph), "launches could not be recorded");
    return std::make_unique<CudaGraph>(graph, stream_);
  }

 private:
  cudaStream_t stream_;
};

}  // namespace

std::unique_ptr<CommandQueue> make_queue(cudaStream_t stream) { return std::make_unique<CudaQueue>(stream); }

}  // namespace ulpscope::cuda
