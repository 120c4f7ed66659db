// The profiler's own mistakes never stop training: they are logged, counted, and end up in the run file.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <utility>

#include "reports/run_file/records.h"

namespace ulpscope::profiler {

/// Where records go: the run file's writer, or a list in a test.
using Sink = std::function<void(reports::Record)>;

/// The faults of everything that watches one run.
class Faults {
 public:
  /// Runs a piece of the profiler; what it throws is kept instead of passed on.
  template <class Work>
  void guard(const char* who, Work&& work) noexcept {
    try {
      std::forward<Work>(work)();
    } catch (const std::exception& error) {
      note(who, error.what());
    } catch (...) {
      note(who, "an exception of unknown type");
    }
  }

  /// Logs the first fault of each run, counts all.
  void note(const char* who, const std::string& what) noexcept;

  std::int64_t count() const { return count_; }
  const std::string& first() const { return first_; }  ///< "recorder: disk full"; empty if there was none

 private:
  std::int64_t count_ = 0;
  std::string first_;
};

}  // namespace ulpscope::profiler
