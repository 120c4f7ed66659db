// Each operator of the engine and the class its PyTorch namesake has (NUMERICS 3.1).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/graph/operator.h"
#include "engine/precision/mode.h"
#include "engine/precision/policy.h"
#include "kernels/error.h"

namespace ulpscope::engine {
namespace {

struct Row {
  const char* op;
  CastClass cuda, cpu;
};

constexpr CastClass lower = CastClass::lower, fp32 = CastClass::fp32, comes = CastClass::as_it_comes;

const Row table[] = {
    {"linear", lower, lower},   {"matmul", lower, lower},     {"attention", lower, lower},   {"softmax", fp32, comes},
    {"layer_norm", fp32, comes}, {"cross_entropy", fp32, fp32}, {"mse_loss", fp32, fp32},    {"sum", fp32, comes},
    {"mean", comes, comes},     {"exp", fp32, comes},         {"log", fp32, comes},          {"sqrt", comes, comes},
    {"add", comes, comes},      {"sub", comes, comes},        {"mul", comes, comes},         {"div", comes, comes},
    {"scale", comes, comes},    {"relu", comes, comes},       {"gelu", comes, comes},        {"gelu_tanh", comes, comes},
    {"silu", comes, comes},     {"tanh", comes, comes},       {"sigmoid", comes, comes},     {"dropout", comes, comes},
    {"embedding", comes, comes}, {"causal_mask", comes, comes}, {"reshape", comes, comes},   {"split_heads", comes, comes},
    {"join_heads", comes, comes}, {"expand", comes, comes},
};

TEST(Policy, EveryForwardOperatorHasTheClassOfItsNamesake) {
  for (const Row& row : table) {
    const std::string& listed = operators().find(row.op).autocast;
    EXPECT_FALSE(listed.empty()) << row.op;
    EXPECT_EQ(find_policy("torch_cuda").class_of(listed), row.cuda) << row.op;
    EXPECT_EQ(find_policy("torch_cpu").class_of(listed), row.cpu) << row.op;
  }
}

TEST(Policy, TheTableNamesEveryOperatorThatAModelMayUse) {
  for (const std::string& name : operators().names()) {
    const Operator& op = operators().find(name);
    if (!op.gradient || name == "cast" || name == "scale_loss" || name == "sum_to") continue;   // made by passes
    bool named = false;
    for (const Row& row : table) named |= name == row.op;
    EXPECT_TRUE(named) << name;
  }
}

TEST(Policy, UnknownNamesAreRefusedWithTheChoices) {
  EXPECT_THAT([] { find_policy("torch_cud"); },
              ::testing::ThrowsMessage<UsageError>(::testing::HasSubstr("did you mean 'torch_cuda'? Policies: torch_cuda, torch_cpu")));
  EXPECT_THAT([] { find_mode("bfloat16"); },
              ::testing::ThrowsMessage<UsageError>(::testing::HasSubstr("Modes: fp32, tf32, fp16, bf16, fp16+tf32, bf16+tf32")));
}

TEST(Policy, ModesAreDesignsTable) {
  EXPECT_FALSE(find_mode("fp32").mixed());
  EXPECT_FALSE(find_mode("tf32").mixed());
  EXPECT_TRUE(find_mode("tf32").tf32);
  EXPECT_TRUE(find_mode("fp16").loss_scaling);
  EXPECT_FALSE(find_mode("bf16").loss_scaling);
  EXPECT_TRUE(find_mode("bf16+tf32").tf32);
}

}  // namespace
}  // namespace ulpscope::engine
