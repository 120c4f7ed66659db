#include "kernels/cpu/thread_room.h"

#include <algorithm>
#include <latch>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "kernels/error.h"

namespace ulpscope {

void check_thread_room(int threads) {
  static std::mutex mutex;
  static int known = 1;
  const std::lock_guard lock(mutex);
  if (threads <= known) return;
  std::latch all_made(1);
  std::vector<std::thread> made;
  std::string reason;
  made.reserve(static_cast<std::size_t>(threads));
  try {
    while (static_cast<int>(made.size()) < threads) made.emplace_back([&] { all_made.wait(); });
  } catch (const std::system_error& error) {
    reason = error.code().message();
  }
  all_made.count_down();
  for (std::thread& thread : made) thread.join();
  const int room = static_cast<int>(made.size());
  if (room < threads)
    throw UsageError("threads: " + std::to_string(threads) + " cannot be made here (" + reason + "): give at most " +
                     std::to_string(std::max(1, room)) + ", or raise the limit (ulimit -u, ulimit -v, the container's)");
  known = threads;
}

}  // namespace ulpscope
