// CUPTI's own structs, forged, through the translation and the collector.
#include "profiler/trace/cupti/translate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "profiler/trace/kernel_trace.h"
#include "tests/profiler/cupti/forged_source.h"

namespace ulpscope::profiler {
namespace {

#if CUPTI_API_VERSION >= 130000
using NewestKernel = CUpti_ActivityKernel10;
using NewestCopy = CUpti_ActivityMemcpy6;
using NewestOverhead = CUpti_ActivityOverhead3;
#else
using NewestKernel = CUpti_ActivityKernel9;
using NewestCopy = CUpti_ActivityMemcpy5;
using NewestOverhead = CUpti_ActivityOverhead;
#endif

template <class Record>
Record blank(CUpti_ActivityKind kind) {
  Record record;
  std::memset(static_cast<void*>(&record), 0xa5, sizeof record);   // what is not set must not be read
  record.kind = kind;
  return record;
}

template <class Kernel>
Kernel kernel_record(const Forged& f) {
  auto k = blank<Kernel>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  k.correlationId = f.correlation;
  k.start = f.start;
  k.end = f.end;
  k.deviceId = 1;
  k.contextId = 2;
  k.streamId = f.stream;
  k.graphNodeId = f.graph_node;
  k.graphId = f.graph_node != 0 ? 6 : 0;
  k.gridX = 4;
  k.gridY = 2;
  k.gridZ = 1;
  k.blockX = 256;
  k.blockY = 3;
  k.blockZ = 5;
  k.registersPerThread = 40;
  k.staticSharedMemory = 16;
  k.dynamicSharedMemory = 1024;
  k.name = "kernel";
  return k;
}

CUpti_ActivityExternalCorrelation external_record(std::uint64_t id, std::uint32_t correlation, CUpti_ExternalCorrelationKind kind) {
  auto e = blank<CUpti_ActivityExternalCorrelation>(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION);
  e.externalKind = kind;
  e.externalId = id;
  e.correlationId = correlation;
  return e;
}

template <class Record>
ActivityBatch translated(const Record& record) {
  ActivityBatch batch;
  cupti::translate(reinterpret_cast<const CUpti_Activity&>(record), batch);
  return batch;
}

template <class Kernel>
class KernelRecords : public ::testing::Test {};
using KernelStructs = ::testing::Types<CUpti_ActivityKernel9, NewestKernel>;
TYPED_TEST_SUITE(KernelRecords, KernelStructs);

TYPED_TEST(KernelRecords, EveryMemberIsItsOwn) {
  const ActivityBatch batch = translated(kernel_record<TypeParam>({.correlation = 77, .start = 1000, .end = 1500, .stream = 13, .graph_node = 1ull << 40}));
  ASSERT_EQ(batch.kernels.size(), 1u);
  const KernelActivity& k = batch.kernels[0];
  EXPECT_EQ(k.correlation, 77u);
  EXPECT_EQ(k.device, 1u);
  EXPECT_EQ(k.context, 2u);
  EXPECT_EQ(k.stream, 13u);
  EXPECT_EQ(k.graph_node, 1ull << 40);
  EXPECT_EQ(k.graph, 6u);
  EXPECT_EQ(k.start, 1000u);
  EXPECT_EQ(k.end, 1500u);
  EXPECT_EQ(k.grid, (std::array<std::int64_t, 3>{4, 2, 1}));
  EXPECT_EQ(k.block, (std::array<std::int64_t, 3>{256, 3, 5}));
  EXPECT_EQ(k.registers, 40);
  EXPECT_EQ(k.static_shared_bytes, 16);
  EXPECT_EQ(k.dynamic_shared_bytes, 1024);
  EXPECT_EQ(k.name, "kernel");
  EXPECT_FALSE(k.tensor_pipe);
}

TEST(Translate, AKernelWithoutANameIsNoFault) {
  auto k = kernel_record<NewestKernel>({.correlation = 1});
  k.name = nullptr;
  EXPECT_EQ(translated(k).kernels[0].name, "");
}

TEST(Translate, CopiesAndSets) {
  auto c = blank<NewestCopy>(CUPTI_ACTIVITY_KIND_MEMCPY);
  c.correlationId = 30;
  c.runtimeCorrelationId = 31;
  c.streamId = 7;
  c.graphNodeId = 5;
  c.start = 10;
  c.end = 25;
  c.bytes = 4096;
  const ActivityBatch copies = translated(c);
  ASSERT_EQ(copies.transfers.size(), 1u);
  EXPECT_FALSE(copies.transfers[0].set);
  EXPECT_EQ(copies.transfers[0].correlation, 30u);
  EXPECT_EQ(copies.transfers[0].runtime_correlation, 31u);
  EXPECT_EQ(copies.transfers[0].graph_node, 5u);
  EXPECT_EQ(copies.transfers[0].start, 10u);
  EXPECT_EQ(copies.transfers[0].end, 25u);
  EXPECT_EQ(copies.transfers[0].bytes, 4096u);
  auto s = blank<CUpti_ActivityMemset4>(CUPTI_ACTIVITY_KIND_MEMSET);
  s.correlationId = 33;
  s.streamId = 8;
  s.graphNodeId = 0;
  s.start = 11;
  s.end = 12;
  s.bytes = 64;
  const ActivityBatch sets = translated(s);
  ASSERT_EQ(sets.transfers.size(), 1u);
  EXPECT_TRUE(sets.transfers[0].set);
  EXPECT_EQ(sets.transfers[0].correlation, 33u);
  EXPECT_EQ(sets.transfers[0].stream, 8u);
  EXPECT_EQ(sets.transfers[0].bytes, 64u);
}

TEST(Translate, ExternalIdsOfOtherToolsAreForeign) {
  const ActivityBatch own = translated(external_record(9, 77, cupti::external_kind));
  ASSERT_EQ(own.externals.size(), 1u);
  EXPECT_EQ(own.externals[0].id, 9u);
  EXPECT_EQ(own.externals[0].correlation, 77u);
  const ActivityBatch other = translated(external_record(9, 77, CUPTI_EXTERNAL_CORRELATION_KIND_UNKNOWN));
  EXPECT_TRUE(other.externals.empty());
  EXPECT_EQ(other.foreign, 1);
}

TEST(Translate, OverheadGraphsAndWhatIsOnlyCounted) {
  auto o = blank<NewestOverhead>(CUPTI_ACTIVITY_KIND_OVERHEAD);
  o.overheadKind = CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH;
  o.start = 5;
  o.end = 9;
  ActivityBatch batch = translated(o);
  ASSERT_EQ(batch.overheads.size(), 1u);
  EXPECT_EQ(batch.overheads[0].start, 5u);
  EXPECT_EQ(batch.overheads[0].end, 9u);
#if CUPTI_API_VERSION >= 130000
  o.overheadKind = CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL;
  o.overheadData = std::malloc(sizeof(CUpti_ActivityOverheadCommandBufferFullData));   // freed by the translation: the leak checker looks
  EXPECT_EQ(translated(o).overheads.size(), 1u);
#endif
  auto g = blank<CUpti_ActivityGraphTrace2>(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
  g.correlationId = 60;
  g.start = 1;
  g.end = 2;
  batch = translated(g);
  ASSERT_EQ(batch.graphs.size(), 1u);
  EXPECT_EQ(batch.graphs[0].correlation, 60u);
  EXPECT_EQ(batch.graphs[0].end, 2u);
  EXPECT_EQ(translated(blank<CUpti_ActivityAPI>(CUPTI_ACTIVITY_KIND_RUNTIME)).calls, 1);
  EXPECT_EQ(translated(blank<CUpti_ActivityAPI>(CUPTI_ACTIVITY_KIND_DRIVER)).calls, 1);
  EXPECT_EQ(translated(blank<CUpti_ActivityMarker2>(CUPTI_ACTIVITY_KIND_MARKER)).markers, 1);
  EXPECT_EQ(translated(blank<CUpti_ActivityMemory3>(CUPTI_ACTIVITY_KIND_MEMORY2)).memory, 1);
  EXPECT_EQ(translated(blank<CUpti_Activity>(CUPTI_ACTIVITY_KIND_PCIE)).unknown, 1);
}

/// As cuptiActivityGetNextRecord walks, for the records that are forged here.
CUptiResult next_forged(std::uint8_t* buffer, std::size_t valid, CUpti_Activity** record) {
  std::size_t at = 0;
  const auto size = [](CUpti_ActivityKind kind) {
    return kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL ? sizeof(NewestKernel) : sizeof(CUpti_ActivityExternalCorrelation);
  };
  if (*record != nullptr) at = static_cast<std::size_t>(reinterpret_cast<std::uint8_t*>(*record) - buffer) + size((*record)->kind);
  if (at >= valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(buffer + at);
  return (*record)->kind == CUPTI_ACTIVITY_KIND_INVALID ? CUPTI_ERROR_INVALID_KIND : CUPTI_SUCCESS;
}

/// Buffers filled with CUPTI's structs.
class CuptiForgedSource final : public ForgedSource {
 public:
  void kernel(const Forged& f) override {
    const auto record = kernel_record<NewestKernel>(f);
    emit_bytes(std::as_bytes(std::span(&record, 1)));
  }
  void external(std::uint64_t id, std::uint32_t correlation) override {
    const auto record = external_record(id, correlation, cupti::external_kind);
    emit_bytes(std::as_bytes(std::span(&record, 1)));
  }
  void broken() {
    const auto record = blank<CUpti_ActivityExternalCorrelation>(CUPTI_ACTIVITY_KIND_INVALID);
    emit_bytes(std::as_bytes(std::span(&record, 1)));
  }
  void read(const std::byte* buffer, std::size_t valid, ActivityBatch& into) override {
    cupti::translate_all(buffer, valid, into, next_forged);
  }
};

TEST(TranslatedTrace, FromBuffersOfCuptisStructsToNodes) {
  engine::Topics topics;
  Faults faults;
  CuptiForgedSource source;
  BufferPool pool(1024, 4);
  KernelTrace trace(topics, faults, source, pool, [] {}, {0, 3});
  std::uint32_t id = 0;
  for (std::int64_t step = 0; step < 3; ++step) {
    topics.step_begin.publish({step});
    for (std::int32_t n = 0; n < 3; ++n) {
      topics.node_begin.publish({engine::NodeId{n}, step});
      ++id;
      source.launch({.correlation = id, .start = 2000 + 10 * id, .end = 2003 + 10 * id, .stream = id % 3, .inner = 1000 + id});
      topics.node_end.publish({engine::NodeId{n}, step});
    }
    if (step == 1) source.broken();
    topics.step_end.publish({});
  }
  trace.finish();
  EXPECT_EQ(faults.count(), 0) << faults.first();
  const TraceMatch m = match(trace.data());
  EXPECT_EQ(m.coverage.launches, 9);
  EXPECT_EQ(trace.data().records.broken, 1);
  EXPECT_EQ(m.coverage.steps, 3);
  for (const Placed& p : m.kernels) {
    const std::uint32_t correlation = trace.data().records.kernels[p.kernel].correlation;
    EXPECT_EQ(p.node, static_cast<std::int32_t>((correlation - 1) % 3));
    EXPECT_EQ(p.step, (correlation - 1) / 3);
  }
  EXPECT_EQ(std::ssize(m.kernels) + m.coverage.unanswered, 9) << "what stood behind the broken record was never answered";
}

}  // namespace
}  // namespace ulpscope::profiler
