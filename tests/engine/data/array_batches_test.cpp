// Examples from arrays: which rows a batch holds, and what is refused before anything is trained.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <set>

#include "engine/data/dataset.h"
#include "kernels/error.h"
#include "tests/engine/data/made_arrays.h"
#include "tests/engine/data/temporary_folder.h"

namespace ulpscope::engine {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int examples = 50;

class ArrayBatches : public ::testing::Test {
 protected:
  /// Example i is (i, i + 0.5) with the label i % 5.
  void SetUp() override {
    std::vector<float> x;
    std::vector<std::int64_t> y;
    for (int i = 0; i < examples; ++i) {
      x.push_back(static_cast<float>(i));
      x.push_back(static_cast<float>(i) + 0.5f);
      y.push_back(i % 5);
    }
    features_ = folder_.write("x.npy", npy_bytes("<f4", "(50, 2)", x));
    labels_ = folder_.write("y.npy", npy_bytes("<i8", "(50,)", y));
  }

  struct Batch {
    std::vector<float> x;
    std::vector<std::int32_t> y;
    friend bool operator==(const Batch&, const Batch&) = default;
  };
  template <class Fill>
  Batch batch(std::int64_t rows, Fill fill) const {
    Batch b{std::vector<float>(static_cast<std::size_t>(2 * rows)), std::vector<std::int32_t>(static_cast<std::size_t>(rows))};
    const Tensor inputs[] = {{b.x.data(), Format::fp32, Shape{rows, 2}}, {b.y.data(), Format::i32, Shape{rows}}};
    fill(std::span<const Tensor>(inputs));
    return b;
  }
  Batch training(const Dataset& data, const BatchKey& key, std::int64_t rows = 8) const {
    return batch(rows, [&](auto inputs) { data.training_batch(key, inputs); });
  }
  std::string refusal(const std::string& x, const std::string& y, const ArrayOptions& options = {}) const {
    try {
      load_arrays(x, y, options);
    } catch (const UsageError& error) {
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
      return error.what();
    }
    ADD_FAILURE() << "not refused";
    return "";
  }

  TemporaryFolder folder_;
  std::string features_, labels_;
};

TEST_F(ArrayBatches, FeaturesAndLabelsStayTogetherAndTheHeldOutOnesApart) {
  const auto data = load_arrays(features_, labels_, {.held_out = 0.2});
  std::set<float> trained, held_out;
  for (std::int64_t step = 0; step < 100; ++step) {
    const Batch b = training(*data, {7, step, 0});
    for (std::size_t row = 0; row < b.y.size(); ++row) {
      EXPECT_EQ(b.x[2 * row + 1], b.x[2 * row] + 0.5f);
      EXPECT_EQ(b.y[row], static_cast<int>(b.x[2 * row]) % 5);
      trained.insert(b.x[2 * row]);
    }
  }
  EXPECT_EQ(trained.size(), 40u) << "all of them, in 800 draws";
  EXPECT_EQ(data->held_out_batches(4), 2);
  for (std::int64_t i = 0; i < 2; ++i) {
    const Batch b = batch(4, [&](auto inputs) { data->held_out_batch(i, inputs); });
    for (std::size_t row = 0; row < 4; ++row) held_out.insert(b.x[2 * row]);
  }
  EXPECT_EQ(held_out.size(), 8u);
  for (const float x : held_out) EXPECT_FALSE(trained.contains(x));
  EXPECT_NE(*held_out.begin(), 40.0f) << "drawn, not taken from the end: files are often sorted by label";
}

TEST_F(ArrayBatches, ABatchIsAFunctionOfItsKey) {
  const auto data = load_arrays(features_, labels_, {});
  const auto again = load_arrays(features_, labels_, {});
  const Batch first = training(*data, {1, 3, 0});
  EXPECT_EQ(first, training(*again, {1, 3, 0}));
  for (const BatchKey& other : {BatchKey{2, 3, 0}, BatchKey{1, 4, 0}, BatchKey{1, 3, 1}}) EXPECT_NE(first.x, training(*data, other).x);
  EXPECT_EQ(data->fingerprint(), again->fingerprint());
  EXPECT_NE(data->fingerprint(), load_arrays(features_, labels_, {.held_out = 0.5})->fingerprint());
  EXPECT_NE(data->fingerprint(), load_arrays(features_, labels_, {.scale = 0.5})->fingerprint());
}

TEST_F(ArrayBatches, TheExampleIsDescribedAndScaled) {
  const auto data = load_arrays(features_, labels_, {.scale = 0.1, .shift = -1.0});
  const auto example = data->example();
  ASSERT_TRUE(example.has_value());
  EXPECT_EQ(example->features, Shape{2});
  EXPECT_EQ(example->classes, 5);
  EXPECT_FALSE(example->whole_numbers);
  const Batch plain = training(*load_arrays(features_, labels_, {}), {1, 0, 0}), scaled = training(*data, {1, 0, 0});
  for (std::size_t i = 0; i < plain.x.size(); ++i)
    EXPECT_EQ(scaled.x[i], static_cast<float>(static_cast<double>(plain.x[i]) * 0.1 - 1.0));
  EXPECT_THAT(data->describe(), AllOf(HasSubstr("x.npy [2] of f4"), HasSubstr("45 for training, 5 held out")));
}

TEST_F(ArrayBatches, TargetsMayBeNumbersAndFeaturesTokens) {
  std::vector<double> y(examples);
  std::iota(y.begin(), y.end(), 0.25);
  std::vector<std::uint8_t> x(examples * 3, 9);
  const auto data = load_arrays(folder_.write("t.npy", npy_bytes("|u1", "(50, 3)", x)), folder_.write("r.npy", npy_bytes("<f8", "(50,)", y)), {});
  EXPECT_EQ(data->example()->classes, 0);
  EXPECT_TRUE(data->example()->whole_numbers);
  std::vector<std::int32_t> tokens(6);
  std::vector<float> targets(2);
  const Tensor inputs[] = {{tokens.data(), Format::i32, Shape{2, 3}}, {targets.data(), Format::fp32, Shape{2}}};
  data->training_batch({0, 0, 0}, inputs);
  EXPECT_EQ(tokens[5], 9);
  EXPECT_EQ(targets[0] - std::floor(targets[0]), 0.25f);
  const Tensor one[] = {inputs[0]};
  EXPECT_NO_THROW(data->training_batch({0, 0, 0}, one)) << "a model may do without targets";
}

TEST_F(ArrayBatches, InputsOfAnotherShapeAreRefused) {
  const auto data = load_arrays(features_, labels_, {});
  std::vector<float> x(8 * 3);
  std::vector<std::int32_t> y(8);
  const Tensor inputs[] = {{x.data(), Format::fp32, Shape{8, 3}}, {y.data(), Format::i32, Shape{8}}};
  try {
    data->training_batch({}, inputs);
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("x.npy is f4 [2], its target i8 []"), HasSubstr("[8, 3] fp32 [8] i32")));
  }
}

