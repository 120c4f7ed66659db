#include "tests/profiler/allocations.h"

#include <errno.h>

#include <atomic>
#include <cstddef>

#include "tests/sanitized.h"

#if defined(__GLIBC__) && !ULPSCOPE_SANITIZED
#define ULPSCOPE_COUNTS_ALLOCATIONS 1
#else
#define ULPSCOPE_COUNTS_ALLOCATIONS 0
#endif

namespace ulpscope::test {
namespace {

std::atomic<bool> everywhere{false};
thread_local bool here = false;
std::atomic<std::int64_t> allocations{0};

}  // namespace

void note_allocation();
void note_allocation() {
  if (here || everywhere.load(std::memory_order_relaxed)) allocations.fetch_add(1, std::memory_order_relaxed);
}

bool counts_allocations() { return ULPSCOPE_COUNTS_ALLOCATIONS != 0; }

Allocations::Allocations(Of of) {
  allocations = 0;
  here = of == Of::this_thread;
  everywhere = of == Of::all_threads;
}
Allocations::~Allocations() {
  here = false;
  everywhere = false;
}
std::int64_t Allocations::count() const { return allocations; }

}  // namespace ulpscope::test

#if ULPSCOPE_COUNTS_ALLOCATIONS
// The program's own allocator stands before the C library's, whose functions have these names too.
extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* memory, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);

void* malloc(std::size_t bytes) {
  ulpscope::test::note_allocation();
  return __libc_malloc(bytes);
}
void* calloc(std::size_t count, std::size_t bytes) {
  ulpscope::test::note_allocation();
  return __libc_calloc(count, bytes);
}
void* realloc(void* memory, std::size_t bytes) {
  ulpscope::test::note_allocation();
  return __libc_realloc(memory, bytes);
}
void* memalign(std::size_t alignment, std::size_t bytes) {
  ulpscope::test::note_allocation();
  return __libc_memalign(alignment, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  ulpscope::test::note_allocation();
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) {
  ulpscope::test::note_allocation();
  *memory = __libc_memalign(alignment, bytes);
  return *memory == nullptr ? ENOMEM : 0;
}
}
#endif
