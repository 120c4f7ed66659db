// Whether tensor cores were used: counted, inferred, or unknown.
#include "reports/analysis/tensor_use.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ulpscope::reports {
namespace {

using testing::HasSubstr;

TEST(TensorUse, CountedOnlyFromCounters) {
  TensorUse use = tensor_use({.tensor_pipe = 0.42});
  EXPECT_EQ(use.answer, TensorAnswer::yes);
  EXPECT_EQ(use.provenance, Provenance::counted);
  use = tensor_use({.tensor_pipe = 0.0, .flops = 1e12, .seconds = 1e-3, .plain_peak = 2e13});
  EXPECT_EQ(use.answer, TensorAnswer::no);
  EXPECT_EQ(use.provenance, Provenance::counted);
  use = tensor_use({.tensor_pipe = 1.7});
  EXPECT_EQ(use.answer, TensorAnswer::unknown) << "not a share";
}

// The A100 of case 57: 312 TFLOP/s with tensor cores, 19.5 without, 2·4096³ operations.
TEST(TensorUse, InferredFromARateThatNothingElseReaches) {
  TensorEvidence e{.flops = 2.0 * 4096 * 4096 * 4096, .seconds = 7.04e-3, .plain_peak = 19.5e12, .tensor_peak = 312e12};
  TensorUse use = tensor_use(e);
  EXPECT_EQ(use.answer, TensorAnswer::yes);
  EXPECT_EQ(use.provenance, Provenance::inferred);
  e.seconds = 7.06e-3;
  use = tensor_use(e);
  EXPECT_EQ(use.answer, TensorAnswer::unknown) << "a slow rate proves nothing";
  EXPECT_EQ(use.provenance, Provenance::unknown);
  e.seconds = 0.44e-3;
  use = tensor_use(e);
  EXPECT_EQ(use.answer, TensorAnswer::unknown);
  EXPECT_THAT(use.why, HasSubstr("faster than the hardware"));
}

TEST(TensorUse, UnknownIsNeverNo) {
  EXPECT_EQ(tensor_use({}).answer, TensorAnswer::unknown);
  EXPECT_EQ(tensor_use({.flops = 1e12, .seconds = 1e-3}).answer, TensorAnswer::unknown);
  EXPECT_EQ(tensor_use({.flops = 1e12, .seconds = 0.0, .plain_peak = 1e13}).answer, TensorAnswer::unknown);
  const TensorUse none = tensor_use({.has_tensor_cores = false});
  EXPECT_EQ(none.answer, TensorAnswer::no);
  EXPECT_EQ(none.provenance, Provenance::inferred);
}

}  // namespace
}  // namespace ulpscope::reports
