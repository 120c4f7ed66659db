// Whole experiments that find less memory than they need.
#include <gmock/gmock.h>
#include <sys/resource.h>

#include "engine/data/dataset.h"
#include "kernels/error.h"
#include "profiler/experiment/timing.h"
#include "tests/profiler/runner_fixture.h"
#include "tests/sanitized.h"

namespace ulpscope::profiler {
namespace {

using ::testing::HasSubstr;

TEST_F(RunnerTest, MoreMemoryThanThereIsIsRefusedWithWhatToLower) {
  const Runner runner(experiment({}));
  EXPECT_NO_THROW(runner.check_memory(std::int64_t{1} << 30));
  try {
    runner.check_memory(1000);
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), testing::AllOf(testing::StartsWith("a step in "), HasSubstr("1000 B are free"),
                                             HasSubstr("train.batch (now 2)"), HasSubstr("model.layers"), HasSubstr("not even a batch of 1 fits")));
  }
  const auto none = runner.shortage(1000);
  ASSERT_TRUE(none);
  EXPECT_EQ(none->fits, 0);
  EXPECT_FALSE(none->largest_node.empty());
}

TEST_F(RunnerTest, ARunThatFindsNoMemoryIsDescribedAllTheSame) {
#if ULPSCOPE_SANITIZED
  GTEST_SKIP() << "the sanitizer takes more address space than this leaves";
#endif
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  rlimit tight = before;
  tight.rlim_cur = rlim_t{6} << 30;  // the logits alone take 8 GiB
  if (before.rlim_max < tight.rlim_cur) GTEST_SKIP() << "there is a tighter limit here";
  Experiment e = experiment({"run.modes=fp32", "run.seeds=2"});
  e.train.batch = 1000000;
  ASSERT_EQ(setrlimit(RLIMIT_AS, &tight), 0);
  const Outcome outcome = run(e);
  setrlimit(RLIMIT_AS, &before);
  EXPECT_EQ(outcome.failed, 2);
  const RunFileReader file(path());
  ASSERT_EQ(file.runs().size(), 2u);
  for (const auto& r : file.runs()) {
    EXPECT_EQ(r.status, reports::RunStatus::failed);
    EXPECT_EQ(r.model, "gpt");
    EXPECT_EQ(r.batch, 1000000);
    EXPECT_GT(r.parameters.value_or(0), 0);
    EXPECT_EQ(file.memory(r.id, reports::MemoryKind::predicted).size(), 1u) << "what it would have taken";
    EXPECT_THAT(r.message, testing::AllOf(testing::StartsWith("out of memory ("), HasSubstr("a step in fp32 needs "), HasSubstr("train.batch (now 1000000)"), HasSubstr("a batch of "), HasSubstr("the largest result is ")));
  }
  ASSERT_EQ(outcome.shortages.size(), 2u);
  const MemoryShortage& shortage = outcome.shortages[0];
  EXPECT_GT(shortage.needed_bytes, shortage.free_bytes);
  ASSERT_TRUE(shortage.fits);
  EXPECT_GT(*shortage.fits, 1);
  EXPECT_LE(*shortage.fits_bytes, shortage.free_bytes);
  // The next greater batch does not: planned here by another way.
  e.train.batch = *shortage.fits + 1;
  const Runner next(e);
  EXPECT_TRUE(next.shortage(shortage.free_bytes));
  e.train.batch = *shortage.fits;
  const Runner fitting(e);
  EXPECT_FALSE(fitting.shortage(shortage.free_bytes));
  const std::string text = shortage_text(shortage);
  EXPECT_THAT(text, testing::AllOf(HasSubstr("activations"), HasSubstr("total"), HasSubstr("would fit"), HasSubstr("[computed]")));
  EXPECT_GT(file.nodes(*file.runs()[1].plan).size(), 20u);
}

TEST_F(RunnerTest, ModesThatDoNotFitTogetherAreTimedOneAfterTheOther) {
  const Experiment e = experiment({});
  const auto device = make_cpu_device({.threads = 1, .instruction_set = {}});
  const auto data = engine::load_text(e.data.paths, engine::text_options(e.model, e.data.held_out));
  for (const bool fits : {true, false}) {
    int warm = 0;
    TimingJob job{*device, *data, {}, 10, fits ? 200 : 199, [&warm] { ++warm; }};
    for (const char* mode : {"fp32", "bf16"}) {
      RunInfo run;
      run.id = static_cast<reports::RunId>(job.modes.size() + 1);
      run.mode = engine::find_mode(mode);
      job.modes.push_back({run, {e.model, run.mode, e.train, 0}, 100});
    }
    std::vector<std::int64_t> order;
    std::vector<std::string> notes;
    const Sink sink = [&](const reports::Record& record) {
      if (const auto* sample = std::get_if<reports::TimingSample>(&record))
        order.push_back(static_cast<std::int64_t>(sample->run));
      if (const auto* note = std::get_if<reports::CompletenessRecord>(&record)) notes.push_back(note->detail);
    };
    Watcher silent;
    Faults faults;
    EXPECT_TRUE(time_modes(job, sink, silent, faults, [] { return false; }));
    EXPECT_EQ(order.size(), 2u * (10 + warm_up_steps));
    EXPECT_EQ(notes.size(), fits ? 0u : 1u);
    EXPECT_EQ(warm, fits ? 1 : 2) << "once for each group";
    // Stopped after two steps: one of each mode, or two of the first.
    order.clear();
    int asked = 0;
    EXPECT_FALSE(time_modes(job, sink, silent, faults, [&] { return ++asked == 2; }));
    ASSERT_EQ(order.size(), 2u);
    EXPECT_EQ(order[0], 1);
    EXPECT_EQ(order[1], fits ? 2 : 1);
  }
}

}  // namespace
}  // namespace ulpscope::profiler
