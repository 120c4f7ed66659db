#include "profiler/probes/faults.h"

#include <spdlog/spdlog.h>

namespace ulpscope::profiler {

void Faults::note(const char* who, const std::string& what) noexcept {
  ++count_;
  try {
    if (!first_.empty()) return;
    first_ = std::string(who) + ": " + what;
    spdlog::warn("the recording is incomplete: {}", first_);
  } catch (...) {  // not even room for the message: the count stands
  }
}

}  // namespace ulpscope::profiler
