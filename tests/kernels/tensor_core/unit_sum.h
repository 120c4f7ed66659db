// A single sum, computed by the reference and by the product of every instruction set, which must agree.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "kernels/formats/bits.h"
#include "kernels/formats/instruction_set.h"
#include "kernels/tensor_core/product.h"
#include "kernels/tensor_core/reference.h"
#include "kernels/tensor_core/units.h"

namespace ulpscope::tensor_core::test {

struct Factor {
  int k;
  double a, b;
};
using Factors = std::vector<Factor>;

inline std::vector<InstructionSet> instruction_sets() {
  std::vector<InstructionSet> sets;
  for (const InstructionSet set : {InstructionSet::portable, InstructionSet::avx2, InstructionSet::avx512})
    if (available(set)) sets.push_back(set);
  return sets;
}

/// Whatever the payload: NaN are compared as such.
inline std::uint32_t bits_of(float x) { return x != x ? canonical_nan : float_bits(x); }

inline std::vector<float> scratch_of(InstructionSet set, std::int64_t n, std::int64_t k) {
  return std::vector<float>(static_cast<std::size_t>(scratch_floats(set, n, k)));
}

/// The bits of c + the sum of the products.
inline std::uint32_t sum_everywhere(const SumRule& rule, const Factors& factors, float c) {
  int k = 1;
  for (const Factor& f : factors) k = std::max(k, f.k + 1);
  std::vector<float> a(static_cast<std::size_t>(k)), b(a.size());
  for (const Factor& f : factors) {
    a[static_cast<std::size_t>(f.k)] = static_cast<float>(f.a);
    b[static_cast<std::size_t>(f.k)] = static_cast<float>(f.b);
  }
  const std::uint32_t bits = bits_of(reference_sum(rule, a.data(), 1, b.data(), 1, k, c));
  for (const InstructionSet set : instruction_sets()) {
    std::vector<float> scratch = scratch_of(set, 1, k);
    float sum = c;
    multiply(set, rule, {a.data(), Format::fp32, rule.operands, k, 1}, 0, 1, {b.data(), Format::fp32, rule.operands, 1, k}, 1, k,
             &sum, 1, Start::c, scratch.data());
    EXPECT_EQ(bits_of(sum), bits) << name(set);
  }
  return bits;
}

}  // namespace ulpscope::tensor_core::test
