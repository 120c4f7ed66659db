// Buffers as they were before a step, for running it again: the forward pass overwrites them.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "engine/graph/graph.h"
#include "kernels/device.h"

namespace ulpscope::engine {

class HeldBuffers {
 public:
  /// address: device memory of a value. The device must outlive it.
  HeldBuffers(Device& device, const Graph& graph, const std::function<void*(ValueId)>& address);

  /// Neither allocates.
  void hold();
  void put_back() const;

 private:
  struct Held {
    void* place = nullptr;
    std::vector<std::byte> bytes;
  };
  Device& device_;
  std::vector<Held> buffers_;
};

}  // namespace ulpscope::engine
