#include "profiler/probes/memory_ledger.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/error.h"

namespace ulpscope::profiler {
namespace {

reports::MemoryCategory report_category(std::string name) {
  std::replace(name.begin(), name.end(), ' ', '_');  // the engine's names are for reading
  if (const auto known = reports::parse<reports::MemoryCategory>(name)) return *known;
  throw Error(fmt::format("the run file has no place for memory of category \"{}\"", name));
}

}  // namespace

std::array<reports::Count, reports::memory_category_count> by_report_category(
    const std::map<std::string, std::int64_t>& bytes) {
  std::array<reports::Count, reports::memory_category_count> sums;
  sums.fill(std::int64_t{0});
  for (const auto& [category, count] : bytes) {
    reports::Count& sum = sums.at(static_cast<std::size_t>(report_category(category)));
    sum = *sum + count;
  }
  return sums;
}

std::array<reports::Count, reports::memory_category_count> by_report_category(
    const std::map<engine::MemoryCategory, std::int64_t>& bytes) {
  std::map<std::string, std::int64_t> named;
  for (const auto& [category, count] : bytes) named[engine::name(category)] = count;
  return by_report_category(named);
}

MemoryLedger::MemoryLedger(Device& device, Sink sink, Faults& faults, reports::RunId run)
    : device_(device), sink_(std::move(sink)), faults_(faults), run_(run) {
  device_.reset_peak();
  bytes_before_ = static_cast<std::int64_t>(device_.live_bytes());
}

void MemoryLedger::record_prediction(const std::map<engine::MemoryCategory, std::int64_t>& bytes) {
  faults_.guard("memory ledger", [&] {
    reports::MemoryRecord record;
    record.run = run_;
    record.kind = reports::MemoryKind::predicted;
    record.bytes = by_report_category(bytes);
    std::int64_t total = 0;
    for (const auto& [category, count] : bytes) total += count;
    record.total_bytes = total;
    record.provenance = reports::Provenance::computed;
    sink_(record);
  });
}

void MemoryLedger::record_peak(const std::map<std::string, std::int64_t>& bytes) {
  faults_.guard("memory ledger", [&] {
    reports::MemoryRecord record;
    record.run = run_;
    record.kind = reports::MemoryKind::peak;
    record.bytes = by_report_category(bytes);
    record.total_bytes = peak_bytes();
    sink_(record);
    std::int64_t sum = 0;
    for (const auto& [category, count] : bytes) sum += count;
    if (sum == peak_bytes()) return;
    faults_.note("memory ledger",
                 fmt::format("categories add up to {} bytes, the allocator's peak is {}", sum, peak_bytes()));
  });
}

std::int64_t MemoryLedger::peak_bytes() const {
  return static_cast<std::int64_t>(device_.peak_bytes()) - bytes_before_;
}

}  // namespace ulpscope::profiler
