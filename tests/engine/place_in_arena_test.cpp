// Places in the arena are those of the plain algorithm: largest first, each at the lowest offset free for all of its life.
#include <algorithm>

#include <gtest/gtest.h>

#include "engine/passes/arena.h"
#include "kernels/math/random.h"

namespace ulpscope::engine {
namespace {

/// Compares with every buffer placed so far.
std::int64_t place_plainly(std::vector<Placement>& buffers) {
  std::vector<Placement*> list, placed;
  for (Placement& p : buffers) list.push_back(&p);
  std::stable_sort(list.begin(), list.end(), [](const Placement* a, const Placement* b) { return a->bytes > b->bytes; });
  std::int64_t arena = 0;
  for (Placement* p : list) {
    const auto free_at = [&](std::int64_t offset) {
      return std::none_of(placed.begin(), placed.end(), [&](const Placement* o) {
        return o->first <= p->last && p->first <= o->last && o->offset < offset + p->bytes && offset < o->offset + o->bytes;
      });
    };
    std::vector<std::int64_t> candidates{0};   // the lowest place is the start or the end of another
    for (const Placement* o : placed) candidates.push_back(o->offset + o->bytes);
    std::sort(candidates.begin(), candidates.end());
    p->offset = *std::find_if(candidates.begin(), candidates.end(), free_at);
    placed.push_back(p);
    arena = std::max(arena, p->offset + p->bytes);
  }
  return arena;
}

enum class Lives { any, of_layers };

std::vector<Placement> made_up(int count, Lives lives, std::uint64_t seed) {
  const std::uint64_t key = math::random_key(seed, 3);
  const auto draw = [&](int i, int what, int below) {
    return static_cast<int>(math::random_uniform(key, static_cast<std::uint64_t>(8 * i + what), 0, 0) * static_cast<float>(below));
  };
  std::vector<Placement> buffers(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    Placement& p = buffers[static_cast<std::size_t>(i)];
    p.bytes = 64 * (1 + draw(i, 0, lives == Lives::any ? 50 : 4) * draw(i, 1, 8));
    p.first = draw(i, 2, count);
    if (lives == Lives::any) {
      p.last = p.first + draw(i, 3, count);
    } else {   // kept from the forward pass to its mirror image, or passing
      p.first = p.first / 2;
      p.last = draw(i, 4, 2) == 0 ? count - p.first : p.first + draw(i, 5, 4);
    }
  }
  return buffers;
}

TEST(PlaceInArena, AsThePlainAlgorithmDoes) {
  for (const Lives lives : {Lives::any, Lives::of_layers})
    for (const int count : {1, 2, 63, 64, 65, 130, 700})
      for (std::uint64_t seed = 0; seed < 3; ++seed) {
        std::vector<Placement> expected = made_up(count, lives, seed), placed = expected;
        std::vector<Placement*> list;
        for (Placement& p : placed) list.push_back(&p);
        EXPECT_EQ(place_in_arena(list), place_plainly(expected)) << count << ", " << seed;
        for (std::size_t i = 0; i < placed.size(); ++i) ASSERT_EQ(placed[i].offset, expected[i].offset) << count << ": " << i;
      }
  EXPECT_EQ(place_in_arena({}), 0);
}

}  // namespace
}  // namespace ulpscope::engine
