#include "profiler/trace/cupti/range_counters.h"

#ifdef ULPSCOPE_RANGE_PROFILER

#include <algorithm>
#include <charconv>
#include <cstring>
#include <new>
#include <system_error>
#include <utility>

namespace ulpscope::profiler::cupti {
namespace {

// CUPTI knows by the size which members a caller's struct has. What is not set is 0.
#define ULPSCOPE_PARAMS(type, name) \
  type name = {};                   \
  name.structSize = type##_STRUCT_SIZE

struct Refused {
  const char* call;
  CUptiResult code;
};

/// Chips of Turing without tensor cores. CUPTI has a counter of this name for them, too; what it counts there is not written anywhere.
constexpr const char* without_tensor_cores[] = {"TU116", "TU117"};

/// Why a device is not supported.
CUptiResult reason(const CUpti_Profiler_DeviceSupported_Params& d) {
  const auto no = [](CUpti_Profiler_Support_Level level) {
    return level == CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED || level == CUPTI_PROFILER_CONFIGURATION_DISABLED;
  };
  if (d.vGpu == CUPTI_PROFILER_CONFIGURATION_DISABLED) return CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES;
  if (no(d.vGpu)) return CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED;
  if (no(d.confidentialCompute)) return CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED;
  if (no(d.cmp)) return CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED;
  if (no(d.sli)) return CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED;
  if (no(d.wsl)) return CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED;
  return CUPTI_ERROR_NOT_SUPPORTED;   // its architecture, or nothing that it says
}

/// The number that is the whole text; 0: it is none.
std::uint64_t number(const char* text) {
  if (text == nullptr) return 0;
  std::uint64_t value = 0;
  const char* const end = text + std::strlen(text);
  const auto [rest, error] = std::from_chars(text, end, value);
  return error == std::errc() && rest == end ? value : 0;
}

}  // namespace

void RangeCounters::expect(const char* call, CUptiResult result) {
  if (result != CUPTI_SUCCESS) throw Refused{call, result};
}

CounterPlan RangeCounters::plan(const std::string& chip, std::span<const char* const> metrics) {
  close();
  CounterPlan plan;
  plan.chip = chip;
  try {
    choose(plan, metrics, nullptr);
    if (!plan.metric.empty()) configure(plan);
  } catch (const Refused& refused) {
    plan.call = refused.call;
    plan.code = refused.code;
  } catch (const std::bad_alloc&) {
    plan.code = CUPTI_ERROR_OUT_OF_MEMORY;
  }
  close();
  return plan;
}

CounterPlan RangeCounters::open(std::span<const char* const> metrics, std::size_t ranges) {
  close();
  CounterPlan plan;
  try {
    prepare(plan, metrics, ranges);
  } catch (const Refused& refused) {
    plan.call = refused.call;
    plan.code = refused.code;
  } catch (const std::bad_alloc&) {
    plan.code = CUPTI_ERROR_OUT_OF_MEMORY;
  }
  if (plan.code != CUPTI_SUCCESS || plan.passes != 1) close();
  return plan;
}

void RangeCounters::prepare(CounterPlan& plan, std::span<const char* const> metrics, std::size_t ranges) {
  // First of all: without a driver other calls of CUPTI 13.0 end in a fault.
  ULPSCOPE_PARAMS(CUpti_Profiler_Initialize_Params, initialize);
  expect("cuptiProfilerInitialize", calls_.initialize(&initialize));
  initialized_ = true;
  CUcontext context = nullptr;
  CUdevice device = 0;
  expect("cuCtxGetCurrent", calls_.current(context, device));
  expect_supported(device);
  ULPSCOPE_PARAMS(CUpti_Device_GetChipName_Params, chip);
  chip.deviceIndex = static_cast<std::size_t>(device);
  expect("cuptiDeviceGetChipName", calls_.chip_name(&chip));
  plan.chip = chip.pChipName == nullptr ? "" : chip.pChipName;
  // Who may not profile is told so here, or when counting starts: to enable it is allowed to everybody.
  ULPSCOPE_PARAMS(CUpti_Profiler_GetCounterAvailability_Params, available);
  available.ctx = context;
  expect("cuptiProfilerGetCounterAvailability", calls_.availability(&available));
  availability_.assign(available.counterAvailabilityImageSize, 0);
  available.pCounterAvailabilityImage = availability_.data();
  expect("cuptiProfilerGetCounterAvailability", calls_.availability(&available));
  choose(plan, metrics, availability_.data());
  if (plan.metric.empty()) return;
  configure(plan);
  if (plan.passes != 1) return;
  ULPSCOPE_PARAMS(CUpti_RangeProfiler_Enable_Params, enable);
  enable.ctx = context;
  expect("cuptiRangeProfilerEnable", calls_.enable(&enable));
  ranges_ = enable.pRangeProfilerObject;
  make_room(ranges);
}

void RangeCounters::expect_supported(CUdevice device) {
  ULPSCOPE_PARAMS(CUpti_Profiler_DeviceSupported_Params, supported);
  supported.cuDevice = device;
  supported.api = CUPTI_PROFILER_RANGE_PROFILING;
  expect("cuptiProfilerDeviceSupported", calls_.device_supported(&supported));
  // What it could not find out, later calls will say.
  const auto level = supported.isSupported;
  if (level == CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED || level == CUPTI_PROFILER_CONFIGURATION_DISABLED)
    expect("cuptiProfilerDeviceSupported", reason(supported));
}

void RangeCounters::choose(CounterPlan& plan, std::span<const char* const> metrics, const std::uint8_t* availability) {
  chip_ = plan.chip;
  const bool none = std::find(std::begin(without_tensor_cores), std::end(without_tensor_cores), chip_) != std::end(without_tensor_cores);
  if (none) return;   // CUPTI is not asked, and refuses nothing
  ULPSCOPE_PARAMS(CUpti_Profiler_Host_Initialize_Params, host);
  host.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
  host.pChipName = chip_.c_str();
  host.pCounterAvailabilityImage = availability;
  expect("cuptiProfilerHostInitialize", calls_.host_initialize(&host));
  host_ = host.pHostObject;
  for (const char* metric : metrics) {
    ULPSCOPE_PARAMS(CUpti_Profiler_Host_GetMetricProperties_Params, properties);
    properties.pHostObject = host_;
    properties.pMetricName = metric;
    if (calls_.metric_properties(&properties) != CUPTI_SUCCESS) continue;
    plan.metric = metric_ = metric;
    return;
  }
  expect("cuptiProfilerHostGetMetricProperties", CUPTI_ERROR_INVALID_METRIC_NAME);
}

void RangeCounters::configure(CounterPlan& plan) {
  const char* name = metric_.c_str();
  ULPSCOPE_PARAMS(CUpti_Profiler_Host_ConfigAddMetrics_Params, add);
  add.pHostObject = host_;
  add.ppMetricNames = &name;
  add.numMetrics = 1;
  expect("cuptiProfilerHostConfigAddMetrics", calls_.add_metrics(&add));
  ULPSCOPE_PARAMS(CUpti_Profiler_Host_GetConfigImageSize_Params, size);
  size.pHostObject = host_;
  expect("cuptiProfilerHostGetConfigImageSize", calls_.config_size(&size));
  config_.assign(size.configImageSize, 0);
  ULPSCOPE_PARAMS(CUpti_Profiler_Host_GetConfigImage_Params, image);
  image.pHostObject = host_;
  image.configImageSize = config_.size();
  image.pConfigImage = config_.data();
  expect("cuptiProfilerHostGetConfigImage", calls_.config_image(&image));
  ULPSCOPE_PARAMS(CUpti_Profiler_Host_GetNumOfPasses_Params, passes);
  passes.configImageSize = config_.size();
  passes.pConfigImage = config_.data();
  expect("cuptiProfilerHostGetNumOfPasses", calls_.passes(&passes));
  plan.passes = passes.numOfPasses;
}

void RangeCounters::make_room(std::size_t ranges) {
  const char* name = metric_.c_str();
  ULPSCOPE_PARAMS(CUpti_RangeProfiler_GetCounterDataSize_Params, size);
  size.pRangeProfilerObject = ranges_;
  size.pMetricNames = &name;
  size.numMetrics = 1;
  size.maxNumOfRanges = ranges;
  size.maxNumRangeTreeNodes = static_cast<std::uint32_t>(ranges);
  expect("cuptiRangeProfilerGetCounterDataSize", calls_.data_size(&size));
  counts_.assign(size.counterDataSize, 0);
  ULPSCOPE_PARAMS(CUpti_RangeProfiler_CounterDataImage_Initialize_Params, image);
  image.pRangeProfilerObject = ranges_;
  image.counterDataSize = counts_.size();
  image.pCounterData = counts_.data();
  expect("cuptiRangeProfilerCounterDataImageInitialize", calls_.data_initialize(&image));
  ULPSCOPE_PARAMS(CUpti_RangeProfiler_SetConfig_Params, config);
  config.pRangeProfilerObject = ranges_;
  config.configSize = config_.size();
  config.pConfig = config_.data();
  config.counterDataImageSize = counts_.size();
  config.pCounterDataImage = counts_.data();
  config.range = CUPTI_UserRange;
  config.replayMode = CUPTI_UserReplay;   // of one pass: nothing is replayed
  config.maxRangesPerPass = ranges;
  config.numNestingLevels = 1;
  config.minNestingLevel = 1;
  config.passIndex = 0;
  config.targetNestingLevel = 1;
  expect("cuptiRangeProfilerSetConfig", calls_.set_config(&config));
}

void RangeCounters::close() noexcept {
  if (pushed_) pop();
  if (started_) end();
  if (ranges_ != nullptr) {
    ULPSCOPE_PARAMS(CUpti_RangeProfiler_Disable_Params, disable);
    disable.pRangeProfilerObject = std::exchange(ranges_, nullptr);
    calls_.disable(&disable);
  }
  if (host_ != nullptr) {
    ULPSCOPE_PARAMS(CUpti_Profiler_Host_Deinitialize_Params, host);
    host.pHostObject = std::exchange(host_, nullptr);
    calls_.host_deinitialize(&host);
  }
  if (std::exchange(initialized_, false)) {
    ULPSCOPE_PARAMS(CUpti_Profiler_DeInitialize_Params, all);
    calls_.deinitialize(&all);
  }
  whole_ = false;
  for (std::vector<std::uint8_t>* image : {&availability_, &config_, &counts_}) std::vector<std::uint8_t>().swap(*image);
}

int RangeCounters::begin() {
  if (ranges_ == nullptr || started_) return CUPTI_ERROR_INVALID_OPERATION;
  ULPSCOPE_PARAMS(CUpti_RangeProfiler_Start_Params, start);
  start.pRangeProfilerObject = ranges_;
  const CUptiResult result = calls_.start(&start);
  started_ = result == CUPTI_SUCCESS;
  return result;
}

int RangeCounters::end() {
  if (!started_) return CUPTI_ERROR_INVALID_OPERATION;
  started_ = pushed_ = false;
  ULPSCOPE_PARAMS(CUpti_RangeProfiler_Stop_Params, stop);
  stop.pRangeProfilerObject = ranges_;
  const CUptiResult result = calls_.stop(&stop);
  whole_ = result == CUPTI_SUCCESS && stop.isAllPassSubmitted == 1;
  return result;
}

int RangeCounters::push(std::uint64_t id) {
  if (!started_ || pushed_) return CUPTI_ERROR_INVALID_OPERATION;
  name_ = std::to_string(id);
  ULPSCOPE_PARAMS(CUpti_RangeProfiler_PushRange_Params, push);
  push.pRangeProfilerObject = ranges_;
  push.pRangeName = name_.c_str();
  const CUptiResult result = calls_.push(&push);
  pushed_ = result == CUPTI_SUCCESS;
  return result;
}

int RangeCounters::pop() {
  if (!pushed_) return CUPTI_ERROR_INVALID_OPERATION;
  pushed_ = false;
  ULPSCOPE_PARAMS(CUpti_RangeProfiler_PopRange_Params, pop);
  pop.pRangeProfilerObject = ranges_;
  return calls_.pop(&pop);
}

int RangeCounters::read(std::vector<RangeCount>& counts, std::size_t& dropped) {
  if (!whole_) return CUPTI_ERROR_NOT_READY;
  ULPSCOPE_PARAMS(CUpti_RangeProfiler_DecodeData_Params, decode);
  decode.pRangeProfilerObject = ranges_;
  if (const CUptiResult result = calls_.decode(&decode); result != CUPTI_SUCCESS) return result;
  dropped = decode.numOfRangeDropped;
  ULPSCOPE_PARAMS(CUpti_RangeProfiler_GetCounterDataInfo_Params, info);
  info.pCounterDataImage = counts_.data();
  info.counterDataImageSize = counts_.size();
  if (const CUptiResult result = calls_.data_info(&info); result != CUPTI_SUCCESS) return result;
  const char* metric = metric_.c_str();
  for (std::size_t i = 0; i < info.numTotalRanges; ++i) {
    ULPSCOPE_PARAMS(CUpti_RangeProfiler_CounterData_GetRangeInfo_Params, range);
    range.pCounterDataImage = counts_.data();
    range.counterDataImageSize = counts_.size();
    range.rangeIndex = i;
    range.rangeDelimiter = "/";
    if (const CUptiResult result = calls_.range_info(&range); result != CUPTI_SUCCESS) return result;
    RangeCount count;
    count.id = number(range.rangeName);
    ULPSCOPE_PARAMS(CUpti_Profiler_Host_EvaluateToGpuValues_Params, value);
    value.pHostObject = host_;
    value.pCounterDataImage = counts_.data();
    value.counterDataImageSize = counts_.size();
    value.rangeIndex = i;
    value.ppMetricNames = &metric;
    value.numMetrics = 1;
    value.pMetricValues = &count.percent;
    if (const CUptiResult result = calls_.evaluate(&value); result != CUPTI_SUCCESS) return result;
    counts.push_back(count);
  }
  return CUPTI_SUCCESS;
}

#undef ULPSCOPE_PARAMS

}  // namespace ulpscope::profiler::cupti
#endif
