#include "profiler/trace/cupti/translate.h"

#include <cstddef>
#include <cstdlib>

namespace ulpscope::profiler::cupti {
namespace {

// Records only grow at their end. Where a header has newer structs than those read here, it is checked.
#if CUPTI_API_VERSION >= 130000
#define ULPSCOPE_SAME_PLACE(Old, New, member) static_assert(offsetof(Old, member) == offsetof(New, member))
ULPSCOPE_SAME_PLACE(CUpti_ActivityKernel9, CUpti_ActivityKernel10, registersPerThread);
ULPSCOPE_SAME_PLACE(CUpti_ActivityKernel9, CUpti_ActivityKernel10, start);
ULPSCOPE_SAME_PLACE(CUpti_ActivityKernel9, CUpti_ActivityKernel10, streamId);
ULPSCOPE_SAME_PLACE(CUpti_ActivityKernel9, CUpti_ActivityKernel10, dynamicSharedMemory);
ULPSCOPE_SAME_PLACE(CUpti_ActivityKernel9, CUpti_ActivityKernel10, correlationId);
ULPSCOPE_SAME_PLACE(CUpti_ActivityKernel9, CUpti_ActivityKernel10, name);
ULPSCOPE_SAME_PLACE(CUpti_ActivityKernel9, CUpti_ActivityKernel10, graphId);
ULPSCOPE_SAME_PLACE(CUpti_ActivityMemcpy5, CUpti_ActivityMemcpy6, bytes);
ULPSCOPE_SAME_PLACE(CUpti_ActivityMemcpy5, CUpti_ActivityMemcpy6, runtimeCorrelationId);
ULPSCOPE_SAME_PLACE(CUpti_ActivityMemcpy5, CUpti_ActivityMemcpy6, graphNodeId);
ULPSCOPE_SAME_PLACE(CUpti_ActivityOverhead, CUpti_ActivityOverhead3, end);
ULPSCOPE_SAME_PLACE(CUpti_ActivityGraphTrace, CUpti_ActivityGraphTrace2, end);
#undef ULPSCOPE_SAME_PLACE
#endif

template <class Record>
const Record& as(const CUpti_Activity& record) {
  return reinterpret_cast<const Record&>(record);
}

KernelActivity kernel(const CUpti_ActivityKernel9& k) {
  KernelActivity a;
  a.correlation = k.correlationId;
  a.device = k.deviceId;
  a.context = k.contextId;
  a.stream = k.streamId;
  a.graph_node = k.graphNodeId;
  a.graph = k.graphId;
  a.start = k.start;
  a.end = k.end;
  a.grid = {k.gridX, k.gridY, k.gridZ};
  a.block = {k.blockX, k.blockY, k.blockZ};
  a.registers = k.registersPerThread;
  a.static_shared_bytes = k.staticSharedMemory;
  a.dynamic_shared_bytes = k.dynamicSharedMemory;
  a.name = k.name == nullptr ? "" : k.name;
  return a;
}

TransferActivity copy(const CUpti_ActivityMemcpy5& c) {
  return {false, c.correlationId, c.runtimeCorrelationId, c.streamId, c.graphNodeId, c.start, c.end, c.bytes};
}

TransferActivity set(const CUpti_ActivityMemset4& s) {
  return {true, s.correlationId, 0, s.streamId, s.graphNodeId, s.start, s.end, s.bytes};
}

}  // namespace

CUpti_ActivityKind kind_of(ActivityKind kind) {
  switch (kind) {
    // Not CUPTI_ACTIVITY_KIND_KERNEL: that one makes kernels run one after the other.
    case ActivityKind::kernel: return CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    case ActivityKind::copy: return CUPTI_ACTIVITY_KIND_MEMCPY;
    case ActivityKind::set: return CUPTI_ACTIVITY_KIND_MEMSET;
    case ActivityKind::memory: return CUPTI_ACTIVITY_KIND_MEMORY2;
    case ActivityKind::overhead: return CUPTI_ACTIVITY_KIND_OVERHEAD;
    case ActivityKind::external_correlation: return CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
    case ActivityKind::marker: return CUPTI_ACTIVITY_KIND_MARKER;
    case ActivityKind::runtime_call: return CUPTI_ACTIVITY_KIND_RUNTIME;
    case ActivityKind::driver_call: return CUPTI_ACTIVITY_KIND_DRIVER;
    case ActivityKind::graph: return CUPTI_ACTIVITY_KIND_GRAPH_TRACE;
  }
  return CUPTI_ACTIVITY_KIND_INVALID;
}

void translate(const CUpti_Activity& record, ActivityBatch& into) {
  switch (record.kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      into.kernels.push_back(kernel(as<CUpti_ActivityKernel9>(record)));
      break;
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      into.transfers.push_back(copy(as<CUpti_ActivityMemcpy5>(record)));
      break;
    case CUPTI_ACTIVITY_KIND_MEMSET:
      into.transfers.push_back(set(as<CUpti_ActivityMemset4>(record)));
      break;
    case CUPTI_ACTIVITY_KIND_OVERHEAD: {
      const auto& o = as<CUpti_ActivityOverhead>(record);
      into.overheads.push_back({o.start, o.end});
#if CUPTI_API_VERSION >= 130000
      // What it points to is the reader's to free.
      if (o.overheadKind == CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL) std::free(as<CUpti_ActivityOverhead3>(record).overheadData);
#endif
      break;
    }
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: {
      const auto& e = as<CUpti_ActivityExternalCorrelation>(record);
      if (e.externalKind == external_kind)
        into.externals.push_back({e.externalId, e.correlationId});
      else
        ++into.foreign;
      break;
    }
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE: {
      const auto& g = as<CUpti_ActivityGraphTrace>(record);
      into.graphs.push_back({g.correlationId, g.start, g.end});
      break;
    }
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER:
      ++into.calls;
      break;
    case CUPTI_ACTIVITY_KIND_MEMORY:
    case CUPTI_ACTIVITY_KIND_MEMORY2:
      ++into.memory;
      break;
    case CUPTI_ACTIVITY_KIND_MARKER:
    case CUPTI_ACTIVITY_KIND_MARKER_DATA:
      ++into.markers;
      break;
    default:
      ++into.unknown;
  }
}

}  // namespace ulpscope::profiler::cupti
