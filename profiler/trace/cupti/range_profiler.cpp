// The functions of libcupti behind RangeCounters.
#include <dlfcn.h>

#include "profiler/trace/cupti/range_counters.h"

#ifdef ULPSCOPE_RANGE_PROFILER
namespace ulpscope::profiler::cupti {
namespace {

/// The CUDA driver's, which the runtime has loaded where a GPU is in use. The module is not linked against it.
CUptiResult current(CUcontext& context, CUdevice& device) {
  void* const driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (driver == nullptr) return CUPTI_ERROR_NOT_INITIALIZED;
  const auto get_context = reinterpret_cast<CUresult (*)(CUcontext*)>(dlsym(driver, "cuCtxGetCurrent"));
  const auto get_device = reinterpret_cast<CUresult (*)(CUdevice*)>(dlsym(driver, "cuCtxGetDevice"));
  const bool known = get_context != nullptr && get_device != nullptr && get_context(&context) == CUDA_SUCCESS && context != nullptr &&
                     get_device(&device) == CUDA_SUCCESS;
  dlclose(driver);   // it stays loaded: others hold it
  return known ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_CONTEXT;
}

}  // namespace

const RangeProfiler& range_profiler() {
  static const RangeProfiler calls = {
      .current = current,
      .initialize = cuptiProfilerInitialize,
      .deinitialize = cuptiProfilerDeInitialize,
      .device_supported = cuptiProfilerDeviceSupported,
      .chip_name = cuptiDeviceGetChipName,
      .availability = cuptiProfilerGetCounterAvailability,
      .host_initialize = cuptiProfilerHostInitialize,
      .host_deinitialize = cuptiProfilerHostDeinitialize,
      .metric_properties = cuptiProfilerHostGetMetricProperties,
      .add_metrics = cuptiProfilerHostConfigAddMetrics,
      .config_size = cuptiProfilerHostGetConfigImageSize,
      .config_image = cuptiProfilerHostGetConfigImage,
      .passes = cuptiProfilerHostGetNumOfPasses,
      .evaluate = cuptiProfilerHostEvaluateToGpuValues,
      .enable = cuptiRangeProfilerEnable,
      .disable = cuptiRangeProfilerDisable,
      .data_size = cuptiRangeProfilerGetCounterDataSize,
      .data_initialize = cuptiRangeProfilerCounterDataImageInitialize,
      .set_config = cuptiRangeProfilerSetConfig,
      .start = cuptiRangeProfilerStart,
      .stop = cuptiRangeProfilerStop,
      .push = cuptiRangeProfilerPushRange,
      .pop = cuptiRangeProfilerPopRange,
      .decode = cuptiRangeProfilerDecodeData,
      .data_info = cuptiRangeProfilerGetCounterDataInfo,
      .range_info = cuptiRangeProfilerCounterDataGetRangeInfo,
  };
  return calls;
}

}  // namespace ulpscope::profiler::cupti
#endif
