// The module's one symbol: CUPTI as an ActivitySource, and its Range Profiler as a CounterSource.
#include <cupti.h>

#include <fmt/format.h>

#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "profiler/trace/activity_gate.h"
#include "profiler/trace/cupti/cupti_module.h"
#include "profiler/trace/cupti/range_counters.h"
#include "profiler/trace/cupti/translate.h"

namespace ulpscope::profiler::cupti {
namespace {

struct Call {
  CUpti_CallbackDomain domain;
  CUpti_CallbackId id;
};

/// Everything that launches a kernel or a graph.
constexpr Call launch_calls[] = {
    {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000},
    {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_ptsz_v7000},
    {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_v11060},
    {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_ptsz_v11060},
    {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchCooperativeKernel_v9000},
    {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchCooperativeKernel_ptsz_v9000},
    {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000},
    {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_ptsz_v10000},
#if CUPTI_API_VERSION >= 130000
    {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID___cudaLaunchKernel_v13000},
    {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID___cudaLaunchKernel_ptsz_v13000},
#endif
    {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel},
    {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz},
    {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx},
    {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz},
    {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel},
    {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz},
    {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch},
    {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz},
};
constexpr Call graph_calls[] = {
    {CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED},
    {CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED},
};

/// What CUPTI's callbacks, which take no pointer, work on. Never destroyed: they may come as long as the process lives.
struct State {
  ListenerGate gate;
  std::mutex mutex;   ///< of `spare` alone
  std::vector<std::span<std::byte>> spare;   ///< buffers that came back when nobody listened
};
State& state() {
  static State* const made = new State;
  return *made;
}

void CUPTIAPI buffer_requested(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
  std::span<std::byte> given;
  {
    const std::lock_guard lock(state().mutex);
    if (!state().spare.empty()) {
      given = state().spare.back();
      state().spare.pop_back();
    }
  }
  if (given.empty()) state().gate.with([&](ActivityListener& listener) { given = listener.buffer_requested(); });
  *buffer = reinterpret_cast<std::uint8_t*>(given.data());
  *size = given.size();
  *most_records = 0;   // as many as there is room for
}

void CUPTIAPI buffer_completed(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t size, std::size_t valid) {
  auto* const bytes = reinterpret_cast<std::byte*>(buffer);
  if (bytes == nullptr || state().gate.with([&](ActivityListener& listener) { listener.buffer_completed(bytes, valid); })) return;
  const std::lock_guard lock(state().mutex);
  state().spare.push_back({bytes, size});
}

void graph_node(const CUpti_GraphData& data, CUpti_CallbackId id) {
  const bool clone = id == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED;
  // The others leave no records.
  if (!clone && data.nodeType != CU_GRAPH_NODE_TYPE_KERNEL && data.nodeType != CU_GRAPH_NODE_TYPE_MEMCPY &&
      data.nodeType != CU_GRAPH_NODE_TYPE_MEMSET)
    return;
  std::uint64_t node = 0, original = 0;
  std::uint32_t graph = 0;
  if (cuptiGetGraphNodeId(data.node, &node) != CUPTI_SUCCESS) return;
  if (clone && cuptiGetGraphNodeId(data.originalNode, &original) != CUPTI_SUCCESS) return;
  if (clone && (data.graph == nullptr || cuptiGetGraphId(data.graph, &graph) != CUPTI_SUCCESS)) graph = 0;
  state().gate.with([&](ActivityListener& listener) { listener.graph_node(node, original, graph); });
}

void CUPTIAPI called(void*, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
  if (domain == CUPTI_CB_DOMAIN_RESOURCE) {
    const auto& resource = *static_cast<const CUpti_ResourceData*>(data);
    if (resource.resourceDescriptor != nullptr) graph_node(*static_cast<const CUpti_GraphData*>(resource.resourceDescriptor), id);
    return;
  }
  const auto& call = *static_cast<const CUpti_CallbackData*>(data);
  if (call.callbackSite == CUPTI_API_ENTER) {
    state().gate.with([&](ActivityListener& listener) { listener.launch_begin(call.correlationId); });
  } else {
    // cudaError_t and CUresult: 0 is success.
    const bool failed = call.functionReturnValue != nullptr && *static_cast<const int*>(call.functionReturnValue) != 0;
    state().gate.with([&](ActivityListener& listener) { listener.launch_end(failed); });
  }
}

std::string words_of(CUptiResult code) {
  const char* text = nullptr;
  if (cuptiGetErrorMessage(code, &text) == CUPTI_SUCCESS && text != nullptr) return text;
  return cuptiGetResultString(code, &text) == CUPTI_SUCCESS && text != nullptr ? text : "";
}

class CuptiSource final : public ActivitySource {
 public:
  int attach(ActivityListener& listener) override {
    if (!state().gate.open(listener)) return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    if (const CUptiResult result = cuptiActivityRegisterCallbacks(buffer_requested, buffer_completed); result != CUPTI_SUCCESS) {
      state().gate.close();
      return result;
    }
    // Records come without a subscription, too. What it was refused for is said when launches are to be counted.
    subscribed_ = cuptiSubscribe(&subscriber_, called, nullptr);
    if (subscribed_ == CUPTI_SUCCESS) set(graph_calls, true);
    return CUPTI_SUCCESS;
  }
  void detach() noexcept override {
    if (subscribed_ == CUPTI_SUCCESS) cuptiUnsubscribe(subscriber_);
    subscribed_ = CUPTI_ERROR_NOT_INITIALIZED;
    state().gate.close();
  }
  int enable(ActivityKind kind) override { return cuptiActivityEnable(kind_of(kind)); }
  int disable(ActivityKind kind) override { return cuptiActivityDisable(kind_of(kind)); }
  int count_launches(bool on) override { return subscribed_ == CUPTI_SUCCESS ? set(launch_calls, on) : subscribed_; }
  int flush() override {
    const CUptiResult complete = cuptiActivityFlushAll(0);
    const CUptiResult rest = cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    return complete != CUPTI_SUCCESS ? complete : rest;
  }
  int push(std::uint64_t id) override { return cuptiActivityPushExternalCorrelationId(external_kind, id); }
  int pop(std::uint64_t& id) override { return cuptiActivityPopExternalCorrelationId(external_kind, &id); }
  int dropped(std::size_t& records) override { return cuptiActivityGetNumDroppedRecords(nullptr, 0, &records); }
  int now(std::uint64_t& nanoseconds) override { return cuptiGetTimestamp(&nanoseconds); }
  void read(const std::byte* buffer, std::size_t valid, ActivityBatch& into) override {
    if (valid > 0) translate_all(buffer, valid, into, cuptiActivityGetNextRecord);
  }
  std::string error_text(int code) const override { return words_of(static_cast<CUptiResult>(code)); }
  std::string version() const override {
    std::uint32_t number = 0;
    return cuptiGetVersion(&number) == CUPTI_SUCCESS ? fmt::format("{}", number) : "of unknown version";
  }

