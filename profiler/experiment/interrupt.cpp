#include "profiler/experiment/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <string_view>

namespace ulpscope::profiler {
namespace {

std::atomic<int> first_signal{0};
static_assert(std::atomic<int>::is_always_lock_free, "used in a signal handler");
struct sigaction old_interrupt, old_terminate, old_hang_up;

void handle(int signal) {
  int none = 0;
  if (!first_signal.compare_exchange_strong(none, signal)) {
    if (signal == SIGHUP) return;   // a terminal that closes sends it, and its shell once more
    _exit(128 + signal);   // what is committed of the run file stays readable
  }
  const int kept = errno;  // of the call that was interrupted
  constexpr std::string_view message = "\nulpscope: ending after this step; once more ends at once\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, message.data(), message.size());
  errno = kept;
}

// A signal that is ignored (by nohup, by a shell for its background jobs) stays ignored.
void take_over(int signal, struct sigaction& old) {
  struct sigaction action {};
  action.sa_handler = handle;
  action.sa_flags = SA_RESTART;  // the writer's system calls go on
  sigemptyset(&action.sa_mask);
  sigaction(signal, nullptr, &old);
  if (old.sa_handler != SIG_IGN) sigaction(signal, &action, nullptr);
}

}  // namespace

Interrupt::Interrupt() {
  first_signal = 0;
  take_over(SIGINT, old_interrupt);
  take_over(SIGTERM, old_terminate);
  take_over(SIGHUP, old_hang_up);
}

Interrupt::~Interrupt() {
  sigaction(SIGINT, &old_interrupt, nullptr);
  sigaction(SIGTERM, &old_terminate, nullptr);
  sigaction(SIGHUP, &old_hang_up, nullptr);
}

bool Interrupt::requested() { return first_signal.load() != 0; }

int Interrupt::exit_code() { return 128 + first_signal.load(); }

}  // namespace ulpscope::profiler
