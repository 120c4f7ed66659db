// What a shape sweep claims, from injected times.
#include "reports/analysis/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "reports/export/exporter.h"
#include "reports/export/layout.h"

namespace ulpscope::reports {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

/// Microseconds in rounds that wobble by ±`wobble`, the same for all sizes of a round or not.
std::vector<double> rounds(double us, double wobble, int phase = 0, int count = 9) {
  static constexpr double pattern[] = {0.0, 1.0, -1.0, 0.5, -0.5, 0.8, -0.7, 0.2, -0.2};
  std::vector<double> seconds;
  for (int i = 0; i < count; ++i) seconds.push_back(1e-6 * (us + wobble * pattern[(i + phase) % 9]));
  return seconds;
}

/// lm_head of a GPT-2: 512 rows, 768 addends, around 50257 columns.
SweepInput lm_head(const std::string& device = "NVIDIA A100-SXM4-40GB") {
  SweepInput in{.experiment = "gpt2", .node = "lm_head", .operation = "linear", .device = device, .device_kind = device.starts_with("NVIDIA") ? "cuda" : "cpu"};
  in.rows = 512;
  in.inner = 768;
  in.columns = 50257;
  in.sizes = {50256, 50257, 50304};
  SweepInput::Mode mode{.mode = "bf16", .compute_format = "bf16", .formats = "bf16, bf16 > bf16", .provenance = Provenance::measured};
  mode.timings = {{.size = 50256, .seconds = rounds(400, 4)}, {.size = 50257, .seconds = rounds(1700, 20), .again = rounds(1700, 20, 3)}, {.size = 50304, .seconds = rounds(250, 4)}};
  in.modes = {mode};
  return in;
}

const SweepTime& at(const Sweep& sweep, std::int64_t size, std::size_t mode = 0) {
  for (const SweepSize& row : sweep.sizes)
    if (row.size == size) return row.times[mode];
  throw std::out_of_range("no such size");
}

TEST(Sweep, SizesAroundOne) {
  EXPECT_THAT(sizes_around(2056), ElementsAre(2048, 2055, 2056, 2057, 2064, 2112, 2176)) << "2048 is a multiple of 8, 64 and 128";
  EXPECT_THAT(sizes_around(2048), ElementsAre(1920, 1984, 2040, 2047, 2048, 2049, 2056, 2112, 2176));
  EXPECT_THAT(sizes_around(1), ElementsAre(1, 2, 8, 64, 128));
}

TEST(Sweep, FactsAreComputed) {
  const Sweep sweep = sweep_result(lm_head());
  EXPECT_THAT(sweep.facts, Contains("50257 mod 8 = 1, mod 64 = 17, mod 128 = 81"));
  EXPECT_THAT(sweep.facts, Contains("50304 = 786 x 64: 47 columns of padding, 0.0935 % more work"));
  SweepInput in = lm_head();
  in.columns = 33708;
  in.sizes = {33708};
  EXPECT_THAT(sweep_result(in).facts, Contains(HasSubstr("33708 mod 8 = 4")));
}

TEST(Sweep, AGainAboveTwiceTheNoiseIsClaimed) {
  const Sweep sweep = sweep_result(lm_head());
  EXPECT_EQ(at(sweep, 50304).verdict, SweepVerdict::faster);
  EXPECT_NEAR(*at(sweep, 50304).ratio, 6.8, 0.05);
  EXPECT_EQ(at(sweep, 50256).verdict, SweepVerdict::faster);
  EXPECT_EQ(at(sweep, 50257).verdict, SweepVerdict::given);
  ASSERT_THAT(sweep.claims, SizeIs(2));
  EXPECT_THAT(sweep.claims[0].text, AllOf(HasSubstr("50304 is 6.8 x faster than 50257"), HasSubstr("47 more columns")));
  EXPECT_EQ(sweep.claims[0].provenance, Provenance::measured);
}

TEST(Sweep, WithinTwiceTheNoiseNothingIsClaimed) {
  SweepInput in = lm_head();
  in.modes[0].timings[2].seconds = rounds(1690, 20, 5);   // 10 µs gained, noise about 20
  const Sweep sweep = sweep_result(in);
  EXPECT_EQ(at(sweep, 50304).verdict, SweepVerdict::undecided);
  EXPECT_THAT(sweep.claims, SizeIs(1));
  // The same gain, and a machine that is quiet.
  in.modes[0].timings[1] = {.size = 50257, .seconds = rounds(1700, 0.5), .again = rounds(1700, 0.5, 3)};
  in.modes[0].timings[2].seconds = rounds(1690, 0.5, 5);
  EXPECT_EQ(at(sweep_result(in), 50304).verdict, SweepVerdict::faster);
  // Two timings of the given size that lie apart by as much: the clock cannot tell.
  in.modes[0].timings[1].again = rounds(1694, 0.5, 3);
  EXPECT_EQ(at(sweep_result(in), 50304).verdict, SweepVerdict::undecided);
}

TEST(Sweep, ASizeIsHeldAgainstItsShareOfTheWork) {
  SweepInput in = lm_head();
  in.columns = 100;
  in.sizes = {50, 100, 200};
  in.modes[0].timings = {{.size = 50, .seconds = rounds(500, 1)}, {.size = 100, .seconds = rounds(1000, 1), .again = rounds(1000, 1, 2)}, {.size = 200, .seconds = rounds(2000, 1)}};
  Sweep sweep = sweep_result(in);
  EXPECT_EQ(at(sweep, 50).verdict, SweepVerdict::undecided) << "half the time for half the work is no gain";
  EXPECT_EQ(at(sweep, 200).verdict, SweepVerdict::undecided) << "twice the time for twice the work is no loss";
  in.modes[0].timings[0].seconds = rounds(400, 1);
  in.modes[0].timings[2].seconds = rounds(2500, 1);
  sweep = sweep_result(in);
  EXPECT_EQ(at(sweep, 50).verdict, SweepVerdict::faster);
  EXPECT_EQ(at(sweep, 200).verdict, SweepVerdict::slower);
  EXPECT_THAT(sweep.claims[0].text, HasSubstr("50 is 1.25 x faster than 100 for its work"));
  EXPECT_THAT(sweep.claims[1].text, HasSubstr("200 is 1.25 x slower than 100 for its work"));
  in.modes[0].timings[0].seconds = rounds(1200, 1);
  EXPECT_THAT(sweep_result(in).claims[0].text, HasSubstr("50 is 1.2 x slower than 100:"));
}

/// Rounds of two kinds: a load that comes and goes. kinds: 'a' and 'b', by round.
std::vector<double> two_kinds(const std::string& kinds, double a_us, double b_us, int phase = 0) {
  std::vector<double> seconds = rounds(0.0, 0.5, phase, static_cast<int>(kinds.size()));
  for (std::size_t i = 0; i < kinds.size(); ++i) seconds[i] += 1e-6 * (kinds[i] == 'a' ? a_us : b_us);
  return seconds;
}

TEST(Sweep, RoundsOfTwoKindsAreNoEvidence) {
  SweepInput in = lm_head();
  in.modes[0].timings.erase(in.modes[0].timings.begin());
  in.sizes = {50257, 50304};
  auto& given = in.modes[0].timings[0];
  auto& size = in.modes[0].timings[1];
  const auto verdict = [&] { return at(sweep_result(in), 50304).verdict; };
  given = {.size = 50257, .seconds = rounds(1700, 0.5), .again = rounds(1700, 0.5, 3)};
  // In 5 rounds of 9 the size gains 100 µs, in 4 it loses as much: by the median distance from the median the noise is below 1 µs.
  size.seconds = two_kinds("ababababa", 1600, 1800, 5);
  EXPECT_EQ(verdict(), SweepVerdict::undecided);
  EXPECT_GT(*at(sweep_result(in), 50304).noise, 50e-6);
  // In 4 rounds it gains next to nothing: of one sign, and of two kinds.
  size.seconds = two_kinds("ababababa", 1600, 1698, 5);
  EXPECT_EQ(verdict(), SweepVerdict::undecided);
  // Two rounds of nine against it.
  size.seconds = two_kinds("aaabaaaba", 1650, 1705, 5);
  EXPECT_EQ(verdict(), SweepVerdict::undecided);
  // One of nine is no nine of ten; two of twenty are.
  size.seconds = two_kinds("aaaabaaaa", 1650, 1705, 5);
  EXPECT_EQ(verdict(), SweepVerdict::undecided);
  given = {.size = 50257, .seconds = rounds(1700, 0.5, 0, 20), .again = rounds(1700, 0.5, 3, 20)};
  size.seconds = two_kinds("aaaabaaaaaaaabaaaaaa", 1650, 1705, 5);
  EXPECT_EQ(verdict(), SweepVerdict::faster);
  // Clean rounds.
  size.seconds = rounds(1690, 0.5, 5, 20);
  EXPECT_EQ(verdict(), SweepVerdict::faster);
  size.seconds = rounds(1750, 0.5, 5, 20);
  EXPECT_EQ(verdict(), SweepVerdict::slower);
}

TEST(Sweep, BothTimingsOfTheGivenSizeHaveToSaySo) {
  SweepInput in = lm_head();
  auto& given = in.modes[0].timings[1];
  // The load meets the first timing of the given size in two rounds of three, the second in the others.
  given = {.size = 50257, .seconds = two_kinds("aababaaba", 1800, 1700), .again = two_kinds("aabbaabaa", 1700, 1700, 3)};
  in.modes[0].timings[2].seconds = rounds(1705, 0.5, 5);
  EXPECT_EQ(at(sweep_result(in), 50304).verdict, SweepVerdict::undecided);
  // In fewer than half of the rounds the second timing is as fast as the size: the median difference of both is small.
  given = {.size = 50257, .seconds = rounds(1800, 0.5), .again = two_kinds("aaaaaaaab", 1800, 1690, 3)};
  in.modes[0].timings[2].seconds = rounds(1700, 0.5, 5);
  EXPECT_EQ(at(sweep_result(in), 50304).verdict, SweepVerdict::undecided) << "one of nine";
  given.again = rounds(1800, 0.5, 3);
  EXPECT_EQ(at(sweep_result(in), 50304).verdict, SweepVerdict::faster);
}

TEST(Sweep, RatioAndDifferenceHaveOneSign) {
  SweepInput in = lm_head();
  in.columns = 100;
  in.sizes = {50, 100, 200};
  for (const auto& [half, twice] : {std::pair{400.0, 2500.0}, {600.0, 1500.0}, {1200.0, 800.0}}) {
    in.modes[0].timings = {{.size = 50, .seconds = rounds(half, 1)}, {.size = 100, .seconds = rounds(1000, 1), .again = rounds(1000, 1, 2)}, {.size = 200, .seconds = rounds(twice, 1)}};
    const Sweep sweep = sweep_result(in);
    for (const SweepSize& row : sweep.sizes) {
      const SweepTime& t = row.times[0];
      EXPECT_EQ(*t.ratio > 1.0, *t.difference > 0.0) << row.size;
      EXPECT_EQ(*t.ratio < 1.0, *t.difference < 0.0) << row.size;
      EXPECT_EQ(*t.difference > 0.0, t.verdict == SweepVerdict::faster) << row.size;
      EXPECT_EQ(*t.difference < 0.0, t.verdict == SweepVerdict::slower) << row.size;
    }
  }
}

TEST(Sweep, OneRoundIsOne) {
  SweepInput in = lm_head();
  for (auto& t : in.modes[0].timings) t.seconds.resize(1);
  std::ostringstream text;
  make_exporter("text")->write(sweep_result(in), text);
  EXPECT_THAT(text.str(), AllOf(HasSubstr("median of 1 round\n"), HasSubstr("1 round was timed; a claim needs 5")));
}

TEST(Sweep, AFewRoundsAreNoClaim) {
  SweepInput in = lm_head();
  for (auto& t : in.modes[0].timings) t.seconds.resize(4);
  const Sweep sweep = sweep_result(in);
  EXPECT_EQ(at(sweep, 50304).verdict, SweepVerdict::undecided);
  EXPECT_THAT(sweep.notes, Contains("4 rounds were timed; a claim needs 5"));
}

TEST(Sweep, EmulatedTimesAreNoEvidence) {
  SweepInput in = lm_head("AMD EPYC");
  in.modes[0].provenance = Provenance::emulated;
  const Sweep sweep = sweep_result(in);
  for (const SweepSize& row : sweep.sizes) EXPECT_EQ(row.times[0].verdict, SweepVerdict::emulated);
  EXPECT_EQ(at(sweep, 50304).seconds.provenance, Provenance::emulated);
  EXPECT_THAT(sweep.claims, IsEmpty());
  EXPECT_THAT(sweep.notes, Contains(HasSubstr("they say nothing of a GPU")));
}

TEST(Sweep, TimesThatCannotBeTrueAreInvalid) {
  SweepInput in = lm_head();
  // 2 · 512 · 768 · 50304 = 39.6 GFLOP: in 100 µs 396 TFLOP/s, the device has 312.
  in.modes[0].timings[2].seconds = rounds(100, 1);
  Sweep sweep = sweep_result(in);
  EXPECT_EQ(at(sweep, 50304).verdict, SweepVerdict::invalid);
  EXPECT_THAT(sweep.notes, Contains(HasSubstr("bf16 at 50304 is invalid: 395.6 TFLOP/s is faster than the hardware (312)")));
  EXPECT_THAT(sweep.claims, SizeIs(1));
  // The clock of the host was stopped without waiting.
  in = lm_head();
  in.modes[0].timings[2].device_seconds = rounds(280, 1);
  EXPECT_THAT(sweep_result(in).notes, Contains(HasSubstr("the device's clock says 280 µs and the host's 250 µs")));
  in.modes[0].timings[2].device_seconds = rounds(245, 1);
  EXPECT_EQ(at(sweep_result(in), 50304).verdict, SweepVerdict::faster);
}

TEST(Sweep, WhatWasNotTimedIsUnknown) {
  SweepInput in = lm_head();
  in.modes[0].timings[2] = {.size = 50304, .problem = "cublasLt: no algorithm"};
  const Sweep sweep = sweep_result(in);
  EXPECT_EQ(at(sweep, 50304).verdict, SweepVerdict::unknown);
  EXPECT_FALSE(at(sweep, 50304).seconds.value);
  EXPECT_THAT(sweep.notes, Contains("bf16 at 50304 is unknown: cublasLt: no algorithm"));
}

TEST(Sweep, TheThreeFormsSayTheSame) {
  const Sweep sweep = sweep_result(lm_head());
  const auto written = [&](const char* form) {
    std::ostringstream out;
    make_exporter(form)->write(sweep, out);
    return out.str();
  };
  const nlohmann::json json = nlohmann::json::parse(written("json"));
  EXPECT_EQ(json.at("kind"), "ulpscope sweep");
  EXPECT_EQ(json.at("sizes").at(2).at("times").at(0).at("verdict"), "faster");
  EXPECT_DOUBLE_EQ(json.at("sizes").at(2).at("times").at(0).at("seconds").at("value"), *at(sweep, 50304).seconds.value);
  EXPECT_EQ(json.at("sizes").at(2).at("mod_64"), 0);
  const std::string text = written("text");
  EXPECT_THAT(text, AllOf(HasSubstr("> 50257"), HasSubstr("250 µs +"), HasSubstr("47 columns of padding"), HasSubstr("6.8 x faster")));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(columns(line), 80u) << line;
  EXPECT_THAT(written("csv"), AllOf(HasSubstr("bf16,50304,verdict,,,,,,faster\r\n"), HasSubstr(",,fact,,,,,computed,")));
}

}  // namespace
}  // namespace ulpscope::reports
