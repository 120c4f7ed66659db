// Whether the figures were measured on a machine of one's own.
#pragma once

#include <chrono>

namespace ulpscope::bench {

/// Processors that others kept busy since it was made: other processes, and other guests of the same host where the
/// system tells
/// ("steal"). With one of two busy, a barrier of two threads costs a time slice of milliseconds, and products of
/// microseconds measure the scheduler.
class ForeignUse {
 public:
  ForeignUse();
  /// Processors, on average; negative where /proc/stat cannot be read.
  double processors() const;

 private:
  std::chrono::steady_clock::time_point begin_;
  double all_, own_;
};

}  // namespace ulpscope::bench
