// Activation checkpointing and casts of weights made again: the same bits in less memory, and only what has to be computed again.
#include <algorithm>
#include <bit>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/graph/operator.h"
#include "engine/passes/checkpoint.h"
#include "engine/train/trainer.h"
#include "kernels/error.h"
#include "tests/engine/support/list_dataset.h"
#include "tests/engine/support/model_batches.h"

namespace ulpscope::engine {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Words = std::vector<std::string>;

constexpr std::int64_t batch = 4, context = 16;

ModelConfig gpt(const char* attention = "fused", double dropout = 0.1) {
  GptConfig m;
  m.context = context;
  m.width = 32;
  m.layers = 3;
  m.heads = 2;
  m.attention = attention;
  m.dropout = dropout;
  return m;
}

ModelConfig mlp(const char* activation = "gelu") {
  MlpConfig m;
  m.context = context;
  m.width = 48;
  m.layers = 3;
  m.activation = activation;
  return m;
}

TrainConfig training(Words what, WeightCopies copies = WeightCopies::keep) {
  TrainConfig config;
  config.batch = batch;
  config.schedule.warmup = 2;
  config.scaler = scaling::PytorchScaler{.initial_scale = 0x1p24f, .growth_interval = 3};   // overflows, falls, grows
  config.recompute = std::move(what);
  config.weight_copies = copies;
  return config;
}

StepPlan plan_of(const ModelConfig& model, const char* mode, const TrainConfig& config, std::int64_t sequences = batch) {
  const std::unique_ptr<Device> device = make_cpu_device({2, ""});
  return plan_step(*device, build_model(model, sequences, true), find_mode(mode), config);
}

bool is_repeated(const Node& node) { return node.attributes.contains("recomputes"); }

// ---- bits

/// Losses, norms, scales, evaluations, then every weight and optimizer state, as bits.
std::vector<std::uint32_t> train(const ModelConfig& model, const char* mode, TrainConfig config) {
  if (find_mode(mode).pure) config.optimizer.epsilon = 1e-3;   // 1e-8 is 0 in fp16
  const std::unique_ptr<Device> device = make_cpu_device({1, ""});
  const std::int64_t targets = std::holds_alternative<GptConfig>(model) ? batch * context : batch;
  const bool text = std::holds_alternative<GptConfig>(model) || std::holds_alternative<MlpConfig>(model);
  const testing::ListDataset data(!text ? testing::model_batches(model, batch, 100) : [&](std::int64_t iteration) {
    const auto bytes = [&](std::int64_t n, std::int64_t shift) {
      std::vector<float> list;
      for (std::int64_t i = 0; i < n; ++i) list.push_back(static_cast<float>((i * 7 + iteration * 13 + shift) * 31 % 256));
      return list;
    };
    return std::vector<std::vector<float>>{bytes(batch * context, 0), bytes(targets, 7)};
  });
  Topics topics;
  Trainer t(*device, data, TrainerSetup{model, find_mode(mode), config, 5}, topics);
  std::vector<std::uint32_t> bits;
  const auto add = [&](float x) { bits.push_back(std::bit_cast<std::uint32_t>(x)); };
  for (int i = 0; i < 10; ++i) {
    const StepResult r = t.step();
    for (const float x : {r.loss, r.loss_scale, r.next_loss_scale, r.gradient_norm, r.clip_coefficient}) add(x);
    bits.push_back(static_cast<std::uint32_t>(r.applied));
    bits.push_back(static_cast<std::uint32_t>(r.skipped));
  }
  add(t.scaler().scale);
  bits.push_back(static_cast<std::uint32_t>(t.scaler().growth_tracker));
  add(static_cast<float>(t.evaluate().loss));
  EXPECT_GT(t.applied(), 2) << mode;
  if (find_mode(mode).loss_scaling) {
    EXPECT_LT(t.applied(), 10) << "some step overflows";
  }
  for (const Role role : {Role::parameter, Role::optimizer_state, Role::buffer})
    for (const ValueId v : t.plan().graph.with_role(role))
      for (const float x : t.read(t.plan().graph.value(v).name)) add(x);
  return bits;
}

ModelConfig named(const char* name) {
  for (const testing::NamedModel& m : testing::named_models(0.1))
    if (m.name == name) return m.model;
  throw std::out_of_range(name);
}

struct Case {
  const char* name;
  ModelConfig model;
  Words what;
};

class SameBits : public ::testing::TestWithParam<Case> {};

TEST_P(SameBits, InWholeTrainingRunsOfEveryMode) {
  const Case& c = GetParam();
  for (const Mode& mode : modes()) {
    const char* m = mode.name.c_str();
    const std::vector<std::uint32_t> expected = train(c.model, m, training({}));
    EXPECT_EQ(train(c.model, m, training(c.what)), expected) << m;
    if (mode.mixed()) {
      EXPECT_EQ(train(c.model, m, training({}, WeightCopies::recast)), expected) << m << ", recast";
      EXPECT_EQ(train(c.model, m, training(c.what, WeightCopies::recast)), expected) << m << ", both";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, SameBits,
                         ::testing::Values(Case{"gpt", gpt(), {"blocks"}}, Case{"composed", gpt("composed"), {"blocks"}},
                                           Case{"all", gpt("composed"), {"*"}},                        // loss and head too: lse
                                           Case{"cheap", gpt(), {"*.gelu", "*.ln?"}},   // mean, rstd; no products
                                           Case{"attention", gpt(), {"block?.attn*"}},               // probabilities
                                           Case{"mlp", mlp(), {"blocks"}}, Case{"relu", mlp("relu"), {"layer*"}},
                                           Case{"llama", named("llama"), {"blocks"}}, Case{"llama_all", named("llama_composed"), {"*"}},
                                           Case{"encoder", named("encoder"), {"blocks"}}, Case{"cnn", named("cnn"), {"blocks"}},
                                           Case{"cnn_all", named("cnn_line"), {"*"}}),
                         [](const auto& param) { return param.param.name; });

// ---- memory: closed forms

std::int64_t aligned(std::int64_t bytes) { return (bytes + 63) / 64 * 64; }

TEST(Checkpoint, ABlockKeepsItsInputAlone) {
  GptConfig m = std::get<GptConfig>(gpt("fused", 0.0));
  const std::int64_t rows = batch * context, stream = rows * m.width;
  // The input of each block and of ln_f in fp32; what comes after the blocks: ln_f's mean and rstd, lse, and the loss.
  const std::int64_t both = (m.layers + 1) * 4 * stream + 3 * aligned(4 * rows) + aligned(4);
  // fp32: ln_f's result, logits.
  EXPECT_EQ(planned_bytes(plan_of(m, "fp32", training({"blocks"}))).kept, both + 4 * stream + 4 * rows * m.vocabulary);
  // bf16: ln_f's result in bf16, logits cast to fp32, and the copies of the weights: 12 C² a block, and lm_head's.
  const std::int64_t weights = 2 * (m.layers * 12 * m.width * m.width + m.vocabulary * m.width);
  const std::int64_t biases = 2 * m.layers * (3 + 1 + 4) * m.width;   // of what is repeated: not the last
  const std::int64_t kept = planned_bytes(plan_of(m, "bf16", training({"blocks"}))).kept;
  EXPECT_EQ(kept, both + 2 * stream + 4 * rows * m.vocabulary + weights + biases);
  // Recast, only the first copy that the backward pass reads would be kept, and there is none.
  EXPECT_EQ(planned_bytes(plan_of(m, "bf16", training({"blocks"}, WeightCopies::recast))).kept,
            both + 2 * stream + 4 * rows * m.vocabulary);
}

TEST(Checkpoint, CheapResultsGoWhereNoProductIsRepeated) {
  const GptConfig m = std::get<GptConfig>(gpt("fused", 0.0));
  const std::int64_t rows = batch * context, stream = rows * m.width;
  const std::int64_t all = planned_bytes(plan_of(m, "fp32", training({}))).kept;
  const StepPlan plan = plan_of(m, "fp32", training({"*.gelu", "*.ln?"}));
  // Gone: of each block, both norms' results with mean and rstd, and GELU's result (4 C).
  EXPECT_EQ(planned_bytes(plan).kept, all - m.layers * (2 * (4 * stream + 2 * 4 * rows) + 4 * 4 * stream));
  for (const Node& node : plan.graph.nodes())
    EXPECT_FALSE(is_repeated(node) && node.op->product) << node.name;
}

/// What a block computes again: all products but the last, whose result nobody reads backwards.
TEST(Checkpoint, FlopsOfWhatIsComputedAgain) {
  for (const char* attention : {"fused", "composed"})
    for (const char* mode : {"fp32", "bf16"}) {
      const GptConfig m = std::get<GptConfig>(gpt(attention));
      const StepPlan plan = plan_of(m, mode, training({"blocks"}));
      double products = 0.0, all = 0.0;
      for (const Node& node : plan.graph.nodes()) {
        if (!is_repeated(node)) continue;
        all += node_flops(plan.graph, node);
        if (node.op->product) products += node_flops(plan.graph, node);
      }
      const double rows = batch * context, c = static_cast<double>(m.width);
      const double block = (2 * rows * c * c + rows * c) * (3 + 1 + 4) + 4 * rows * context * c;   // biases too
      EXPECT_EQ(products, static_cast<double>(m.layers) * block) << attention << " " << mode;
      EXPECT_EQ(plan.savings.flops, all);
      EXPECT_LT(all, 1.2 * products);
    }
}

TEST(Checkpoint, ThePlanSaysWhatItSaves) {
  const StepPlan plain = plan_of(gpt(), "fp32", training({})), plan = plan_of(gpt(), "fp32", training({"blocks"}));
  EXPECT_TRUE(plain.savings.segments.empty());
  EXPECT_THAT(plan.savings.segments, ElementsAre("block0", "block1", "block2"));
  EXPECT_EQ(plan.savings.without_checkpointing.peak, planned_bytes(plain).peak);
  EXPECT_EQ(plan.savings.without_checkpointing.kept, planned_bytes(plain).kept);
  EXPECT_LT(planned_bytes(plan).kept, planned_bytes(plain).kept / 2);
  EXPECT_LT(planned_bytes(plan).peak, planned_bytes(plain).peak);
  EXPECT_FALSE(plan.savings.has_weight_copies);
  EXPECT_EQ(plan.loss, plan.graph.find("loss"));
  EXPECT_EQ(plan.inputs.at(0), plan.graph.find("tokens"));
}

// ---- the graph

TEST(Checkpoint, NodesAreRepeatedAsTheyAreAndAsLateAsPossible) {
  for (const char* mode : {"fp32", "fp16"}) {
    const StepPlan plan = plan_of(gpt("composed"), mode, training({"blocks"}));
    const Graph& g = plan.graph;
    std::set<std::string> repeated;
    for (std::int32_t n = 0; n < g.node_count(); ++n) {
      const Node& node = g.node(NodeId{n});
      if (!is_repeated(node)) {
        if (node.phase != Phase::forward)   // of a block, the backward pass reads its input and what is computed again
          for (const ValueId v : node.inputs) {
            const NodeId from = g.value(v).producer;
            if (!from || g.node(from).phase != Phase::forward || !node.name.starts_with("block")) continue;
            EXPECT_TRUE(!g.value(v).name.starts_with(node.name.substr(0, 6)) || g.value(v).role == Role::weight_copy)
                << node.name << " reads " << g.value(v).name;
          }
        continue;
      }
      const Node& origin = g.node(node.of);
      EXPECT_TRUE(repeated.insert(origin.name).second) << origin.name << " is repeated once";
      EXPECT_EQ(node.name, origin.name + ".again");
      EXPECT_EQ(node.attributes.text("recomputes"), origin.name);
      EXPECT_EQ(node.op, origin.op);
      EXPECT_EQ(node.multiply, origin.multiply);
      EXPECT_EQ(node.phase, Phase::backward);
      EXPECT_THAT(node.why, StartsWith("recomputed: activation checkpointing; "));
      EXPECT_EQ(node.attributes.contains("key"), origin.op->draws_random);
      for (std::size_t i = 0; i < node.outputs.size(); ++i) {
        EXPECT_EQ(g.value(node.outputs[i]).format, g.value(origin.outputs[i]).format);
        EXPECT_EQ(g.value(node.outputs[i]).role, g.value(origin.outputs[i]).role);
      }
      // Of a row of repeated nodes, each is needed by those that follow in the row, or by the node that ends it.
      std::int32_t end = n + 1;
      const auto reads = [&](std::int32_t reader) {
        const std::vector<ValueId>& in = g.node(NodeId{reader}).inputs;
        return std::any_of(in.begin(), in.end(), [&](ValueId v) { return g.value(v).producer == NodeId{n}; });
      };
      bool needed = reads(end);
      while (is_repeated(g.node(NodeId{end}))) needed |= reads(++end);
      EXPECT_TRUE(needed) << node.name << " stands too early";
    }
    EXPECT_GT(repeated.size(), 20u);
  }
}

TEST(Checkpoint, SegmentsMayBeNamedByPatterns) {
  EXPECT_THAT(plan_of(gpt(), "fp32", training({"block0.*", "block2.mlp.*"})).savings.segments, ElementsAre("block0", "block2"));
  EXPECT_THAT(plan_of(mlp(), "fp32", training({"blocks"})).savings.segments, ElementsAre("layer0", "layer1", "layer2"));
}

TEST(Checkpoint, RefusesWhatMeansNothingOrSavesNothing) {
  const auto mistake = [](Words what) -> std::string {
    try {
      plan_of(gpt(), "fp32", training(std::move(what)));
    } catch (const UsageError& error) {
      return error.what();
    }
    return "no UsageError";
  };
  EXPECT_THAT(mistake({"block"}), AllOf(StartsWith("recompute: 'block' matches no node"), HasSubstr("nearest is 'blocks'"),
                                        HasSubstr("none, blocks, or patterns")));
  EXPECT_THAT(mistake({"blocks", "block0.mpl.*"}), HasSubstr("nearest is 'block0.mlp."));
  EXPECT_THAT(mistake({"*.dweight"}), HasSubstr("matches no node of the forward pass"));
  EXPECT_THAT(mistake({"*.weight.bf16"}), HasSubstr("matches no node")) << "copies of weights have a key of their own";
  EXPECT_THAT(mistake({"*.qkv"}), StartsWith("recompute: '*.qkv' saves nothing: "));
  EXPECT_THAT(mistake({"*.mlp.dropout"}), StartsWith("recompute: '*.mlp.dropout' saves nothing: "))
      << "its mask is drawn again anyway";
}

TEST(Checkpoint, BlocksThatKeepOnlyTheirResultsAreLeftAsTheyAre) {
  const StepPlan plain = plan_of(mlp("tanh"), "fp32", training({})), plan = plan_of(mlp("tanh"), "fp32", training({"blocks"}));
  EXPECT_TRUE(plan.savings.segments.empty());
  EXPECT_EQ(to_string(plan.graph), to_string(plain.graph));
}

/// In 16 bits it is the cast of a norm's result that is kept: it goes with what it is made from.
TEST(Checkpoint, CastsGoWithWhatTheyAreMadeFrom) {
  const StepPlan plan = plan_of(gpt(), "bf16", training({"*.ln?"}));
  EXPECT_TRUE(plan.graph.contains("block0.attn.qkv.in0.bf16.again"));
  EXPECT_EQ(plan.graph.find("block0.ln1.again").index < plan.graph.find("block0.attn.qkv.in0.bf16.again").index, true);
}

/// Everything by hand: `stat` overwrites a buffer, `late` reads the buffer before, `view` shows what is kept.
TEST(Checkpoint, WhatOverwritesItsInputIsNeverRepeated) {
  Graph g;
  const ValueId x = g.add_input("x", Shape{4, 8}, Format::fp32);
  const ValueId buffer = g.add_constant("buffer", Shape{4, 8}, {Initial::Kind::ones, 0.0, {}});
  const ValueId a = g.apply("gelu", "block0.a", {x});
  const ValueId before = g.apply("add", "block0.before", {a, buffer});
  Node stat;
  stat.op = &operators().find("unscale_check");   // in place
  stat.name = "block0.stat";
  stat.inputs = {buffer};
  const ValueId after = g.node(g.add_node(std::move(stat))).outputs.front();
  const ValueId seen = g.apply("add", "block0.seen", {before, after});
  const ValueId view = g.apply("reshape", "block0.view", {seen}, {{"shape", std::vector<std::int64_t>{32}}});
  const ValueId out = g.apply("exp", "out", {view});
  int readers = 0;
  for (const ValueId v : {a, before, seen, view, out}) {
    Node reader;
    reader.op = &operators().find("relu");
    reader.name = "dx" + std::to_string(readers++);
    reader.inputs = {v};
    reader.phase = Phase::backward;
    g.add_node(std::move(reader));
  }
  const Checkpointed c = checkpoint(g, {{"blocks"}, false});
  std::vector<std::string> repeated;
  for (const Node& node : c.graph.nodes())
    if (is_repeated(node)) repeated.push_back(node.attributes.text("recomputes"));
  EXPECT_THAT(repeated, ElementsAre("block0.a", "block0.seen", "block0.view"));
  const Node& again = c.graph.node(c.graph.value(c.graph.find("block0.seen.again")).producer);
  EXPECT_EQ(again.inputs, (std::vector<ValueId>{c.graph.find("block0.before"), c.graph.find("block0.stat")}))
      << "what cannot be repeated is kept";
  EXPECT_EQ(c.graph.memory_owner(c.graph.find("block0.view.again")), c.graph.find("block0.seen.again"));
  const std::unique_ptr<Device> device = make_cpu_device({1, ""});
  EXPECT_NO_THROW(plan_memory(c.graph, device->kernels(), false, {}, 1)) << "nothing is read after it was overwritten";
}

// ---- copies of weights

TEST(WeightCopiesOfAStep, RecastEachIsReadOnce) {
  for (const Words& what : {Words{}, Words{"blocks"}}) {
    const StepPlan plan = plan_of(gpt("fused", 0.0), "bf16", training(what, WeightCopies::recast));
    std::map<std::int32_t, int> readers;
    for (const Node& node : plan.graph.nodes())
      for (const ValueId v : std::set<ValueId>(node.inputs.begin(), node.inputs.end()))
        if (plan.graph.value(v).role == Role::weight_copy) ++readers[v.index];
    int copies = 0;
    for (std::int32_t v = 0; v < plan.graph.value_count(); ++v) {
      if (plan.graph.value(ValueId{v}).role != Role::weight_copy) continue;
      ++copies;
      EXPECT_EQ(readers[v], 1) << plan.graph.value(ValueId{v}).name;
      const Placement& p = plan.memory.values[static_cast<std::size_t>(v)];
      EXPECT_LE(p.last - p.first, 4) << plan.graph.value(ValueId{v}).name << " lives only while it is read";
    }
    // Each of the 13 products with a weight: forwards with its bias (but lm_head), backwards without; repeated, both again
    // but for the last product of a block.
    EXPECT_EQ(copies, 12 * 2 + 1 + 13 + (what.empty() ? 0 : 9 * 2));
    EXPECT_EQ(plan.savings.recast, 13 + (what.empty() ? 0 : 9 * 2));
    EXPECT_FALSE(plan.memory.kept_for_backward.contains(MemoryCategory::weights));
  }
}

TEST(WeightCopiesOfAStep, AreChosenByThePlanOfBoth) {
  GptConfig heavy = std::get<GptConfig>(gpt()), light = heavy;
  light.context = 256;   // activations outweigh weights
  const auto planned = [](const GptConfig& m, WeightCopies copies) { return plan_of(m, "bf16", training({}, copies)); };
  for (const GptConfig& m : {heavy, light}) {
    const StepPlan keep = planned(m, WeightCopies::keep), recast = planned(m, WeightCopies::recast);
    EXPECT_EQ(keep.savings.weight_copies, WeightCopies::keep);
    EXPECT_EQ(recast.savings.weight_copies, WeightCopies::recast);
    const StepPlan chosen = planned(m, WeightCopies::automatic);
    for (const StepPlan& plan : {keep, recast, chosen}) {
      EXPECT_TRUE(plan.savings.has_weight_copies);
      EXPECT_EQ(plan.savings.with_keep.peak, planned_bytes(keep).peak);
      EXPECT_EQ(plan.savings.with_recast.peak, planned_bytes(recast).peak);
    }
    const double share = 1.0 - static_cast<double>(planned_bytes(recast).peak) / static_cast<double>(planned_bytes(keep).peak);
    EXPECT_EQ(chosen.savings.weight_copies, share > 0.02 ? WeightCopies::recast : WeightCopies::keep) << share;
    EXPECT_EQ(to_string(chosen.graph), to_string(share > 0.02 ? recast.graph : keep.graph));
  }
  EXPECT_EQ(planned(heavy, WeightCopies::automatic).savings.weight_copies, WeightCopies::recast);
  EXPECT_EQ(planned(light, WeightCopies::automatic).savings.weight_copies, WeightCopies::keep);
}

}  // namespace
}  // namespace ulpscope::engine
