// The promise of the design: the same bits whatever the instruction set, hence the vector width.
#include "kernels/formats/instruction_set.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/formats/bits.h"
#include "tests/kernels/math/bodies.h"

namespace ulpscope {
namespace portable {
bodies_test::Bodies test_bodies();
}
#if defined(__x86_64__)
namespace avx2 {
bodies_test::Bodies test_bodies();
}
namespace avx512 {
bodies_test::Bodies test_bodies();
}
#endif

namespace {

std::vector<bodies_test::Bodies> others() {
  std::vector<bodies_test::Bodies> bodies;
#if defined(__x86_64__)
  if (available(InstructionSet::avx2)) bodies.push_back(avx2::test_bodies());
  if (available(InstructionSet::avx512)) bodies.push_back(avx512::test_bodies());
#endif
  return bodies;
}

// NaNs compare equal whatever their payload.
void expect_same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    ASSERT_TRUE(float_bits(a[i]) == float_bits(b[i]) || (std::isnan(a[i]) && std::isnan(b[i])))
        << "element " << i << ": " << std::hexfloat << a[i] << " and " << b[i];
}

TEST(SameBitsOnEveryInstructionSet, Elementary) {
  std::vector<float> x;
  for (std::uint64_t bits = 0; bits <= 0xffffffffu; bits += 16411)
    x.push_back(float_from_bits(static_cast<std::uint32_t>(bits)));
  std::vector<float> expected(x.size());
  std::vector<float> y(x.size());
  const auto n = static_cast<std::int64_t>(x.size());
  for (int function = 0; function < bodies_test::function_count; ++function) {
    portable::test_bodies().apply(function, x.data(), expected.data(), n);
    for (const bodies_test::Bodies& bodies : others()) {
      SCOPED_TRACE(function);
      bodies.apply(function, x.data(), y.data(), n);
      expect_same_bits(expected, y);
    }
  }
}

TEST(SameBitsOnEveryInstructionSet, Reductions) {
  std::vector<float> x(70000);
  portable::test_bodies().normals(5, x.data(), static_cast<std::int64_t>(x.size()));
  for (const std::int64_t n : {1, 2, 7, 255, 256, 257, 1000, 1024, 5000, 16384, 16385, 70000})
    for (int reduction = 0; reduction < bodies_test::reduction_count; ++reduction) {
      const float expected = portable::test_bodies().reduce(reduction, x.data(), n);
      for (const bodies_test::Bodies& bodies : others())
        EXPECT_EQ(float_bits(bodies.reduce(reduction, x.data(), n)), float_bits(expected)) << n;
    }
}

TEST(SameBitsOnEveryInstructionSet, Normals) {
  std::vector<float> expected(10007);
  std::vector<float> y(expected.size());
  const auto n = static_cast<std::int64_t>(y.size());
  portable::test_bodies().normals(99, expected.data(), n);
  for (const bodies_test::Bodies& bodies : others()) {
    bodies.normals(99, y.data(), n);
    expect_same_bits(expected, y);
  }
}

}  // namespace
}  // namespace ulpscope
