// Updates that were rounded away, from the device's memory into the host's counts of the first output.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/observation.h"
#include "kernels/cuda/read.h"

namespace ulpscope::cuda {

inline std::size_t lost_updates_workspace(const Launch&) { return 64; }

/// Null unless they are counted; else a zero in the workspace, for kernels to add to.
inline std::int64_t* begin_lost_updates(const char* operation, const Launch& launch) {
  if (launch.counts == nullptr || launch.counts[0] == nullptr || launch.counts[0]->range_only) return nullptr;
  expect_workspace(operation, launch);
  fill_memory(launch.workspace, 0, sizeof(std::int64_t), launch.stream);
  return static_cast<std::int64_t*>(launch.workspace);
}
inline void finish_lost_updates(const Launch& launch, const std::int64_t* lost) {
  if (lost == nullptr) return;
  std::int64_t count = 0;
  copy_to_host(&count, lost, sizeof count, launch.stream);
  launch.counts[0]->lost_updates += count;
}

/// x as a storage format keeps it, widened.
template <class T>
ULPSCOPE_OUTLINE T rounded_to_storage(Format format, T x) {
  switch (format) {
    case Format::fp32:
      return static_cast<T>(Storage<Format::fp32>::round(x));
    case Format::tf32:
      return static_cast<T>(Storage<Format::tf32>::widen(Storage<Format::tf32>::round(x)));
    case Format::fp16:
      return static_cast<T>(Storage<Format::fp16>::widen(Storage<Format::fp16>::round(x)));
    case Format::bf16:
      return static_cast<T>(Storage<Format::bf16>::widen(Storage<Format::bf16>::round(x)));
    case Format::fp8_e4m3:
      return static_cast<T>(Storage<Format::fp8_e4m3>::widen(Storage<Format::fp8_e4m3>::round(x)));
    case Format::fp8_e5m2:
      return static_cast<T>(Storage<Format::fp8_e5m2>::widen(Storage<Format::fp8_e5m2>::round(x)));
    default:
      return x;
  }
}

}  // namespace ulpscope::cuda
