// CUPTI's Range Profiler over a forged libcupti: what is asked, in which order, and that everything is undone whatever fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "profiler/trace/cupti/range_counters.h"

#ifdef ULPSCOPE_RANGE_PROFILER
namespace ulpscope::profiler::cupti {
namespace {

using ::testing::ElementsAre;

/// CUPTI itself: one, as its functions take no pointer.
struct Forged {
  std::vector<std::string> calls;
  std::string failing;                ///< the call that fails,
  int which = 1;                      ///< at this time that it is made,
  CUptiResult code = CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
  CUpti_Profiler_DeviceSupported_Params support = {};
  std::vector<std::string> metrics = {tensor_pipe_metrics[1]};
  std::string chip = "GH100", pushed;
  std::size_t passes = 1;
  std::uint8_t all_submitted = 1;
  std::vector<std::pair<std::string, double>> ranges;   ///< answers
  CUpti_RangeProfiler_SetConfig_Params config = {};
  std::string metric;                 ///< that is configured
  std::vector<std::string> asked;     ///< metrics whose properties were
  int initialized = 0, hosts = 0, enabled = 0, started = 0, in_range = 0;
};
Forged forged;

CUptiResult said(const char* call) {
  forged.calls.emplace_back(call);
  return forged.failing == call && --forged.which == 0 ? forged.code : CUPTI_SUCCESS;
}
/// What fails changes nothing.
CUptiResult done(const char* call, int& counter, int by) {
  const CUptiResult result = said(call);
  if (result == CUPTI_SUCCESS) counter += by;
  return result;
}
auto* const host = reinterpret_cast<CUpti_Profiler_Host_Object*>(0x10);
auto* const object = reinterpret_cast<CUpti_RangeProfiler_Object*>(0x20);
auto* const context = reinterpret_cast<CUcontext>(0x30);

#define EXPECT_PARAMS(type, p)                         \
  EXPECT_EQ((p)->structSize, type##_STRUCT_SIZE);      \
  EXPECT_EQ((p)->pPriv, nullptr)
/// Every call of a session names the object that enable() gave, and comes while it lives.
#define EXPECT_OBJECT(type, p)                         \
  EXPECT_PARAMS(type, p);                              \
  EXPECT_EQ((p)->pRangeProfilerObject, object);        \
  EXPECT_EQ(forged.enabled, 1)
/// The counts are read from the image that was initialized, by the host object that lives.
#define EXPECT_COUNTS(type, p)                         \
  EXPECT_PARAMS(type, p);                              \
  EXPECT_EQ((p)->counterDataImageSize, 512u);          \
  EXPECT_EQ((p)->pCounterDataImage[511], 3)

const RangeProfiler& forged_calls() {
  static const RangeProfiler calls = {
      .current = [](CUcontext& c, CUdevice& d) { c = context; d = 1; return said("current"); },
      .initialize = [](CUpti_Profiler_Initialize_Params* p) { EXPECT_PARAMS(CUpti_Profiler_Initialize_Params, p); return done("initialize", forged.initialized, 1); },
      .deinitialize = [](CUpti_Profiler_DeInitialize_Params* p) { EXPECT_PARAMS(CUpti_Profiler_DeInitialize_Params, p); return done("deinitialize", forged.initialized, -1); },
      .device_supported =
          [](CUpti_Profiler_DeviceSupported_Params* p) {
            EXPECT_PARAMS(CUpti_Profiler_DeviceSupported_Params, p);
            EXPECT_EQ(p->cuDevice, 1);
            EXPECT_EQ(p->api, CUPTI_PROFILER_RANGE_PROFILING);
            const auto in = *p;
            *p = forged.support;
            p->structSize = in.structSize;
            return said("device_supported");
          },
      .chip_name = [](CUpti_Device_GetChipName_Params* p) { EXPECT_PARAMS(CUpti_Device_GetChipName_Params, p); EXPECT_EQ(p->deviceIndex, 1u); p->pChipName = forged.chip.c_str(); return said("chip_name"); },
      .availability =
          [](CUpti_Profiler_GetCounterAvailability_Params* p) {
            EXPECT_PARAMS(CUpti_Profiler_GetCounterAvailability_Params, p);
            EXPECT_EQ(p->ctx, context);
            if (p->pCounterAvailabilityImage == nullptr) p->counterAvailabilityImageSize = 24;
            else p->pCounterAvailabilityImage[23] = 7;   // it has the size that was asked for
            return said("availability");
          },
      .host_initialize =
          [](CUpti_Profiler_Host_Initialize_Params* p) {
            EXPECT_PARAMS(CUpti_Profiler_Host_Initialize_Params, p);
            EXPECT_EQ(p->profilerType, CUPTI_PROFILER_TYPE_RANGE_PROFILER);
            EXPECT_EQ(p->pChipName, forged.chip);
            if (p->pCounterAvailabilityImage != nullptr) { EXPECT_EQ(p->pCounterAvailabilityImage[23], 7); }
            p->pHostObject = host;
            return done("host_initialize", forged.hosts, 1);
          },
      .host_deinitialize = [](CUpti_Profiler_Host_Deinitialize_Params* p) { EXPECT_PARAMS(CUpti_Profiler_Host_Deinitialize_Params, p); EXPECT_EQ(p->pHostObject, host); return done("host_deinitialize", forged.hosts, -1); },
      .metric_properties =
          [](CUpti_Profiler_Host_GetMetricProperties_Params* p) {
            EXPECT_PARAMS(CUpti_Profiler_Host_GetMetricProperties_Params, p);
            EXPECT_EQ(p->pHostObject, host);
            forged.asked.emplace_back(p->pMetricName);
            const bool has = std::find(forged.metrics.begin(), forged.metrics.end(), p->pMetricName) != forged.metrics.end();
            return has ? said("metric_properties") : CUPTI_ERROR_INVALID_METRIC_NAME;
          },
      .add_metrics = [](CUpti_Profiler_Host_ConfigAddMetrics_Params* p) { EXPECT_PARAMS(CUpti_Profiler_Host_ConfigAddMetrics_Params, p); EXPECT_EQ(p->pHostObject, host); EXPECT_EQ(p->numMetrics, 1u); forged.metric = p->ppMetricNames[0]; return said("add_metrics"); },
      .config_size = [](CUpti_Profiler_Host_GetConfigImageSize_Params* p) { EXPECT_PARAMS(CUpti_Profiler_Host_GetConfigImageSize_Params, p); EXPECT_EQ(p->pHostObject, host); p->configImageSize = 40; return said("config_size"); },
      .config_image = [](CUpti_Profiler_Host_GetConfigImage_Params* p) { EXPECT_PARAMS(CUpti_Profiler_Host_GetConfigImage_Params, p); EXPECT_EQ(p->pHostObject, host); EXPECT_EQ(p->configImageSize, 40u); p->pConfigImage[39] = 9; return said("config_image"); },
      .passes = [](CUpti_Profiler_Host_GetNumOfPasses_Params* p) { EXPECT_PARAMS(CUpti_Profiler_Host_GetNumOfPasses_Params, p); EXPECT_EQ(p->configImageSize, 40u); EXPECT_EQ(p->pConfigImage[39], 9); p->numOfPasses = forged.passes; return said("passes"); },
      .evaluate =
          [](CUpti_Profiler_Host_EvaluateToGpuValues_Params* p) {
            EXPECT_COUNTS(CUpti_Profiler_Host_EvaluateToGpuValues_Params, p);
            EXPECT_EQ(p->pHostObject, host);
            EXPECT_EQ(p->numMetrics, 1u);
            EXPECT_EQ(p->ppMetricNames[0], forged.metric);
            *p->pMetricValues = forged.ranges[p->rangeIndex].second;
            return said("evaluate");
          },
      .enable = [](CUpti_RangeProfiler_Enable_Params* p) { EXPECT_PARAMS(CUpti_RangeProfiler_Enable_Params, p); EXPECT_EQ(p->ctx, context); p->pRangeProfilerObject = object; return done("enable", forged.enabled, 1); },
      .disable = [](CUpti_RangeProfiler_Disable_Params* p) { EXPECT_PARAMS(CUpti_RangeProfiler_Disable_Params, p); EXPECT_EQ(p->pRangeProfilerObject, object); EXPECT_EQ(forged.started, 0); return done("disable", forged.enabled, -1); },
      .data_size =
          [](CUpti_RangeProfiler_GetCounterDataSize_Params* p) {
            EXPECT_OBJECT(CUpti_RangeProfiler_GetCounterDataSize_Params, p);
            EXPECT_EQ(p->numMetrics, 1u);
            EXPECT_EQ(p->pMetricNames[0], forged.metric);
            EXPECT_EQ(p->maxNumOfRanges, 5u);
            EXPECT_GE(p->maxNumRangeTreeNodes, 5u);
            p->counterDataSize = 512;
            return said("data_size");
          },
      .data_initialize = [](CUpti_RangeProfiler_CounterDataImage_Initialize_Params* p) { EXPECT_OBJECT(CUpti_RangeProfiler_CounterDataImage_Initialize_Params, p); EXPECT_EQ(p->counterDataSize, 512u); p->pCounterData[511] = 3; return said("data_initialize"); },
      .set_config =
          [](CUpti_RangeProfiler_SetConfig_Params* p) {
            EXPECT_OBJECT(CUpti_RangeProfiler_SetConfig_Params, p);
            EXPECT_EQ(p->configSize, 40u);
            EXPECT_EQ(p->pConfig[39], 9);
            EXPECT_EQ(p->counterDataImageSize, 512u);
            EXPECT_EQ(p->pCounterDataImage[511], 3) << "initialized before";
            forged.config = *p;
            return said("set_config");
          },
      .start = [](CUpti_RangeProfiler_Start_Params* p) { EXPECT_OBJECT(CUpti_RangeProfiler_Start_Params, p); return done("start", forged.started, 1); },
      .stop = [](CUpti_RangeProfiler_Stop_Params* p) { EXPECT_OBJECT(CUpti_RangeProfiler_Stop_Params, p); EXPECT_EQ(forged.in_range, 0); p->isAllPassSubmitted = forged.all_submitted; --forged.started; return said("stop"); },
      .push = [](CUpti_RangeProfiler_PushRange_Params* p) { EXPECT_OBJECT(CUpti_RangeProfiler_PushRange_Params, p); EXPECT_EQ(forged.started, 1); forged.pushed = p->pRangeName; return done("push", forged.in_range, 1); },
      .pop = [](CUpti_RangeProfiler_PopRange_Params* p) { EXPECT_OBJECT(CUpti_RangeProfiler_PopRange_Params, p); EXPECT_EQ(forged.started, 1); --forged.in_range; return said("pop"); },
      .decode = [](CUpti_RangeProfiler_DecodeData_Params* p) { EXPECT_OBJECT(CUpti_RangeProfiler_DecodeData_Params, p); EXPECT_EQ(forged.started, 0); p->numOfRangeDropped = 2; return said("decode"); },
      .data_info = [](CUpti_RangeProfiler_GetCounterDataInfo_Params* p) { EXPECT_COUNTS(CUpti_RangeProfiler_GetCounterDataInfo_Params, p); p->numTotalRanges = forged.ranges.size(); return said("data_info"); },
      .range_info = [](CUpti_RangeProfiler_CounterData_GetRangeInfo_Params* p) { EXPECT_COUNTS(CUpti_RangeProfiler_CounterData_GetRangeInfo_Params, p); EXPECT_STREQ(p->rangeDelimiter, "/"); p->rangeName = forged.ranges[p->rangeIndex].first.c_str(); return said("range_info"); },
  };
  return calls;
}

std::string words(CUptiResult) { return "words"; }

class RangeCountersTest : public ::testing::Test {
 protected:
  void SetUp() override {
    forged = {};
    forged.support.isSupported = CUPTI_PROFILER_CONFIGURATION_SUPPORTED;
  }
  void TearDown() override { expect_undone(); }
  void expect_undone() {
    counters.close();
    EXPECT_EQ(forged.initialized, 0) << forged.failing;
    EXPECT_EQ(forged.hosts, 0) << forged.failing;
    EXPECT_EQ(forged.enabled, 0) << forged.failing;
    EXPECT_EQ(forged.started, 0) << forged.failing;
    EXPECT_EQ(forged.in_range, 0) << forged.failing;
  }
  /// The first code that is no success, of everything a step does.
  int whole() {
    const CounterPlan plan = counters.open(tensor_pipe_metrics, 5);
    if (plan.code != 0) return plan.code;
    int first = 0;
    const auto keep = [&](int code) { first = first != 0 ? first : code; };
    keep(counters.begin());
    keep(counters.push(1));
    keep(counters.pop());
    keep(counters.end());
    std::vector<RangeCount> counts;
    std::size_t dropped = 0;
    keep(counters.read(counts, dropped));
    return first;
  }

  RangeCounters counters{forged_calls(), words};
};

TEST_F(RangeCountersTest, CountsRangesByTheirNames) {
  forged.ranges = {{"2", 12.5}, {"1", std::numeric_limits<double>::quiet_NaN()}, {"1/2", 50.0}, {"", 60.0}, {"7x", 70.0}};
  const CounterPlan plan = counters.open(tensor_pipe_metrics, 5);
  EXPECT_EQ(plan.code, 0);
  EXPECT_EQ(plan.chip, "GH100");
  EXPECT_EQ(plan.metric, tensor_pipe_metrics[1]) << "the first of them that the chip has";
  EXPECT_EQ(plan.passes, 1u);
  EXPECT_EQ(forged.config.range, CUPTI_UserRange);
  EXPECT_EQ(forged.config.replayMode, CUPTI_UserReplay);
  EXPECT_EQ(forged.config.maxRangesPerPass, 5u);
  EXPECT_EQ(forged.config.numNestingLevels, 1);
  EXPECT_EQ(forged.config.minNestingLevel, 1);
  EXPECT_EQ(counters.begin(), 0);
  EXPECT_EQ(counters.push(1), 0);
  EXPECT_EQ(forged.pushed, "1");
  EXPECT_NE(counters.push(2), 0) << "they do not nest";
  EXPECT_EQ(counters.pop(), 0);
  EXPECT_NE(counters.pop(), 0);
  EXPECT_EQ(counters.push(2), 0);
  EXPECT_EQ(counters.pop(), 0);
  EXPECT_EQ(counters.end(), 0);
  std::vector<RangeCount> counts;
  std::size_t dropped = 0;
  EXPECT_EQ(counters.read(counts, dropped), 0);
  ASSERT_EQ(counts.size(), 5u);
  EXPECT_EQ(counts[0].id, 2u);
  EXPECT_EQ(counts[0].percent, 12.5);
  EXPECT_EQ(counts[1].id, 1u);
  EXPECT_NE(counts[1].percent, counts[1].percent);
  for (const std::size_t i : {2u, 3u, 4u}) EXPECT_EQ(counts[i].id, 0u) << "no number that was given";
  EXPECT_EQ(dropped, 2u);
}

/// The order that CUPTI 13 wants: the host side first, the session from enable to disable, its image before its configuration, and what is
/// counted read before the session ends; then everything is undone, what was opened last first.
TEST_F(RangeCountersTest, EveryCallHasItsPlace) {
  forged.ranges = {{"1", 10.0}, {"2", 20.0}};
  ASSERT_EQ(counters.open(tensor_pipe_metrics, 5).code, 0);
  ASSERT_EQ(counters.begin(), 0);
  for (const std::uint64_t id : {1u, 2u}) {
    ASSERT_EQ(counters.push(id), 0);
    ASSERT_EQ(counters.pop(), 0);
  }
  ASSERT_EQ(counters.end(), 0);
  std::vector<RangeCount> counts;
  std::size_t dropped = 0;
  ASSERT_EQ(counters.read(counts, dropped), 0);
  counters.close();
  EXPECT_THAT(forged.calls,
              ElementsAre("initialize", "current", "device_supported", "chip_name", "availability", "availability", "host_initialize", "metric_properties",
                          "add_metrics", "config_size", "config_image", "passes", "enable", "data_size", "data_initialize", "set_config", "start", "push", "pop",
                          "push", "pop", "stop", "decode", "data_info", "range_info", "evaluate", "range_info", "evaluate", "disable", "host_deinitialize",
                          "deinitialize"));
  EXPECT_THAT(forged.asked, ElementsAre(tensor_pipe_metrics[0], tensor_pipe_metrics[1])) << "the second, as the chip has not the first";
  EXPECT_EQ(forged.metric, tensor_pipe_metrics[1]);
  EXPECT_EQ(forged.config.passIndex, 0u);
  EXPECT_EQ(forged.config.targetNestingLevel, 1);
  counters.close();
  EXPECT_EQ(std::count(forged.calls.begin(), forged.calls.end(), "deinitialize"), 1) << "once";
}

/// The host side alone, without a session: what a chip has, asked without a GPU.
TEST_F(RangeCountersTest, APlanOpensNoSession) {
  const CounterPlan plan = counters.plan("GH100", tensor_pipe_metrics);
  EXPECT_EQ(plan.code, 0);
  EXPECT_EQ(plan.metric, tensor_pipe_metrics[1]);
  EXPECT_THAT(forged.calls, ElementsAre("host_initialize", "metric_properties", "add_metrics", "config_size", "config_image", "passes", "host_deinitialize"));
}

TEST_F(RangeCountersTest, WhateverFailsEverythingIsUndoneAndTheCodeIsSaid) {
  forged.ranges = {{"1", 10.0}};
  ASSERT_EQ(whole(), 0);
  std::vector<std::pair<std::string, int>> all;   // each call, and each time that it is made
  for (const std::string& call : forged.calls) {
    int times = 1;
    for (const auto& [before, which] : all) times += before == call ? 1 : 0;
    all.emplace_back(call, times);
  }
  expect_undone();
  EXPECT_GE(all.size(), 23u);
  for (const auto& [call, which] : all) {
    SetUp();
    forged.ranges = {{"1", 10.0}};
    forged.failing = call;
    forged.which = which;
    forged.code = CUPTI_ERROR_HARDWARE_BUSY;
    const int code = whole();
    EXPECT_EQ(code, call == "metric_properties" ? CUPTI_ERROR_INVALID_METRIC_NAME : CUPTI_ERROR_HARDWARE_BUSY) << call;
    expect_undone();
  }
}

TEST_F(RangeCountersTest, SaysWhichCallWasRefused) {
  forged.failing = "availability";
  const CounterPlan plan = counters.open(tensor_pipe_metrics, 5);
  EXPECT_EQ(plan.code, 35);
  EXPECT_EQ(plan.call, "cuptiProfilerGetCounterAvailability");
  EXPECT_EQ(plan.chip, "GH100");
  EXPECT_EQ(forged.initialized, 0) << "nothing stays open";
}

TEST_F(RangeCountersTest, NothingIsAskedOfACuptiThatDidNotBegin) {
  forged.failing = "initialize";
  forged.code = CUPTI_ERROR_UNKNOWN;
  EXPECT_EQ(whole(), 999);
  counters.close();
  EXPECT_THAT(forged.calls, ElementsAre("initialize")) << "without a driver other calls end in a fault";
}

TEST_F(RangeCountersTest, ADeviceThatIsNotSupportedSaysWhy) {
  using Params = CUpti_Profiler_DeviceSupported_Params;
  struct Case {
    CUpti_Profiler_Support_Level Params::*member;
    CUpti_Profiler_Support_Level level;
    int code;
  };
  const auto no = CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED;
  for (const Case& c : {Case{&Params::vGpu, no, 33}, Case{&Params::vGpu, CUPTI_PROFILER_CONFIGURATION_DISABLED, 40},
                        Case{&Params::confidentialCompute, no, 41}, Case{&Params::cmp, no, 42}, Case{&Params::sli, no, 44},
                        Case{&Params::wsl, no, 45}, Case{&Params::architecture, no, 27}}) {
    SetUp();
    forged.support.isSupported = c.level;
    forged.support.*c.member = c.level;
    EXPECT_EQ(counters.open(tensor_pipe_metrics, 5).code, c.code);
    EXPECT_EQ(forged.hosts, 0);
  }
}

TEST_F(RangeCountersTest, AChipWithoutTheMetricOrWithoutTensorCoresHasNone) {
  forged.metrics = {};
  EXPECT_EQ(counters.open(tensor_pipe_metrics, 5).code, 17);
  SetUp();
  forged.chip = "TU116";
  const CounterPlan plan = counters.open(tensor_pipe_metrics, 5);
  EXPECT_EQ(plan.code, 0) << "it has a counter of this name, and no tensor cores: CUPTI is not asked, and refuses nothing";
  EXPECT_EQ(plan.metric, "");
  EXPECT_EQ(forged.enabled, 0);
}

TEST_F(RangeCountersTest, WhatNeedsTwoPassesIsNotEvenEnabled) {
  forged.passes = 2;
  const CounterPlan plan = counters.open(tensor_pipe_metrics, 5);
  EXPECT_EQ(plan.code, 0);
  EXPECT_EQ(plan.passes, 2u);
  EXPECT_EQ(std::count(forged.calls.begin(), forged.calls.end(), "enable"), 0);
  EXPECT_EQ(forged.initialized, 0);
}

TEST_F(RangeCountersTest, WhatWasNotCollectedWhollyIsNotRead) {
  forged.ranges = {{"1", 10.0}};
  forged.all_submitted = 0;
  EXPECT_EQ(whole(), CUPTI_ERROR_NOT_READY);
}

TEST_F(RangeCountersTest, ClosesInTheMiddleOfARangeAndOpensAgain) {
  ASSERT_EQ(counters.open(tensor_pipe_metrics, 5).code, 0);
  ASSERT_EQ(counters.begin(), 0);
  ASSERT_EQ(counters.push(1), 0);
  counters.close();
  EXPECT_EQ(forged.in_range, 0);
  EXPECT_THAT(std::vector<std::string>(forged.calls.end() - 6, forged.calls.end()), ElementsAre("push", "pop", "stop", "disable", "host_deinitialize", "deinitialize"));
  EXPECT_NE(counters.begin(), 0) << "it is closed";
  EXPECT_NE(counters.push(1), 0);
  EXPECT_NE(counters.end(), 0);
  forged.ranges = {{"1", 10.0}};
  EXPECT_EQ(whole(), 0);
  const std::vector<std::string> first(forged.calls.begin(), forged.calls.end());
  EXPECT_EQ(std::count(first.begin(), first.end(), "enable"), 2);
  EXPECT_EQ(std::count(first.begin(), first.end(), "disable"), 1);
}

}  // namespace
}  // namespace ulpscope::profiler::cupti
#endif
