#include "profiler/experiment/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <string_view>

namespace ulpscope::profiler {
namespace {

std::atomic<int> signals{0};
static_assert(std::atomic<int>::is_always_lock_free, "used in a signal handler");
struct sigaction old_interrupt, old_terminate;

void handle(int) {
  if (signals.fetch_add(1) > 0) _exit(exit_interrupted);  // what is committed of the run file stays readable
  constexpr std::string_view message = "\nulpscope: ending after this step; once more ends at once\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, message.data(), message.size());
}

}  // namespace

Interrupt::Interrupt() {
  signals = 0;
  struct sigaction action {};
  action.sa_handler = handle;
  action.sa_flags = SA_RESTART;  // the writer's system calls go on
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, &old_interrupt);
  sigaction(SIGTERM, &action, &old_terminate);
}

Interrupt::~Interrupt() {
  sigaction(SIGINT, &old_interrupt, nullptr);
  sigaction(SIGTERM, &old_terminate, nullptr);
}

bool Interrupt::requested() { return signals.load() > 0; }

}  // namespace ulpscope::profiler
