#include "profiler/probes/memory_ledger.h"

#include <gtest/gtest.h>

#include <numeric>

#include "kernels/error.h"

namespace ulpscope::profiler {
namespace {

struct Ledger {
  std::unique_ptr<Device> device = make_cpu_device({.threads = 1, .instruction_set = {}});
  std::vector<reports::Record> records;
  Faults faults;
  Sink sink = [this](reports::Record record) { records.push_back(std::move(record)); };
};

std::int64_t sum(const std::array<reports::Count, reports::memory_category_count>& bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0},
                         [](std::int64_t total, const reports::Count& count) { return total + count.value(); });
}

TEST(MemoryLedger, EveryCategoryOfTheEngineHasItsPlace) {
  std::map<engine::MemoryCategory, std::int64_t> bytes;
  std::int64_t total = 0;
  for (int i = 0; i < engine::memory_category_count; ++i)
    total += bytes[static_cast<engine::MemoryCategory>(i)] = 1 << i;
  const auto placed = by_report_category(bytes);
  EXPECT_EQ(sum(placed), total) << "no byte is lost";
  EXPECT_EQ(placed[static_cast<std::size_t>(reports::MemoryCategory::master_weights)],
            1 << static_cast<int>(engine::MemoryCategory::master_weights));
  EXPECT_THROW(by_report_category(std::map<std::string, std::int64_t>{{"elsewhere", 1}}), Error);
}

TEST(MemoryLedger, PeakIsCountedFromWhereItBegan) {
  Ledger l;
  const Buffer before(*l.device, 4096);
  MemoryLedger ledger(*l.device, l.sink, l.faults, reports::RunId{3});
  { const Buffer passing(*l.device, 1024); }
  const Buffer staying(*l.device, 512);
  EXPECT_EQ(ledger.peak_bytes(), 1024);
  ledger.record_peak({{"weights", 1000}, {"gaps", 24}});
  EXPECT_EQ(l.faults.count(), 0);
  ASSERT_EQ(l.records.size(), 1u);
  const auto& row = std::get<reports::MemoryRecord>(l.records[0]);
  EXPECT_EQ(row.kind, reports::MemoryKind::peak);
  EXPECT_EQ(row.total_bytes, 1024);
  EXPECT_EQ(sum(row.bytes), 1024);
}

TEST(MemoryLedger, AByteTooFewIsAFault) {
  Ledger l;
  MemoryLedger ledger(*l.device, l.sink, l.faults, reports::RunId{3});
  const Buffer held(*l.device, 1024);
  ledger.record_peak({{"weights", 1023}});
  EXPECT_EQ(l.faults.count(), 1);
  EXPECT_EQ(l.faults.first(), "memory ledger: categories add up to 1023 bytes, the allocator's peak is 1024");
}

}  // namespace
}  // namespace ulpscope::profiler
