// A grid without a GPU: every thread of every block is run on the calling thread, one after the other; where a kernel has
// barriers, the threads of a block are coroutines that take turns at each of them. Slow, and exact: the kernels' own code, with
// the memory of the host as that of the device. For tests. Included by grid.h alone.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <tuple>
#include <utility>

#define ULPSCOPE_KERNEL static
#define ULPSCOPE_DEVICE static inline
#define ULPSCOPE_OUTLINE static
#define ULPSCOPE_DEVICE_MEMBER inline
#define ULPSCOPE_SHARED static
#define ULPSCOPE_UNROLL

namespace ulpscope::cuda {

struct EmulatedPlace {
  int thread = 0, threads = 1;
  std::int64_t block = 0, blocks = 1;
};
/// Of the thread that is being run.
extern EmulatedPlace emulated_place;

/// Device memory is about to be read or written by the device, and no longer. For tests that close it to the host's code; null: it
/// is open.
extern void (*emulated_access)(bool open);
struct EmulatedAccess {
  EmulatedAccess() {
    if (emulated_access != nullptr) emulated_access(true);
  }
  ~EmulatedAccess() {
    if (emulated_access != nullptr) emulated_access(false);
  }
  EmulatedAccess(const EmulatedAccess&) = delete;
  EmulatedAccess& operator=(const EmulatedAccess&) = delete;
};

/// Of the device that is emulated; null: memory of the grid's own, which no device counts.
class ObservationMemory;
extern ObservationMemory* emulated_observation;

/// Where work goes that is done later, in order, and how what is there gets done: for tests of a host that does not wait. Null: work is
/// done at once.
struct EmulatedQueue {
  virtual ~EmulatedQueue() = default;
  virtual void put(std::function<void()> work) = 0;
  virtual void finish() = 0;
};
extern EmulatedQueue* emulated_queue;
template <class Work>
void emulate(Work work) {
  if (emulated_queue == nullptr) return work();
  emulated_queue->put(std::move(work));
}

inline int thread_index() { return emulated_place.thread; }
inline int block_threads() { return emulated_place.threads; }
inline std::int64_t block_index() { return emulated_place.block; }
inline std::int64_t grid_blocks() { return emulated_place.blocks; }
/// Throws Error in a kernel that was launched without barriers.
void block_barrier();
void* block_memory();

inline void atomic_add(std::int64_t* place, std::int64_t x) { *place += x; }
inline void atomic_add(std::uint32_t* place, std::uint32_t x) { *place += x; }
inline void atomic_max(std::uint64_t* place, std::uint64_t x) { *place = std::max(*place, x); }
inline void atomic_min(std::uint64_t* place, std::uint64_t x) { *place = std::min(*place, x); }

/// run(context) once for each thread. With barriers all threads of a block have to arrive at every one of them, or to have
/// ended: else Error. shared: bytes of block_memory(), which holds NaN patterns when a block begins.
void emulate_grid(std::int64_t blocks, int threads, void (*run)(void*), void* context);
void emulate_team_grid(std::int64_t blocks, int threads, std::size_t shared, void (*run)(void*), void* context);

namespace emulation {

template <class... Parameters>
struct Call {
  void (*kernel)(Parameters...);
  std::tuple<Parameters...> arguments;

  static void run(void* call) {
    const Call& c = *static_cast<const Call*>(call);
    std::apply(c.kernel, c.arguments);
  }
};

}  // namespace emulation

template <class... Parameters, class... Arguments>
void launch_team(void (*kernel)(Parameters...), std::int64_t blocks, int threads, std::size_t shared, void*,
                 const Arguments&... arguments) {
  emulate([blocks, threads, shared, call = emulation::Call<Parameters...>{kernel, {static_cast<Parameters>(arguments)...}}]() mutable {
    emulate_team_grid(blocks, threads, shared, call.run, &call);
  });
}
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), std::int64_t blocks, int threads, void*, const Arguments&... arguments) {
  emulate([blocks, threads, call = emulation::Call<Parameters...>{kernel, {static_cast<Parameters>(arguments)...}}]() mutable {
    emulate_grid(blocks, threads, call.run, &call);
  });
}

inline void fill_memory(void* device, unsigned char byte, std::size_t bytes, void*) {
  emulate([=] {
    const EmulatedAccess access;
    if (bytes != 0) std::memset(device, byte, bytes);
  });
}
inline void copy_to_host(void* host, const void* device, std::size_t bytes, void*) {
  if (emulated_queue != nullptr) emulated_queue->finish();
  const EmulatedAccess access;
  if (bytes != 0) std::memcpy(host, device, bytes);
}

}  // namespace ulpscope::cuda
