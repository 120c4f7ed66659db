// The registry (operation, compute format) → kernel, and what a kernel is launched with.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/step_state.h"
#include "kernels/tensor.h"

namespace ulpscope {

struct RoundingCounts;

/// One launch. Inputs and outputs as kernels/ops/catalogue.h lists them for each operation; formats are read from the
/// views, so one kernel serves every storage format. Params is the operation's POD from kernels/ops/params.h.
struct Launch {
  const Tensor* in = nullptr;
  int in_count = 0;
  const Tensor* out = nullptr;
  int out_count = 0;
  const void* params = nullptr;
  StepState* state = nullptr;                ///< device memory
  void* workspace = nullptr;                 ///< device memory, at least Kernel::workspace_bytes, 64-byte aligned
  RoundingCounts* const* counts = nullptr;   ///< null, or one pointer for each output (null: that output is not observed)
  int threads = 1;                           ///< CPU: size of the OpenMP team; results do not depend on it
  void* stream = nullptr;                    ///< CUDA: cudaStream_t
};

struct Kernel {
  void (*run)(const Launch&) = nullptr;
  /// Bytes of workspace; data pointers of the views may be null. A null function means none.
  std::size_t (*workspace_bytes)(const Launch&) = nullptr;
};

/// The kernels of one device, by operation and compute format (fp32, or fp64 for gradient checks).
class KernelTable {
 public:
  void add(std::string_view operation, Format compute, Kernel kernel);
  /// Throws Error naming the operation and the operations there are.
  const Kernel& find(std::string_view operation, Format compute) const;
  bool contains(std::string_view operation, Format compute) const;
  std::vector<std::pair<std::string, Format>> entries() const;

 private:
  std::map<std::pair<std::string, Format>, Kernel, std::less<>> kernels_;
};

}  // namespace ulpscope
