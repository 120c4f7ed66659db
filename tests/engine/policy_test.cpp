// Policies and modes by name. Which operator has which class: operator_classes_test.cpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/precision/mode.h"
#include "engine/precision/policy.h"
#include "kernels/error.h"

namespace ulpscope::engine {
namespace {

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
