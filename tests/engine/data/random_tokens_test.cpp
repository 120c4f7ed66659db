// Tokens drawn from a vocabulary: keyed, in range, targets one further on.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "engine/data/dataset.h"
#include "kernels/error.h"

namespace ulpscope::engine {
namespace {

struct Batch {
  std::vector<std::int32_t> tokens, targets;
  friend bool operator==(const Batch&, const Batch&) = default;
};

template <class Fill>
Batch filled(std::int64_t rows, std::int64_t context, bool all, Fill call) {
  const auto n = static_cast<std::size_t>(rows * context);
  Batch batch{std::vector<std::int32_t>(n, -1), std::vector<std::int32_t>(all ? n : static_cast<std::size_t>(rows), -1)};
  const Tensor inputs[] = {Tensor(batch.tokens.data(), Format::i32, Shape{rows, context}),
                           Tensor(batch.targets.data(), Format::i32, all ? Shape{rows, context} : Shape{rows})};
  call(std::span<const Tensor>(inputs));
  return batch;
}
Batch training(const Dataset& data, const BatchKey& key, std::int64_t rows = 4, std::int64_t context = 100, bool all = true) {
  return filled(rows, context, all, [&](std::span<const Tensor> inputs) { data.training_batch(key, inputs); });
}

TEST(RandomTokens, SpreadOverTheVocabularyAndTargetsAreTheNextTokens) {
  const auto data = random_tokens(50257, {.context = 100, .held_out = 0.0});
  std::vector<std::int32_t> seen;
  double sum = 0.0;
  for (std::int64_t step = 0; step < 50; ++step) {
    const Batch batch = training(*data, {3, step, 0});
    for (std::size_t row = 0; row < 4; ++row)
      for (std::size_t i = 0; i + 1 < 100; ++i) ASSERT_EQ(batch.targets[row * 100 + i], batch.tokens[row * 100 + i + 1]);
    seen.insert(seen.end(), batch.tokens.begin(), batch.tokens.end());
  }
  for (const std::int32_t token : seen) {
    ASSERT_GE(token, 0);
    ASSERT_LT(token, 50257);
    sum += token;
  }
  // 20000 draws: the mean of a uniform distribution has a standard deviation of 50257 / sqrt(12 n) = 103.
  EXPECT_NEAR(sum / static_cast<double>(seen.size()), 25128.0, 4 * 103.0);
  EXPECT_GT(*std::max_element(seen.begin(), seen.end()), 50200);
}

TEST(RandomTokens, ABatchDependsOnSeedStepAndMicroBatchAlone) {
  const auto data = random_tokens(256, {.context = 100});
  const Batch batch = training(*data, {1, 2, 3});
  EXPECT_EQ(batch, training(*random_tokens(256, {.context = 100}), {1, 2, 3}));
  for (const BatchKey& other : {BatchKey{2, 2, 3}, BatchKey{1, 3, 3}, BatchKey{1, 2, 4}}) EXPECT_FALSE(batch == training(*data, other));
  EXPECT_NE(data->fingerprint(), random_tokens(257, {.context = 100})->fingerprint());
}

TEST(RandomTokens, HeldOutBatchesAreOthersAndThereOnlyIfAskedFor) {
  const auto data = random_tokens(1000, {.context = 100, .held_out = 0.1});
  ASSERT_EQ(data->held_out_batches(8), 64);
  const auto held_out = [&](std::int64_t index) { return filled(4, 100, true, [&](std::span<const Tensor> inputs) { data->held_out_batch(index, inputs); }); };
  EXPECT_EQ(held_out(1), held_out(1));
  EXPECT_FALSE(held_out(0) == held_out(1));
  EXPECT_FALSE(held_out(0) == training(*data, {0, 0, 0}));
  EXPECT_THROW(held_out(64), Error);
  EXPECT_EQ(random_tokens(1000, {.context = 100, .held_out = 0.0})->held_out_batches(8), 0);
}

TEST(RandomTokens, OneTargetForAWindow) {
  const auto data = random_tokens(10, {.context = 5, .targets = TextTargets::next_byte});
  const Batch batch = training(*data, {0, 0, 0}, 3, 5, false);
  for (const std::int32_t target : batch.targets) EXPECT_TRUE(target >= 0 && target < 10);
  EXPECT_THROW(training(*data, {0, 0, 0}, 3, 5, true), Error);
  EXPECT_THROW(random_tokens(0, {}), UsageError);
}

}  // namespace
}  // namespace ulpscope::engine
