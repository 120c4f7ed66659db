#include "profiler/trace/gpu_watch.h"

#include <fmt/format.h>

#include "profiler/trace/nvml.h"
#include "reports/analysis/gpu_condition.h"

namespace ulpscope::profiler {

GpuWatch::GpuWatch(std::unique_ptr<GpuStateSource> source, std::string problem, Sink sink, std::chrono::milliseconds every)
    : source_(std::move(source)), problem_(std::move(problem)), sink_(std::move(sink)) {
  if (source_ != nullptr) thread_ = std::thread([this, every] { work(every); });
}

GpuWatch::~GpuWatch() { finish(); }

void GpuWatch::work(std::chrono::milliseconds every) {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    if (phase_ == Phase::none) {
      moved_.wait(lock, [this] { return ending_ || phase_ != Phase::none; });
      continue;
    }
    const std::int64_t place = moves_;
    lock.unlock();
    faults_.guard("GPU state", [&] { sample(place); });   // NVML may take its time
    lock.lock();
    moved_.wait_for(lock, every, [&] { return ending_ || moves_ != place; });
  }
}

void GpuWatch::sample(std::int64_t place) {
  const GpuState state = source_->read();
  reports::DeviceSample row;
  row.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  row.core_clock_mhz = state.core_clock_mhz;
  row.memory_clock_mhz = state.memory_clock_mhz;
  row.power_watts = state.power_watts;
  row.temperature_celsius = state.temperature_celsius;
  row.throttle_reasons = state.throttle_reasons;
  const std::lock_guard handing_over(handing_over_);
  {
    const std::lock_guard lock(mutex_);
    if (moves_ != place) return;   // the GPU was asked in one phase and answered in another
    ++samples_;
    if (row.throttle_reasons) {
      ++known_;
      if (reports::slowed_down(*row.throttle_reasons)) {
        ++slowed_;
        reasons_.push_back(*row.throttle_reasons);
      }
    }
    row.phase = phase_ == Phase::timing ? "timing" : "training";
    row.run = run_;
    if (phase_ == Phase::training) row.step = step_;
    if (phase_ == Phase::timing) {
      held_.push_back(std::move(row));
      return;
    }
  }
  sink_(std::move(row));
}

void GpuWatch::move_to(Phase phase, std::optional<reports::RunId> run, std::int64_t step) {
  {
    const std::lock_guard handing_over(handing_over_);   // what was read before is with the sink
    const std::lock_guard lock(mutex_);
    ++moves_;
    phase_ = phase;
    run_ = run;
    step_ = step;
  }
  moved_.notify_all();
}

void GpuWatch::begin_run(reports::RunId run, std::int64_t step) { move_to(Phase::training, run, step); }
void GpuWatch::end_run() { move_to(Phase::none, {}, 0); }
void GpuWatch::begin_timing() { move_to(Phase::timing, {}, 0); }

void GpuWatch::step(std::int64_t iteration) {
  const std::lock_guard lock(mutex_);
  step_ = iteration;
}

void GpuWatch::end_timing() {
  move_to(Phase::none, {}, 0);
  std::vector<reports::DeviceSample> held;
  {
    const std::lock_guard lock(mutex_);
    held.swap(held_);
  }
  for (reports::DeviceSample& row : held) sink_(std::move(row));
}

void GpuWatch::finish() {
  {
    const std::lock_guard lock(mutex_);
    if (finished_) return;
    finished_ = ending_ = true;
  }
  moved_.notify_all();
  if (thread_.joinable()) thread_.join();
  const auto push = [this](const char* kind, const std::string& subject, reports::Count count, const std::string& detail, reports::Provenance provenance) {
    reports::CompletenessRecord row;
    row.kind = kind;
    row.subject = subject;
    row.count = count;
    row.provenance = provenance;
    row.detail = detail;
    sink_(row);
  };
  faults_.guard("GPU state", [&] {
    if (source_ == nullptr) return push("refused", "GPU state", {}, problem_, reports::Provenance::unknown);
    for (const std::string& line : source_->refusals())
      push("refused", "GPU state: " + line.substr(0, line.find(':')), {}, line, reports::Provenance::unknown);
    if (slowed_ > 0)
      push("throttled", "GPU clock", slowed_,
           fmt::format("of {} samples, about one a second: {}", known_, reports::throttle_summary(reasons_)), reports::Provenance::counted);
    if (faults_.count() > 0) push("fault", "GPU state", faults_.count(), faults_.first(), reports::Provenance::counted);
  });
}

std::unique_ptr<GpuWatch> watch_gpu(const std::string& pci_bus_id, const Sink& sink) {
  std::string problem;
  std::unique_ptr<GpuStateSource> source = open_nvml(pci_bus_id, problem);
  return std::make_unique<GpuWatch>(std::move(source), std::move(problem), sink);
}

}  // namespace ulpscope::profiler
