// What a profiler of GPUs recorded, whatever wrote it: kernels, copies, ranges, steps, the device.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "profiler/import/input.h"
#include "profiler/import/log_run.h"

namespace ulpscope::profiler {

/// Names, each kept once: a trace has a few hundred, and millions of events.
class Names {
 public:
  std::uint32_t id(std::string_view name);
  const std::string& operator[](std::uint32_t id) const { return *list_[id]; }
  std::size_t size() const { return list_.size(); }

 private:
  std::unordered_map<std::string, std::uint32_t> ids_;
  std::vector<const std::string*> list_;
};

enum class WorkKind : std::uint8_t { kernel, copy, set };

/// What many pieces of work have in common: a trace has a few hundred of these, and millions of kernels.
struct WorkShape {
  std::uint32_t name = 0;
  WorkKind kind = WorkKind::kernel;
  std::int32_t stream = 0, device = 0;
  std::int32_t process = -1;              ///< that launched it; below 0: unknown
  std::array<std::int32_t, 3> grid{}, block{};
  std::int32_t registers = -1, static_shared = -1, dynamic_shared = -1;
  std::int64_t bytes = -1;                ///< of a copy; below 0: unknown

  friend bool operator==(const WorkShape&, const WorkShape&) = default;
};

/// Each kept once.
class WorkShapes {
 public:
  std::uint32_t id(const WorkShape& shape);
  const WorkShape& operator[](std::uint32_t id) const { return list_[id]; }

 private:
  struct Hash {
    std::size_t operator()(const WorkShape& shape) const;
  };
  std::unordered_map<WorkShape, std::uint32_t, Hash> ids_;
  std::vector<WorkShape> list_;
};

/// A kernel, a copy or a set of memory, as the GPU ran it. Times are nanoseconds of the trace's clock. Small: there are millions.
struct TraceWork {
  static constexpr std::uint32_t no_caller = 0xffffffff, doubtful = 0xfffffffe;

  std::int64_t start = 0, duration = 0;
  std::int64_t correlation = -1;          ///< of the call that launched it; below 0: unknown
  std::int64_t launched_at = 0;           ///< by its caller
  std::uint32_t shape = 0;                ///< in Trace::shapes
  std::uint32_t caller = no_caller;       ///< in Trace::callers, once launches are matched (trace_launches.h); doubtful: calls of two processes

  bool launched() const { return caller < doubtful; }
};

/// The call on the host that launched what has its correlation. Each process counts correlations by itself.
struct TraceLaunch {
  std::int64_t correlation = 0, at = 0, thread = 0;
  std::int32_t process = -1;
};

/// A thread that launches.
struct TraceCaller {
  std::int64_t thread = 0;
  std::int32_t process = -1;
  friend auto operator<=>(const TraceCaller&, const TraceCaller&) = default;
};

/// What is the run's, and what was taken out as it is not.
struct TraceKept {
  std::int64_t device = 0;
  std::int32_t process = -1;
  std::int64_t elsewhere = 0, others_work = 0, others_ranges = 0;   ///< on other devices; of other processes

  bool other(std::int32_t of) const { return process >= 0 && of >= 0 && of != process; }
};

/// Between push and pop of a thread; or, on the device, from the first to the last kernel that was launched in it.
struct TraceRange {
  std::int64_t start = 0, end = 0, thread = 0;
  std::uint32_t name = 0;
  bool on_device = false;
  std::int32_t process = -1;
};

struct TraceDevice {
  std::int64_t id = 0;
  std::int64_t pid = -1;   ///< of the process that calls it so; below 0: all do
  std::string name{};
  std::map<std::string, double> facts{};   ///< "multiprocessors", "memory_bytes", "clock_mhz"
};

struct Trace {
  std::string format{};
  Names names;
  WorkShapes shapes;
  std::vector<TraceWork> work{};
  std::vector<TraceLaunch> launches{};             ///< those that were not matched with work as they were read
  std::vector<TraceCaller> callers{};
  std::optional<TraceKept> kept{};                 ///< once the work of others was taken out
  std::vector<TraceRange> ranges{};
  std::vector<TraceDevice> devices{};
  std::map<std::string, std::int64_t> ignored{};   ///< tables, kinds of events that are not read → how many rows
  std::vector<std::string> missing{};              ///< what this version does not have, in words
  std::int64_t negative = 0;                       ///< work that ends before it begins: left out
  std::int64_t broken = 0;                         ///< events that lack what every one has, or hold something else there: left out
  std::string first_broken{};                      ///< of them the first, in words

  const WorkShape& of(const TraceWork& one) const { return shapes[one.shape]; }
};

struct TraceOptions {
  /// Ranges whose name begins with this are steps; empty: PyTorch's "ProfilerStep#".
  std::string step_range{};
};

/// A Chrome trace as PyTorch's profiler (Kineto) writes it.
Trace read_kineto(Input& input);

/// A SQLite export of Nsight Systems. What its version lacks is in `missing`, tables that are not read in `ignored`.
Trace read_nsight(const std::string& path);

/// Work belongs to the step in whose range it was launched (by its correlation), else to that on whose device range it lies, else (inferred) to the one
/// that was under way on the host. Without steps it has none. Of several processes and devices the one with the most kernels is the run's.
ImportedRun run_of_trace(Trace trace, const TraceOptions& options, const ImportedAs& as);

}  // namespace ulpscope::profiler
