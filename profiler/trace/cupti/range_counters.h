// CUPTI's Range Profiler as a CounterSource. Needs CUPTI's headers, not its library: the functions come in a table, so that tests put
// their own in it.
#pragma once

#include <cupti.h>
#if CUPTI_API_VERSION >= 130000
#define ULPSCOPE_RANGE_PROFILER 1
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

#include <string>
#include <vector>

#include "profiler/trace/counters.h"

namespace ulpscope::profiler::cupti {

/// What is called, by the names of the functions.
struct RangeProfiler {
  /// The context that is current on this thread, and its device.
  CUptiResult (*current)(CUcontext& context, CUdevice& device) = nullptr;
  decltype(&cuptiProfilerInitialize) initialize = nullptr;
  decltype(&cuptiProfilerDeInitialize) deinitialize = nullptr;
  decltype(&cuptiProfilerDeviceSupported) device_supported = nullptr;
  decltype(&cuptiDeviceGetChipName) chip_name = nullptr;
  decltype(&cuptiProfilerGetCounterAvailability) availability = nullptr;
  decltype(&cuptiProfilerHostInitialize) host_initialize = nullptr;
  decltype(&cuptiProfilerHostDeinitialize) host_deinitialize = nullptr;
  decltype(&cuptiProfilerHostGetMetricProperties) metric_properties = nullptr;
  decltype(&cuptiProfilerHostConfigAddMetrics) add_metrics = nullptr;
  decltype(&cuptiProfilerHostGetConfigImageSize) config_size = nullptr;
  decltype(&cuptiProfilerHostGetConfigImage) config_image = nullptr;
  decltype(&cuptiProfilerHostGetNumOfPasses) passes = nullptr;
  decltype(&cuptiProfilerHostEvaluateToGpuValues) evaluate = nullptr;
  decltype(&cuptiRangeProfilerEnable) enable = nullptr;
  decltype(&cuptiRangeProfilerDisable) disable = nullptr;
  decltype(&cuptiRangeProfilerGetCounterDataSize) data_size = nullptr;
  decltype(&cuptiRangeProfilerCounterDataImageInitialize) data_initialize = nullptr;
  decltype(&cuptiRangeProfilerSetConfig) set_config = nullptr;
  decltype(&cuptiRangeProfilerStart) start = nullptr;
  decltype(&cuptiRangeProfilerStop) stop = nullptr;
  decltype(&cuptiRangeProfilerPushRange) push = nullptr;
  decltype(&cuptiRangeProfilerPopRange) pop = nullptr;
  decltype(&cuptiRangeProfilerDecodeData) decode = nullptr;
  decltype(&cuptiRangeProfilerGetCounterDataInfo) data_info = nullptr;
  decltype(&cuptiRangeProfilerCounterDataGetRangeInfo) range_info = nullptr;
};
/// Those of the library that the module is linked against.
const RangeProfiler& range_profiler();

class RangeCounters final : public CounterSource {
 public:
  using Words = std::string (*)(CUptiResult);
  RangeCounters(const RangeProfiler& calls, Words words) : calls_(calls), words_(words) {}
  ~RangeCounters() override { close(); }
  RangeCounters(const RangeCounters&) = delete;
  RangeCounters& operator=(const RangeCounters&) = delete;

  CounterPlan plan(const std::string& chip, std::span<const char* const> metrics) override;
  CounterPlan open(std::span<const char* const> metrics, std::size_t ranges) override;
  void close() noexcept override;
  int begin() override;
  int end() override;
  int push(std::uint64_t id) override;
  int pop() override;
  int read(std::vector<RangeCount>& counts, std::size_t& dropped) override;
  std::string error_text(int code) const override { return words_(static_cast<CUptiResult>(code)); }

 private:
  /// Throws Refused.
  void expect(const char* call, CUptiResult result);
  void prepare(CounterPlan& plan, std::span<const char* const> metrics, std::size_t ranges);
  void expect_supported(CUdevice device);
  void choose(CounterPlan& plan, std::span<const char* const> metrics, const std::uint8_t* availability);
  void configure(CounterPlan& plan);
  void make_room(std::size_t ranges);

  const RangeProfiler& calls_;
  const Words words_;
  // What is open, in the order in which it was.
  bool initialized_ = false;
  CUpti_Profiler_Host_Object* host_ = nullptr;
  CUpti_RangeProfiler_Object* ranges_ = nullptr;
  bool started_ = false, pushed_ = false, whole_ = false;
  // What CUPTI reads and writes meanwhile.
  std::string chip_, metric_, name_;
  std::vector<std::uint8_t> availability_, config_, counts_;
};

}  // namespace ulpscope::profiler::cupti
#endif
