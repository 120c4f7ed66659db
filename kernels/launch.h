// The registry (operation, compute format) → kernel, and what a kernel is launched with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/arithmetic.h"
#include "kernels/step_state.h"
#include "kernels/tensor.h"

namespace ulpscope {

struct RoundingCounts;

/// What a product hands its results to, instead of rounding and storing them: runs of neighbouring elements of C.
struct Epilogue {
  /// values[0 … n): fp32 sums with the bias added, of the elements begin … begin + n of C in row-major order (of the
  /// whole result, batch dimensions included); a run lies in one row. May be overwritten. thread < Launch::threads is the
  /// caller's own: no two calls with the same number run at a time. Every element is handed over exactly once.
  void (*run)(const void* context, int thread, std::int64_t begin, std::int64_t n, float* values) = nullptr;
  const void* context = nullptr;
};

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
  Arithmetic arithmetic;                     ///< of sums; kernels that do not honour it (ops/catalogue.h) get the default
  RoundingCounts* inner = nullptr;           ///< null, or where a sum with such an arithmetic counts what it loses (ops/narrow_sum.h)
  const Epilogue* epilogue = nullptr;        ///< products in fp32: takes the result. out[0].data may be null; else the sums may lie there
  int threads = 1;                           ///< CPU: size of the OpenMP team; results do not depend on it
  void* stream = nullptr;                    ///< CUDA: cudaStream_t
};

inline constexpr int max_stage_reads = 4;

/// How an operation takes part in a fused launch (kernels/fused.h): run by run of its one large result, out[0]. Further
/// results are small (a norm's mean and rstd) and always stored.
struct Stage {
  bool row = false;                         ///< a run must be a whole row of out[0] (its last dimension)
  int reads = 1;                            ///< inputs that are read run by run, broadcast to out[0]'s shape
  int read[max_stage_reads] = {0, 1, 2, 3}; ///< which inputs they are; the others are read whole, before the first run
  const void* functions = nullptr;          ///< the device's own
};

struct Kernel {
  void (*run)(const Launch&) = nullptr;
  /// Bytes of workspace; data pointers of the views may be null. A null function means none.
  std::size_t (*workspace_bytes)(const Launch&) = nullptr;
  const Stage* stage = nullptr;             ///< null: always launched alone
  bool takes_epilogue = false;              ///< a product that honours Launch::epilogue
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
