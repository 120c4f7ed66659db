// First values: the same by any number of threads.
#include <gtest/gtest.h>

#include "engine/graph/initialise.h"
#include "engine/streams.h"
#include "kernels/math/random.h"

namespace ulpscope::engine {
namespace {

Value weight(std::int64_t elements, const Initial& initial) {
  Value v;
  v.name = "h.0.fc.weight";
  v.shape = Shape{elements};
  v.initial = initial;
  return v;
}

TEST(InitialValues, AreDrawnByTheirNumberWhateverThreadDrawsThem) {
  constexpr std::int64_t n = 200'003;   // enough for a team, and not divided by it
  for (const Initial::Kind kind : {Initial::Kind::normal, Initial::Kind::uniform}) {
    Initial initial;
    initial.kind = kind;
    initial.scale = 0.02;
    const Value value = weight(n, initial);
    const std::vector<float> alone = initial_values(value, 7);
    ASSERT_EQ(std::ssize(alone), n);
    for (const int threads : {2, 3, 8}) EXPECT_TRUE(initial_values(value, 7, threads) == alone) << threads;
    const std::uint64_t key = math::random_key(7, weight_stream(value.name));
    for (const std::uint64_t i : {std::uint64_t{0}, std::uint64_t{100'001}, std::uint64_t{n - 1}}) {
      const float right = kind == Initial::Kind::normal ? 0.02f * math::random_normal(key, i, 0, 0) : 0.02f * (2.0f * math::random_uniform(key, i, 0, 0) - 1.0f);
      EXPECT_EQ(alone[i], right) << i;
    }
  }
  Initial between;
  between.kind = Initial::Kind::uniform;
  between.list = {3.0f, 5.0f};
  const std::vector<float> drawn = initial_values(weight(n, between), 1, 4);
  for (const float x : drawn) ASSERT_TRUE(x >= 3.0f && x < 5.0f) << x;
  EXPECT_TRUE(drawn == initial_values(weight(n, between), 1));
}

}  // namespace
}  // namespace ulpscope::engine
