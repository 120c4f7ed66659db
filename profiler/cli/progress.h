// Progress of a run in the terminal: one live line for each mode; plain lines, about every tenth, where there is no
// terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <string>

#include "profiler/experiment/runner.h"

namespace ulpscope::profiler {

struct ProgressStyle {
  bool redraw = false;  ///< the line is drawn over: err is a terminal
  bool colour = false;  ///< a terminal, and NO_COLOR is not set
  int width = 80;       ///< no line is longer
};

/// For the process's standard error. As wide as the terminal, at most 80 columns; no escape sequences if TERM is dumb.
ProgressStyle terminal_style();

/// "1:02:03", "4:05"; "?" if it is not known.
std::string duration(double seconds);
/// "12.3k", "950", "1.2M": at most three digits and a point.
std::string rate(double value);

class Progress final : public Watcher {
 public:
  Progress(std::ostream& err, ProgressStyle style);

  void run_begin(const RunInfo& run) override;
  void step(const RunInfo& run, const engine::StepResult& result, double seconds) override;
  void evaluated(const RunInfo& run, const engine::Trainer::Evaluation& evaluation) override;
  void run_end(const RunInfo& run, reports::RunStatus status, const std::string& message) override;
  void timing_begin(std::int64_t steps, const std::string& note) override;
  void timing_step(std::int64_t done, std::int64_t steps) override;
  void timing_end() override;
  void warning(const std::string& text) override;

  /// The line of one step; public for the test.
  static std::string step_line(const RunInfo& run, const engine::StepResult& result, double seconds, double tokens);

 private:
  using Clock = std::chrono::steady_clock;
  std::string final_line(const RunInfo& run) const;
  bool due(std::int64_t done, std::int64_t total);
  void draw(const std::string& line);
  void finish_line();
  void print(const std::string& line);
  std::string painted(const std::string& line) const;

  std::ostream& err_;
  ProgressStyle style_;
  engine::StepResult last_;
  double seconds_ = 0.0;
  double tokens_ = 0.0;
  double held_out_ = 0.0;
  bool has_held_out_ = false;
  std::int64_t tenth_ = -1;
  Clock::time_point last_draw_{};
  Clock::time_point timing_begin_{};
  std::string live_;
};

}  // namespace ulpscope::profiler
