// Hardware counters of a GPU over ranges of work, in plain structs; and the small class that stands for CUPTI's Range Profiler. The real
// one is part of the module in profiler/trace/cupti; tests forge counts behind the same class. Nothing here needs CUDA's headers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace ulpscope::profiler {

/// How busy the tensor pipes were, in percent of the cycles in which a multiprocessor was at work: not of the time, so that what lies
/// between the kernels of a range does not count. The first that a chip has is taken. Names and meaning are those of CUPTI's own list
/// ("# of cycles where tensor pipe was active", cuptiProfilerHostGetMetricProperties): CUPTI 13.0 has the second for every chip from
/// Volta on, collected in one pass, and calls it deprecated on Ada in favour of the first (tests/profiler/cupti/module_test.cpp asks it).
inline constexpr const char* tensor_pipe_metrics[] = {"sm__pipe_tensor_cycles_active_v2.avg.pct_of_peak_sustained_active",
                                                      "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active"};

/// What would be counted, and how.
struct CounterPlan {
  int code = 0;             ///< of CUptiResult; 0: it can be counted, as far as it is known
  std::string call;         ///< that was refused
  std::string chip;         ///< "GH100"
  std::string metric;       ///< of those wished for; empty, and nothing refused: the chip has no tensor cores
  std::size_t passes = 0;   ///< how often the work must be repeated for one count
};

/// The metric over one range.
struct RangeCount {
  std::uint64_t id = 0;     ///< as it was pushed; 0: its name is none that was given
  double percent = 0.0;     ///< may be NaN: no multiprocessor worked
};

/// CUPTI's range profiler, of the calling thread's current context. Only close() and error_text() return no CUptiResult. A context has one
/// at a time, and no activity records may be collected meanwhile. On a failure after open() close() is called, and everything is undone.
class CounterSource {
 public:
  virtual ~CounterSource() = default;
  /// Which of `metrics` a chip of this name has. Needs no GPU.
  virtual CounterPlan plan(const std::string& chip, std::span<const char* const> metrics) = 0;
  /// Prepares to count in `ranges` ranges at most. Where it fails, or more than one pass is needed, nothing stays open.
  virtual CounterPlan open(std::span<const char* const> metrics, std::size_t ranges) = 0;
  virtual void close() noexcept = 0;
  /// From begin() to end() work is counted in the range that is pushed. Ranges do not nest.
  virtual int begin() = 0;
  virtual int end() = 0;
  virtual int push(std::uint64_t id) = 0;
  virtual int pop() = 0;
  /// After end(). dropped: ranges that there was no room for.
  virtual int read(std::vector<RangeCount>& counts, std::size_t& dropped) = 0;
  /// CUPTI's own words for a code; empty: it has none.
  virtual std::string error_text(int code) const = 0;
};

}  // namespace ulpscope::profiler