TEST_F(ArrayBatches, WhatIsWrongIsRefusedWithFilePlaceAndReason) {
  std::vector<float> x(100, 1.0f);
  x[2 * 31 + 1] = std::nanf("");
  EXPECT_THAT(refusal(folder_.write("nan.npy", npy_bytes("<f4", "(50, 2)", x)), labels_), HasSubstr("nan.npy: the element at [31, 1] is NaN"));
  x[2 * 31 + 1] = -INFINITY;
  EXPECT_THAT(refusal(folder_.write("inf.npy", npy_bytes("<f4", "(50, 2)", x)), labels_), HasSubstr("the element at [31, 1] is infinite"));
  EXPECT_THAT(refusal(folder_.write("big.npy", npy_bytes("<f8", "(1,)", std::vector<double>{1e300})), ""), HasSubstr("beyond fp32's range"));
  EXPECT_THAT(refusal(features_, labels_, {.scale = 1e300}),
              AllOf(HasSubstr("x.npy: the element at ["), HasSubstr("is beyond fp32's range when it is scaled: data.scale = 1e+300, data.shift = 0")));
  EXPECT_THAT(refusal(features_, labels_, {.shift = -1e39}), HasSubstr("data.shift = -1e+39"));
  EXPECT_THAT(refusal(features_, folder_.write("short.npy", npy_bytes("<i8", "(49,)", std::vector<std::int64_t>(49)))),
              AllOf(HasSubstr("short.npy: it has 49 examples"), HasSubstr("x.npy have 50")));
  EXPECT_THAT(refusal(folder_.write("none.npy", npy_bytes<float>("<f4", "(0, 2)", {})), ""), HasSubstr("its shape (0, 2) holds no example"));
  EXPECT_THAT(refusal(folder_.write("scalar.npy", npy_bytes("<f4", "()", std::vector<float>{1})), ""), HasSubstr("one number"));
  EXPECT_THAT(refusal(folder_.write("text.txt", "hello world"), ""), HasSubstr("not an IDX file"));
  EXPECT_THAT(refusal(features_, labels_, {.held_out = 0.95}), HasSubstr("from 0 to 0.9"));
  EXPECT_THAT(refusal(folder_.write("one.npy", npy_bytes("<f4", "(1, 2)", std::vector<float>{1, 2})), "", {.held_out = 0.5}),
              HasSubstr("leaves none for training"));
  EXPECT_THAT(refusal(features_, folder_.write("wide.npy", npy_bytes("<i8", "(50,)", std::vector<std::int64_t>(50, 1LL << 40)))),
              HasSubstr("1099511627776 at [0] does not fit 32 bits"));
}

TEST_F(ArrayBatches, ALabelOutOfRangeIsRefused) {
  const auto data = load_arrays(features_, labels_, {});
  EXPECT_NO_THROW(data->check_labels(5, std::nullopt));
  const auto said = [](const Dataset& d, std::int64_t classes, std::optional<std::int64_t> ignored) -> std::string {
    try {
      d.check_labels(classes, ignored);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(said(*data, 4, {}), HasSubstr("y.npy: label 4 at [4] is out of range: valid are 0 to 3"));
  std::vector<std::int64_t> y(examples, 1);
  y[9] = -100;
  const auto negative = load_arrays(features_, folder_.write("n.npy", npy_bytes("<i8", "(50,)", y)), {});
  EXPECT_THAT(said(*negative, 5, {}), HasSubstr("label -100 at [9]"));
  EXPECT_EQ(said(*negative, 5, -100), "");
  EXPECT_THAT(said(*load_arrays(features_, "", {}), 5, {}), HasSubstr("data.labels is missing"));
  EXPECT_THAT(said(*load_arrays(features_, features_, {}), 5, {}), HasSubstr("labels are integers"));
}

}  // namespace
}  // namespace ulpscope::engine
