// Device memory of one run by category, checked to the byte against the allocator.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "engine/passes/memory_plan.h"
#include "kernels/device.h"
#include "profiler/probes/faults.h"

namespace ulpscope::profiler {

/// Bytes by the run file's categories, from the engine's names of categories. Throws Error for a name it does not know.
std::array<reports::Count, reports::memory_category_count> by_report_category(
    const std::map<std::string, std::int64_t>& bytes);
std::array<reports::Count, reports::memory_category_count> by_report_category(
    const std::map<engine::MemoryCategory, std::int64_t>& bytes);

/// Begins before a trainer is made, ends before it is destroyed; nothing else may allocate on the device in between.
class MemoryLedger {
 public:
  MemoryLedger(Device& device, Sink sink, Faults& faults, reports::RunId run);

  /// What the memory plan expects, as a record.
  void record_prediction(const std::map<engine::MemoryCategory, std::int64_t>& bytes);
  /// What the trainer says it holds, as the run's peak. A sum that is not the allocator's peak is a fault.
  void record_peak(const std::map<std::string, std::int64_t>& bytes);

  /// The allocator's peak since the ledger began.
  std::int64_t peak_bytes() const;

 private:
  Device& device_;
  Sink sink_;
  Faults& faults_;
  reports::RunId run_;
  std::int64_t bytes_before_;
};

}  // namespace ulpscope::profiler
