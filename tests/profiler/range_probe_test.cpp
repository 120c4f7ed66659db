// Rows of ranges: one for each step, over its micro-batches, of the first execution alone; and their memory is used again.
#include "profiler/probes/range_probe.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/engine/support/small_training.h"

namespace ulpscope::profiler {
namespace {

using engine::testing::SmallTraining;

/// The gradient of w is x, times the loss scale, in fp16 where the product is.
struct Recorded {
  Recorded(std::int64_t micro_batches, engine::testing::MicroDataset::Fill fill, float scale, bool replay = false) : training(model(), "fp16", config(micro_batches, scale), std::move(fill)),
        probe(training.topics, training.trainer.plan().graph, training.trainer.plan().loss,
              [this](reports::Record r) { rows.push_back(std::get<reports::RangeRecord>(std::move(r))); }, faults, reports::RunId{3}) {
    engine::Observation o;
    o.ranges = true;
    if (replay) o.replay = [](const engine::StepResult&) { return true; };
    training.trainer.observe(o);
  }
  static engine::Model model() { return engine::testing::weighted_sum({1, 1}); }
  static engine::TrainConfig config(std::int64_t micro_batches, float scale) {
    engine::TrainConfig c = engine::testing::plain_training(engine::OptimizerKind::sgd, 0.0);
    c.micro_batches = micro_batches;
    c.scaler = scaling::PytorchScaler{.initial_scale = scale};
    engine::Override narrow;
    narrow.nodes = "product";
    narrow.output = engine::OverrideFormat{false, Format::fp16};
    c.overrides = {narrow};
    return c;
  }
  const reports::TensorRange* range(std::size_t row, const std::string& name) const {
    for (const reports::TensorRange& r : rows.at(row).tensors)
      if (training.trainer.plan().graph.value(engine::ValueId{static_cast<std::int32_t>(r.tensor)}).name == name) return &r;
    return nullptr;
  }

