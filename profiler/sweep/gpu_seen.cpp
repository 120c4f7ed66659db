#include "profiler/sweep/gpu_seen.h"

#include <fmt/format.h>

#include <utility>
#include <variant>

namespace ulpscope::profiler {

GpuSeen::GpuSeen(const std::function<std::unique_ptr<GpuWatch>(const Sink&)>& make, std::string unknown) : unknown_(std::move(unknown)) {
  if (make) watch_ = make([this](reports::Record record) { take(record); });
}

/// Samples of the timing phase and what was refused are handed over when it ends, by the thread that ends it.
void GpuSeen::take(const reports::Record& record) {
  if (const auto* sample = std::get_if<reports::DeviceSample>(&record)) samples_.push_back(*sample);
  const auto* row = std::get_if<reports::CompletenessRecord>(&record);
  if (row == nullptr || (row->kind != "refused" && row->kind != "fault")) return;
  unknown_ += fmt::format("{}{}", unknown_.empty() ? "" : "; ", row->detail);
}

void GpuSeen::begin() {
  if (watch_) watch_->begin_timing();
}

void GpuSeen::finish() {
  if (!watch_) return;
  watch_->end_timing();
  watch_->finish();
}

std::optional<reports::GpuCondition> GpuSeen::condition() const {
  return samples_.empty() ? std::nullopt : std::optional(reports::gpu_condition(samples_));
}

}  // namespace ulpscope::profiler
