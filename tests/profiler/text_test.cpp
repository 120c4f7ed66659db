#include "profiler/cli/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <sstream>

#include "profiler/cli/progress.h"

namespace ulpscope::profiler {
namespace {

TEST(Text, WrapsAtBlanksAndCountsColumnsNotBytes) {
  EXPECT_EQ(wrapped("aa bb cc", "  ", 5), "aa bb\n  cc");
  EXPECT_EQ(wrapped("  aa bb", "  ", 4), "  aa\n  bb");
  EXPECT_EQ(wrapped("short", "", 80), "short");
  EXPECT_EQ(wrapped("aaaaaaaaa b", "", 5), "aaaaaaaaa\nb") << "a word that is too long stays whole";
  EXPECT_EQ(wrapped("äöü äöü", "", 7), "äöü äöü");
  EXPECT_EQ(columns("äß…"), 3);
  EXPECT_EQ(column("abc", 5), "abc  ");
  EXPECT_EQ(column("abcdef", 4), "abc…");
}

TEST(Text, UnitsHaveThreeDigits) {
  EXPECT_EQ(scaled_words(999600, "FLOP"), "1.00 MFLOP");
  EXPECT_EQ(scaled_words(2e12, "FLOP"), "2.00 TFLOP");
}

TEST(Progress, LinesStayWithin80ColumnsAndSayWhatTheyShould) {
  RunInfo run;
  run.mode = engine::find_mode("fp16+tf32");
  run.seeds = 3;
  run.seed = 12345;
  run.steps = 1000000;
  run.loss_scaling = true;
  engine::StepResult result;
  result.iteration = 499999;
  result.loss = 1234.5678f;
  result.loss_scale = 65536;
  result.next_loss_scale = 131072;
  result.tokens = 512;
  const std::string line = Progress::step_line(run, result, 3600.0, 256e6);
  for (const char* part :
       {"fp16+tf32", "500000/1000000", "loss 1234.5", "scale 65536", "71.1k tokens/s", "1:00:00 left"}) {
    EXPECT_NE(line.find(part), std::string::npos) << part << " in " << line;
  }
  std::ostringstream out;
  Progress progress(out, {.redraw = true, .colour = false, .width = 80});
  progress.run_begin(run);
  for (int i = 0; i < 3; ++i) progress.step(run, result, 3600.0);
  std::istringstream pieces(out.str());
  for (std::string piece; std::getline(pieces, piece, '\r');)
    EXPECT_LT(columns(piece), 80 + 3) << piece;  // 3: erase to the end
  result.loss = -std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(Progress::step_line(run, result, 3600.0, 256e6), testing::HasSubstr(" loss nan ")) << "without a sign";
}

TEST(Progress, WithoutATerminalALineForEachTenth) {
  std::ostringstream out;
  Progress progress(out, {});
  RunInfo run;
  run.mode = engine::find_mode("fp32");
  run.steps = 200;
  progress.run_begin(run);
  for (int i = 0; i < 200; ++i) {
    engine::StepResult result;
    result.iteration = i;
    progress.step(run, result, 0.1 * i);
  }
  progress.run_end(run, reports::RunStatus::finished, "");
  const std::string text = out.str();
  const auto lines = std::count(text.begin(), text.end(), '\n');
  EXPECT_GE(lines, 10);
  EXPECT_LE(lines, 12);
  EXPECT_EQ(text.find('\r'), std::string::npos);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

TEST(Progress, ANarrowTerminalIsNotOverrun) {
  std::ostringstream out;
  Progress progress(out, {.redraw = true, .colour = false, .width = 30});
  RunInfo run;
  run.mode = engine::find_mode("fp16");
  run.steps = 200;
  run.loss_scaling = true;
  progress.run_begin(run);
  engine::StepResult result;
  result.iteration = 99;
  result.tokens = 512;
  progress.step(run, result, 10.0);
  progress.warning("a sentence that is longer than the terminal is wide");
  std::string text = out.str();
  std::replace(text.begin(), text.end(), '\r', '\n');
  std::istringstream pieces(text);
  for (std::string piece; std::getline(pieces, piece);) {
    if (piece.ends_with("\x1b[K")) piece.resize(piece.size() - 3);
    EXPECT_LE(columns(piece), 30) << piece;
  }
}

TEST(Progress, ADumbTerminalGetsNoEscapeSequences) {
  const char* const before = std::getenv("TERM");
  const std::string kept = before == nullptr ? "" : before;
  setenv("TERM", "dumb", 1);
  const ProgressStyle style = terminal_style();
  before == nullptr ? unsetenv("TERM") : setenv("TERM", kept.c_str(), 1);
  EXPECT_FALSE(style.redraw);
  EXPECT_FALSE(style.colour);
  EXPECT_LE(style.width, 80);
}

TEST(Progress, Durations) {
  EXPECT_EQ(duration(0.4), "0:00");
  EXPECT_EQ(duration(65), "1:05");
  EXPECT_EQ(duration(3723), "1:02:03");
  EXPECT_EQ(duration(std::numeric_limits<double>::infinity()), "?");
  EXPECT_EQ(rate(950), "950");
  EXPECT_EQ(rate(12345), "12.3k");
  EXPECT_EQ(rate(2.5e6), "2.5M");
}

}  // namespace
}  // namespace ulpscope::profiler
