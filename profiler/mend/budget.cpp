#include "profiler/mend/budget.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "kernels/error.h"

namespace ulpscope::profiler {
namespace {

double unit(char c) {
  switch (c) {
    case 's': return 1.0;
    case 'm': return 60.0;
    case 'h': return 3600.0;
    default: return 0.0;
  }
}

}  // namespace

double parse_budget(const std::string& words) {
  const auto refuse = [&]() -> double { throw UsageError(fmt::format("--budget {}: not a duration; write 30s, 5m, 1h or seconds", words)); };
  if (words.empty()) return refuse();
  double seconds = 0.0;
  for (const char *at = words.data(), *end = words.data() + words.size(); at != end;) {
    double number = 0.0;
    const auto [next, error] = std::from_chars(at, end, number, std::chars_format::fixed);
    if (error != std::errc() || !std::isfinite(number) || number < 0.0) return refuse();
    const bool bare = next == end;
    if (bare && at != words.data()) return refuse();   // "5m30"
    if (!bare && unit(*next) == 0.0) return refuse();
    seconds += number * (bare ? 1.0 : unit(*next));
    at = bare ? end : next + 1;
  }
  return seconds <= 1e9 ? seconds : refuse();
}

std::string budget_words(double seconds) {
  const double whole = std::floor(seconds);
  if (whole != seconds || std::fmod(whole, 60.0) != 0.0 || whole == 0.0) return fmt::format("{:.3g} s", seconds);
  const auto minutes = static_cast<long>(whole / 60.0);
  if (minutes % 60 == 0) return fmt::format("{} h", minutes / 60);
  return minutes > 60 ? fmt::format("{} h {} min", minutes / 60, minutes % 60) : fmt::format("{} min", minutes);
}

std::string Budget::why() const {
  return interrupted() ? "it was interrupted" : fmt::format("the budget of {} was spent", budget_words(seconds_));
}

}  // namespace ulpscope::profiler
