#include "profiler/trace/kernel_run.h"

#include <algorithm>

#include "profiler/trace/counter_records.h"
#include "profiler/trace/cupti/cupti_module.h"
#include "profiler/trace/kernel_records.h"

namespace ulpscope::profiler {

TraceWindow trace_window(std::int64_t first, std::int64_t end) {
  const std::int64_t begin = first + std::clamp<std::int64_t>((end - first) / 4, 0, 3);
  return {begin, std::clamp<std::int64_t>(end - begin - 1, 1, 10)};
}

RunTrace::RunTrace(Device& device, engine::Topics& topics, Faults& faults, const Sink& sink, reports::RunId run, std::int64_t first, std::int64_t end)
    : sink_(sink), run_(run), gpu_(device.description().kind == DeviceKind::cuda) {
  if (!gpu_) return;
  const CuptiModule& cupti = cupti_module();
  problem_ = cupti.problem();
  if (cupti.source() == nullptr) return;
  const auto synchronize = [&device] { device.synchronize(); };
  trace_ = std::make_unique<KernelTrace>(topics, faults, *cupti.source(), process_buffers(), synchronize, trace_window(first, end));
  if (cupti.counters() == nullptr) return;
  counters_ = std::make_unique<KernelCounters>(topics, faults, *cupti.counters(), *trace_, synchronize,
                                               [this](const CountedStep& step) { record_counted_step(sink_, run_, step); });
}

void RunTrace::record(std::chrono::steady_clock::time_point run_begin, bool ranges) {
  if (!gpu_) return;
  if (!trace_) return record_no_trace(sink_, run_, problem_, ranges);
  if (counters_) counters_->finish();   // before the trace is done for want of steps
  trace_->finish();
  record_trace(sink_, run_, *trace_, run_begin, counters_.get(), ranges);
  if (trace_->refused()) return;   // there are no kernels to count
  if (counters_) return record_counters(sink_, run_, *counters_);
  record_no_counters(sink_, run_, "hardware counters cannot be read: the module that traces kernels was built with CUPTI of CUDA 12 (they need 13), or with "
                                 "a sanitizer (at which libcupti ends)");
}

}  // namespace ulpscope::profiler
