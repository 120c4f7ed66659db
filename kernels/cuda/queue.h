// Events and the queue of a GPU's stream.
#pragma once

#include <cuda_runtime.h>

#include <memory>

#include "kernels/command_queue.h"
#include "kernels/cuda/grid.h"

namespace ulpscope::cuda {

struct CudaEvent final : Event {
  cudaEvent_t event = nullptr;
  CudaEvent() { expect(cudaEventCreate(&event), "an event could not be made"); }
  ~CudaEvent() override { cudaEventDestroy(event); }
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;
};

std::unique_ptr<CommandQueue> make_queue(cudaStream_t stream);

}  // namespace ulpscope::cuda
