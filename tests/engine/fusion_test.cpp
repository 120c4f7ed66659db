// Fusion: which nodes it joins, which values it keeps out of memory, and that nothing else can be told from it: the bits of
// whole runs, and what observers count.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>

#include <gtest/gtest.h>

#include "engine/graph/operator.h"
#include "engine/passes/fusion.h"
#include "engine/train/trainer.h"
#include "kernels/formats/instruction_set.h"
#include "kernels/ops/rounding_counts.h"
#include "tests/engine/support/list_dataset.h"
#include "tests/engine/support/model_batches.h"

namespace ulpscope::engine {
namespace {

using testing::ListDataset;

constexpr std::int64_t batch = 3, context = 24, vocabulary = 256;

GptConfig gpt(const std::string& attention, double dropout) {
  GptConfig c;
  c.context = context;
  c.vocabulary = vocabulary;
  c.width = 48;
  c.layers = 2;
  c.heads = 3;
  c.dropout = dropout;
  c.attention = attention;
  return c;
}

MlpConfig mlp() {
  MlpConfig c;
  c.context = context;
  c.vocabulary = vocabulary;
  return c;
}

std::vector<std::vector<float>> tokens_of(std::int64_t iteration) {
  std::vector<float> tokens, targets;
  for (std::int64_t i = 0; i < batch * context; ++i) {
    tokens.push_back(static_cast<float>((i * 5 + iteration) * 11 % vocabulary));
    targets.push_back(static_cast<float>((i * 3 + iteration) * 7 % vocabulary));
  }
  return {tokens, targets};
}

std::vector<std::vector<float>> last_tokens_of(std::int64_t iteration) {   // one target for each context
  std::vector<std::vector<float>> all = tokens_of(iteration);
  all[1].resize(static_cast<std::size_t>(batch));
  return all;
}

TrainConfig train_config(bool fusion) {
  TrainConfig config;
  config.batch = batch;
  config.fusion = fusion;
  config.optimizer.clip = 0.5;
  config.evaluation_batches = 1;
  return config;
}

struct Outcome {
  std::vector<float> numbers;                    ///< losses, norms, scales, evaluation, all parameters and states
  std::map<std::string, RoundingCounts> counts;  ///< of the last step, by value
  std::int64_t memory = 0;
};

Outcome train(const ModelConfig& model, const char* mode, bool fusion, bool observed, int threads = 2, const char* isa = "") {
  const std::unique_ptr<Device> device = make_cpu_device({threads, isa});
  const auto* own = std::get_if<GptConfig>(&model);
  const ListDataset data(std::holds_alternative<MlpConfig>(model)     ? ListDataset::Fill(last_tokens_of)
                         : own != nullptr && own->context == context ? ListDataset::Fill(tokens_of)
                                                                     : testing::model_batches(model, batch, 100));
  Topics topics;
  Trainer t(*device, data, TrainerSetup{model, find_mode(mode), train_config(fusion), 7}, topics);
  Outcome outcome;
  const Subscription listener = topics.tensor.subscribe([&](const TensorEvent& event) {
    outcome.counts[t.plan().graph.value(event.value).name] = *event.counts;
  });
  if (observed) t.observe([](const Node&) { return true; });
  for (int i = 0; i < 3; ++i) {
    const StepResult r = t.step();
    outcome.numbers.insert(outcome.numbers.end(), {r.loss, r.gradient_norm, r.clip_coefficient, r.next_loss_scale,
                                                   static_cast<float>(t.evaluate().loss)});
  }
  for (const Role role : {Role::parameter, Role::optimizer_state})
    for (const ValueId v : t.plan().graph.with_role(role)) {
      const std::vector<float> values = t.read(t.plan().graph.value(v).name);
      outcome.numbers.insert(outcome.numbers.end(), values.begin(), values.end());
    }
  outcome.memory = t.plan().memory.arena_bytes;
  // Every byte is accounted for, what observing takes included.
  std::int64_t bytes = 0;
  for (const auto& [category, count] : t.memory_by_category()) bytes += count;
  EXPECT_EQ(bytes, static_cast<std::int64_t>(device->live_bytes()));
  return outcome;
}

void expect_same_bits(const Outcome& a, const Outcome& b, const std::string& what) {
  ASSERT_EQ(a.numbers.size(), b.numbers.size()) << what;
  ASSERT_TRUE(std::isfinite(a.numbers.front())) << what;
  for (std::size_t i = 0; i < a.numbers.size(); ++i) {
    const bool same = std::bit_cast<std::uint32_t>(a.numbers[i]) == std::bit_cast<std::uint32_t>(b.numbers[i]) ||
                      (std::isnan(a.numbers[i]) && std::isnan(b.numbers[i]));
    ASSERT_TRUE(same) << what << ": number " << i << ", " << a.numbers[i] << " and " << b.numbers[i];
  }
}

struct ModelCase {
  const char* name;
  ModelConfig model;
};

std::vector<ModelCase> models() {
  static const std::vector<testing::NamedModel> others = testing::named_models(0.1);
  std::vector<ModelCase> all{{"fused attention", gpt("fused", 0.1)}, {"composed attention", gpt("composed", 0.1)},
                             {"without dropout", gpt("fused", 0.0)}, {"mlp", mlp()}};
  for (const testing::NamedModel& m : others) all.push_back({m.name.c_str(), m.model});
  return all;
}

TEST(Fusion, HasTheBitsOfSeparateLaunches) {
  for (const ModelCase& c : models())
    for (const char* mode : {"fp32", "tf32", "fp16", "bf16"})
      expect_same_bits(train(c.model, mode, false, false), train(c.model, mode, true, false), std::string(c.name) + ", " + mode);
}

TEST(Fusion, HasThemForAnyThreadsAndInstructionSet) {
  for (const InstructionSet set : {InstructionSet::portable, InstructionSet::avx2, InstructionSet::avx512}) {
    if (!available(set)) continue;
    for (const ModelCase& c : models()) {
      const Outcome expected = train(c.model, "fp16", false, false, 1, name(set));
      for (const int threads : {1, 3})
        expect_same_bits(expected, train(c.model, "fp16", true, false, threads, name(set)), std::string(c.name) + ", " + name(set));
    }
  }
}

TEST(Fusion, LookingChangesNoBitAndCountsTheSame) {
  for (const ModelCase& c : models())
    for (const char* mode : {"fp32", "fp16"}) {
      const std::string what = std::string(c.name) + ", " + mode;
      const Outcome plain = train(c.model, mode, true, false), alone = train(c.model, mode, false, true),
                    fused = train(c.model, mode, true, true);
      expect_same_bits(plain, fused, what);
      expect_same_bits(plain, alone, what);
      ASSERT_EQ(alone.counts.size(), fused.counts.size()) << what;
      for (const auto& [value, a] : alone.counts) {
        const RoundingCounts& f = fused.counts.at(value);
        ASSERT_GT(a.elements, 0) << what << ", " << value;
        const auto integers = [](const RoundingCounts& r) {
          return std::array{r.elements, r.nan, r.positive_infinity, r.negative_infinity, r.overflowed, r.flushed, r.subnormal, r.zero};
        };
        EXPECT_EQ(integers(a), integers(f)) << what << ", " << value;
        EXPECT_EQ(a.least_magnitude, f.least_magnitude) << what << ", " << value;
        EXPECT_EQ(a.greatest_magnitude, f.greatest_magnitude) << what << ", " << value;
        EXPECT_TRUE(std::equal(a.histogram, a.histogram + histogram_bins, f.histogram)) << what << ", " << value;
        // Sums of doubles: the runs of elements are cut elsewhere.
        EXPECT_NEAR(a.sum_of_squares, f.sum_of_squares, 1e-12 * a.sum_of_squares) << what << ", " << value;
        EXPECT_NEAR(a.sum_of_errors, f.sum_of_errors, 1e-12 * a.sum_of_errors) << what << ", " << value;
      }
    }
}

StepPlan plan_of(const ModelConfig& model, const char* mode, bool fusion = true) {
  const std::unique_ptr<Device> device = make_cpu_device({2, ""});
  return plan_step(*device, build_model(model, batch, true), find_mode(mode), train_config(fusion));
}

/// The names of the nodes launched together with `node`, in order.
std::vector<std::string> launched_with(const StepPlan& plan, const std::string& node) {
  const NodeId id = plan.graph.value(plan.graph.find(node)).producer;
  const FusionGroup* group = plan.memory.fusion.group(id);
  std::vector<std::string> names;
  if (group == nullptr) return {node};
  for (const NodeId n : group->nodes) names.push_back(plan.graph.node(n).name);
  return names;
}

bool stored(const StepPlan& plan, const std::string& value) {
  const ValueId id = plan.graph.find(value);
  EXPECT_EQ(plan.memory.fusion.stored[static_cast<std::size_t>(id.index)], plan.memory.values[static_cast<std::size_t>(id.index)].stored);
  return plan.memory.values[static_cast<std::size_t>(id.index)].stored;
}

using Names = std::vector<std::string>;

TEST(Fusion, JoinsProductsWithWhatFollows) {
  const StepPlan plan = plan_of(gpt("fused", 0.0), "bf16");
  EXPECT_EQ(launched_with(plan, "block0.mlp.up"), (Names{"block0.mlp.up", "block0.mlp.gelu"}));   // bias is the product's own
  EXPECT_TRUE(stored(plan, "block0.mlp.up"));    // the backward pass reads it
  EXPECT_TRUE(stored(plan, "block0.mlp.gelu"));
  EXPECT_EQ(launched_with(plan, "block0.attn.proj"), (Names{"block0.attn.proj", "block0.attn.residual"}));
  EXPECT_FALSE(stored(plan, "block0.attn.proj"));
  EXPECT_TRUE(stored(plan, "block0.attn.residual"));
  // The gradient of the weight in 16 bits is only read by the cast to the master's format.
  EXPECT_FALSE(stored(plan, "block0.mlp.up.dweight"));
}

TEST(Fusion, JoinsRowsWithWhatFollows) {
  const StepPlan plan = plan_of(gpt("fused", 0.0), "bf16");
  const Names norm = launched_with(plan, "block1.ln2");
  ASSERT_EQ(norm.size(), 2u);
  EXPECT_EQ(norm.front(), "block1.ln2");
  EXPECT_EQ(plan.graph.node(plan.graph.value(plan.graph.find(norm.back())).producer).op->name, "cast");
  EXPECT_FALSE(stored(plan, "block1.ln2"));
  EXPECT_TRUE(stored(plan, "block1.ln2:1"));   // mean
  // Attention's inner chain, when it is composed of its parts.
  const StepPlan composed = plan_of(gpt("composed", 0.1), "fp32");
  const Names chain = launched_with(composed, "block0.attn.softmax");
  EXPECT_EQ(chain, (Names{"block0.attn.mask", "block0.attn.softmax", "block0.attn.probs.dropout"}));
  EXPECT_EQ(launched_with(composed, "block0.attn.scores"), (Names{"block0.attn.scores", "block0.attn.scale"}));
}

TEST(Fusion, JoinsUnscaleCheckAndNorm) {
  for (const char* mode : {"fp32", "fp16"}) {
    const StepPlan plan = plan_of(gpt("fused", 0.0), mode);
    EXPECT_EQ(launched_with(plan, "global_norm"), (Names{"unscale_check", "global_norm"})) << mode;
  }
}

TEST(Fusion, KeepsNothingInMemoryThatNobodyReads) {
  for (const ModelCase& c : models())
    for (const char* mode : {"fp32", "fp16"}) {
      const StepPlan fused = plan_of(c.model, mode), alone = plan_of(c.model, mode, false);
      EXPECT_TRUE(alone.memory.fusion.groups.empty());
      // Values alone: a product with an epilogue has its sums in its workspace.
      const auto values = [](const MemoryPlan& plan) {
        std::int64_t greatest = 0;
        for (std::size_t n = 0; n < plan.live_bytes.size(); ++n) greatest = std::max(greatest, plan.live_bytes[n] - plan.workspace[n].bytes);
        return greatest;
      };
      // Operands of what runs later live a little longer; of a tiny model they are a large share.
      EXPECT_LE(values(fused.memory), values(alone.memory) * 102 / 100 + 4096) << c.name << ", " << mode;
      for (const auto& [category, bytes] : alone.memory.kept_for_backward) {
        const auto found = fused.memory.kept_for_backward.find(category);
        EXPECT_LE(found == fused.memory.kept_for_backward.end() ? 0 : found->second, bytes) << c.name << ", " << mode;
      }
      int unstored = 0;
      for (std::int32_t i = 0; i < fused.graph.value_count(); ++i) {
        const Placement& p = fused.memory.values[static_cast<std::size_t>(i)];
        unstored += p.stored ? 0 : 1;
        EXPECT_TRUE(p.stored || p.bytes == 0);
      }
      EXPECT_GT(unstored, 0) << c.name << ", " << mode;
      EXPECT_TRUE(stored(fused, fused.graph.value(fused.loss).name));
    }
}

/// a = exp(x); b = a-reader in between; c = reader of a: joined only where nobody in between needs a.
Graph chain(bool read_between) {
  Graph g;
  const ValueId x = g.add_input("x", Shape{4, 8}, Format::fp32);
  const ValueId a = g.apply("exp", "a", {x});
  g.apply("sum", "between", {read_between ? a : x});
  g.apply("tanh", "c", {a});
  return g;
}

TEST(Fusion, DoesNotMoveANodePastItsReaders) {
  const std::unique_ptr<Device> device = make_cpu_device({1, ""});
  const Graph free = chain(false), bound = chain(true);
  EXPECT_EQ(plan_fusion(free, device->kernels(), {free.find("c")}).groups.size(), 1u);
  EXPECT_TRUE(plan_fusion(bound, device->kernels(), {bound.find("c")}).groups.empty());
}

TEST(Fusion, StoresWhatIsKept) {
  const std::unique_ptr<Device> device = make_cpu_device({1, ""});
  const Graph g = chain(false);
  const ValueId a = g.find("a");
  EXPECT_FALSE(plan_fusion(g, device->kernels(), {g.find("c")}).stored[static_cast<std::size_t>(a.index)]);
  EXPECT_TRUE(plan_fusion(g, device->kernels(), {g.find("c"), a}).stored[static_cast<std::size_t>(a.index)]);
}

/// Rows of different lengths, and sums over rows, do not go together.
TEST(Fusion, JoinsRowsOfOneLengthOnly) {
  const std::unique_ptr<Device> device = make_cpu_device({1, ""});
  Graph g;
  const ValueId x = g.add_input("x", Shape{4, 8}, Format::fp32);
  const ValueId y = g.apply("softmax", "rows", {x});
  const ValueId z = g.apply("reshape", "reshaped", {y}, {{"shape", std::vector<std::int64_t>{2, 16}}});
  g.apply("softmax", "longer", {z});
  const FusionPlan plan = plan_fusion(g, device->kernels(), {});
  EXPECT_TRUE(plan.groups.empty());
}

}  // namespace
}  // namespace ulpscope::engine
