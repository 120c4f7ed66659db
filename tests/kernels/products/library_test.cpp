// What is left to cuBLASLt of a product: in which format it is handed operands, and what becomes of what it has no algorithm for.
#include <gtest/gtest.h>

#include "kernels/cuda/lt_product.h"
#include "kernels/error.h"
#include "tests/kernels/products/product_run.h"

namespace ulpscope::test {
namespace {

Device& gpu() { return device_for(best_instruction_set()); }

cuda::LtCall call_of(Format a, Format b, Format multiply, int* copies = nullptr) {
  const Tensor in[] = {Tensor(nullptr, a, Shape{8, 8}), Tensor(nullptr, b, Shape{8, 8})};
  const Tensor c(nullptr, Format::fp32, Shape{8, 8});
  const MatmulParams params{false, false, multiply};
  Launch l;
  l.in = in;
  l.in_count = 2;
  l.out = &c;
  l.out_count = 1;
  l.params = &params;
  const cuda::ProductPlan plan = cuda::plan_product(l, Format::fp32, 0);
  if (copies != nullptr) *copies = plan.copy_count;
  return plan.call;
}

TEST(OperandFormat, SixteenBitOperandsAreHandedOverAsTheyAre) {
  for (const Format f : {Format::fp16, Format::bf16})
    for (const Format multiply : {Format::fp32, Format::tf32}) {
      int copies = -1;
      const cuda::LtCall call = call_of(f, f, multiply, &copies);
      EXPECT_EQ(call.a.format, f) << name(multiply);
      EXPECT_EQ(call.b.format, f) << name(multiply);
      EXPECT_EQ(call.compute, cuda::LtCompute::fp32) << name(f) << name(multiply);
      EXPECT_EQ(copies, 0);
    }
}

TEST(OperandFormat, IsOneThatHoldsEveryNumberOfBoth) {
  const auto handed = [](Format a, Format b, Format multiply = Format::fp32) { return call_of(a, b, multiply).a.format; };
  EXPECT_EQ(handed(Format::fp8_e4m3, Format::fp8_e5m2), Format::fp16);
  EXPECT_EQ(handed(Format::fp8_e5m2, Format::bf16), Format::bf16);
  EXPECT_EQ(handed(Format::fp8_e4m3, Format::fp16), Format::fp16);
  // Neither range holds the other's numbers.
  EXPECT_EQ(handed(Format::fp16, Format::bf16), Format::fp32);
  EXPECT_EQ(call_of(Format::fp16, Format::bf16, Format::fp32).compute, cuda::LtCompute::fp32_pedantic);
  EXPECT_EQ(handed(Format::fp16, Format::fp32), Format::fp32);
  EXPECT_EQ(handed(Format::fp16, Format::fp32, Format::fp16), Format::fp16) << "rounded to it";
  EXPECT_EQ(call_of(Format::fp16, Format::fp32, Format::tf32).compute, cuda::LtCompute::fast_tf32);
}

class LibraryThatLacks : public ::testing::Test {
 protected:
  void SetUp() override {
    if (on_gpu()) GTEST_SKIP() << "a GPU's library has what it has";
  }
  void TearDown() override { cuda::emulated_library_lacks = nullptr; }

  /// The result's bits with a bias, and what computed them.
  std::vector<unsigned char> product(Format stored, Format result, Format multiply = Format::fp32) {
    Array a(stored, {2, 5, 12}), b(stored, {2, 12, 8}), bias(stored, {8}), c(result, {2, 5, 8});
    a.normal(1), b.normal(2), bias.normal(3);
    const MatmulParams params{false, false, multiply};
    launch_on(gpu(), "matmul", {&a, &b, &bias}, {&c.nan()}, &params);
    return c.bytes;
  }
};

/// The same sums in the same order by the plain loops: the same bits.
TEST_F(LibraryThatLacks, ABiasHasItAddedToTheSums) {
  const std::vector<unsigned char> right[] = {product(Format::fp32, Format::fp32), product(Format::fp16, Format::fp16), product(Format::bf16, Format::fp32)};
  cuda::emulated_library_lacks = [](const cuda::LtCall& call) { return call.bias; };
  EXPECT_EQ(product(Format::fp32, Format::fp32), right[0]);
  EXPECT_EQ(product(Format::fp16, Format::fp16), right[1]);
  EXPECT_EQ(product(Format::bf16, Format::fp32), right[2]);
}

TEST_F(LibraryThatLacks, ANarrowFormatHasItsNumbersWidened) {
  const std::vector<unsigned char> right = product(Format::bf16, Format::bf16);
  cuda::emulated_library_lacks = [](const cuda::LtCall& call) { return call.a.format == Format::bf16; };
  EXPECT_EQ(product(Format::bf16, Format::bf16), right);   // a call of bf16 would have been refused
}

TEST_F(LibraryThatLacks, Tf32ComputesInFp32) {
  const std::vector<unsigned char> right = product(Format::fp32, Format::fp32);
  ASSERT_NE(product(Format::fp32, Format::fp32, Format::tf32), right);
  cuda::emulated_library_lacks = [](const cuda::LtCall& call) { return call.compute == cuda::LtCompute::fast_tf32; };
  EXPECT_EQ(product(Format::fp32, Format::fp32, Format::tf32), right);
}

TEST_F(LibraryThatLacks, EverythingIsAnError) {
  cuda::emulated_library_lacks = [](const cuda::LtCall&) { return true; };
  EXPECT_THROW(product(Format::fp32, Format::fp32), Error);
  EXPECT_THROW(product(Format::fp32, Format::fp32, Format::fp16), Error) << "operands that are rounded to fp16 are not those of fp32";
}

}  // namespace
}  // namespace ulpscope::test
