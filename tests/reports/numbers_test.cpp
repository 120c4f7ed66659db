// Numbers and lines for people.
#include "reports/export/numbers.h"

#include <gtest/gtest.h>

#include <limits>

#include "reports/export/layout.h"

namespace ulpscope::reports {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

TEST(Numbers, ForPeople) {
  EXPECT_EQ(number_text(2.0), "2.0000");
  EXPECT_EQ(number_text(12.3456), "12.346");
  EXPECT_EQ(number_text(123456.7), "123457");
  EXPECT_EQ(number_text(-0.012345678), "-0.0123");
  EXPECT_EQ(number_text(1e-5), "1.0e-05");
  EXPECT_EQ(number_text(nan_value), "NaN");
  EXPECT_EQ(number_text(-inf), "-inf");
  EXPECT_EQ(seconds_text(0.01234), "12.34 ms");
  EXPECT_EQ(seconds_text(5e-6), "5 µs");
  EXPECT_EQ(seconds_text(90), "90 s");
  EXPECT_EQ(bytes_text(512), "512 B");
  EXPECT_EQ(bytes_text(1536), "1.5 KiB");
  EXPECT_EQ(bytes_text(5e9), "4.657 GiB");
  EXPECT_EQ(scale_text(65536), "65536");
  EXPECT_EQ(scale_text(16777216), "2^24");
  EXPECT_EQ(scale_text(0.5), "2^-1");
  EXPECT_EQ(scale_text(1000), "1000");
  EXPECT_EQ(difference_text(0.0123456), "+0.0123");
}

TEST(Layout, WrapAndCut) {
  EXPECT_EQ(wrap("one two three", "> ", 9), "> one two\n  three\n");
  EXPECT_EQ(wrap("averyverylongword x", "", 5), "averyverylongword\nx\n");
  EXPECT_EQ(columns("±…✓"), 3u);
  EXPECT_EQ(columns("日本語"), 6u);
  EXPECT_EQ(columns("müde ±1"), 7u);
  EXPECT_EQ(columns(""), 0u);
  EXPECT_NO_THROW(columns("\xe2\x80 \xff"));
  EXPECT_EQ(shorten("日本語のモード", 6), "日本…") << "two columns each";
  EXPECT_EQ(shorten("日本語のモード", 7), "日本語…");
  EXPECT_EQ(shorten("日本語", 6), "日本語");
  EXPECT_EQ(pad_right("日本", 6) + "|", "日本  |");
  EXPECT_EQ(pad_left("日本", 5), " 日本");
  EXPECT_EQ(pad_left("±1", 4), "  ±1");
  EXPECT_EQ(printable("a\x1b\n\x7f"), "a???");
  EXPECT_EQ(printable("\xc2\x9b" "31m \xc3\xbc \xc2\xb1 \xc2"), "?31m \xc3\xbc \xc2\xb1 \xc2") << "U+009B is one, too";
  EXPECT_EQ(printable("a\u202Eb\u2066c\u200Fd\u2028"), "a?b?c?d?") << "what turns or breaks a line";
  EXPECT_EQ(printable("\u2026 \u2081 \u20AC \u6f22 \xe2\x80"), "\u2026 \u2081 \u20AC \u6f22 \xe2\x80") << "their neighbours stay";
}

}  // namespace
}  // namespace ulpscope::reports
