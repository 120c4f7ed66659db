// The forms of output: stated together for one comparison, and held against each other for awkward ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "kernels/error.h"
#include "reports/export/escape.h"
#include "reports/export/exporter.h"
#include "reports/export/layout.h"
#include "reports/export/numbers.h"
#include "tests/reports/made_up_runs.h"
#include "tests/reports/scratch.h"

namespace ulpscope::reports {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

template <class Section>
std::string written(const char* form, const Section& section) {
  std::ostringstream out;
  make_exporter(form)->write(section, out);
  return out.str();
}

// RFC 4180, strictly: every line ends in CRLF, quotes only where they belong.
std::vector<std::vector<std::string>> parse_csv(const std::string& text) {
  std::vector<std::vector<std::string>> lines;
  std::size_t at = 0;
  while (at < text.size()) {
    std::vector<std::string> fields(1);
    for (;;) {
      std::string& field = fields.back();
      if (text.at(at) == '"') {
        for (++at;; ++at) {
          if (text.at(at) == '"') {
            if (text.at(at + 1) != '"') break;
            ++at;
          }
          field += text.at(at);
        }
        ++at;
      } else {
        while (text.at(at) != ',' && text.at(at) != '\r') {
          EXPECT_NE(text.at(at), '"');
          EXPECT_NE(text.at(at), '\n');
          field += text.at(at++);
        }
      }
      if (text.at(at) != ',') break;
      ++at;
      fields.emplace_back();
    }
    EXPECT_EQ(text.substr(at, 2), "\r\n");
    at += 2;
    lines.push_back(fields);
  }
  return lines;
}

// A number of the JSON form as the CSV form should have it.
std::string as_csv(const json& value, FigureStyle style) {
  if (value.is_null()) return "";
  if (value.is_string()) return value;
  return exact(value.get<double>(), style);
}

std::size_t widest(const std::string& text) {
  std::istringstream lines(text);
  std::size_t width = 0;
  for (std::string line; std::getline(lines, line);) width = std::max(width, columns(line));
  return width;
}

class Export : public Scratch {
 protected:
  // fp32 and fp16 with three seeds each.
  Comparison ordinary() {
    std::vector<MadeUpRun> runs;
    for (const std::int64_t seed : {1, 2, 3}) {
      MadeUpRun fp32 = made_up("fp32", seed, 1.75 + 0.125 * static_cast<double>(seed));
      fp32.step_seconds = {0.010, 0.011, 0.012, 0.013, 0.014};
      fp32.peak_bytes = 4 << 20;
      MadeUpRun fp16 = made_up("fp16", seed, 1.75 + 0.125 * static_cast<double>(seed) + 0.5);
      fp16.run.loss_scaling = "dynamic:pytorch";
      fp16.scale = [](std::int64_t i) { return i < 3 ? 65536.0 : 32768.0; };
      fp16.overflow = [](std::int64_t i) { return i == 2; };
      fp16.step_seconds = {0.020, 0.022, 0.024, 0.026, 0.028};
      fp16.peak_bytes = 3 << 20;
      runs.push_back(fp16);
      runs.push_back(fp32);
    }
    const RunFileReader reader = make_run_file(in("a.ulp"), runs);
    Comparison comparison = compare({&reader});
    comparison.files = {"a.ulp"};
    for (Setting& setting : comparison.settings) setting.files = {"a.ulp"};
    for (ModeResult& mode : comparison.modes)
      for (RunResult& run : mode.runs) run.file = "a.ulp";
    return comparison;
  }

