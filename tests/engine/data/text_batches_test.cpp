// Batches of a text: keyed, in range, held-out bytes apart.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "engine/data/dataset.h"
#include "kernels/error.h"
#include "tests/engine/data/temporary_folder.h"

namespace ulpscope::engine {
namespace {

struct Batch {
  std::vector<std::int32_t> tokens;
  std::vector<std::int32_t> targets;
  friend bool operator==(const Batch&, const Batch&) = default;
};

class TextBatches : public ::testing::Test {
 protected:
  std::unique_ptr<Dataset> load(const std::string& bytes, const TextOptions& options) {
    options_ = options;
    return load_text({folder_.write("text", bytes)}, options);
  }

  template <class Fill>
  Batch fill(std::int64_t rows, Fill call) const {
    const Shape all{rows, options_.context};
    const Shape targets = options_.targets == TextTargets::every_position ? all : Shape{rows};
    Batch batch{std::vector<std::int32_t>(static_cast<std::size_t>(all.elements()), -1),
                std::vector<std::int32_t>(static_cast<std::size_t>(targets.elements()), -1)};
    const Tensor inputs[] = {Tensor(batch.tokens.data(), Format::i32, all), Tensor(batch.targets.data(), Format::i32, targets)};
    call(std::span<const Tensor>(inputs));
    return batch;
  }
  Batch training(const Dataset& data, std::int64_t rows, const BatchKey& key) const {
    return fill(rows, [&](std::span<const Tensor> inputs) { data.training_batch(key, inputs); });
  }
  Batch held_out(const Dataset& data, std::int64_t rows, std::int64_t index) const {
    return fill(rows, [&](std::span<const Tensor> inputs) { data.held_out_batch(index, inputs); });
  }

