// The loss-scale window against closed forms.
#include "reports/analysis/window.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "reports/analysis/diagnosis/diagnosis.h"
#include "reports/export/exporter.h"
#include "tests/reports/forged_run.h"
#include "tests/reports/scratch.h"

namespace ulpscope::reports {
namespace {

using testing::HasSubstr;

class Window : public Scratch {
 protected:
  /// A plan with gradients of that many layers, in fp16.
  ForgedRun model(int layers) {
    ForgedRun run("fp16");
    run.source("x", TensorRole::input, "fp32");
    run.node("mean", "loss", {"x"}, "fp32", Phase::forward, {});
    run.node("expand", "loss.dx", {"loss"}, "fp32", Phase::backward, {4}, "", TensorRole::gradient);
    std::string before = "loss.dx";
    for (int i = 0; i < layers; ++i) {
      const std::string name = fmt::format("layer{}.dx", i);
      run.node("matmul", name, {before}, "fp16", Phase::backward, {4}, "", TensorRole::gradient);
      before = name;
    }
    return run;
  }
  static TensorId id(const ForgedRun& run, const std::string& name) {
    for (const TensorRecord& t : run.tensors)
      if (t.name == name) return t.id;
    return {};
  }
  /// Gradients log-uniform between two powers of 2, as they stand at the scale: elements for each binade.
  static void gradient(ForgedRun& run, std::int64_t step, const std::string& tensor, int low, int high, double scale, std::uint64_t each = 100,
                       const std::string& observation = "sampled") {
    const int shift = static_cast<int>(std::log2(scale));
    ExponentHistogram histogram{.first = low + shift, .counts = std::vector<std::uint64_t>(static_cast<std::size_t>(high - low), each)};
    run.stats.push_back({.run = run.run.id, .step = step, .tensor = id(run, tensor), .observation = observation,
                         .elements = static_cast<std::int64_t>(each) * (high - low) + 7, .nan = 0, .positive_infinite = 0, .negative_infinite = 0, .zero = 7,
                         .greatest_magnitude = std::exp2(high) * scale * 0.999, .histogram = histogram});
  }
  std::optional<LossScaleWindow> window(const ForgedRun& run, double share = 0.01) {
    const RunFileReader reader = forge(in("a.ulp"), {&run});
    return scale_window(reader, Evidence(reader, run.run), share);
  }
};

/// Binades 2^-30 … 2^-10: at scale S = 2^k everything below 2^(-25-k) is lost, a twentieth for each binade. 0.999 × 2^(-10+k) < 65520 up to
/// k = 25, where it is 0.999 × 2^15.
TEST_F(Window, OfLogUniformGradients) {
  for (const double scale : {1.0, 1024.0, 0x1p-6, 0x1p30}) {
    ForgedRun run = model(1);
    run.step(1.0, false, scale);
    gradient(run, 0, "layer0.dx", -30, -10, scale);
    for (const int lost : {0, 1, 3}) {   // binades of 20 that may be lost
      const auto w = window(run, lost / 20.0 + 1e-9);
      ASSERT_TRUE(w);
      EXPECT_EQ(w->model.lowest, std::exp2(5 - lost)) << scale << " " << lost;
      EXPECT_EQ(w->model.highest, 0x1p26 * (0.999 * 65536 < 65520 ? 1.0 : 0.5)) << scale;
      EXPECT_TRUE(w->exists());
      EXPECT_EQ(w->scale, scale);
      EXPECT_NEAR(*w->model.flushed, std::clamp(5 - std::log2(scale), 0.0, 20.0) / 20, 1e-12);
      EXPECT_EQ(w->model.lowest_tensor, "layer0.dx");
    }
  }
}

/// case-18: log-uniform in [1e-9, 1e-5]. At scale 1 (log10(2.98e-8) + 9) / 4 = 36.9 % is lost, at 1024 nothing; under 1 % from 32 on;
/// 1e-5 × 2^32 = 42950 fits, twice that does not.
TEST_F(Window, OfCase18) {
  ForgedRun run = model(1);
  run.step(1.0, false, 1.0);
  constexpr int elements = 200000;
  std::map<int, std::uint64_t> bins;
  double greatest = 0.0;
  for (int i = 0; i < elements; ++i) {
    const double g = std::pow(10.0, -9.0 + 4.0 * (i + 0.5) / elements);
    ++bins[static_cast<int>(std::floor(std::log2(g)))];
    greatest = std::max(greatest, g);
  }
  ExponentHistogram histogram{.first = bins.begin()->first, .counts = {}};
  for (const auto& [bin, count] : bins) histogram.counts.push_back(count);
  run.stats.push_back({.run = run.run.id, .step = 0, .tensor = id(run, "layer0.dx"), .elements = elements, .greatest_magnitude = greatest, .histogram = histogram});
  const auto w = window(run);
  ASSERT_TRUE(w);
  EXPECT_NEAR(*w->model.flushed, (std::log10(0x1p-25) + 9) / 4, 1e-3);
  EXPECT_EQ(w->model.lowest, 32.0);
  EXPECT_EQ(w->model.highest, 0x1p32);
  run.steps.front().loss_scale = 1024.0;
  for (ExponentHistogram* h : {&*run.stats.back().histogram}) h->first += 10;
  run.stats.back().greatest_magnitude = greatest * 1024;
  const auto scaled = window(run);
  EXPECT_EQ(scaled->model.flushed, 0.0);
  EXPECT_EQ(scaled->model.lowest, 32.0);
  EXPECT_EQ(scaled->model.highest, 0x1p32);
}

TEST_F(Window, NoSingleScaleSuitsTwoLayersThatAreFarApart) {
  ForgedRun run = model(2);
  run.step(1.0, false, 256.0);
  gradient(run, 0, "layer0.dx", -4, 10, 256.0);     // overflows above 2^6
  gradient(run, 0, "layer1.dx", -60, -50, 256.0);   // wants 2^35 at least
  const auto w = window(run);
  ASSERT_TRUE(w);
  EXPECT_FALSE(w->exists());
  EXPECT_EQ(w->lowest_layer, "layer1");
  EXPECT_EQ(w->highest_layer, "layer0");
  EXPECT_EQ(w->model.lowest, 0x1p35);
  EXPECT_EQ(w->model.highest, 0x1p6);
  for (const LayerWindow& layer : w->layers) EXPECT_TRUE(layer.open()) << layer.layer << ": each for itself is fine";
  const Diagnosis d = diagnose(forge(in("b.ulp"), {&run}), {.mode = "fp16"});
  std::ostringstream text, json, csv;
  make_exporter("text")->write(d, text);
  make_exporter("json")->write(d, json);
  make_exporter("csv")->write(d, csv);
  EXPECT_THAT(text.str(), HasSubstr("no single scale: layer1 needs 2^35"));
  std::istringstream lines(text.str());
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
  const auto section = nlohmann::json::parse(json.str())["runs"][0]["window"];
  EXPECT_EQ(section["exists"], false);
  EXPECT_EQ(section["layers"].size(), 2u);
  EXPECT_EQ(section["provenance"], "computed");
  EXPECT_THAT(csv.str(), HasSubstr("window,"));
}

TEST_F(Window, EveryObservedStepHasToFit) {
  ForgedRun run = model(1);
  for (int i = 0; i < 2; ++i) run.step(1.0, false, i == 0 ? 64.0 : 128.0);
  gradient(run, 0, "layer0.dx", -30, -10, 64.0);
  gradient(run, 1, "layer0.dx", -34, -14, 128.0);   // smaller later on
  const auto w = window(run, 0.0);
  ASSERT_TRUE(w);
  EXPECT_EQ(w->model.lowest, 0x1p9);    // of the second
  EXPECT_EQ(w->model.highest, 0x1p26);  // of the first: 0.999 × 2^16 still fits
}

/// What is printed as lost goes with what is printed as the lowest: within bounds exactly where the scale in force is not below it.
TEST_F(Window, WhatIsLostAndTheLowestScaleGoTogether) {
  for (const double scale : {0x1p3, 0x1p9, 0x1p12})
    for (const int deep : {-34, -40}) {
      ForgedRun run = model(2);
      for (int i = 0; i < 2; ++i) run.step(1.0, false, i == 0 ? 64.0 : scale);
      gradient(run, 0, "layer0.dx", deep, -14, 64.0);
      gradient(run, 1, "layer0.dx", -20, -14, scale);   // nothing is lost in the latest
      gradient(run, 1, "layer1.dx", -20, -14, scale);
      const auto w = window(run);
      ASSERT_TRUE(w);
      for (const LayerWindow& layer : w->layers) {
        ASSERT_TRUE(layer.flushed_most);
        EXPECT_EQ(*layer.flushed_most <= w->share, !layer.lowest || *layer.lowest <= scale) << layer.layer << scale << deep;
        EXPECT_LE(*layer.flushed, *layer.flushed_most);
      }
      EXPECT_EQ(w->model.lowest_step, 0) << "the first decides";
      EXPECT_EQ(w->model.flushed_most_step, 0);
    }
}

TEST_F(Window, WhereNoScaleSuitsEveryStepTheLatestIsTold) {
  ForgedRun run = model(1);
  for (int i = 0; i < 2; ++i) run.step(1.0, false, 1024.0);
  gradient(run, 0, "layer0.dx", -130, -100, 1024.0);
  gradient(run, 1, "layer0.dx", -20, 0, 1024.0);
  const auto w = window(run);
  ASSERT_TRUE(w);
  EXPECT_FALSE(w->exists());
  EXPECT_TRUE(w->latest.open());
  std::ostringstream text;
  make_exporter("text")->write(diagnose(forge(in("b.ulp"), {&run}), {.mode = "fp16"}), text);
  std::string flat = text.str();
  flat = std::regex_replace(flat, std::regex("\\s+"), " ");
  EXPECT_THAT(flat, HasSubstr("under 1 % in step 1 (layer0.dx)"));
  EXPECT_THAT(flat, HasSubstr("In step 2 alone, the latest, one does: from 2^-5 to 2^16, and 2^10 was in force"));
}

TEST_F(Window, AShadowKnowsBetterThanTheRun) {
  ForgedRun run = model(1);
  run.step(1.0, false, 1024.0);
  gradient(run, 0, "layer0.dx", -30, -10, 1024.0);
  gradient(run, 0, "layer0.dx", -40, -10, 1.0, 100, "shadow");   // unscaled, and with what the run lost on the way
  const auto w = window(run, 0.0);
  ASSERT_TRUE(w);
  EXPECT_EQ(w->model.lowest, 0x1p15);
  EXPECT_EQ(w->provenance, Provenance::recomputed);
  EXPECT_EQ(LossScaleWindow{}.provenance, Provenance::computed) << "the scales are worked out from what was counted";
}

/// layer0 overflows when it is stored: 2^20 at a scale of 512 is 2048 unscaled, which fits up to 2^4. What reads it is infinite in every observed
/// step, at 512 at the least: a scale that suits is below that, and what the layer loses below the range nobody knows.
TEST_F(Window, AGradientThatWasNeverFiniteHasABoundOrIsUnknown) {
  for (const bool forward : {false, true}) {
    ForgedRun run = model(2);
    for (int i = 0; i < 2; ++i) {
      const double scale = i == 0 ? 1024.0 : 512.0;
      run.step(forward ? inf_number : 1.0, true, scale);
      const auto row = [&](const std::string& tensor, std::int64_t infinite, std::int64_t overflowed, double greatest) {
        run.stats.push_back({.run = run.run.id, .step = i, .tensor = id(run, tensor), .observation = "replay", .elements = 4, .nan = 0, .positive_infinite = infinite,
                             .negative_infinite = 0, .zero = 0, .overflowed = overflowed, .greatest_magnitude = greatest});
      };
      row("layer0.dx", 0, 4, 2048.0 * scale);
      row("layer1.dx", 4, 0, 0.0);
    }
    const auto w = window(run);
    ASSERT_TRUE(w);
    ASSERT_EQ(w->layers.size(), 2u);
    const LayerWindow& blind = w->layers.front();
    EXPECT_EQ(blind.layer, "layer1");
    EXPECT_TRUE(blind.blind);
    EXPECT_EQ(blind.highest, forward ? Number() : Number(256.0));
    EXPECT_EQ(blind.lowest, std::nullopt);
    EXPECT_FALSE(w->layers.back().blind);
    EXPECT_EQ(w->model.highest, 0x1p4);
    EXPECT_TRUE(w->model.blind);
    std::ostringstream text;
    make_exporter("text")->write(diagnose(forge(in("b.ulp"), {&run}), {.mode = "fp16"}), text);
    const std::string flat = std::regex_replace(text.str(), std::regex("\\s+"), " ");
    EXPECT_THAT(flat, HasSubstr(forward ? "layer1 unknown unknown" : "layer1 unknown <= 2^8"));
    EXPECT_THAT(flat, HasSubstr("which scales suit the whole model is not known: layer1.dx was finite in no observed step"));
  }
}

// 300000 fits fp16 at 2^-3 (37500), not at 2^-2 (75000). The other branch comes first in the plan and fits at any scale up to 2^15.
TEST_F(Window, ALossThatIsASumBeginsInSeveralPlaces) {
  ForgedRun run("fp16_pure");
  run.run.loss_scaling = "none";
  run.source("x", TensorRole::input, "fp16");
  run.source("one", TensorRole::input, "fp16", {});
  run.node("scale", "big", {"x"}, "fp16");
  run.node("mean", "loss", {"big"}, "fp32", Phase::forward, {});
  for (const char* name : {"second.dx", "first.dx"}) run.node("expand", name, {"one"}, "fp16", Phase::backward, {4}, "", TensorRole::gradient);
  run.node("scale", "big.dx", {"first.dx"}, "fp16", Phase::backward, {4}, "", TensorRole::gradient);
  run.step(1.0);
  run.observe(0, {{"big.dx", {.greatest = 300000.0, .overflowed = 4}}});
  const auto found = window(run);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->model.highest, 0.125);
  EXPECT_EQ(found->highest_layer, "big");
}

TEST_F(Window, WhatIsNotThere) {
  ForgedRun run = model(1);
  run.step(1.0, false, 1024.0);
  EXPECT_FALSE(window(run)) << "nothing was observed";
  run.node("matmul", "wide.dx", {"loss.dx"}, "bf16", Phase::backward);
  gradient(run, 0, "wide.dx", -30, -10, 1024.0);
  EXPECT_FALSE(window(run)) << "bf16 has the range of fp32";
  gradient(run, 0, "layer0.dx", -20, -10, 1024.0);
  run.stats.back().positive_infinite = 1;
  EXPECT_FALSE(window(run)) << "an operand was not finite: nothing is known of its range";
}

}  // namespace
}  // namespace ulpscope::reports
