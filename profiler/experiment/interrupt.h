// Ctrl-C: the first asks for an end after the current step, the second ends at once.
#pragma once

namespace ulpscope::profiler {

/// Exit code of a program that was asked to end (128 + SIGINT).
inline constexpr int exit_interrupted = 130;

/// Catches SIGINT and SIGTERM while it lives. One at a time.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  /// Whether a signal came.
  static bool requested();
};

}  // namespace ulpscope::profiler