  // Every form says the same of every figure.
  static void expect_agreement(const Comparison& comparison) {
    const json document = json::parse(written("json", comparison));
    const auto lines = parse_csv(written("csv", comparison));
    ASSERT_EQ(document["modes"].size(), comparison.modes.size());
    const std::string text = written("text", comparison);
    EXPECT_LE(widest(text), 80u) << text;
    for (std::size_t i = 0; i < comparison.modes.size(); ++i) {
      const ModeResult& mode = comparison.modes[i];
      const json& in_json = document["modes"][i];
      for (const FigureInfo& info : comparison_figures()) {
        SCOPED_TRACE(mode.mode + " " + info.key);
        const json& figure = in_json["figures"][info.key];
        const auto line = std::find_if(lines.begin(), lines.end(), [&](const std::vector<std::string>& fields) {
          return fields[0] == mode.tag && fields[1] == mode.mode && fields[3].empty() && fields[4] == info.key;
        });
        ASSERT_NE(line, lines.end());
        ASSERT_EQ(line->size(), 12u);
        EXPECT_EQ((*line)[6], as_csv(figure["value"], info.style));
        EXPECT_EQ((*line)[7], as_csv(figure["spread"], info.style));
        EXPECT_EQ((*line)[8], as_csv(figure["low"], info.style));
        EXPECT_EQ((*line)[9], as_csv(figure["high"], info.style));
        EXPECT_EQ((*line)[10], figure["samples"].is_null() ? "" : figure["samples"].dump());
        EXPECT_EQ((*line)[11], figure["provenance"].get<std::string>());
        EXPECT_EQ((*line)[6], exact(info.get(mode).value, info.style));
        const bool shown = info.get(mode).known() && !(info.style == FigureStyle::bytes && info.get(mode).value == 0.0);
        if (shown && info.style != FigureStyle::scale) {
          EXPECT_THAT(text, HasSubstr(cell_text(info.get(mode), info.style, 14)));
        }
      }
      EXPECT_EQ(in_json["verdict"].get<std::string>(), name(mode.judgement.verdict));
    }
  }
};

TEST_F(Export, OneComparisonInEveryForm) {
  const Comparison comparison = ordinary();
  EXPECT_EQ(written("text", comparison), R"(Comparison of a.ulp
gpt on README.md, 20 steps, batch 8, context 64
Testium 9000 (cpu, 2 threads)
Recorded by ulpscope 0.1.0 (abc1234)

                               fp32           fp16
loss                       computed       computed
  final loss           2.0000 ±0.12   2.5000 ±0.12
  best loss            2.0000 ±0.12   2.5000 ±0.12
  held-out loss        2.0000 ±0.12   2.5000 ±0.12
  distance from fp32      reference           +0.5
    95 % from                                 +0.5
    to                                        +0.5
  verdict                 reference          worse
steps                       counted        counted
  seeds                           3              3
  steps applied                  60             57
  steps skipped                   0              3
  overflows                       0              3
  loss scale, first            none          65536
  loss scale, range            none    32768…65536
  loss scale, last             none          32768
time                       measured       emulated
  step time                   12 ms          24 ms
    quartiles        11.00…13.00 ms 22.00…26.00 ms
    steps timed                  15             15
  tokens/s                    42667          21333
  × fp32's speed               1.00           0.50
    which is               computed       emulated
memory                      counted        counted
  peak                        4 MiB          3 MiB
  × fp32's peak                1.00           0.75
    which is               computed       computed
peak by category           computed       computed
  weights                     1 MiB        768 KiB
  activations                 3 MiB       2.25 MiB

fp16  worse: held-out loss +0.5 against fp32 (95 % interval +0.5 to +0.5, 3
      seeds), wholly beyond ±0.125, one standard deviation between fp32 seeds.

Final loss: mean of the last 10 recorded steps whose loss is finite; NaN if the
run ended in numbers that are not. ±: one standard deviation between seeds.
Steps: all seeds together. Step time: median of the timing phase, which times
one seed.
measured    read from a clock on the device that did the work.
counted     counted while it happened.
computed    the result of arithmetic: in training or from what was recorded.
emulated    this processor carries the format out in software; the time says
            nothing about hardware that has it, and no verdict on speed is
            drawn.
)");
  const json document = json::parse(written("json", comparison));
  EXPECT_EQ(document["modes"][1]["mode"], "fp16");
  EXPECT_EQ(document["modes"][1]["verdict"], "worse");
  EXPECT_EQ(document["modes"][1]["figures"]["step_seconds"],
            json::parse(R"({"value": 0.024, "spread": null, "low": 0.022,
      "high": 0.026, "samples": 15, "provenance": "emulated"})"));
  EXPECT_EQ(document["modes"][1]["figures"]["peak_bytes"]["value"].dump(), "3145728");
  EXPECT_EQ(document["modes"][1]["runs"][2]["seed"], 3);
  EXPECT_EQ(document["modes"][0]["figures"]["loss_scale_first"]["value"], nullptr);
  const std::string csv = written("csv", comparison);
  EXPECT_THAT(csv, testing::StartsWith("tag,mode,device,seed,figure,unit,value,spread,low,high,samples,provenance\r\n"
                                       ",fp32,Testium 9000,,seeds,,3,,,,,counted\r\n"
                                       ",fp32,Testium 9000,,final_loss,,2,0.125,,,3,computed\r\n"));
  EXPECT_THAT(csv, HasSubstr(",fp16,Testium 9000,,step_seconds,s,0.024,,0.022,0.026,15,emulated\r\n"));
  EXPECT_THAT(csv, HasSubstr(",fp16,Testium 9000,,loss_scale_range,,,,32768,65536,3,counted\r\n"));
  EXPECT_THAT(csv, HasSubstr(",fp16,Testium 9000,,verdict,,worse,,,,,\r\n"));
  // The allocator counts the peak; what it is for is computed.
  EXPECT_THAT(csv, HasSubstr(",fp16,Testium 9000,,peak_bytes,B,3145728,,,,3,counted\r\n"));
  EXPECT_THAT(csv, HasSubstr(",fp16,Testium 9000,,peak_weights_bytes,B,786432,,,,3,computed\r\n"));
  EXPECT_THAT(csv, HasSubstr(",fp16,Testium 9000,3,steps_skipped,,1,,,,,counted\r\n"));
  expect_agreement(comparison);
}

// Every number of a comparison, one after the other, through a member list kept by hand: a figure that is missing here
// is missing in comparison_figures() too, and its test counts them.
std::vector<Figure*> all_figures(ModeResult& mode) {
  std::vector<Figure*> list{
      &mode.seeds,       &mode.final_loss,   &mode.best_loss,         &mode.held_out_loss, &mode.distance,
      &mode.applied,     &mode.skipped,      &mode.overflows,         &mode.scale_first,   &mode.scale_range,
      &mode.scale_last,  &mode.step_seconds, &mode.tokens_per_second, &mode.speed,         &mode.peak_bytes,
      &mode.memory_ratio, &mode.sums_distance};
  for (Figure& figure : mode.peak_by_category) list.push_back(&figure);
  return list;
}

TEST_F(Export, AnyFigureMayBeNonFiniteOrUnknown) {
  Comparison comparison = ordinary();
  EXPECT_EQ(all_figures(comparison.modes[0]).size(), comparison_figures().size());
  for (const Number value :
       {Number(nan_value), Number(inf), Number(-inf), Number(), Number(1e300), Number(-1e-300), Number(0.0)})
    for (ModeResult& mode : comparison.modes) {
      for (Figure* figure : all_figures(mode))
        *figure = {.value = value,
                   .spread = value,
                   .low = value,
                   .high = value,
                   .samples = {},
                   .provenance = Provenance::inferred};
      for (RunResult& run : mode.runs)
        run.final_loss = run.best_loss = run.held_out_loss = run.scale_first = run.scale_last = run.scale_least =
            run.scale_greatest = value;
      SCOPED_TRACE(value.value_or(-1.5));
      expect_agreement(comparison);
    }
}

TEST_F(Export, FiguresOfDifferentOriginInOneColumnAreSaidOneByOne) {
  Comparison comparison = ordinary();
  comparison.modes[1].held_out_loss.provenance = Provenance::projected;
  const std::string text = written("text", comparison);
  EXPECT_THAT(
      text,
      HasSubstr(
          "  held-out loss        2.0000 ±0.12   2.5000 ±0.12\n    which is               computed      projected\n"));
  EXPECT_THAT(text, HasSubstr("projected   calculated for a device"));
}

TEST_F(Export, WhatTheRecordingDoesNotSayIsUnknownAndShown) {
  MadeUpRun run = made_up("fp32", 1, 2.0);
  run.run.time_provenance = Provenance::unknown;
  run.step_seconds = {0.010};
  const RunFileReader reader = make_run_file(in("a.ulp"), {run});
  const std::string text = written("text", compare({&reader}));
  EXPECT_THAT(text, HasSubstr("time                        unknown\n  step time                   10 ms\n"));
  EXPECT_THAT(text, HasSubstr("unknown     the recording does not say"));
}

TEST_F(Export, NamesCannotBreakAForm) {
  Comparison comparison = ordinary();
  const std::string evil = "a,\"b\"\r\n\x1b[31m<script>\xff\t日本";
  comparison.files = {evil};
  comparison.warnings = {evil, "", "a warning, with \"quotes\""};
  comparison.settings[0].device = evil;
  for (ModeResult& mode : comparison.modes) {
    mode.mode += evil;
    mode.device = evil;
    mode.notes = {evil};
    mode.judgement.reason = evil;
    for (RunResult& run : mode.runs) run.run.message = evil;
  }
  const json document = json::parse(written("json", comparison));
  EXPECT_THAT(document["files"][0].get<std::string>(), HasSubstr("<script>\xEF\xBF\xBD"));
  const auto lines = parse_csv(written("csv", comparison));
  for (const auto& line : lines) EXPECT_EQ(line.size(), 12u);
  EXPECT_EQ(lines[1][2], evil);
  const std::string text = written("text", comparison);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_LE(widest(text), 80u);
}

TEST_F(Export, MoreThanFourModesGoIntoASecondBlock) {
  std::vector<MadeUpRun> runs;
  for (const char* mode : {"fp32", "tf32", "fp16", "bf16", "fp16+tf32", "bf16+tf32"})
    runs.push_back(made_up(mode, 1, 2.0));
  const RunFileReader reader = make_run_file(in("a.ulp"), runs);
  const Comparison comparison = compare({&reader});
  const std::string text = written("text", comparison);
  EXPECT_THAT(text, HasSubstr("fp32           tf32           fp16           bf16\n"));
  EXPECT_THAT(text, HasSubstr("fp16+tf32      bf16+tf32\n"));
  EXPECT_THAT(text, HasSubstr("time                        unknown        unknown"));
  EXPECT_THAT(text, HasSubstr("undecided: held-out loss +0 against fp32, on 1 seed; a"));
  EXPECT_LE(widest(text), 80u);
}

TEST_F(Export, SeveralSettingsAreTagged) {
  MadeUpRun other = made_up("fp32", 1, 2.0);
  other.run.batch = 16;
  const RunFileReader reader = make_run_file(in("a.ulp"), {made_up("fp32", 1, 2.0), other});
  const Comparison comparison = compare({&reader});
  const std::string text = written("text", comparison);
  EXPECT_THAT(
      text,
      HasSubstr("A: gpt on README.md, 20 steps, batch 8, context 64\n   Testium 9000 (cpu, 2 threads)\nB: gpt on"));
  EXPECT_THAT(
      text,
      HasSubstr(
          "                               fp32           fp32\n                                  A              B\n"));
  EXPECT_THAT(text, HasSubstr("Warning: A and B are not alike"));
  expect_agreement(comparison);
}

TEST_F(Export, SummaryInEveryForm) {
  std::vector<MadeUpRun> runs{made_up("fp32", 1, 2.0), made_up("fp16", 1, 2.0)};
  runs[1].run.status = RunStatus::interrupted;
  runs[1].run.message = "Ctrl-C";
  runs[1].steps = 12;
  runs[1].held_out.reset();
  runs[1].overflow = [](std::int64_t i) { return i == 3; };
  runs[1].loss = [](std::int64_t i) { return i > 10 ? nan_value : 2.0; };
  runs[1].run.non_standard = {"injected value"};
  Summary summary = summarise(make_run_file(in("a.ulp"), runs));
  summary.file = "a.ulp";
  summary.bytes = 4096;
  summary.machines = {{.host = "box",
                       .operating_system = "Debian 12",
                       .processor = "Testium 9000",
                       .cores = 2,
                       .memory_bytes = std::int64_t{8} << 30,
                       .devices_json = "{\"cpu\": [\"fp32\"]}",
                       .libraries_json = "not json"}};
  summary.completeness = {{.run = RunId{2},
                           .kind = "observation_cost",
                           .subject = "recorder",
                           .seconds = nan_value,
                           .provenance = Provenance::measured,
                           .detail = "of the whole run"}};
  EXPECT_EQ(written("text", summary), R"(file            a.ulp (4 KiB, schema 4)
experiment      made up
created         2025-01-31T12:00:00Z
command         ulpscope run gpt.toml
recorded by     ulpscope 0.1.0 (abc1234)
machine         Testium 9000, 2 cores, 8 GiB, Debian 12

  run            seed  status              steps   final loss     held-out
  fp32              1  finished            20/20       2.0000       2.0000
  fp16              1  interrupted         12/20         none      unknown
                       Ctrl-C
                       diverged: the loss is not finite from step 12 on; the
                       last finite one is 2, in step 11
                       non-standard: injected value

rows            experiment 1, run 2, step 32, evaluation 1, event 1
events          skip 1
completeness    observation_cost recorder (run 2): NaN measured, of the whole
                run
)");
  const json document = json::parse(written("json", summary));
  EXPECT_EQ(document["runs"][1]["status"], "interrupted");
  EXPECT_EQ(document["runs"][1]["final_loss"], "NaN");
  EXPECT_EQ(document["runs"][1]["last_finite_loss"], 2.0);
  EXPECT_EQ(document["runs"][1]["last_finite_step"], 10);
  EXPECT_EQ(document["runs"][1]["held_out_loss"], nullptr);
  EXPECT_EQ(document["rows"]["step"], 32);
  EXPECT_EQ(document["machines"][0]["devices"]["cpu"][0], "fp32");
  EXPECT_EQ(document["machines"][0]["libraries"], "not json");
  EXPECT_EQ(document["completeness"][0]["seconds"], "NaN");
  EXPECT_THAT(parse_csv(written("csv", summary)),
              testing::Contains(std::vector<std::string>{"rows", "step", "32", ""}));
}

TEST(Exporter, NamesTheFormsThereAre) {
  EXPECT_THAT(message_of<UsageError>([] { make_exporter("xml"); }), HasSubstr("\"xml\"; there are text, json, csv"));
}

TEST(EscapedText, MarksThatTurnTheDirectionDoNotStay) {
  const auto as_it_is = [](std::string_view text) { return escaped_text(text, [](char c, std::string& out) { out += c; }); };
  EXPECT_EQ(as_it_is("a\u202eb\u2066c\u200fd"), "a\ufffdb\ufffdc\ufffdd");
  EXPECT_EQ(as_it_is("\u2029 \u2070 \u200d \u0627 \u2192"), "\u2029 \u2070 \u200d \u0627 \u2192") << "neighbours and Arabic letters stay";
}

}  // namespace
}  // namespace ulpscope::reports
