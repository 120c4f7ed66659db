// Attention whose heads share keys and values, and attention with a mask of keys.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "tests/kernels/products/attention_reference.h"

namespace ulpscope::test {
namespace {

/// Heads of q that share a head of k and v: the bits of as many heads with copies of them. The gradients of the shared head
/// are the sums of the copies', in ascending order, rounded once.
TEST(Attention, SharesHeadsOfKeysAndValues) {
  constexpr std::int64_t groups = 2, sharing = 3;
  const Sizes s{2, groups * sharing, 9, 9, 8}, few{2, groups, 9, 9, 8};
  StepState state;
  for (const Format f : {Format::fp32, Format::bf16}) {
    const AttentionParams p = make_params(s, true, f == Format::fp32 ? Format::fp32 : f, 0.25f);
    Array q(f, s.q()), k(f, few.k()), v(f, few.k()), many_k(f, s.k()), many_v(f, s.k()), dout(f, s.q());
    q.normal(1), k.normal(2), v.normal(3), dout.normal(4);
    const std::int64_t block = s.tk * s.d;
    const auto source = [&](std::int64_t i) { return i / (sharing * block) * block + i % block; };
    many_k.fill([&](std::int64_t i) { return k.at(source(i)); });
    many_v.fill([&](std::int64_t i) { return v.at(source(i)); });
    const auto outputs = [&](Array& keys, Array& values, const Sizes& kv, Format gradients) {
      std::vector<Array> r{{f, s.q()}, {f, s.probs()}, {f, s.q()}, {gradients, kv.k()}, {gradients, kv.k()}};
      launch("attention", {&q, &keys, &values}, {&r[0].nan(), &r[1].nan()}, &p, {.state = &state});
      launch("attention_backward", {&q, &keys, &values, &r[1], &dout}, {&r[2].nan(), &r[3].nan(), &r[4].nan()}, &p, {.state = &state});
      return r;
    };
    const std::vector<Array> apart = outputs(many_k, many_v, s, Format::fp32), shared = outputs(k, v, few, f);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(apart[i].bytes == shared[i].bytes) << "result " << i;
    for (std::size_t i = 3; i < 5; ++i) {
      for (std::int64_t e = 0; e < shared[i].size(); ++e) {
        float sum = 0.0f;
        for (std::int64_t h = 0; h < sharing; ++h) {
          const auto part = static_cast<float>(apart[i].at((e / block * sharing + h) * block + e % block));
          sum = h == 0 ? part : sum + part;
        }
        Array rounded(f, Shape{1});
        rounded.set(0, static_cast<double>(sum));
        ASSERT_EQ(shared[i].at(e), rounded.at(0)) << "result " << i << ", element " << e;
      }
    }
  }
}

/// Keys that are not visible weigh nothing; a query that sees none is NaN.
TEST(Attention, HidesKeysByAMask) {
  const Sizes s{2, 3, 5, 9, 8}, first{1, 3, 5, 6, 8};
  const AttentionParams p = make_params(s, false, Format::fp32);
  StepState state;
  Array q(Format::fp32, s.q()), k(Format::fp32, s.k()), v(Format::fp32, s.k()), o(Format::fp32, s.q()), probs(Format::fp32, s.probs());
  q.normal(1), k.normal(2), v.normal(3);
  std::vector<std::int32_t> seen(18, 0);
  for (std::size_t i = 0; i < 6; ++i) seen[i] = 7;   // of the first sequence; of the second none
  Array visible(Format::fp32, Shape{2, 9});
  visible.format = Format::i32;
  std::memcpy(visible.bytes.data(), seen.data(), sizeof(std::int32_t) * seen.size());
  launch("attention", {&q, &k, &v, &visible}, {&o.nan(), &probs.nan()}, &p, {.state = &state});
  Array q1(Format::fp32, first.q()), k1(Format::fp32, first.k()), v1(Format::fp32, first.k());
  q1.fill([&](std::int64_t i) { return q.at(i); });
  const auto kept = [&](std::int64_t i) { return i / (6 * s.d) * 9 * s.d + i % (6 * s.d); };
  k1.fill([&](std::int64_t i) { return k.at(kept(i)); });
  v1.fill([&](std::int64_t i) { return v.at(kept(i)); });
  const Result exact = reference(first, q1, k1, v1, p, state);
  for (std::int64_t i = 0; i < q1.size(); ++i) EXPECT_NEAR(o.at(i), exact.o[static_cast<std::size_t>(i)], 3e-6);
  for (std::int64_t row = 0; row < 15; ++row)
    for (std::int64_t key = 0; key < 9; ++key) {
      const double expected = key < 6 ? exact.probs[static_cast<std::size_t>(row * 6 + key)] : 0.0;
      EXPECT_NEAR(probs.at(row * 9 + key), expected, 1e-6);
    }
  for (std::int64_t i = q1.size(); i < o.size(); ++i) EXPECT_TRUE(std::isnan(o.at(i)));
}

}  // namespace
}  // namespace ulpscope::test
