// Ctrl-C: the first asks for an end after the current step, the second ends at once.
#pragma once

#include <exception>

namespace ulpscope::profiler {

/// Thrown in the middle of what is asked to end and has no result yet.
class Interrupted final : public std::exception {
 public:
  const char* what() const noexcept override { return "interrupted"; }
};

/// Catches SIGINT, SIGTERM and SIGHUP (a terminal that was closed) while it lives, unless they are ignored. One at a time.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  /// Whether a signal came.
  static bool requested();
  /// Of a program that a signal asked to end: 130 after Ctrl-C (128 + SIGINT), 143 after SIGTERM, 129 after SIGHUP.
  static int exit_code();
};

}  // namespace ulpscope::profiler
