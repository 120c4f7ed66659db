// Sharing out numbered pieces of work without waiting: each thread has a run of its own, and takes half of what another
// has left once its own is done. Who does what is open; that each piece is done once is not.
#pragma once

#include <atomic>
#include <cstdint>

namespace ulpscope {

/// What a thread has left: pieces first … last, in one word. On a cache line of its own.
struct alignas(64) WorkShare {
  std::atomic<std::uint64_t> span;
};

inline std::uint64_t span_of(std::uint64_t first, std::uint64_t last) { return first << 32 | last; }

/// Before the team starts. pieces < 2^32.
inline void deal(WorkShare* shares, int threads, std::int64_t pieces) {
  for (int t = 0; t < threads; ++t) {
    const auto bound = [&](int i) { return static_cast<std::uint64_t>(pieces * i / threads); };
    shares[t].span.store(span_of(bound(t), bound(t + 1)), std::memory_order_relaxed);
  }
}

/// The next piece for `thread`, or -1: nothing is left that nobody has begun.
inline std::int64_t next_piece(WorkShare* shares, int threads, int thread) {
  std::atomic<std::uint64_t>& own = shares[thread].span;
  std::uint64_t span = own.load(std::memory_order_relaxed);
  while (span >> 32 < (span & 0xffffffffu)) {
    if (own.compare_exchange_weak(span, span + (std::uint64_t{1} << 32), std::memory_order_relaxed))
      return static_cast<std::int64_t>(span >> 32);
  }
  for (int i = 1; i < threads; ++i) {
    std::atomic<std::uint64_t>& other = shares[(thread + i) % threads].span;
    span = other.load(std::memory_order_relaxed);
    for (;;) {
      const std::uint64_t first = span >> 32, last = span & 0xffffffffu;
      if (first >= last) break;
      const std::uint64_t middle = first + (last - first) / 2;  // of a single piece, all
      if (!other.compare_exchange_weak(span, span_of(first, middle), std::memory_order_relaxed)) continue;
      own.store(span_of(middle + 1, last), std::memory_order_relaxed);  // empty so far: nobody takes from it
      return static_cast<std::int64_t>(middle);
    }
  }
  return -1;
}

}  // namespace ulpscope