 private:
  CUptiResult set(std::span<const Call> calls, bool on) {
    CUptiResult first = CUPTI_SUCCESS;
    for (const Call& call : calls) {
      const CUptiResult result = cuptiEnableCallback(on ? 1 : 0, subscriber_, call.domain, call.id);
      if (first == CUPTI_SUCCESS) first = result;
    }
    return first;
  }

  CUpti_SubscriberHandle subscriber_ = nullptr;
  CUptiResult subscribed_ = CUPTI_ERROR_NOT_INITIALIZED;
};

ActivitySource* source() {
  static CuptiSource* const made = new CuptiSource;
  return made;
}

// libcupti opens libnvperf_host with RTLD_DEEPBIND, at which the address and the thread sanitizer end the program.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#undef ULPSCOPE_RANGE_PROFILER
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#undef ULPSCOPE_RANGE_PROFILER
#endif
#endif

#ifdef ULPSCOPE_RANGE_PROFILER
CounterSource* counters() {
  static RangeCounters* const made = new RangeCounters(range_profiler(), words_of);
  return made;
}
#else
constexpr CounterSource* (*counters)() = nullptr;
#endif

}  // namespace
}  // namespace ulpscope::profiler::cupti

extern "C" __attribute__((visibility("default"))) const ulpscope::profiler::CuptiModuleFacts* ulpscope_cupti_module() {
  static const ulpscope::profiler::CuptiModuleFacts facts = {ulpscope::profiler::cupti_module_interface, CUPTI_API_VERSION,
                                                             ulpscope::profiler::cupti::source,
                                                             ulpscope::profiler::cupti::counters};
  return &facts;
}
