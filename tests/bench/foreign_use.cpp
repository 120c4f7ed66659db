#include "tests/bench/foreign_use.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace ulpscope::bench {
namespace {

/// Seconds that processors were busy, whoever used them; negative if unknown.
double busy_seconds() {
  std::ifstream file("/proc/stat");
  std::string word;
  double user = 0, nice = 0, system = 0, idle = 0, wait = 0, interrupt = 0, soft = 0, steal = 0;
  if (!(file >> word >> user >> nice >> system >> idle >> wait >> interrupt >> soft >> steal) || word != "cpu")
    return -1.0;
  return (user + nice + system + interrupt + soft + steal) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

/// Seconds that this process and the children it has waited for have used.
double own_seconds() {
  double sum = 0.0;
  for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage use{};
    getrusage(who, &use);
    for (const timeval& t : {use.ru_utime, use.ru_stime})
      sum += static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  }
  return sum;
}

}  // namespace

ForeignUse::ForeignUse() : begin_(std::chrono::steady_clock::now()), all_(busy_seconds()), own_(own_seconds()) {}

double ForeignUse::processors() const {
  const double now = busy_seconds();
  if (all_ < 0.0 || now < 0.0) return -1.0;
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  // /proc/stat counts in hundredths of a second: in a short time that may be fewer than this process has used.
  return wall > 0.0 ? std::max(0.0, ((now - all_) - (own_seconds() - own_)) / wall) : 0.0;
}

}  // namespace ulpscope::bench
