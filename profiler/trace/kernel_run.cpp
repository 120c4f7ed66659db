#include "profiler/trace/kernel_run.h"

#include <algorithm>

#include "profiler/trace/cupti/cupti_module.h"
#include "profiler/trace/kernel_records.h"

namespace ulpscope::profiler {

TraceWindow trace_window(std::int64_t first, std::int64_t end) {
  return {first + std::clamp<std::int64_t>((end - first) / 4, 0, 3), 10};
}

RunTrace::RunTrace(Device& device, engine::Topics& topics, Faults& faults, std::int64_t first, std::int64_t end)
    : gpu_(device.description().kind == DeviceKind::cuda) {
  if (!gpu_) return;
  const CuptiModule& cupti = cupti_module();
  problem_ = cupti.problem();
  if (cupti.source() != nullptr)
    trace_ = std::make_unique<KernelTrace>(topics, faults, *cupti.source(), process_buffers(), [&device] { device.synchronize(); },
                                           trace_window(first, end));
}

void RunTrace::record(const Sink& sink, reports::RunId run, std::chrono::steady_clock::time_point run_begin) {
  if (!gpu_) return;
  if (!trace_) return record_no_trace(sink, run, problem_);
  trace_->finish();
  record_trace(sink, run, *trace_, run_begin);
}

}  // namespace ulpscope::profiler
