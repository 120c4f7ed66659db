// Topics: who hears what when listeners come, go and publish while an event is announced; what events say.
#include <optional>
#include <type_traits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/topics.h"
#include "tests/engine/support/graph_run.h"

namespace ulpscope::engine {
namespace {

using ::testing::ElementsAre;

static_assert(!std::is_copy_constructible_v<Subscription> && !std::is_copy_assignable_v<Subscription>);
static_assert(std::is_nothrow_move_constructible_v<Subscription> && std::is_nothrow_move_assignable_v<Subscription>);

TEST(Topics, AListenerHearsUntilItsSubscriptionEnds) {
  Topic<int> topic;
  std::vector<int> heard;
  EXPECT_TRUE(topic.silent());
  {
    Subscription outer;
    {
      Subscription inner = topic.subscribe([&](int i) { heard.push_back(i); });
      topic.publish(1);
      outer = std::move(inner);
    }
    topic.publish(2);
  }
  topic.publish(3);
  EXPECT_THAT(heard, ElementsAre(1, 2));
  EXPECT_TRUE(topic.silent());
}

TEST(Topics, ListenersMayEndThemselvesAndOthersDuringAnEvent) {
  Topic<int> topic;
  std::vector<std::string> heard;
  Subscription a, b, c, d;
  a = topic.subscribe([&](int) {
    heard.emplace_back("a");
    a.end();
    c.end();
  });
  b = topic.subscribe([&](int) { heard.emplace_back("b"); });
  c = topic.subscribe([&](int) { heard.emplace_back("c"); });
  d = topic.subscribe([&](int) { heard.emplace_back("d"); });
  topic.publish(1);
  EXPECT_THAT(heard, ElementsAre("a", "b", "d"));
  topic.publish(2);
  EXPECT_THAT(heard, ElementsAre("a", "b", "d", "b", "d"));
}

TEST(Topics, APausedListenerHearsNothingUntilItResumes) {
  Topic<int> topic;
  std::vector<int> heard;
  Subscription s = topic.subscribe([&](int i) { heard.push_back(i); });
  s.pause();
  EXPECT_TRUE(topic.silent());
  topic.publish(1);
  {
    const Subscription other = topic.subscribe([](int) {});
    EXPECT_FALSE(topic.silent());
  }
  EXPECT_TRUE(topic.silent());
  s.resume();
  EXPECT_FALSE(topic.silent());
  topic.publish(2);
  EXPECT_THAT(heard, ElementsAre(2));
  s.end();
  s.resume();   // of nothing
  EXPECT_TRUE(topic.silent());
}

TEST(Topics, ListenersMaySubscribeDuringAnEventAndHearTheNextOne) {
  Topic<int> topic;
  std::vector<int> late;
  std::vector<Subscription> more;
  const Subscription first = topic.subscribe([&](int) {
    for (int i = 0; i < 100; ++i) more.push_back(topic.subscribe([&](int event) { late.push_back(event); }));   // the list moves
  });
  topic.publish(1);
  EXPECT_TRUE(late.empty());
  more.resize(1);
  topic.publish(2);
  EXPECT_THAT(late, ElementsAre(2));
}

TEST(Topics, AnEventInsideAnEventRemovesNothingUnderTheOuterOne) {
  Topic<int> topic;
  std::vector<int> heard;
  Subscription gone = topic.subscribe([](int) {});
  const Subscription outer = topic.subscribe([&](int i) {
    if (i != 1) return;
    gone.end();         // stands before this one in the list
    topic.publish(2);   // and would be removed here
  });
  const Subscription last = topic.subscribe([&](int i) { heard.push_back(i); });
  topic.publish(1);
  EXPECT_THAT(heard, ElementsAre(2, 1));
}

TEST(Topics, AListenerThatThrowsLeavesTheTopicInOrder) {
  Topic<int> topic;
  std::optional<Subscription> thrower = topic.subscribe([](int) { throw 7; });
  EXPECT_THROW(topic.publish(1), int);
  thrower.reset();
  topic.publish(2);
  EXPECT_TRUE(topic.silent());
}

TEST(Events, SayWhichExecutionTheyBelongTo) {
  Graph g;
  const ValueId x = g.add_input("x", Shape{4}, Format::fp32);
  g.apply("relu", "y", {x});
  const std::unique_ptr<Device> device = make_cpu_device({1, ""});
  const MemoryPlan plan = plan_memory(g, device->kernels(), false, {g.find("y")}, 1);
  const Buffer persistent(*device, static_cast<std::size_t>(plan.persistent_bytes));
  const Buffer arena(*device, static_cast<std::size_t>(plan.arena_bytes));
  Program program(
      *device, g, plan, arena.data(),
      [&](ValueId v) {
        const Placement& p = plan.values[static_cast<std::size_t>(v.index)];
        return static_cast<void*>(static_cast<std::byte*>(p.persistent ? persistent.data() : arena.data()) + p.offset);
      },
      static_cast<StepState*>(persistent.data()), {});
  Topics topics;
  std::vector<NodeEvent> nodes;
  std::vector<TensorEvent> tensors;
  const Subscription begin = topics.node_begin.subscribe([&](const NodeEvent& e) { nodes.push_back(e); });
  const Subscription end = topics.node_end.subscribe([&](const NodeEvent& e) { nodes.push_back(e); });
  const Subscription tensor = topics.tensor.subscribe([&](const TensorEvent& e) { tensors.push_back(e); });
  program.observe([](const Node&) { return true; });
  program.run(Phase::forward, topics, {5, 3, 1});
  ASSERT_EQ(nodes.size(), 2u);
  for (const NodeEvent& e : nodes) {
    EXPECT_EQ(e.iteration, 5);
    EXPECT_EQ(e.micro_batch, 3);
    EXPECT_EQ(e.attempt, 1);
  }
  ASSERT_EQ(tensors.size(), 1u);
  EXPECT_EQ(tensors[0].iteration, 5);
  EXPECT_EQ(tensors[0].micro_batch, 3);
  EXPECT_EQ(tensors[0].attempt, 1);
}

}  // namespace
}  // namespace ulpscope::engine
