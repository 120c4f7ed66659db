// Ranges of the backward pass in every step: the numbers of a full count, no bit changed, and full counts where they are due.
#include <cmath>
#include <map>

#include <gtest/gtest.h>

#include "engine/data/dataset.h"
#include "engine/train/trainer.h"
#include "kernels/ops/rounding_counts.h"

namespace ulpscope::engine {
namespace {

struct Range {
  std::int64_t elements = 0, nan = 0, infinite = 0, overflowed = 0;
  double greatest = 0.0;
  bool range_only = false;
  bool same(const Range& o) const {
    return elements == o.elements && nan == o.nan && infinite == o.infinite && overflowed == o.overflowed && greatest == o.greatest;
  }
};

struct Training {
  Training(const std::string& mode, int threads, bool fusion, std::int64_t micro_batches, float scale)
      : device(make_cpu_device({threads, {}})), data(load_text({ULPSCOPE_SOURCE_DIR "/LICENSE"}, text_options(model(), 0.1))) {
    TrainConfig config;
    config.batch = 2;
    config.micro_batches = micro_batches;
    config.fusion = fusion;
    config.scaler = scaling::PytorchScaler{.initial_scale = scale};
    trainer = std::make_unique<Trainer>(*device, *data, TrainerSetup{model(), find_mode(mode), config, 0}, topics);
    listening = topics.tensor.subscribe([this](const TensorEvent& e) {
      if (e.inner || !e.node) return;
      const RoundingCounts& c = *e.counts;
      seen[{e.iteration, e.micro_batch, e.attempt, e.value.index}] = {c.elements, c.nan, c.positive_infinity + c.negative_infinity, c.overflowed,
                                                                      c.greatest_magnitude, c.range_only};
    });
  }
  static ModelConfig model() {
    GptConfig gpt;
    gpt.context = 8;
    gpt.width = 16;
    gpt.layers = 1;
    gpt.heads = 2;
    return gpt;
  }
  std::vector<std::vector<float>> weights() const {
    std::vector<std::vector<float>> all;
    const Graph& graph = trainer->plan().graph;
    for (const ValueId v : graph.with_role(Role::parameter)) all.push_back(trainer->read(graph.value(v).name));
    return all;
  }

