// How long mending may take.
#pragma once

#include <chrono>
#include <functional>
#include <string>

namespace ulpscope::profiler {

/// "90s", "5m", "1h", "1h30m", "300" (seconds). Throws UsageError "--budget abc: …".
double parse_budget(const std::string& words);
/// "1 h 30 min", "5 min", "90 s", "0.5 s".
std::string budget_words(double seconds);

class Budget {
 public:
  /// interrupted: whether the user asked for an end.
  Budget(double seconds, std::function<bool()> interrupted) : seconds_(seconds), interrupted_(std::move(interrupted)) {}

  double spent() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }
  bool interrupted() const { return interrupted_ && interrupted_(); }
  double left() const { return over() ? 0.0 : seconds_ - spent(); }
  bool over() const { return interrupted() || spent() >= seconds_; }
  /// Why there is no more: "the budget of 5 min was spent", "it was interrupted".
  std::string why() const;

 private:
  using Clock = std::chrono::steady_clock;
  double seconds_;
  std::function<bool()> interrupted_;
  Clock::time_point begin_ = Clock::now();
};

}  // namespace ulpscope::profiler
