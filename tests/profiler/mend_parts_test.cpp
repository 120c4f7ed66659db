// Parts of mending that need no training: the smallest set, the budget, the words of the command line, rewrites in the experiment file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>

#include "kernels/error.h"
#include "profiler/cli/program.h"
#include "profiler/mend/budget.h"
#include "profiler/mend/fault.h"
#include "profiler/mend/session.h"
#include "profiler/mend/smallest_set.h"
#include "tests/profiler/tiny_experiment.h"

namespace ulpscope::profiler {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Names = std::vector<std::string>;

// ---- the smallest set

/// Works if the set has all that is needed.
struct Needs {
  std::set<std::string> needed;
  int asked = 0;
  Answer operator()(const Names& set) {
    ++asked;
    return std::all_of(needed.begin(), needed.end(), [&](const std::string& n) { return std::find(set.begin(), set.end(), n) != set.end(); }) ? Answer::works : Answer::fails;
  }
};

TEST(SmallestSet, IsFoundWhateverIsNeeded) {
  Names all;
  for (int i = 0; i < 12; ++i) all.push_back(std::string(1, static_cast<char>('a' + i)));
  for (const Names& needed : {Names{"a"}, Names{"l"}, Names{"c", "j"}, Names{"a", "b", "l"}, all}) {
    Needs needs{{needed.begin(), needed.end()}};
    std::set<Names> asked;
    const SmallestSet found = smallest_set(all, [&](const Names& set) {
      EXPECT_TRUE(asked.insert(set).second) << "a set is a run of its own: none is asked for twice";
      return needs(set);
    });
    EXPECT_EQ(found.members, needed);
    EXPECT_TRUE(found.minimal);
    EXPECT_LE(needs.asked, 80);
  }
}

TEST(SmallestSet, EveryMemberWasTriedWithout) {
  // Either of two pairs works: one of them is found, and it is minimal.
  std::set<Names> asked;
  const SmallestSet found = smallest_set({"a", "b", "c", "d", "e"}, [&](const Names& set) {
    asked.insert(set);
    const auto has = [&](const char* n) { return std::find(set.begin(), set.end(), n) != set.end(); };
    return (has("a") && has("d")) || (has("b") && has("e")) ? Answer::works : Answer::fails;
  });
  ASSERT_EQ(found.members.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_TRUE(asked.contains(without(found.members, i)));
}

TEST(SmallestSet, SaysIfTimeRanOut) {
  int asked = 0;
  const SmallestSet found = smallest_set({"a", "b", "c", "d"}, [&](const Names&) { return ++asked > 1 ? Answer::unknown : Answer::fails; });
  EXPECT_THAT(found.members, ElementsAre("a", "b", "c", "d"));
  EXPECT_FALSE(found.minimal);
  EXPECT_TRUE(smallest_set({"a"}, [](const Names&) { return Answer::unknown; }).minimal) << "one alone: the empty set is known to fail";
}

// ---- the budget

TEST(Budget, IsRead) {
  EXPECT_EQ(parse_budget("5m"), 300.0);
  EXPECT_EQ(parse_budget("90s"), 90.0);
  EXPECT_EQ(parse_budget("300"), 300.0);
  EXPECT_EQ(parse_budget("1h30m"), 5400.0);
  EXPECT_EQ(parse_budget("0.5h"), 1800.0);
  for (const char* wrong : {"abc", "", "5x", "-5m", "m", "5m30", "nan", "inf", "1e12", "5 m"}) EXPECT_THROW(parse_budget(wrong), UsageError) << wrong;
  EXPECT_EQ(budget_words(300.0), "5 min");
  EXPECT_EQ(budget_words(90.0), "90 s");
  EXPECT_EQ(budget_words(3600.0), "1 h");
  EXPECT_EQ(budget_words(5400.0), "1 h 30 min");
}

// ---- how far a trial goes

TEST(LastShown, IsTheLastSkipOrWhereTheLastStretchBegins) {
  const auto of = [](const std::string& marks) {
    std::vector<reports::StepRecord> steps;
    for (const char mark : marks) {
      reports::StepRecord step{.step = static_cast<std::int64_t>(steps.size()), .loss = 1.0};
      if (mark == 'x') step.skipped = true;
      if (mark == 'i') step.finite = false;
      if (mark == 'n') step.loss = std::nan("");
      steps.push_back(step);
    }
    return last_shown(steps);
  };
  EXPECT_EQ(of("...."), std::nullopt);
  EXPECT_EQ(of(""), std::nullopt);
  EXPECT_EQ(of("xxx..x...x.."), 9);
  EXPECT_EQ(of("x...xin"), 4) << "to the end of the run: what follows says no more";
  EXPECT_EQ(of("..xx.."), 3);
  EXPECT_EQ(of("nnn"), 0);
}

// ---- judging

reports::Cause cause(reports::Kind kind, const std::string& node, reports::Gravity gravity = reports::Gravity::fatal) {
  reports::Cause c;
  c.kind = kind;
  c.node = node;
  c.gravity = gravity;
  return c;
}

TEST(Judgement, VerifiedRefutedAndWhatStays) {
  using reports::Kind;
  using reports::MendStatus;
  const Fault a = fault_of(cause(Kind::activation_too_large, "a.fp16")), b = fault_of(cause(Kind::update_lost, "b"));
  reports::RunDiagnosis after;
  EXPECT_EQ(judge({a}, {a, b}, after).status, MendStatus::verified);
  after.causes = {cause(Kind::update_lost, "b", reports::Gravity::damage)};
  Judgement judgement = judge({a}, {a, b}, after);
  EXPECT_EQ(judgement.status, MendStatus::verified);
  ASSERT_EQ(judgement.remains.size(), 1u);
  EXPECT_TRUE(judgement.remains[0].same(b));
  after.causes = {cause(Kind::activation_too_large, "a.bf16")};
  EXPECT_THAT(judge({a}, {a, b}, after).why, HasSubstr("the fault stays: activation_too_large at a"));
  after.causes = {cause(Kind::activation_too_large, "c")};
  judgement = judge({a}, {a, b}, after);
  EXPECT_EQ(judgement.status, MendStatus::refuted);
  EXPECT_THAT(judgement.why, HasSubstr("another came: activation_too_large at c"));
  after.causes = {cause(Kind::activation_too_large, "a", reports::Gravity::normal)};
  EXPECT_EQ(judge({a}, {a, b}, after).status, MendStatus::verified);
  after.causes.clear();
  after.run.status = reports::RunStatus::failed;
  after.run.message = "out of memory";
  EXPECT_THAT(judge({a}, {a, b}, after).why, HasSubstr("out of memory"));
  after = {};
  after.steps = after.skipped = 3;
  EXPECT_EQ(judge({a}, {a, b}, after).status, MendStatus::refuted);
  EXPECT_THAT(judge({a}, {a, b}, after).why, HasSubstr("all 3 steps were skipped: nothing was trained"));
  after.skipped = 2;
  EXPECT_EQ(judge({a}, {a, b}, after).status, MendStatus::verified);
}

// ---- the command line and the experiment file

class MendProgram : public TinyExperiment {
 protected:
  struct Result {
    int code;
    std::string out, err;
  };
  static Result ulpscope(std::vector<std::string> arguments) {
    std::ostringstream out, err;
    const int code = run_program(std::move(arguments), out, err);
    return {code, out.str(), err.str()};
  }
  static std::string mistake(std::vector<std::string> arguments) {
    const Result result = ulpscope(std::move(arguments));
    EXPECT_EQ(result.code, exit_usage) << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_THAT(result.err, StartsWith("ulpscope: "));
    EXPECT_EQ(result.out, "");
    return result.err;
  }
};

TEST_F(MendProgram, Mistakes) {
  EXPECT_THAT(mistake({"mend", in("missing.ulp")}), HasSubstr("missing.ulp"));
  EXPECT_THAT(mistake({"mend", in("tiny.toml")}), HasSubstr("tiny.toml"));
  EXPECT_THAT(mistake({"mend"}), HasSubstr("RUN"));
  ASSERT_EQ(ulpscope({"run", in("tiny.toml"), "-o", in("tiny.ulp"), "--steps", "2", "--seeds", "1", "--set", "train.scaler.init=1024"}).code, exit_ok);
  EXPECT_THAT(mistake({"mend", in("tiny.ulp"), "--budget", "abc"}), HasSubstr("--budget abc: not a duration; write 30s, 5m, 1h or seconds"));
  EXPECT_THAT(mistake({"mend", in("tiny.ulp"), "--mode", "fp8"}), HasSubstr("has no run of fp8; there are fp32 seed 0, fp16 seed 0, bf16 seed 0"));
  EXPECT_THAT(mistake({"mend", in("tiny.ulp"), "--mode", "fp16", "--seed", "7"}), HasSubstr("seed 7"));
  const Result healthy = ulpscope({"mend", in("tiny.ulp")});
  EXPECT_EQ(healthy.code, exit_ok) << healthy.err;
  EXPECT_THAT(healthy.out, StartsWith("nothing to mend: "));
  EXPECT_THAT(ulpscope({"mend", in("tiny.ulp"), "--json"}).out, HasSubstr("\"ulpscope mends\""));
}

TEST_F(MendProgram, NamesDoNotReachTheTerminalAsTheyAre) {
  std::ofstream(in("evil.toml")) << "model = {kind = 'graph', loss = 'loss'}\n"
                                    "train = {steps = 1, optimizer = 'sgd', lr = 0.0, scaler = {init = 256}}\nrun = {modes = ['fp16'], timing_steps = 0}\n"
                                    "node = [{name = 'x', op = 'input', values = [[300.0]]}, {name = 'w', op = 'parameter', init = [[300.0]]},\n"
                                    "{name = \"y\\u001b[31m\", op = 'linear', inputs = ['x', 'w']}, {name = 'loss', op = 'mean', inputs = \"y\\u001b[31m\"}]\n";
  const Result run = ulpscope({"run", in("evil.toml"), "-o", in("evil.ulp")});
  ASSERT_EQ(run.code, exit_ok) << run.err;
  const Result mended = ulpscope({"mend", in("evil.ulp")});
  EXPECT_EQ(mended.code, exit_ok) << mended.err;
  EXPECT_THAT(mended.err, HasSubstr("keep y?[31m in fp32"));
  EXPECT_EQ((mended.err + mended.out).find('\x1b'), std::string::npos) << mended.err << mended.out;
}

TEST_F(MendProgram, RewritesInTheExperimentFile) {
  const std::string composed = "model = {kind = 'gpt', context = 8, width = 16, layers = 1, heads = 2, attention = 'composed'}\n[data]\npath = 'text.txt'\n";
  const auto build = [&](const std::string& tables) {
    Settings settings;
    settings.add_text(composed + tables, in("a.toml"));
    return settings.build();
  };
  const Experiment e = build("[[rewrite]]\nkind = 'scale_before_product'\nnodes = ['*.scores']\n[[rewrite]]\nkind = 'rescale'\nnodes = 'x'\nfactor = 0.25\n");
  ASSERT_EQ(e.train.rewrites.size(), 2u);
  EXPECT_EQ(e.train.rewrites[1].factor, 0.25);
  Settings again;
  again.add_text(to_toml(e), in("b.toml"));
  EXPECT_EQ(to_toml(again.build()), to_toml(e)) << "it reads back";
  const auto refusal = [&](const std::string& tables) -> std::string {
    try {
      build(tables);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(refusal("[[rewrite]]\nkind = 'rescal'\nnodes = 'x'\n"), HasSubstr("did you mean \"rescale\"? Choices: scale_before_product, boolean_mask, rescale, clamp"));
  EXPECT_THAT(refusal("[[rewrite]]\nkind = 'rescale'\nnodes = 'x'\n"), HasSubstr("factor is missing"));
  EXPECT_THAT(refusal("[[rewrite]]\nkind = 'rescale'\nnodes = 'x'\nfactor = 0.3\n"), HasSubstr("a power of two below 1"));
  EXPECT_THAT(refusal("[[rewrite]]\nkind = 'boolean_mask'\n"), HasSubstr("nodes is missing"));
  EXPECT_THAT(refusal("[[rewrite]]\nkind = 'boolean_mask'\nnodes = 'x'\nfactor = 0.5\n"), HasSubstr("factor is for rescale"));
  EXPECT_THAT(refusal("[[rewrite]]\nkind = 'rescale'\nnodes = 'x'\nfactor = 0.5\nlimit = 3\n"), HasSubstr("limit is for clamp"));
  EXPECT_THAT(refusal("[[rewrite]]\nkind = 'clamp'\nnodes = 'x'\nlimit = 0\n"), HasSubstr("it must be above 0 and finite"));
  const Experiment clamp = build("[[rewrite]]\nkind = 'clamp'\nnodes = 'x'\nlimit = 65472\n");
  EXPECT_EQ(clamp.train.rewrites.at(0).limit, 65472.0);
  Settings clamp_again;
  clamp_again.add_text(to_toml(clamp), in("c.toml"));
  EXPECT_EQ(clamp_again.build().train.rewrites.at(0).limit, 65472.0);

  std::ofstream(in("composed.toml")) << composed << "[[rewrite]]\nkind = 'scale_before_product'\nnodes = '*.scores'\n";
  EXPECT_EQ(ulpscope({"run", in("composed.toml"), "-o", in("c.ulp"), "--steps", "2", "--modes", "fp32,fp16", "--set", "run.timing_steps=0"}).code, exit_ok);
  // In fp32 a factor of 1/4 moves without changing a bit, evaluations included.
  const auto losses = [&](const std::string& tables) {
    Settings settings;
    settings.add_text(composed + "[train]\nbatch = 2\n" + tables, in("d.toml"));
    for (const char* words : {"model.width=32", "train.steps=3", "run.modes=fp32", "run.timing_steps=0", "run.threads=1"}) settings.add_assignment(words);
    std::ofstream(in("d.toml")) << to_toml(settings.build());
    EXPECT_EQ(ulpscope({"run", in("d.toml"), "-o", in("d.ulp"), "--force"}).code, exit_ok);
    const reports::RunFileReader file(in("d.ulp"));
    std::vector<double> all;
    for (const auto& step : file.steps(file.runs().at(0).id)) all.push_back(step.loss.value());
    for (const auto& evaluation : file.evaluations(file.runs().at(0).id)) all.push_back(evaluation.loss.value());
    return all;
  };
  EXPECT_EQ(losses(""), losses("[[rewrite]]\nkind = 'scale_before_product'\nnodes = '*.scores'\n"));
  std::ofstream(in("none.toml")) << composed << "[[rewrite]]\nkind = 'scale_before_product'\nnodes = '*.sores'\n";
  EXPECT_THAT(mistake({"run", in("none.toml"), "-o", in("n.ulp")}), HasSubstr("none.toml:4: [[rewrite]] nodes = \"*.sores\" matches no node of the model"));
}

}  // namespace
}  // namespace ulpscope::profiler