  std::unique_ptr<Device> device;
  std::unique_ptr<Dataset> data;
  Topics topics;
  std::unique_ptr<Trainer> trainer;
  std::map<std::tuple<std::int64_t, std::int32_t, std::int32_t, std::int32_t>, Range> seen;
  Subscription listening;
};

Observation ranges() {
  Observation o;
  o.ranges = true;
  return o;
}

struct Case {
  const char* mode;
  int threads;
  bool fusion = true;
  std::int64_t micro_batches = 1;
};

class Ranges : public ::testing::TestWithParam<Case> {};

TEST_P(Ranges, AreThoseOfAFullCountAndChangeNoBit) {
  const Case& c = GetParam();
  constexpr float scale = 0x1p22f;   // the first steps overflow
  Training plain(c.mode, c.threads, c.fusion, c.micro_batches, scale), full(c.mode, c.threads, c.fusion, c.micro_batches, scale),
      ranged(c.mode, c.threads, c.fusion, c.micro_batches, scale);
  full.trainer->observe([](const Node&) { return true; });
  ranged.trainer->observe(ranges());
  int skipped = 0, applied = 0;
  for (int i = 0; i < 14; ++i) {
    const StepResult a = plain.trainer->step(), b = ranged.trainer->step();
    full.trainer->step();
    EXPECT_EQ(a.loss, b.loss);
    EXPECT_TRUE(a.gradient_norm == b.gradient_norm || (std::isnan(a.gradient_norm) && std::isnan(b.gradient_norm)));
    EXPECT_EQ(a.skipped, b.skipped);
    ++(a.skipped ? skipped : applied);
  }
  EXPECT_EQ(plain.weights(), ranged.weights());
  EXPECT_GT(applied, 2);
  if (std::string(c.mode) == "fp16") {
    EXPECT_GT(skipped, 2);
  }
  const Graph& graph = ranged.trainer->plan().graph;
  std::int64_t expected = 0, overflowed = 0;
  for (const auto& [key, range] : full.seen) {
    const ValueId value{std::get<3>(key)};
    if (graph.node(graph.value(value).producer).phase != Phase::backward && value != ranged.trainer->plan().loss) {
      EXPECT_FALSE(ranged.seen.contains(key)) << graph.value(value).name;
      continue;
    }
    ++expected;
    ASSERT_TRUE(ranged.seen.contains(key)) << graph.value(value).name;
    const Range& other = ranged.seen.at(key);
    EXPECT_TRUE(other.range_only);
    EXPECT_TRUE(range.same(other)) << graph.value(value).name << ": " << range.greatest << " " << other.greatest << ", " << range.elements << " " << other.elements;
    overflowed += other.overflowed;
  }
  EXPECT_EQ(std::ssize(ranged.seen), expected);
  if (std::string(c.mode) == "fp16") {
    EXPECT_GT(overflowed, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, Ranges,
                         ::testing::Values(Case{"fp16", 1}, Case{"fp16", 3}, Case{"fp16", 2, false}, Case{"bf16", 2}, Case{"fp32", 2}, Case{"fp16", 2, true, 2}),
                         [](const auto& test) {
                           return std::string(test.param.mode) + "_" + std::to_string(test.param.threads) + (test.param.fusion ? "" : "_unfused") +
                                  (test.param.micro_batches > 1 ? "_micro_batches" : "");
                         });

TEST(RangesAndSteps, AFullCountTakesTheirPlaceAndTheyComeBack) {
  Training t("fp16", 2, true, 1, 1024.0f);
  Observation o = ranges();
  o.steps = [](std::int64_t i) { return i % 2 == 1; };
  o.nodes = [](const Node& n) { return n.name.find("block0") != std::string::npos || n.name.find("h.0") != std::string::npos; };
  t.trainer->observe(o);
  for (int i = 0; i < 4; ++i) t.trainer->step();
  const Graph& graph = t.trainer->plan().graph;
  std::map<std::int64_t, std::pair<int, int>> by_step;   // full, range
  for (const auto& [key, range] : t.seen) {
    const Node& node = graph.node(graph.value(ValueId{std::get<3>(key)}).producer);
    const bool chosen = std::get<0>(key) % 2 == 1 && o.nodes(node);
    EXPECT_EQ(range.range_only, !chosen) << node.name << " in step " << std::get<0>(key);
    auto& [full, ranged] = by_step[std::get<0>(key)];
    ++(range.range_only ? ranged : full);
  }
  EXPECT_EQ(by_step[0].first, 0);
  EXPECT_EQ(by_step[0], by_step[2]);
  EXPECT_EQ(by_step[1], by_step[3]);
  EXPECT_GT(by_step[1].first, 10);
  EXPECT_GT(by_step[1].second, 10);
  // Nobody any more.
  t.trainer->observe(Observation{});
  t.seen.clear();
  t.trainer->step();
  EXPECT_TRUE(t.seen.empty());
}

TEST(RangesAndSteps, AReplayCountsEverythingAndTheyComeBack) {
  Training t("fp16", 2, true, 1, 0x1p40f);
  Observation o = ranges();
  o.replay = [](const StepResult&) { return true; };
  t.trainer->observe(o);
  EXPECT_EQ(t.trainer->step().replay, Replay::same);
  t.trainer->step();
  std::map<std::int32_t, int> full, ranged;   // by attempt
  for (const auto& [key, range] : t.seen) ++(range.range_only ? ranged : full)[std::get<2>(key)];
  EXPECT_EQ(full[0], 0);
  EXPECT_EQ(ranged[1], 0);
  EXPECT_GT(full[1], 50);
  EXPECT_GT(ranged[0], 50);
}

TEST(RangesAndSteps, MemoryToLookWithIsCounted) {
  Training t("fp16", 2, true, 1, 1024.0f);
  t.trainer->observe(ranges());
  t.trainer->step();
  EXPECT_GT(t.trainer->memory_by_category()["observation"], 0) << "tallies of products with a tail";
}

}  // namespace
}  // namespace ulpscope::engine
