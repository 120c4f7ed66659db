// Whose work in a trace is the run's, and which call launched it.
#pragma once

#include <map>

#include "profiler/import/trace.h"

namespace ulpscope::profiler {

/// Takes out the work of other processes and devices than the one with the most kernels, of as many the one with the most time. Once.
void keep_one(Trace& trace);

/// Matches calls with work, by correlation and process; calls are offered one after the other and not kept. Of several calls the first
/// counts. Where a process is unknown, the correlation alone says it, unless calls of two processes have it. Calls of processes whose work
/// was taken out do not count.
class LaunchMatcher {
 public:
  /// Sorts the work.
  explicit LaunchMatcher(Trace& trace);
  void offer(const TraceLaunch& launch);
  /// Hands on to all work what the first of its group was matched with.
  void finish();

 private:
  /// A correlation that more processes have is not matched with calls whose process is unknown.
  static constexpr int most_processes = 64;

  std::int32_t process_of(std::size_t i) const { return trace_.of(trace_.work[i]).process; }
  std::size_t first_of(std::int64_t correlation);
  /// Of the same correlation and the next process.
  std::size_t next_group(std::size_t i) const;
  void take(std::size_t head, const TraceLaunch& launch);
  std::uint32_t caller(const TraceLaunch& launch);

  Trace& trace_;
  std::map<TraceCaller, std::uint32_t> callers_;
  std::size_t hint_ = 0;
};

}  // namespace ulpscope::profiler
