// What a GPU did, as CUPTI's activity interface tells it, in plain structs; and the small class that stands for CUPTI. The real one
// is a module that is loaded at run time (profiler/trace/cupti); tests forge records behind the same class. Nothing here needs
// CUDA's headers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ulpscope::profiler {

/// What can be asked for. `graph` gives one record for a launch of a graph *instead of* its kernels, and is never asked for here.
enum class ActivityKind : std::uint8_t {
  kernel, copy, set, memory, overhead, external_correlation, marker, runtime_call, driver_call, graph
};
const char* name(ActivityKind kind);

/// Time stamps are nanoseconds of CUPTI's clock: the GPU's, converted to the host's. 0: could not be taken.
struct KernelActivity {
  std::uint32_t correlation = 0;  ///< of the call that launched it; the kernels of a graph share that of the graph's launch
  std::uint32_t device = 0, context = 0, stream = 0;
  std::uint64_t graph_node = 0;   ///< 0: not launched by a graph
  std::uint32_t graph = 0;
  std::uint64_t start = 0, end = 0;
  std::array<std::int64_t, 3> grid{}, block{};
  std::int64_t registers = 0;     ///< for each thread
  std::int64_t static_shared_bytes = 0, dynamic_shared_bytes = 0;
  std::string name;
  std::optional<double> tensor_pipe{};  ///< share of cycles with the tensor pipes active, where hardware counters gave it
};

/// A copy, or a set, of device memory.
struct TransferActivity {
  bool set = false;
  std::uint32_t correlation = 0, runtime_correlation = 0;  ///< of the driver's and the runtime's call; 0: unknown
  std::uint32_t stream = 0;
  std::uint64_t graph_node = 0;
  std::uint64_t start = 0, end = 0;
  std::uint64_t bytes = 0;
};

/// The call with this correlation was made between push(id) and pop.
struct ExternalActivity {
  std::uint64_t id = 0;
  std::uint32_t correlation = 0;
};

/// Time that the tool or the driver took for itself.
struct OverheadActivity {
  std::uint64_t start = 0, end = 0;
};

/// A graph that was traced as a whole.
struct GraphActivity {
  std::uint32_t correlation = 0;
  std::uint64_t start = 0, end = 0;
};

/// The records of one buffer, or of many.
struct ActivityBatch {
  std::vector<KernelActivity> kernels;
  std::vector<TransferActivity> transfers;
  std::vector<ExternalActivity> externals;
  std::vector<OverheadActivity> overheads;
  std::vector<GraphActivity> graphs;
  std::int64_t calls = 0, memory = 0, markers = 0;  ///< only counted
  std::int64_t foreign = 0;                         ///< external ids of other tools
  std::int64_t unknown = 0;                         ///< records of a kind that is not known here
  std::int64_t broken = 0;                          ///< buffers whose reading ended before their end
  void append(ActivityBatch&& more);
};

/// Who is told. CUPTI calls buffer_* from a thread of its own or in the middle of any call, the others on the thread that launches.
class ActivityListener {
 public:
  virtual ~ActivityListener() = default;
  /// Room for records; empty: none is left, and records are dropped.
  virtual std::span<std::byte> buffer_requested() noexcept = 0;
  /// The first `valid` bytes hold records. The buffer is the listener's again.
  virtual void buffer_completed(std::byte* buffer, std::size_t valid) noexcept = 0;
  /// A call that launches a kernel or a graph begins and ends. The runtime's call may hold one of the driver, with an id of its own.
  virtual void launch_begin(std::uint32_t correlation) noexcept = 0;
  virtual void launch_end(bool failed) noexcept = 0;
  /// A node of a CUDA graph that will leave records was made (original 0: by the call in progress, while a stream is captured) or
  /// cloned (when the graph is made executable). graph: of which it is part; 0: unknown.
  virtual void graph_node(std::uint64_t node, std::uint64_t original, std::uint32_t graph) noexcept = 0;
};

/// Success of a call; other codes are CUptiResult's.
inline constexpr int activity_ok = 0;

/// CUPTI. No call throws; all but error_text and version return a CUptiResult. A caller holds no lock: every one of them may call the
/// listener before it returns, from this thread or another.
class ActivitySource {
 public:
  virtual ~ActivitySource() = default;
  /// From now on the listener is told of buffers and of nodes of graphs. One listener at a time.
  virtual int attach(ActivityListener& listener) = 0;
  /// Returns when no call to the listener is under way any more. Not to be called from within one.
  virtual void detach() noexcept = 0;
  virtual int enable(ActivityKind kind) = 0;
  virtual int disable(ActivityKind kind) = 0;
  /// Whether launch_begin and launch_end are called.
  virtual int count_launches(bool on) = 0;
  /// Completes all buffers. The device must have been waited for.
  virtual int flush() = 0;
  /// Of the calling thread. pop: `id` becomes the one that was on top.
  virtual int push(std::uint64_t id) = 0;
  virtual int pop(std::uint64_t& id) = 0;
  /// Records that found no room since the last call.
  virtual int dropped(std::size_t& records) = 0;
  /// The clock of the time stamps.
  virtual int now(std::uint64_t& nanoseconds) = 0;
  virtual void read(const std::byte* buffer, std::size_t valid, ActivityBatch& into) = 0;
  /// CUPTI's own words for a code; empty: it has none.
  virtual std::string error_text(int code) const = 0;
  virtual std::string version() const = 0;
};

}  // namespace ulpscope::profiler
