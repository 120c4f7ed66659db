// Sums that stand still, foreseen before training: the numbers of cases 21 and 26, and others worked out by hand.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "profiler/predict/predict.h"
#include "tests/profiler/support/scratch.h"

namespace ulpscope::profiler {
namespace {

using reports::Foreseen;
using ::testing::EndsWith;
using ::testing::HasSubstr;

const Foreseen* stuck(const reports::ModePrediction& m, const std::string& node) {
  for (const Foreseen& f : m.foreseen)
    if (f.kind == "sum_stuck" && f.node == node) return &f;
  return nullptr;
}

double value(const Foreseen* finding, const std::string& key) {
  if (finding == nullptr) return NAN;
  for (const reports::Fact& fact : finding->facts)
    if (fact.key == key) return fact.value.value_or(NAN);
  return NAN;
}

reports::ModePrediction foresee(const Settings& settings, const std::string& mode) {
  for (reports::ModePrediction& m : predict(settings, mode, std::nullopt).modes)
    if (m.mode == mode) return m;
  throw std::runtime_error("no prediction for " + mode);
}

TEST(ForeseenSums, MicroBatchesOfCase26) {
  struct {
    const char* set;
    const char* node;
    double addends, at, expected;
  } const cases[] = {{"train.micro_batches=512", "w.grad.accumulate", 256, 0.5, 1},
                     {"train.micro_batches=1024", "w.grad.accumulate", 256, 0.25, 1},
                     {"train.micro_batches=1000", "tenth.grad.accumulate", 350, 4, 10}};
  for (const auto& c : cases) {
    const reports::ModePrediction m = foresee(case_settings("26", {c.set}), "bf16");
    const Foreseen* const f = stuck(m, c.node);
    ASSERT_NE(f, nullptr) << c.set;
    EXPECT_EQ(f->gravity, reports::Gravity::damage);
    EXPECT_EQ(value(f, "addends"), c.addends) << f->what;
    EXPECT_EQ(value(f, "stuck_at"), c.at) << f->what;
    EXPECT_NEAR(value(f, "expected"), c.expected, 1e-6) << f->what;
  }
  for (const char* set : {"train.micro_batches=8", "train.micro_batches=256"})
    EXPECT_EQ(stuck(foresee(case_settings("26", {set}), "bf16"), "w.grad.accumulate"), nullptr) << set << ": exact";
  EXPECT_EQ(stuck(foresee(case_settings("26", {"train.micro_batches=1024", "train.accumulator_format=fp16"}), "bf16"), "w.grad.accumulate"), nullptr)
      << "fp16 is exact to 2048";
  EXPECT_EQ(stuck(foresee(case_settings("26", {"train.micro_batches=1000", "train.accumulator_format=fp32"}), "bf16"), "tenth.grad.accumulate"), nullptr);
}

/// w x summed over k micro-batches whose x differ: the gradient of w is the sum of all x, over k.
Settings unequal(const std::string& micro_batches, const std::string& values, bool view = false) {
  Settings settings;
  settings.add_text("model = {kind = 'graph', loss = 'loss'}\n"
                    "train = {steps = 1, lr = 1.0, optimizer = 'sgd', momentum = 0.0, weight_decay = 0.0, clip = 0.0, accumulator_format = 'bf16', micro_batches = " + micro_batches + "}\n"
                    "run = {modes = ['bf16']}\n"
                    "node = [{name = 'x', op = 'input', values = " + values + "}, {name = 'w', op = 'parameter', shape = [1], init = 1.0},\n" +
                    (view ? "{name = 'r', op = 'reshape', inputs = 'w', shape = [1, 1]}, {name = 'p', op = 'mul', inputs = ['x', 'r']}" : "{name = 'p', op = 'mul', inputs = ['x', 'w']}") +
                    ", {name = 'loss', op = 'sum', inputs = 'p'}]\n",
                    "made-up.toml");
  return settings;
}

// Around 1/1024 each: from 0.25 on half an ulp of bf16 is as much, and what lies below is swallowed. The run itself says what the sum came to.
TEST(ForeseenSums, MicroBatchesThatDiffer) {
  const Settings settings = unequal("1024", "{uniform = [0.5, 1.0]}");
  const reports::ModePrediction m = foresee(settings, "bf16");
  const Foreseen* const f = stuck(m, "w.grad.accumulate");
  ASSERT_NE(f, nullptr) << m.verdict;
  EXPECT_EQ(f->gravity, reports::Gravity::damage) << f->what;
  EXPECT_EQ(m.forecast, reports::Forecast::damage) << m.verdict;
  EXPECT_NEAR(value(f, "expected"), 0.75, 0.02) << f->what;
  const ScratchFolder scratch;
  record_experiment(settings.build(), scratch("a.ulp"));
  const reports::RunFileReader reader(scratch("a.ulp"));
  const reports::StepRecord step = reader.steps(reader.runs().at(0).id).at(0);
  EXPECT_EQ(value(f, "stuck_at"), step.gradient_norm.value_or(NAN)) << f->what;
  EXPECT_EQ(stuck(foresee(unequal("4", "{uniform = [0.5, 1.0]}"), "bf16"), "w.grad.accumulate"), nullptr);
}

/// The gradient of the weight is a view of another: the numbers are those.
TEST(ForeseenSums, MicroBatchesWhoseGradientIsAView) {
  const reports::ModePrediction view = foresee(unequal("1024", "{uniform = [0.5, 1.0]}", true), "bf16"), whole = foresee(unequal("1024", "{uniform = [0.5, 1.0]}"), "bf16");
  const Foreseen* const f = stuck(view, "w.grad.accumulate");
  ASSERT_NE(f, nullptr) << view.verdict;
  EXPECT_EQ(f->gravity, reports::Gravity::damage) << f->what;
  for (const char* key : {"swallowed", "stuck_at", "expected"}) EXPECT_EQ(value(f, key), value(stuck(whole, "w.grad.accumulate"), key)) << key;
}

/// A sum of n ones, one after the other: it stands still at 256 in bf16, at 2048 in fp16.
TEST(ForeseenSums, NearTheBarNobodyKnows) {
  struct {
    const char* mode;
    const char* n;
    double missing;
    bool near;
  } const sums[] = {{"bf16", "258", 2.0 / 258, true}, {"bf16", "300", 44.0 / 300, false}, {"fp16", "2068", 20.0 / 2068, true}, {"fp16", "2100", 52.0 / 2100, false}};
  for (const auto& c : sums) {
    Settings settings;
    settings.add_text(std::string("model = {kind = 'graph', loss = 'loss'}\ntrain = {steps = 1, lr = 0.0, scaler.init = 1.0}\n"
                                  "override = [{nodes = 'loss', accumulate = 'lower', order = 'serial'}]\n"
                                  "node = [{name = 'x', op = 'constant', init = 1.0, shape = [") + c.n + "]}, {name = 'w', op = 'parameter', init = 1.0, shape = [1]},\n"
                      "{name = 'p', op = 'mul', inputs = ['x', 'w']}, {name = 'loss', op = 'sum', inputs = 'p'}]\n",
                      "made-up.toml");
    const reports::ModePrediction m = foresee(settings, c.mode);
    const Foreseen* const f = stuck(m, "loss");
    ASSERT_NE(f, nullptr) << c.mode << c.n << m.verdict;
    EXPECT_NEAR(value(f, "missing"), c.missing, 1e-9);
    EXPECT_EQ(f->gravity, c.near ? reports::Gravity::note : reports::Gravity::damage) << f->what;
    EXPECT_EQ(m.forecast, c.near ? reports::Forecast::safe : reports::Forecast::damage) << m.verdict;
    EXPECT_THAT(f->what, HasSubstr(c.near ? "may be missing, which is near the bar of 1 %" : "will be missing"));
  }
}

TEST(ForeseenSums, EmbeddingOfCase21) {
  const reports::ModePrediction fp16 = foresee(case_settings("21"), "fp16"), bf16 = foresee(case_settings("21"), "bf16");
  const Foreseen* const f = stuck(fp16, "drawn.lookup.dtable");
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(value(f, "stuck_at"), 32.0) << f->what;
  EXPECT_NEAR(value(f, "expected"), 126, 4) << f->what;
  EXPECT_THAT(f->what, HasSubstr("8 of 8 rows"));
  EXPECT_EQ(value(stuck(bf16, "drawn.lookup.dtable"), "stuck_at"), 4.0);
  // One row that starts at 1: 2697 additions of 0.01 end at 32; of 2696 of them nothing much is missing.
  const Foreseen* const counted = stuck(bf16, "counted.2697.lookup.dtable");
  ASSERT_NE(counted, nullptr);
  EXPECT_EQ(value(counted, "stuck_at"), 4.0);
}

/// Of ones, one after the other, bf16 keeps 256: a row of 512 lacks half of its sum, one of 258 0.8 %, which is near the bar, one of 256 nothing.
TEST(ForeseenSums, RowsBeyondTheBarAndRowsNearItAreCountedApart) {
  struct {
    std::vector<int> look_ups;
    const char* said;
    reports::Gravity gravity;
  } const tables[] = {
      {{512, 258, 256}, "; 1 of 3 rows that are looked up is off by more than 1 %, 1 is near that bar", reports::Gravity::damage},
      {{258, 512, 258, 300}, "; 2 of 4 rows that are looked up are off by more than 1 %, 2 are near that bar", reports::Gravity::damage},
      {{512, 256}, "; 1 of 2 rows that are looked up is off by more than 1 %", reports::Gravity::damage},
      {{258, 256, 258}, "; 2 of 3 rows that are looked up are near the bar of 1 %", reports::Gravity::note}};
  for (const auto& table : tables) {
    std::vector<int> index;
    for (std::size_t row = 0; row < table.look_ups.size(); ++row) index.insert(index.end(), static_cast<std::size_t>(table.look_ups[row]), static_cast<int>(row));
    Settings settings;
    settings.add_text(fmt::format("model = {{kind = 'graph', loss = 'loss'}}\ntrain = {{steps = 1, lr = 0.0}}\n"
                                  "override = [{{nodes = 'lookup', accumulate = 'lower', order = 'serial'}}]\n"
                                  "node = [{{name = 'table', op = 'parameter', shape = [5, 1]}}, {{name = 'index', op = 'constant', format = 'i32', shape = [{}], init = [{}]}},\n"
                                  "{{name = 'lookup', op = 'embedding', inputs = ['table', 'index']}}, {{name = 'loss', op = 'sum', inputs = 'lookup'}}]\n",
                                  index.size(), fmt::join(index, ", ")),
                      "made-up.toml");
    const reports::ModePrediction m = foresee(settings, "bf16");
    const Foreseen* const f = stuck(m, "lookup.dtable");
    ASSERT_NE(f, nullptr) << table.said << m.verdict;
    EXPECT_THAT(f->what, EndsWith(table.said));
    EXPECT_EQ(f->gravity, table.gravity) << f->what;
  }
}

/// 1.0 added 3000 times, one after the other: fp16 stands at 2048, bf16 at 256.
TEST(ForeseenSums, SerialSums) {
  Settings settings;
  settings.add_text("model = {kind = \"graph\", loss = \"loss\"}\ntrain = {steps = 1, scaler = {policy = \"none\"}}\nrun = {modes = [\"fp16\", \"bf16\"]}\n"
                    "override = [{nodes = \"total\", accumulate = \"lower\", order = \"serial\"}]\n"
                    "node = [{name = \"w\", op = \"parameter\", init = 1.0}, {name = \"ones\", op = \"constant\", shape = [3000], init = 1.0},\n"
                    "{name = \"wide\", op = \"mul\", inputs = [\"ones\", \"w\"]}, {name = \"total\", op = \"sum\", inputs = \"wide\"},\n"
                    "{name = \"loss\", op = \"scale\", inputs = \"total\", factor = 1e-4}]\n",
                    "made-up.toml");
  for (const auto& [mode, at] : {std::pair{"fp16", 2048.0}, std::pair{"bf16", 256.0}}) {
    const reports::ModePrediction m = foresee(settings, mode);
    const Foreseen* const f = stuck(m, "total");
    ASSERT_NE(f, nullptr) << mode;
    EXPECT_EQ(value(f, "stuck_at"), at) << f->what;
    EXPECT_EQ(value(f, "addends"), at) << f->what;
    EXPECT_EQ(value(f, "expected"), 3000.0) << f->what;
  }
}

}  // namespace
}  // namespace ulpscope::profiler
