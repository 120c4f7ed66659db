// Which runs may be held against each other.
#include "reports/analysis/likeness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/analysis/compare.h"
#include "tests/reports/made_up_runs.h"
#include "tests/reports/scratch.h"

namespace ulpscope::reports {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

RunRecord ordinary() {
  RunRecord run = made_up("fp32", 1, 2.0).run;
  run.model_json = R"({"kind": "gpt", "width": 64})";
  run.data_json = R"({"paths": ["/home/a/text"], "description": "a", "fingerprint": "00ff", "held_out": 0.1})";
  run.attributes_json =
      R"({"train": {"lr": 0.001, "optimizer": "adamw", "clip": 1.0, "keep_fp32": [], "evaluate_every": 0,
          "scaler": {"init": 65536.0, "interval": 2000}}})";
  return run;
}

// The run with one piece of one of its documents replaced.
std::vector<std::string> after(std::string RunRecord::*document, const std::string& from, const std::string& to) {
  RunRecord other = ordinary();
  std::string& text = other.*document;
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  return differences(likeness(ordinary()), likeness(other));
}

TEST(Likeness, EverySettingOfTheTrainingCounts) {
  EXPECT_THAT(after(&RunRecord::attributes_json, "0.001", "0.002"), ElementsAre("train.lr"));
  EXPECT_THAT(after(&RunRecord::attributes_json, "\"clip\": 1.0", "\"clip\": 0.0"), ElementsAre("train.clip"));
  EXPECT_THAT(after(&RunRecord::attributes_json, "[]", "[\"block3.*\"]"), ElementsAre("train.keep_fp32"));
  EXPECT_THAT(after(&RunRecord::attributes_json, "65536.0", "1024.0"), ElementsAre("train.scaler.init"));
  EXPECT_THAT(after(&RunRecord::attributes_json, "\"init\": 65536.0, \"interval\": 2000", "\"fixed\": 8.0"),
              ElementsAre("train.scaler.fixed", "train.scaler.init", "train.scaler.interval"));
  EXPECT_THAT(after(&RunRecord::model_json, "64", "128"), ElementsAre("model.width"));
}

TEST(Likeness, WhatChangesNothingThatIsJudgedDoesNot) {
  EXPECT_THAT(after(&RunRecord::attributes_json, "\"evaluate_every\": 0", "\"evaluate_every\": 5"), IsEmpty());
  EXPECT_THAT(after(&RunRecord::attributes_json, "\"evaluate_every\": 0", "\"fusion\": false, \"recompute\": \"blocks\""), IsEmpty());
  RunRecord other = ordinary();
  other.loss_scaling = "dynamic:pytorch";  // of another mode
  other.mode = "fp16";
  other.seed = 9;
  EXPECT_THAT(differences(likeness(ordinary()), likeness(other)), IsEmpty());
}

TEST(Likeness, KnobsThatReproduceFaultsCount) {
  RunRecord other = ordinary();
  other.non_standard = {"clipped before unscaling"};
  EXPECT_THAT(differences(likeness(ordinary()), likeness(other)), ElementsAre("non-standard knobs"));
}

TEST(Likeness, TheTextCountsNotWhereItLies) {
  EXPECT_THAT(after(&RunRecord::data_json, "/home/a/text", "/srv/b/text"), IsEmpty());
  EXPECT_THAT(after(&RunRecord::data_json, "00ff", "00fe"), ElementsAre("data"));
  EXPECT_THAT(after(&RunRecord::data_json, "0.1", "0.2"), ElementsAre("data.held_out"));
  RunRecord elsewhere = ordinary();
  elsewhere.data = "/srv/b/text";
  EXPECT_THAT(differences(likeness(ordinary()), likeness(elsewhere)), IsEmpty());
  // A recording without a fingerprint has only the path.
  RunRecord plain = ordinary(), other = ordinary();
  plain.data_json = other.data_json = "";
  other.data = "elsewhere.txt";
  EXPECT_THAT(differences(likeness(plain), likeness(other)), ElementsAre("data"));
}

class LikenessOfFiles : public Scratch {};

TEST_F(LikenessOfFiles, RunsWithOtherSettingsAreNotPairedAndTheSettingIsNamed) {
  std::vector<MadeUpRun> runs{made_up("fp32", 1, 2.0), made_up("fp16", 1, 2.0)};
  runs[0].run.attributes_json = R"({"train": {"lr": 0.001}})";
  runs[1].run.attributes_json = R"({"train": {"lr": 0.01}})";
  const RunFileReader reader = make_run_file(in("a.ulp"), runs);
  const Comparison comparison = compare({&reader});
  ASSERT_EQ(comparison.settings.size(), 2u);
  EXPECT_EQ(comparison.modes[1].judgement.pairs, 0);
  EXPECT_THAT(comparison.warnings, testing::Contains(HasSubstr("they differ in train.lr")));
}

TEST_F(LikenessOfFiles, TheSameTextInAnotherCheckoutIsAlike) {
  const auto file = [&](const char* name, const char* mode, const char* folder) {
    MadeUpRun run = made_up(mode, 1, 2.0);
    run.run.data = std::string(folder) + "/README.md";
    run.run.data_json = R"({"paths": [")" + run.run.data + R"("], "fingerprint": "12", "held_out": 0.1})";
    return make_run_file(in(name), {run});
  };
  const RunFileReader a = file("a.ulp", "fp32", "/home/a");
  const RunFileReader b = file("b.ulp", "fp16", "/srv/b");
  const Comparison comparison = compare({&a, &b});
  EXPECT_EQ(comparison.settings.size(), 1u);
  EXPECT_EQ(comparison.modes[1].judgement.pairs, 1);
  EXPECT_THAT(comparison.warnings, IsEmpty());
}

}  // namespace
}  // namespace ulpscope::reports