  SmallTraining training;
  Faults faults;
  std::vector<reports::RangeRecord> rows;
  RangeProbe probe;
};

/// The widest gradient of a row that no rounding has made infinite.
float greatest(const reports::RangeRecord& row, const engine::Graph& graph) {
  float value = 0.0f;
  for (const reports::TensorRange& r : row.tensors)
    if (graph.value(engine::ValueId{static_cast<std::int32_t>(r.tensor)}).shape.elements() == 2) value = std::max(value, r.greatest_magnitude);
  return value;
}

TEST(RangeProbe, OneRowForEachStepOverTheMicroBatches) {
  Recorded t(3, [](std::int64_t i, std::int32_t m) { return std::vector<std::vector<float>>{{1.0f + static_cast<float>(i), m == 1 ? 48.0f : 2.0f}}; }, 8.0f);
  t.training.steps(4);
  ASSERT_EQ(t.rows.size(), 4u);
  const engine::Graph& graph = t.training.trainer.plan().graph;
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(t.rows[i].step, static_cast<std::int64_t>(i));
    EXPECT_EQ(t.rows[i].run, reports::RunId{3});
    EXPECT_NEAR(greatest(t.rows[i], graph), 8.0f * (48.0f + 4.0f) / 3.0f, 0.1f) << "the sum of three shares";
    const reports::TensorRange* loss = t.range(i, graph.value(t.training.trainer.plan().loss).name);
    ASSERT_NE(loss, nullptr);
    EXPECT_FLOAT_EQ(loss->greatest_magnitude, 48.0f + 1.0f + static_cast<float>(i)) << "not scaled";
    for (const reports::TensorRange& r : t.rows[i].tensors) EXPECT_FALSE(r.not_finite || r.overflowed);
    EXPECT_EQ(t.range(i, "w"), nullptr);
    EXPECT_EQ(t.range(i, "product"), nullptr) << "forward";
  }
  EXPECT_EQ(t.faults.count(), 0) << t.faults.first();
}

TEST(RangeProbe, AnOverflowIsFlaggedWhereItIsAndBehind) {
  for (const bool replay : {false, true}) {
    Recorded t(1, [](std::int64_t, std::int32_t) { return std::vector<std::vector<float>>{{100.0f, 3.0f}}; }, 0x1p17f, replay);
    t.training.steps(12);
    ASSERT_EQ(t.rows.size(), 12u);
    const engine::Graph& graph = t.training.trainer.plan().graph;
    int overflowed = 0, behind = 0;
    for (const reports::TensorRange& r : t.rows[0].tensors) {
      const engine::Value& value = graph.value(engine::ValueId{static_cast<std::int32_t>(r.tensor)});
      if (r.overflowed) {
        EXPECT_EQ(value.format, Format::fp16) << value.name;
        EXPECT_FLOAT_EQ(r.greatest_magnitude, value.shape.elements() == 1 ? 0x1p17f : std::max(r.greatest_magnitude, 0x1p17f)) << "before the rounding";
      }
      overflowed += r.overflowed ? 1 : 0;
      behind += r.not_finite ? 1 : 0;
    }
    EXPECT_GT(overflowed, 0);
    EXPECT_GT(behind, 0);
    for (const reports::TensorRange& r : t.rows.back().tensors) EXPECT_FALSE(r.not_finite || r.overflowed);
  }
}

TEST(RangeProbe, KeepsRowsThatAreStillInUse) {
  float x = 0.0f;
  Recorded t(1, [&x](std::int64_t, std::int32_t) { return std::vector<std::vector<float>>{{++x, 0.0f}}; }, 1.0f);
  t.training.steps(200);   // more than are prepared, and all are held
  const engine::Graph& graph = t.training.trainer.plan().graph;
  for (std::size_t i = 0; i < t.rows.size(); ++i) ASSERT_EQ(greatest(t.rows[i], graph), static_cast<float>(i + 1));
  EXPECT_EQ(t.probe.steps(), 200);
  t.rows.clear();
  t.training.steps(300);
  for (std::size_t i = 0; i < t.rows.size(); ++i) ASSERT_EQ(greatest(t.rows[i], graph), static_cast<float>(i + 201));
}

TEST(RangeProbe, AViewHasNoRangeOfItsOwn) {
  engine::Model m;
  const engine::ValueId x = m.graph.add_input("x", Shape{4}, Format::fp32);
  const engine::ValueId w = m.graph.add_parameter("w", Shape{4}, {engine::Initial::Kind::ones, 0.0, {}});
  const engine::ValueId square = m.graph.apply("reshape", "square", {m.graph.apply("mul", "product", {w, x})}, {{"shape", std::vector<std::int64_t>{2, 2}}});
  m.loss = m.graph.apply("sum", "loss", {square});
  m.inputs = {x};
  SmallTraining training(m, "fp32", engine::testing::plain_training(engine::OptimizerKind::sgd, 0.0), engine::testing::always({1, 2, 3, 4}));
  Faults faults;
  std::vector<reports::RangeRecord> rows;
  const RangeProbe probe(training.topics, training.trainer.plan().graph, training.trainer.plan().loss,
                         [&rows](reports::Record r) { rows.push_back(std::get<reports::RangeRecord>(std::move(r))); }, faults, reports::RunId{1});
  engine::Observation o;
  o.ranges = true;
  training.trainer.observe(o);
  training.step();
  ASSERT_EQ(rows.size(), 1u);
  const engine::Graph& graph = training.trainer.plan().graph;
  ASSERT_TRUE(graph.contains("square.dx")) << "the backward pass has a view, too";
  for (const reports::TensorRange& r : rows[0].tensors) {
    const std::string& name = graph.value(engine::ValueId{static_cast<std::int32_t>(r.tensor)}).name;
    EXPECT_NE(name, "square.dx");
    EXPECT_GT(r.greatest_magnitude, 0.0f) << name;
  }
}

TEST(RangeProbe, AFaultDoesNotEndTheTraining) {
  SmallTraining training(Recorded::model(), "fp16", Recorded::config(1, 8.0f), engine::testing::always({1, 2}));
  Faults faults;
  RangeProbe probe(training.topics, training.trainer.plan().graph, training.trainer.plan().loss,
                   [](reports::Record) { throw std::runtime_error("no disk"); }, faults, reports::RunId{1});
  engine::Observation o;
  o.ranges = true;
  training.trainer.observe(o);
  EXPECT_NO_THROW(training.steps(2));
  EXPECT_GT(faults.count(), 0);
}

}  // namespace
}  // namespace ulpscope::profiler