  TemporaryFolder folder_;
  TextOptions options_;
};

/// Bytes whose value says where they stand, as long as there are fewer than 256.
std::string counting(int bytes) {
  std::string text(static_cast<std::size_t>(bytes), '\0');
  std::iota(text.begin(), text.end(), 0);
  return text;
}

TEST_F(TextBatches, targets_are_the_following_bytes) {
  const auto data = load(counting(200), {.context = 7, .targets = TextTargets::every_position, .held_out = 0.1});
  const Batch batch = training(*data, 16, {.seed = 1, .iteration = 2, .micro_batch = 3});
  for (std::size_t i = 0; i < batch.tokens.size(); ++i) {
    EXPECT_EQ(batch.targets[i], batch.tokens[i] + 1);
    if (i % 7 != 0) {
      EXPECT_EQ(batch.tokens[i], batch.tokens[i - 1] + 1);
    }
  }
  const auto next = load(counting(200), {.context = 7, .targets = TextTargets::next_byte, .held_out = 0.1});
  const Batch single = training(*next, 16, {.seed = 1, .iteration = 2, .micro_batch = 3});
  EXPECT_EQ(single.tokens, batch.tokens);   // the same windows
  for (std::size_t row = 0; row < 16; ++row) EXPECT_EQ(single.targets[row], single.tokens[row * 7 + 6] + 1);
}

TEST_F(TextBatches, bytes_above_127_are_positive_tokens) {
  const auto data = load(std::string(50, '\xfe'), {.context = 4, .held_out = 0.2});
  const Batch batch = training(*data, 2, {});
  EXPECT_EQ(batch.tokens, std::vector<std::int32_t>(8, 254));
  EXPECT_EQ(batch.targets, std::vector<std::int32_t>(8, 254));
}

TEST_F(TextBatches, the_same_key_gives_the_same_bytes_and_another_key_others) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += std::to_string(i * i) + ' ';
  const auto data = load(text, {.context = 32});
  const auto again = load_text({folder_.write("copy", text)}, options_);
  const BatchKey key{.seed = 5, .iteration = 9, .micro_batch = 1};
  const Batch batch = training(*data, 8, key);
  EXPECT_EQ(batch, training(*data, 8, key));
  EXPECT_EQ(batch, training(*again, 8, key));
  EXPECT_NE(batch, training(*data, 8, {.seed = 6, .iteration = 9, .micro_batch = 1}));
  EXPECT_NE(batch, training(*data, 8, {.seed = 5, .iteration = 10, .micro_batch = 1}));
  EXPECT_NE(batch, training(*data, 8, {.seed = 5, .iteration = 9, .micro_batch = 2}));
  // A row depends on its own index: a larger batch begins with the smaller one.
  const Batch larger = training(*data, 12, key);
  EXPECT_TRUE(std::equal(batch.tokens.begin(), batch.tokens.end(), larger.tokens.begin()));
}

TEST_F(TextBatches, every_training_offset_is_drawn_evenly_and_no_held_out_byte_is) {
  // 200 bytes, 20 held out: windows of 6 start at 0 … 174, and the last one ends with byte 179.
  const auto data = load(counting(200), {.context = 5, .held_out = 0.1});
  std::vector<int> count(200, 0);
  constexpr int draws = 64 * 1000;
  for (std::int64_t iteration = 0; iteration < 1000; ++iteration) {
    const Batch batch = training(*data, 64, {.seed = 3, .iteration = iteration});
    for (std::size_t row = 0; row < 64; ++row) ++count[static_cast<std::size_t>(batch.tokens[row * 5])];
    EXPECT_LT(*std::max_element(batch.targets.begin(), batch.targets.end()), 180);
  }
  double chi_squared = 0.0;
  const double expected = draws / 175.0;
  for (int offset = 0; offset < 200; ++offset) {
    const double difference = count[static_cast<std::size_t>(offset)] - expected;
    if (offset < 175)
      chi_squared += difference * difference / expected;
    else
      EXPECT_EQ(count[static_cast<std::size_t>(offset)], 0) << offset;
  }
  // 174 degrees of freedom: mean 174, standard deviation sqrt(348) = 18.7; the draw is fixed, so this cannot flake.
  EXPECT_NEAR(chi_squared, 174.0, 5 * std::sqrt(348.0));
}

TEST_F(TextBatches, held_out_batches_walk_the_end_in_order_without_overlap) {
  // 43 held out of 215: windows start at 172, 177, … as long as start + 5 < 215: 8 of them.
  const auto data = load(counting(215), {.context = 5, .held_out = 0.2});
  EXPECT_EQ(data->held_out_batches(1), 8);
  EXPECT_EQ(data->held_out_batches(3), 2);
  std::vector<std::int32_t> expected(15);
  std::iota(expected.begin(), expected.end(), 172);
  EXPECT_EQ(held_out(*data, 3, 0).tokens, expected);
  std::iota(expected.begin(), expected.end(), 187);
  EXPECT_EQ(held_out(*data, 3, 1).tokens, expected);
  std::iota(expected.begin(), expected.end(), 188);
  EXPECT_EQ(held_out(*data, 3, 1).targets, expected);
  EXPECT_THROW(held_out(*data, 3, 2), Error);
  EXPECT_THROW(held_out(*data, 3, -1), Error);
}

TEST_F(TextBatches, a_batch_larger_than_what_is_held_out_repeats_its_windows) {
  const auto data = load(counting(110), {.context = 5, .held_out = 0.1});   // 11 held out: 2 windows
  EXPECT_EQ(data->held_out_batches(5), 1);
  const Batch batch = held_out(*data, 5, 0);
  const std::vector<std::int32_t> first{99, 100, 101, 102, 103, 104, 105, 106, 107, 108};
  for (std::size_t i = 0; i < batch.tokens.size(); ++i) EXPECT_EQ(batch.tokens[i], first[i % 10]);
}

TEST_F(TextBatches, nothing_is_held_out_when_asked) {
  const auto data = load(counting(100), {.context = 5, .held_out = 0.0});
  EXPECT_EQ(data->held_out_batches(1), 0);
  // The only window of a text as short as that.
  const auto shortest = load(counting(6), {.context = 5, .held_out = 0.0});
  EXPECT_EQ(training(*shortest, 3, {.seed = 8}).tokens, (std::vector<std::int32_t>{0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1, 2, 3, 4}));
}

TEST_F(TextBatches, describe_gives_the_split) {
  const auto data = load(std::string(48213, 'x'), {.context = 64, .held_out = 0.1});
  EXPECT_EQ(data->describe(), "text: " + (folder_.path() / "text").string() + ", 48213 bytes, 43391 for training, 4822 held out");
  // An exact share stays exact.
  EXPECT_TRUE(load(counting(10), {.context = 1, .held_out = 0.3})->describe().ends_with("7 for training, 3 held out"));
}

TEST_F(TextBatches, fingerprint_tells_content_and_split_apart) {
  // The published FNV-1a of "foobar" (draft-eastlake-fnv), then the eight bytes of the training size, 6.
  std::uint64_t expected = 0x85944171f73967e8u;
  for (const unsigned byte : {6u, 0u, 0u, 0u, 0u, 0u, 0u, 0u}) expected = (expected ^ byte) * 0x100000001b3u;
  EXPECT_EQ(load("foobar", {.context = 1, .held_out = 0.0})->fingerprint(), expected);
  const std::uint64_t whole = load(counting(100), {.context = 5, .held_out = 0.1})->fingerprint();
  EXPECT_EQ(whole, load(counting(100), {.context = 9, .held_out = 0.1})->fingerprint());
  EXPECT_NE(whole, load(counting(100), {.context = 5, .held_out = 0.2})->fingerprint());
  std::string other = counting(100);
  other[99] = 'x';
  EXPECT_NE(whole, load(other, {.context = 5, .held_out = 0.1})->fingerprint());
}

TEST_F(TextBatches, inputs_of_the_wrong_kind_are_refused) {
  const auto data = load(counting(100), {.context = 5, .held_out = 0.1});
  std::vector<std::int32_t> memory(64);
  const Tensor good(memory.data(), Format::i32, {4, 5});
  const Tensor too_long(memory.data(), Format::i32, {4, 6});
  const Tensor floats(memory.data(), Format::fp32, {4, 5});
  const Tensor row_targets(memory.data(), Format::i32, {4});
  using Inputs = std::vector<Tensor>;
  for (const Inputs& inputs : {Inputs{}, Inputs{good}, Inputs{good, too_long}, Inputs{too_long, too_long}, Inputs{floats, good},
                               Inputs{good, row_targets}, Inputs{good, good, good}})
    EXPECT_THROW(data->training_batch({}, inputs), Error);
  EXPECT_NO_THROW(data->training_batch({}, Inputs{good, good}));
}

}  // namespace
}  // namespace ulpscope::engine
