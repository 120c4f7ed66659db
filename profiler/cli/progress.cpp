#include "profiler/cli/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ostream>
#include <string_view>

#include "profiler/cli/text.h"

namespace ulpscope::profiler {
namespace {

constexpr double redraw_seconds = 0.1;
constexpr int least_width = 20;  // the mode and its step; what is narrower wraps

std::string run_name(const RunInfo& run) {
  if (run.seeds <= 1) return fmt::format("{:<9}", run.mode.name);  // the longest: bf16+tf32
  const auto last = run.first_seed + static_cast<std::uint64_t>(run.seeds) - 1;
  return fmt::format("{:<9} seed {:>{}}", run.mode.name, run.seed, fmt::formatted_size("{}", last));
}

/// "2.3026", "inf", "nan": the sign of what is no number says nothing.
std::string loss_text(double loss) { return fmt::format("loss {:.4f}", std::isnan(loss) ? std::fabs(loss) : loss); }

}  // namespace

ProgressStyle terminal_style() {
  ProgressStyle style;
  const char* const terminal = std::getenv("TERM");
  const bool dumb = terminal != nullptr && std::string_view(terminal) == "dumb";
  style.redraw = isatty(STDERR_FILENO) == 1 && !dumb;
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    style.width = std::clamp<int>(size.ws_col, least_width, style.width);
  const char* const no_colour = std::getenv("NO_COLOR");  // https://no-color.org: set and not empty
  style.colour = style.redraw && (no_colour == nullptr || no_colour[0] == '\0');
  return style;
}

std::string duration(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "?";
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole >= 3600) return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

std::string rate(double value) {
  if (!std::isfinite(value)) return "?";
  if (value < 999.5) return fmt::format("{:.0f}", value);
  if (value < 99950) return fmt::format("{:.1f}k", value / 1e3);
  if (value < 999500) return fmt::format("{:.0f}k", value / 1e3);
  return fmt::format("{:.1f}M", value / 1e6);
}

Progress::Progress(std::ostream& err, ProgressStyle style) : err_(err), style_(style) {}

std::string Progress::step_line(const RunInfo& run, const engine::StepResult& result, double seconds, double tokens) {
  const std::int64_t done = result.iteration + 1;
  const double left = seconds / static_cast<double>(done - run.done_before) * static_cast<double>(run.steps - done);
  std::string line = fmt::format("{} step {:>{}}/{}  {}", run_name(run), done,
                                 fmt::formatted_size("{}", run.steps), run.steps, loss_text(result.loss));
  if (run.loss_scaling) line += fmt::format("  scale {:g}", result.loss_scale);
  if (seconds > 0) line += fmt::format("  {} tokens/s", rate(tokens / seconds));
  line += done == run.steps ? fmt::format("  {}", duration(seconds)) : fmt::format("  {} left", duration(left));
  return line;
}

void Progress::run_begin(const RunInfo& run) {
  tokens_ = 0.0;
  has_held_out_ = false;
  tenth_ = -1;
  if (style_.redraw) draw(fmt::format("{} …", run_name(run)));
}

void Progress::step(const RunInfo& run, const engine::StepResult& result, double seconds) {
  tokens_ += static_cast<double>(result.tokens);
  last_ = result;
  seconds_ = seconds;
  if (due(result.iteration + 1, run.steps)) draw(step_line(run, result, seconds, tokens_));
}

void Progress::evaluated(const RunInfo&, const engine::Trainer::Evaluation& evaluation) {
  held_out_ = evaluation.loss;
  has_held_out_ = true;
}

void Progress::run_end(const RunInfo& run, reports::RunStatus status, const std::string& message) {
  if (status == reports::RunStatus::finished && style_.redraw) draw(final_line(run));
  finish_line();
  if (!message.empty()) print(fmt::format("{} {}: {}", run_name(run), reports::name(status), message));
}

/// What stays of the live line: what matters most first, for a long name may cut it.
std::string Progress::final_line(const RunInfo& run) const {
  std::string line = fmt::format("{} {}", run_name(run), loss_text(last_.loss));
  if (has_held_out_) line += fmt::format("  held out {:.4f}", held_out_);
  if (run.loss_scaling) line += fmt::format("  scale {:g}", last_.loss_scale);
  if (seconds_ > 0) line += fmt::format("  {} tokens/s", rate(tokens_ / seconds_));
  return line + fmt::format("  {}", duration(seconds_));
}

void Progress::timing_begin(std::int64_t steps, const std::string& note) {
  tenth_ = -1;
  timing_begin_ = Clock::now();
  if (!note.empty()) print(fmt::format("timing    {}", note));
  if (style_.redraw) draw(fmt::format("timing    step 0/{}", steps));
}

void Progress::timing_step(std::int64_t done, std::int64_t steps) {
  if (!due(done, steps)) return;
  const double seconds = std::chrono::duration<double>(Clock::now() - timing_begin_).count();
  const double left = seconds / static_cast<double>(done) * static_cast<double>(steps - done);
  draw(fmt::format("timing    step {}/{}, modes in turn, nothing recorded  {} left", done, steps, duration(left)));
}

void Progress::timing_end() { finish_line(); }

void Progress::warning(const std::string& text) { print("ulpscope: " + text); }

/// Redrawn ten times a second; as lines at every tenth of the way.
bool Progress::due(std::int64_t done, std::int64_t total) {
  const Clock::time_point now = Clock::now();
  if (style_.redraw) {
    if (done < total && std::chrono::duration<double>(now - last_draw_).count() < redraw_seconds) return false;
    last_draw_ = now;
    return true;
  }
  const std::int64_t tenth = done * 10 / total;
  if (tenth == tenth_ || (tenth == 0 && done > 1)) return false;
  tenth_ = tenth;
  return true;
}

std::string Progress::painted(const std::string& line) const {
  if (!style_.colour) return line;
  const std::size_t name = std::min(line.find(' '), line.size());
  return fmt::format("\x1b[1m{}\x1b[0m{}", line.substr(0, name), line.substr(name));
}

void Progress::draw(const std::string& line) {
  const std::string cut = columns(line) < style_.width ? line : column(line, style_.width - 1);
  live_ = cut;
  if (style_.redraw) {
    err_ << '\r' << painted(cut) << "\x1b[K" << std::flush;
  } else {
    err_ << cut << '\n' << std::flush;
  }
}

void Progress::finish_line() {
  if (style_.redraw && !live_.empty()) err_ << '\n' << std::flush;
  live_.clear();
}

/// A message of its own, broken at words.
void Progress::print(const std::string& line) {
  finish_line();
  err_ << wrapped(reports::printable(line), "          ", style_.width) << '\n' << std::flush;
}

}  // namespace ulpscope::profiler
