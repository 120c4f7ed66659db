// How far each policy lets its scale fall, and what lets it fall further.
#include "reports/analysis/scale_floor.h"

#include <gtest/gtest.h>

namespace ulpscope::reports {
namespace {

using namespace scaling;

TEST(ScaleFloor, IsWhereOverflowsLeaveTheScale) {
  EXPECT_EQ(floor_above(PytorchScaler{}, 0x1p-20f), std::nullopt);
  EXPECT_EQ(floor_above(PytorchScaler{.backoff_factor = 0.999}, 0x1p-20f), std::nullopt) << "slowly";
  EXPECT_EQ(floor_above(KerasScaler{}, 0x1p-20f), std::nullopt);
  EXPECT_EQ(floor_above(ApexScaler{}, 0.5f), std::nullopt);
  EXPECT_EQ(floor_above(ApexScaler{.least_scale = 8.0f}, 2.0f), 8.0f);
  EXPECT_EQ(floor_above(DeepspeedScaler{}, 1.0f), std::nullopt);
  EXPECT_EQ(floor_above(DeepspeedScaler{}, 0.5f), 1.0f);
  EXPECT_EQ(floor_above(DeepspeedScaler{.initial_scale = 2.0f, .least_scale = 16.0f}, 2.0f), 16.0f) << "from a start below it, too";
  EXPECT_EQ(floor_above(DeepspeedScaler{.least_scale = 16.0f, .hysteresis = 500, .stop_at_floor = false}, 2.0f), 16.0f);
  EXPECT_EQ(floor_above(MegatronScaler{.least_scale = 4.0f}, 2.0f), 4.0f);
  EXPECT_EQ(floor_above(TensorflowScaler{}, 0.25f), 1.0f);
  EXPECT_EQ(floor_above(FairseqScaler{}, 1.0f), std::nullopt);
  EXPECT_EQ(floor_above(FairseqScaler{.least_scale = 1.0f}, 1.0f), 2.0f) << "it ends the training instead of coming to its floor";
  EXPECT_EQ(floor_above(FixedScaling{}, 1.0f), std::nullopt);
  EXPECT_EQ(floor_above(NoScaling{}, 0.5f), std::nullopt);
}

TEST(ScaleFloor, IsLoweredWhereThePolicyHasANumberForIt) {
  const auto deepspeed = lower_floor(DeepspeedScaler{.least_scale = 16.0f}, 2.0f);
  ASSERT_TRUE(deepspeed.has_value());
  EXPECT_EQ(deepspeed->keys, "train.scaler.floor=2");
  EXPECT_EQ(deepspeed->floor, 2.0f);
  EXPECT_EQ(std::get<DeepspeedScaler>(deepspeed->policy).least_scale, 2.0f);
  const auto fairseq = lower_floor(FairseqScaler{.threshold = 4.0f, .least_scale = 1.0f}, 1.0f);
  ASSERT_TRUE(fairseq.has_value());
  EXPECT_EQ(fairseq->keys, "train.scaler.threshold=1, train.scaler.floor=0.5");
  EXPECT_EQ(floor_above(fairseq->policy, 1.0f), std::nullopt);
  EXPECT_FALSE(lower_floor(TensorflowScaler{}, 0.25f).has_value()) << "1, whatever is set";
  EXPECT_FALSE(lower_floor(DeepspeedScaler{}, 8.0f).has_value()) << "it falls so far as it is";
  EXPECT_FALSE(lower_floor(PytorchScaler{}, 0x1p-20f).has_value());
}

}  // namespace
}  // namespace ulpscope::reports
