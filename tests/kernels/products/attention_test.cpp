#include <gtest/gtest.h>

#include "kernels/error.h"
#include "tests/kernels/products/attention_reference.h"
#include "tests/kernels/same_counts.h"

namespace ulpscope::test {
namespace {

TEST(Attention, AgreesWithDouble) {
  StepState state;
  state.iteration = 5;
  state.micro_batch = 1;
  unsigned seed = 1;
  for (const Sizes& s : {Sizes{}, Sizes{1, 2, 33, 33, 16}, Sizes{2, 1, 4, 9, 5}, Sizes{1, 1, 1, 1, 1}}) {
    for (const bool causal : {false, true}) {
      for (const float rate : {0.0f, 0.3f}) {
        for (const Format multiply : {Format::fp32, Format::tf32, Format::fp16, Format::bf16}) {
          const Format stored = is_16bit(multiply) ? multiply : Format::fp32;
          const AttentionParams p = make_params(s, causal, multiply, rate);
          Array q(stored, s.q()), k(stored, s.k()), v(stored, s.k()), o(stored, s.q()), probs(stored, s.probs()),
              alone(stored, s.q());
          launch("attention", {&q.normal(seed), &k.normal(seed + 1), &v.normal(seed + 2)}, {&o.nan(), &probs.nan()}, &p,
                 {.state = &state});
          launch("attention", {&q, &k, &v}, {&alone.nan()}, &p, {.state = &state});
          EXPECT_TRUE(o.bytes == alone.bytes) << "other numbers when the probabilities are not asked for";
          const int bits = stored == Format::fp32 ? 53 : info(stored).mantissa_bits + 1;
          const Result exact = reference(s, q, k, v, p, state, bits);
          // tf32 rounds probabilities that the reference knows better than fp32 does: a tie may go the other way.
          // A GPU may cut off instead.
          const double slack = multiply == Format::tf32 ? (on_gpu() ? 0x1p-10 : 0x1p-11) : tolerance(stored);
          EXPECT_LE(difference(probs, exact.probs), tolerance(stored))
              << name(multiply) << causal << rate << " " << s.tq;
          EXPECT_LE(difference(o, exact.o), slack) << name(multiply) << causal << rate << " " << s.tq;
          seed += 3;
        }
      }
    }
  }
}

TEST(Attention, TheModeIsSeenInTheResult) {
  const Sizes s{2, 4, 32, 32, 64};
  StepState state;
  Array q(Format::fp32, s.q()), k(Format::fp32, s.k()), v(Format::fp32, s.k()), o(Format::fp32, s.q());
  q.normal(1);
  k.normal(2);
  v.normal(3);
  const auto error = [&](Format multiply) {
    const AttentionParams p = make_params(s, true, multiply);
    launch("attention", {&q, &k, &v}, {&o}, &p);
    const AttentionParams exact = make_params(s, true, Format::fp64);
    const Result r = reference(s, q, k, v, exact, state);
    double sum = 0.0, size = 0.0;
    for (std::size_t i = 0; i < r.o.size(); ++i) {
      sum += std::pow(o.at(static_cast<std::int64_t>(i)) - r.o[i], 2.0);
      size += r.o[i] * r.o[i];
    }
    return std::sqrt(sum / size);
  };
  const double fp32 = error(Format::fp32), tf32 = error(Format::tf32), fp16 = error(Format::fp16),
               bf16 = error(Format::bf16);
  EXPECT_LT(fp32, 1e-6);
  EXPECT_GT(tf32, 1.5e-4);
  EXPECT_NEAR(bf16 / fp16, 8.0, 1.0);
  if (on_gpu()) return;   // cuBLASLt rounds the probabilities to tf32 by a rule of its own
  EXPECT_LT(tf32, 6e-4);
  EXPECT_NEAR(fp16 / tf32, 1.0, 0.1);
  EXPECT_NEAR(bf16 / tf32, 8.0, 1.0);
}

TEST(Attention, ReadsPackedProjectionsAndWritesInterleavedHeads) {
  const Sizes s{2, 3, 7, 7, 8};
  const std::int64_t c = s.h * s.d;
  StepState state;
  for (const Format f : {Format::fp32, Format::fp16}) {
    const AttentionParams p = make_params(s, true, f, 0.2f);
    Array packed(f, {s.b, s.tq, 3 * c});
    packed.normal(4);
    const auto part = [&](std::int64_t which) {
      Array x(f, s.q(), {s.tq * 3 * c, s.d, 3 * c, 1}, which * c);
      std::copy(packed.bytes.begin(), packed.bytes.begin() + static_cast<std::ptrdiff_t>(x.bytes.size()),
                x.bytes.begin());
      return x;
    };
    Array q = part(0), k = part(1), v = part(2);
    Array o(f, s.q(), {s.tq * c, s.d, c, 1}), plain(f, s.q());
    launch("attention", {&q, &k, &v}, {&o.nan()}, &p, {.state = &state});
    const Result exact = reference(s, q, k, v, p, state, f == Format::fp32 ? 53 : 11);
    EXPECT_LE(difference(o, exact.o), tolerance(f));
  }
}

TEST(Attention, FullyHiddenAndNonFiniteRows) {
  const Sizes s{1, 1, 5, 3, 4};  // queries 0 and 1 see no key
  const AttentionParams p = make_params(s, true, Format::fp32);
  Array q(Format::fp32, s.q()), k(Format::fp32, s.k()), v(Format::fp32, s.k()), o(Format::fp32, s.q()),
      probs(Format::fp32, s.probs());
  launch("attention", {&q.normal(1), &k.normal(2), &v.normal(3)}, {&o, &probs}, &p);
  for (std::int64_t i = 0; i < 5; ++i) {
    EXPECT_EQ(std::isnan(o.at(i * 4)), i < 2) << i;
    EXPECT_EQ(std::isnan(probs.at(i * 3)), i < 2) << i;
  }
  k.set(0, std::nan(""));
  launch("attention", {&q, &k, &v}, {&o, &probs}, &p);
  for (std::int64_t i = 0; i < 5; ++i) EXPECT_TRUE(std::isnan(o.at(i * 4)));
}

TEST(Attention, HasTheSameBitsForAnyThreadsInstructionSetAndObserver) {
  const Sizes s{2, 5, 40, 40, 32};
  StepState state;
  for (const Format f : {Format::fp32, Format::fp16, Format::bf16}) {
    const AttentionParams p = make_params(s, true, f == Format::fp32 ? Format::tf32 : f, 0.1f);
    Array q(f, s.q()), k(f, s.k()), v(f, s.k()), dout(f, s.q());
    Array o(f, s.q()), probs(f, s.probs()), dq(f, s.q()), dk(f, s.k()), dv(f, s.k());
    q.normal(1);
    k.normal(2);
    v.normal(3);
    dout.normal(4);
    const auto both = [&](const Options& forward, const Options& backward) {
      launch("attention", {&q, &k, &v}, {&o, &probs}, &p, forward);
      launch("attention_backward", {&q, &k, &v, &probs, &dout}, {&dq, &dk, &dv}, &p, backward);
      std::vector<unsigned char> all;
      for (const Array* x : {&o, &probs, &dq, &dk, &dv}) all.insert(all.end(), x->bytes.begin(), x->bytes.end());
      return all;
    };
    const Options one{.threads = 1, .state = &state};
    const auto first = both(one, one);
    for (const int threads : {2, 3, 16}) {
      const Options several{.threads = threads, .state = &state};
      EXPECT_TRUE(both(several, several) == first) << threads;
    }
    for (const InstructionSet set : available_sets()) {
      const Options other{.set = set, .state = &state};
      EXPECT_TRUE(both(other, other) == first) << name(set);
    }
    RoundingCounts counts[2][5];
    for (int i = 0; i < 2; ++i) {
      const int threads = i == 0 ? 1 : 3;
      EXPECT_TRUE(
          both({.threads = threads, .counts = {&counts[i][0], &counts[i][1]}, .state = &state},
               {.threads = threads, .counts = {&counts[i][2], &counts[i][3], &counts[i][4]}, .state = &state}) ==
          first);
    }
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(test::same_counts(counts[0][i], counts[1][i])) << i;
    EXPECT_EQ(counts[0][1].elements, probs.size());
    EXPECT_EQ(counts[0][1].zero, 2 * 5 * 40 * 39 / 2);  // the hidden half
    EXPECT_EQ(counts[0][4].elements, dv.size());
    EXPECT_EQ(counts[0][0].sum_of_errors > 0.0, f != Format::fp32);
  }
}

/// loss = sum of weight * o, in double.
struct DoubleProblem {
  Sizes s;
  AttentionParams p;
  StepState state;
  Array q, k, v, weight, o, probs;
  DoubleProblem(const Sizes& sizes, bool causal, float rate)
      : s(sizes),
        p(make_params(sizes, causal, Format::fp32, rate)),
        q(Format::fp64, s.q()),
        k(Format::fp64, s.k()),
        v(Format::fp64, s.k()),
        weight(Format::fp64, s.q()),
        o(Format::fp64, s.q()),
        probs(Format::fp64, s.probs()) {
    q.normal(1);
    k.normal(2);
    v.normal(3);
    weight.normal(4);
  }
  double loss() {
    launch("attention", {&q, &k, &v}, {&o, &probs}, &p, {.compute = Format::fp64, .state = &state});
    double sum = 0.0;
    for (std::int64_t i = 0; i < o.size(); ++i) sum += weight.at(i) * o.at(i);
    return sum;
  }
};

TEST(AttentionBackward, AgreesWithFiniteDifferencesInDouble) {
  for (const Sizes& s : {Sizes{2, 2, 5, 5, 4}, Sizes{1, 2, 3, 6, 3}}) {
    for (const bool causal : {false, true}) {
      for (const float rate : {0.0f, 0.4f}) {
        DoubleProblem problem(s, causal, rate);
        problem.loss();
        Array dq(Format::fp64, s.q()), dk(Format::fp64, s.k()), dv(Format::fp64, s.k());
        launch("attention_backward", {&problem.q, &problem.k, &problem.v, &problem.probs, &problem.weight},
               {&dq.nan(), &dk.nan(), &dv.nan()}, &problem.p, {.compute = Format::fp64, .state = &problem.state});
        Array* inputs[] = {&problem.q, &problem.k, &problem.v};
        const Array* gradients[] = {&dq, &dk, &dv};
        for (int which = 0; which < 3; ++which) {
          for (std::int64_t i = 0; i < inputs[which]->size(); ++i) {
            const double x = inputs[which]->at(i);
            constexpr double step = 1e-5;
            inputs[which]->set(i, x + step);
            const double above = problem.loss();
            inputs[which]->set(i, x - step);
            const double below = problem.loss();
            inputs[which]->set(i, x);
            EXPECT_NEAR(gradients[which]->at(i), (above - below) / (2 * step), 1e-8) << which << " " << i;
          }
        }
      }
    }
  }
}

TEST(AttentionBackward, AgreesWithDoubleInEveryFormat) {
  const Sizes s{2, 3, 24, 24, 16};
  const std::int64_t c = s.h * s.d;
  StepState state;
  for (const float rate : {0.0f, 0.25f}) {
    for (const Format multiply : {Format::fp32, Format::tf32, Format::fp16, Format::bf16}) {
      const Format f = is_16bit(multiply) ? multiply : Format::fp32;
      const AttentionParams p = make_params(s, true, multiply, rate);
      const std::initializer_list<std::int64_t> interleaved = {s.tq * c, s.d, c, 1};
      Array q(f, s.q(), interleaved), k(f, s.k(), interleaved), v(f, s.k(), interleaved), dout(f, s.q(), interleaved);
      Array o(f, s.q()), probs(f, s.probs()), dq(f, s.q(), interleaved), dk(f, s.k(), interleaved),
          dv(f, s.k(), interleaved);
      q.normal(1);
      k.normal(2);
      v.normal(3);
      dout.normal(4);
      launch("attention", {&q, &k, &v}, {&o, &probs}, &p, {.state = &state});
      launch("attention_backward", {&q, &k, &v, &probs, &dout}, {&dq.nan(), &dk.nan(), &dv.nan()}, &p,
             {.state = &state});
      const AttentionParams exact = make_params(s, true, Format::fp32, rate);
      Array xq(Format::fp64, s.q()), xk(Format::fp64, s.k()), xv(Format::fp64, s.k()),
          exact_probs(Format::fp64, s.probs());
      Array exact_o(Format::fp64, s.q());
      launch("attention", {&q, &k, &v}, {&exact_o, &exact_probs}, &exact, {.compute = Format::fp64, .state = &state});
      launch("attention_backward", {&q, &k, &v, &exact_probs, &dout}, {&xq, &xk, &xv}, &exact,
             {.compute = Format::fp64, .state = &state});
      const Array* got[] = {&dq, &dk, &dv};
      const Array* right[] = {&xq, &xk, &xv};
      for (int which = 0; which < 3; ++which) {
        double error = 0.0, size = 0.0;
        for (std::int64_t i = 0; i < got[which]->size(); ++i) {
          error += std::pow(got[which]->at(i) - right[which]->at(i), 2.0);
          size += std::pow(right[which]->at(i), 2.0);
        }
        const double relative = std::sqrt(error / size);
        // A chain of two or three roundings, each of relative RMS error about 0.4 unit roundoffs.
        const double u = info(multiply).unit_roundoff;
        if (multiply == Format::fp32) {
          EXPECT_LT(relative, 2e-6) << which;
        } else {
          EXPECT_LT(relative, 1.6 * u) << name(multiply) << which;
          EXPECT_GT(relative, 0.25 * u) << name(multiply) << which << ": the mode does not round";
        }
      }
    }
  }
}

TEST(Attention, RefusesViewsThatDoNotFit) {
  const Sizes s;
  const AttentionParams p = make_params(s, true, Format::fp32);
  Array q(Format::fp32, s.q()), k(Format::fp32, {2, 3, 9, 7}), v(Format::fp32, s.k()), o(Format::fp32, s.q());
  EXPECT_THROW(launch("attention", {&q, &k, &v}, {&o}, &p), Error);
  EXPECT_THROW(launch("attention_backward", {&q, &k, &v}, {&o}, &p), Error);
}

}  // namespace
}  // namespace ulpscope::test
