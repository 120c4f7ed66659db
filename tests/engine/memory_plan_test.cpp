// The memory plan: nothing that is alive is overwritten, what is dead is reused, the ledger adds up.
#include <gtest/gtest.h>

#include "engine/train/trainer.h"

namespace ulpscope::engine {
namespace {

class MemoryPlanTest : public ::testing::TestWithParam<std::string> {
 protected:
  StepPlan plan(const ModelConfig& model = GptConfig{}, WeightCopies copies = WeightCopies::automatic) {
    TrainConfig config;
    config.weight_copies = copies;
    return plan_step(*device_, build_model(model, 2, true), find_mode(GetParam()), config);
  }
  std::unique_ptr<Device> device_ = make_cpu_device({2, ""});
};

TEST_P(MemoryPlanTest, ValuesAliveTogetherDoNotOverlap) {
  const StepPlan p = plan();
  std::vector<Placement> all;
  for (std::int32_t i = 0; i < p.graph.value_count(); ++i)
    if (!p.graph.value(ValueId{i}).same_memory_as) all.push_back(p.memory.values[static_cast<std::size_t>(i)]);
  for (const Placement& w : p.memory.workspace) all.push_back(w);
  // A chain of results that took over each other's memory is one owner's.
  const auto owner = [&](const Placement& placement) {
    const Placement* at = &placement;
    while (at->takes_over) at = &p.memory.values[static_cast<std::size_t>(at->takes_over.index)];
    return at->offset;
  };
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Placement& a = all[i];
    EXPECT_EQ(a.offset % 64, 0);
    EXPECT_LE(a.offset + a.bytes, a.persistent ? p.memory.persistent_bytes : p.memory.arena_bytes);
    for (std::size_t j = 0; j < i; ++j) {
      const Placement& b = all[j];
      if (a.bytes == 0 || b.bytes == 0 || a.persistent != b.persistent) continue;
      if ((a.takes_over || b.takes_over) && owner(a) == owner(b) && a.bytes == b.bytes) continue;   // see the next test
      const bool together = a.persistent || (a.first <= b.last && b.first <= a.last);
      const bool overlap = a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
      EXPECT_FALSE(together && overlap) << i << " and " << j;
    }
  }
}

TEST_P(MemoryPlanTest, WhatIsTakenOverIsReadByNobodyLater) {
  const StepPlan p = plan();
  const auto last_read = [&](ValueId v) {
    std::int32_t last = -1;
    for (std::int32_t n = 0; n < p.graph.node_count(); ++n)
      for (const ValueId in : p.graph.node(NodeId{n}).inputs)
        if (p.graph.memory_owner(in) == v) last = std::max(last, p.memory.fusion.runs_at(NodeId{n}));
    return last;
  };
  int taken = 0;
  std::vector<bool> seen(p.memory.values.size(), false);
  for (std::int32_t i = 0; i < p.graph.value_count(); ++i) {
    const ValueId from = p.memory.values[static_cast<std::size_t>(i)].takes_over;
    if (!from) continue;
    ++taken;
    EXPECT_FALSE(seen[static_cast<std::size_t>(from.index)]) << p.graph.value(from).name;
    seen[static_cast<std::size_t>(from.index)] = true;
    EXPECT_LE(last_read(from), p.memory.fusion.runs_at(p.graph.value(ValueId{i}).producer)) << p.graph.value(from).name;
    EXPECT_NE(from, p.loss);
  }
  EXPECT_GT(taken, 0);
}

TEST_P(MemoryPlanTest, LifetimesCoverEveryUse) {
  const StepPlan p = plan();
  for (std::int32_t n = 0; n < p.graph.node_count(); ++n)
    for (const ValueId v : p.graph.node(NodeId{n}).inputs) {
      const Placement& place = p.memory.values[static_cast<std::size_t>(p.graph.memory_owner(v).index)];
      if (!place.persistent && place.stored) {
        EXPECT_LE(place.first, p.memory.fusion.runs_at(NodeId{n}));
        EXPECT_GE(place.last, p.memory.fusion.runs_at(NodeId{n}));
      }
    }
  EXPECT_EQ(p.memory.values[static_cast<std::size_t>(p.loss.index)].last, p.graph.node_count());
}

TEST_P(MemoryPlanTest, TheCategoriesAddUpToWhatIsAllocated) {
  const StepPlan p = plan();
  std::int64_t sum = 0;
  for (const auto& [category, bytes] : p.memory.peak_by_category) sum += bytes;
  EXPECT_EQ(sum, p.memory.persistent_bytes + p.memory.arena_bytes);
}

TEST_P(MemoryPlanTest, BuffersAreReused) {
  const StepPlan p = plan();
  std::int64_t without_reuse = 0;
  for (std::int32_t i = 0; i < p.graph.value_count(); ++i)
    if (!p.graph.value(ValueId{i}).same_memory_as && !p.memory.values[static_cast<std::size_t>(i)].persistent)
      without_reuse += p.memory.values[static_cast<std::size_t>(i)].bytes;
  EXPECT_LT(p.memory.arena_bytes, without_reuse * 3 / 4);
  // Placement wastes little: the arena is close to the bytes alive at the worst moment.
  const std::int64_t peak = p.memory.live_bytes[static_cast<std::size_t>(p.memory.peak_node)];
  EXPECT_LE(p.memory.arena_bytes, peak + peak / 10);
}

/// Bytes per parameter: 16 with AdamW in fp32 (weights, gradient, m, v), two more for the 16-bit copy (case-49). Gradients and
/// copies are in the arena, so this looks at the values themselves. Padding to 64 bytes is allowed for.
TEST_P(MemoryPlanTest, BytesPerParameterAreThoseOfCase49) {
  const StepPlan p = plan(GptConfig{}, WeightCopies::keep);   // cast again, a copy would count again
  std::map<Role, std::int64_t> bytes;
  for (const Value& v : p.graph.values())
    if (!v.same_memory_as) bytes[v.role] += v.shape.elements() * storage_bytes(v.format);
  EXPECT_EQ(bytes[Role::parameter], 4 * p.parameters);
  EXPECT_EQ(bytes[Role::optimizer_state], 8 * p.parameters);
  EXPECT_EQ(bytes[Role::parameter_gradient], 4 * p.parameters);
  const bool mixed = find_mode(GetParam()).mixed();
  if (mixed) {   // the weights of products; embeddings, norms and their biases stay fp32
    EXPECT_GT(bytes[Role::weight_copy], p.parameters);
    EXPECT_LE(bytes[Role::weight_copy], 2 * p.parameters);
  } else {
    EXPECT_EQ(bytes[Role::weight_copy], 0);
  }
  EXPECT_EQ(p.memory.peak_by_category.contains(MemoryCategory::master_weights), mixed);
}

INSTANTIATE_TEST_SUITE_P(Modes, MemoryPlanTest, ::testing::Values("fp32", "tf32", "fp16", "bf16", "fp16+tf32", "bf16+tf32"),
                         [](const auto& param) {
                           std::string s = param.param;
                           for (char& c : s) c = c == '+' ? '_' : c;
                           return s;
                         });

/// All but the workspace in which a CPU rounds operands to tf32 (and which may move the peak to another node).
TEST(MemoryPlan, Tf32TakesExactlyTheMemoryOfFp32) {
  const std::unique_ptr<Device> device = make_cpu_device({2, ""});
  const Model model = build_model(GptConfig{}, 2, true);
  const MemoryPlan fp32 = plan_step(*device, model, find_mode("fp32"), {}).memory;
  const MemoryPlan tf32 = plan_step(*device, model, find_mode("tf32"), {}).memory;
  EXPECT_EQ(fp32.persistent_bytes, tf32.persistent_bytes);
  EXPECT_EQ(fp32.kept_for_backward, tf32.kept_for_backward);
}

TEST(MemoryPlan, SixteenBitsKeepFewerBytesForTheBackwardPass) {
  const std::unique_ptr<Device> device = make_cpu_device({2, ""});
  const auto kept = [&](const char* mode) {
    std::int64_t sum = 0;
    for (const auto& [category, bytes] : plan_step(*device, build_model(GptConfig{}, 8, true), find_mode(mode), {}).memory.kept_for_backward)
      sum += category == MemoryCategory::weights ? 0 : bytes;   // 16-bit weight copies are not activations
    return sum;
  };
  EXPECT_LT(kept("bf16"), kept("fp32"));
  EXPECT_EQ(kept("bf16"), kept("fp16"));
}

}  // namespace
}  // namespace ulpscope::engine
