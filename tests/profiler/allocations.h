// Counts what a piece of a test allocates, by malloc and its relatives (operator new among them), on all threads or on
// the calling one. Only in programs that contain allocations.cpp.
#pragma once

#include <cstdint>

namespace ulpscope::test {

/// Whether allocations can be counted in this build: not beside a sanitizer, which has an allocator of its own.
bool counts_allocations();

class Allocations {
 public:
  enum class Of : std::uint8_t { all_threads, this_thread };
  explicit Allocations(Of of = Of::all_threads);
  ~Allocations();
  Allocations(const Allocations&) = delete;
  Allocations& operator=(const Allocations&) = delete;

  std::int64_t count() const;
};

}  // namespace ulpscope::test
