// CUPTI's records in plain structs. Needs CUPTI's header, not its library.
#pragma once

#include <cupti.h>

#include "profiler/trace/activity.h"

namespace ulpscope::profiler::cupti {

/// External ids of this program; those of other kinds are other tools'.
inline constexpr CUpti_ExternalCorrelationKind external_kind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0;

CUpti_ActivityKind kind_of(ActivityKind kind);

/// One record, of any kind. Reads only members that the records of CUDA 12 and 13 have at the same place: a newer library writes longer
/// ones.
void translate(const CUpti_Activity& record, ActivityBatch& into);

/// Records as `next` walks through them: CUptiResult(std::uint8_t* buffer, std::size_t valid, CUpti_Activity** record), as
/// cuptiActivityGetNextRecord does.
template <class Next>
void translate_all(const std::byte* buffer, std::size_t valid, ActivityBatch& into, Next&& next) {
  // CUPTI's signature is not const; it only reads.
  auto* const bytes = reinterpret_cast<std::uint8_t*>(const_cast<std::byte*>(buffer));
  CUpti_Activity* record = nullptr;
  for (;;) {
    const CUptiResult result = next(bytes, valid, &record);
    if (result == CUPTI_SUCCESS && record != nullptr) {
      translate(*record, into);
      continue;
    }
    if (result != CUPTI_ERROR_MAX_LIMIT_REACHED) ++into.broken;
    return;
  }
}

}  // namespace ulpscope::profiler::cupti
