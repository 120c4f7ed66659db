// Faults that are recorded, then mended: which changes are verified, which refuted, and which nodes have to stay in fp32.
#include "profiler/mend/mend.h"

#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <tuple>

#include "profiler/cli/program.h"
#include "tests/profiler/support/mend_fixture.h"

namespace ulpscope::profiler {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

class MendTest : public MendFixture {};

TEST_F(MendTest, OneLinearOverflows) {
  const MendsOfRun& run = mended(from_case("01", "fp16"));
  const MendTrial& kept = trial(run, "keep_fp32");
  EXPECT_EQ(kept.record.status, MendStatus::verified) << told(run);
  EXPECT_THAT(kept.nodes, ElementsAre("layer2.linear"));
  EXPECT_TRUE(kept.minimal);
  ASSERT_EQ(kept.without.size(), 1u);
  EXPECT_THAT(kept.without[0].second, HasSubstr("the fault returns"));
  EXPECT_TRUE(kept.record.memory_delta_bytes.has_value());
  EXPECT_THAT(kept.ulpscope, HasSubstr("train.keep_fp32=layer2.linear"));
  expect(run, "bf16", MendStatus::verified);
  expect(run, "rescale", MendStatus::verified);
  EXPECT_THAT(run.faults, ElementsAre("activation_too_large at layer2.linear"));
  EXPECT_THAT(run.baseline, HasSubstr("the fault came back"));
}

TEST_F(MendTest, TwoOverflowsNeedASetOfTwo) {
  const MendsOfRun& run = mended(from_text(std::string(one_step) +
                                            "node = [{name = 'x', op = 'input', shape = [1, 64], values = 32.0},\n"
                                            "{name = 'near.weight', op = 'parameter', shape = [1, 64], init = 30.0},\n"
                                            "{name = 'a.weight', op = 'parameter', shape = [1, 64], init = 33.0},\n"
                                            "{name = 'b.weight', op = 'parameter', shape = [2, 64], init = 40.0},\n"
                                            "{name = 'near', op = 'linear', inputs = ['x', 'near.weight']},\n"
                                            "{name = 'a', op = 'linear', inputs = ['x', 'a.weight']},\n"
                                            "{name = 'b', op = 'linear', inputs = ['x', 'b.weight']},\n"
                                            "{name = 'near.sum', op = 'mean', inputs = 'near'},\n"
                                            "{name = 'a.sum', op = 'sum', inputs = 'a'},\n"
                                            "{name = 'b.sum', op = 'sum', inputs = 'b'},\n"
                                            "{name = 'ab', op = 'add', inputs = ['a.sum', 'b.sum']},\n"
                                            "{name = 'loss', op = 'add', inputs = ['ab', 'near.sum']}]\n"));
  const MendTrial& kept = trial(run, "keep_fp32");
  EXPECT_EQ(kept.record.status, MendStatus::verified) << told(run);
  EXPECT_THAT(kept.nodes, ElementsAre("a", "b"));
  EXPECT_TRUE(kept.minimal);
  ASSERT_EQ(kept.without.size(), 2u);
  for (const auto& [node, outcome] : kept.without) EXPECT_THAT(outcome, HasSubstr(fmt::format("activation_too_large at {}", node)));
  EXPECT_THAT(kept.remains, IsEmpty());
}

TEST_F(MendTest, AFaultThatComesUpInsteadIsKeptToo) {
  const MendTrial& kept = trial(mended(from_case("05", "fp16")), "keep_fp32");
  EXPECT_EQ(kept.record.status, MendStatus::verified) << told(mends_.runs.front());
  EXPECT_THAT(kept.nodes, ElementsAre("mlp.product", "mlp.down"));
  EXPECT_TRUE(kept.minimal);
}

TEST_F(MendTest, ScoresScaledFirst) {
  const MendsOfRun& run = mended(from_text(std::string(one_step) +
                                            "node = [{name = 'q', op = 'input', shape = [1, 1, 2, 64], values = 32.0},\n"
                                            "{name = 'k', op = 'parameter', shape = [1, 1, 2, 64], init = 32.0},\n"
                                            "{name = 'scores', op = 'matmul', inputs = ['q', 'k'], trans_b = true},\n"
                                            "{name = 'scaled', op = 'scale', inputs = 'scores', factor = 0.125},\n"
                                            "{name = 'probs', op = 'softmax', inputs = 'scaled'},\n"
                                            "{name = 'loss', op = 'mean', inputs = 'probs'}]\n"));
  expect(run, "scale_before_product", MendStatus::verified);
  EXPECT_THAT(trial(run, "scale_before_product").ulpscope, HasSubstr("[[rewrite]] kind = \"scale_before_product\", nodes = \"scores\""));
  expect(run, "rescale", MendStatus::verified);
  expect(run, "bf16", MendStatus::verified);
}

TEST_F(MendTest, AFactorThatIsNotThereCannotBeMoved) {
  const MendsOfRun& run = mended(from_text(std::string(one_step) +
                                            "node = [{name = 'q', op = 'input', shape = [1, 1, 2, 64], values = 32.0},\n"
                                            "{name = 'k', op = 'parameter', shape = [1, 1, 2, 64], init = 32.0},\n"
                                            "{name = 'scores', op = 'matmul', inputs = ['q', 'k'], trans_b = true},\n"
                                            "{name = 'probs', op = 'softmax', inputs = 'scores'},\n"
                                            "{name = 'loss', op = 'mean', inputs = 'probs'}]\n"));
  expect(run, "scale_before_product", MendStatus::not_tried);
  EXPECT_THAT(trial(run, "scale_before_product").why, HasSubstr("'probs' (softmax) comes before any constant factor"));
  expect(run, "keep_fp32", MendStatus::verified);
}

TEST_F(MendTest, MasksOfSixteenBits) {
  const MendsOfRun& run = mended(from_case("07", "fp16"));
  expect(run, "boolean_mask", MendStatus::verified);
  EXPECT_THAT(trial(run, "boolean_mask").remains, IsEmpty()) << told(run);
  expect(run, "override", MendStatus::verified);
  const MendTrial& kept = trial(run, "keep_fp32");
  EXPECT_EQ(kept.record.status, MendStatus::verified) << told(run);
  EXPECT_THAT(kept.nodes, ElementsAre("masked"));
  EXPECT_TRUE(std::none_of(run.trials.begin(), run.trials.end(), [](const MendTrial& t) { return t.record.kind == "bf16" && t.record.status == MendStatus::not_tried; }));
}

TEST_F(MendTest, AnEpsilonThatVanishes) {
  const MendsOfRun& run = mended(from_case("17", "fp16_pure"));
  const MendTrial& epsilon = trial(run, "epsilon");
  // The NaN is gone; what else is wrong with the update is said.
  EXPECT_TRUE(epsilon.record.status == MendStatus::refuted || !epsilon.remains.empty()) << told(run);
  expect(run, "master_weights", MendStatus::verified);
  EXPECT_THAT(trial(run, "master_weights").remains, IsEmpty()) << told(run);
  EXPECT_THAT(run.verdict, HasSubstr("mended by: "));
}

TEST_F(MendTest, KnobsThatAreLeftOut) {
  const auto mends = [&](const std::string& name, const std::string& mode, const std::string& kind, const std::vector<std::string>& assignments = {}) {
    const MendsOfRun& run = mended(from_case(name, mode, assignments));
    expect(run, kind, MendStatus::verified);
    EXPECT_THAT(trial(run, kind).remains, IsEmpty()) << name << told(run);
  };
  mends("12", "fp16", "sum_fp32");
  mends("19", "fp32", "norm_fp32");
  mends("36", "fp16", "clip_order");
  mends("36", "fp16", "unscale", {"train.clip_order=after_unscale", "train.unscale=early", "train.micro_batches=2", "train.clip=0"});
  mends("16", "fp16", "buffers");
  mends("25", "fp32", "scalar_format");
  mends("26", "bf16", "accumulator_fp32", {"train.micro_batches=512"});
  mends("34", "fp16", "schedule_counts");
}

TEST_F(MendTest, ASumThatSticks) {
  const MendsOfRun& run = mended(from_case("21", "fp16"));
  expect(run, "sum_fp32", MendStatus::verified);
}

TEST_F(MendTest, WeightsThatDoNotMove) {
  const MendsOfRun& run = mended(from_case("23", "bf16_pure"));
  expect(run, "master_weights", MendStatus::verified);
  for (const char* words : {"stochastically", "Kahan"}) EXPECT_NE(trial(run, "update_rounding", words).record.status, MendStatus::not_tried) << told(run);
}

TEST_F(MendTest, TwoFaultsOfDifferentKindsAreMendedTogether) {
  const MendsOfRun& run = mended(from_text("model = {kind = 'graph', loss = 'loss'}\n"
                                            "train = {steps = 1, optimizer = 'sgd', lr = 1.0, momentum = 0.0, weight_decay = 0.0, clip = 1.0, norm_accumulate = 'fp16'}\n"
                                            "run = {modes = ['fp32']}\n"
                                            "override = [{nodes = 'norm', accumulate = 'fp16'}]\n"
                                            "node = [{name = 'x', op = 'input', shape = [1, 64], values = {first = [256.0], rest = 0.5}},\n"
                                            "{name = 'gain', op = 'parameter', shape = [64], init = 1.0},\n"
                                            "{name = 'w', op = 'parameter', init = [[0.5]]},\n"
                                            "{name = 'ten', op = 'input', values = [[10]]},\n"
                                            "{name = 'target', op = 'input', values = [[-10]]},\n"
                                            "{name = 'norm', op = 'rms_norm', inputs = ['x', 'gain'], epsilon = 0.0},\n"
                                            "{name = 'norm.mean', op = 'mean', inputs = 'norm'},\n"
                                            "{name = 'wx', op = 'linear', inputs = ['ten', 'w']},\n"
                                            "{name = 'square', op = 'mse_loss', inputs = ['wx', 'target']},\n"
                                            "{name = 'loss', op = 'add', inputs = ['square', 'norm.mean']}]\n"));
  expect(run, "norm_fp32", MendStatus::verified);
  expect(run, "sum_fp32", MendStatus::verified);
  expect(run, "together", MendStatus::verified);
  EXPECT_THAT(trial(run, "together").remains, IsEmpty());
  EXPECT_THAT(run.verdict, HasSubstr("mended by: "));
}

TEST_F(MendTest, GradientsThatVanish) {
  const MendsOfRun& run = mended(from_case("18", "fp16"));
  EXPECT_TRUE(std::any_of(run.trials.begin(), run.trials.end(), [](const MendTrial& t) {
    return (t.record.kind == "scale" || t.record.kind == "scaler") && t.record.status == MendStatus::verified && t.remains.empty();
  })) << told(run);
}

TEST_F(MendTest, NothingHelpsAgainstAWeightThatIsPoisoned) {
  const MendsOfRun& run = mended(from_case("30", "fp16"));
  ASSERT_FALSE(run.trials.empty());
  for (const MendTrial& t : run.trials) EXPECT_EQ(t.record.status, MendStatus::refuted) << told(run);
  EXPECT_EQ(run.verdict, "nothing that was tried helps");
}

// What overflows doubles every five steps: a lower first scale passes the first steps, and not all of them.
TEST_F(MendTest, ATrialGoesOnToTheLastSkip) {
  std::string growth;
  for (int i = 0; i < 60; ++i) growth += fmt::format("{}{}", i > 0 ? ", " : "", 1 << i / 5);
  const MendsOfRun& run = mended(from_text("model = {kind = 'graph', loss = 'loss'}\n"
                                           "train = {steps = 60, optimizer = 'sgd', momentum = 0.0, weight_decay = 0.0, lr = 1e-9, schedule = 'constant'}\nrun = {modes = ['fp16']}\n"
                                           "node = [{name = 'x', op = 'input', shape = [4, 16], values = 1.0}, {name = 'f', op = 'input', steps = [" + growth + "]},\n"
                                           "{name = 'w', op = 'parameter', shape = [16, 16], init = {normal = 0.1}}, {name = 'h', op = 'linear', inputs = ['x', 'w']},\n"
                                           "{name = 'amp', op = 'mul', inputs = ['h', 'f']}, {name = 'loss', op = 'sum', inputs = 'amp'}]\n"));
  ASSERT_FALSE(run.trials.empty()) << told(run);
  for (const MendTrial& t : run.trials) {
    if (t.record.status == MendStatus::not_tried) continue;
    EXPECT_THAT(t.record.how_run, HasSubstr("steps 1 to 60 of 60")) << told(run);
    const bool lower_start = t.record.change.find("32768") != std::string::npos;
    EXPECT_FALSE(lower_start && t.record.status == MendStatus::verified) << told(run);
  }
}

TEST_F(MendTest, NothingToMend) {
  mended(from_case("30c", "fp16"));
  EXPECT_THAT(notes_, ElementsAre("nothing to mend: fp16 seed 0 is healthy"));
  EXPECT_THAT(mends_.runs, IsEmpty());
}

TEST_F(MendTest, WithoutABudgetNothingIsTried) {
  const MendsOfRun& run = mended(from_case("01", "fp16"), 0.0);
  ASSERT_FALSE(run.trials.empty());
  for (const MendTrial& t : run.trials) {
    EXPECT_EQ(t.record.status, MendStatus::not_tried);
    EXPECT_THAT(t.why, HasSubstr("the budget of 0 s was spent"));
  }
  EXPECT_EQ(run.verdict, "nothing was tried");
}

TEST_F(MendTest, ASecondMendReplacesTheFirst) {
  const std::string file = record(from_case("01", "fp16"));
  record_mends(file, mend(file, {}, nullptr, nullptr));
  const std::vector<reports::MendRecord> first = reports::RunFileReader(file).mends();
  EXPECT_GT(first.size(), 1u);
  record_mends(file, mend(file, {.budget_seconds = 0.0}, nullptr, nullptr));
  const std::vector<reports::MendRecord> kept = reports::RunFileReader(file).mends();
  ASSERT_EQ(kept.size(), first.size()) << "nothing was tried again: what was found stays";
  for (std::size_t i = 0; i < first.size(); ++i) EXPECT_EQ(std::tie(kept[i].change, kept[i].status), std::tie(first[i].change, first[i].status));
  MendResult one{.run = first.front().run, .records = {first.front()}, .notes = {}, .interrupted = false};
  record_mends(file, one);
  EXPECT_EQ(reports::RunFileReader(file).mends().size(), first.front().status == MendStatus::not_tried ? first.size() : 1u);
  EXPECT_EQ(reports::diagnose(reports::RunFileReader(file)).runs.size(), 1u) << "trials are no runs of the file";
}

TEST_F(MendTest, WhatAnEarlierMendTriedIsToldAsSuch) {
  const std::string file = record(from_case("01", "fp16"));
  const auto mend_again = [&](const std::string& budget, const std::string& form) {
    std::ostringstream out, err;
    EXPECT_EQ(run_program({"mend", file, "--budget", budget, form}, out, err), exit_ok) << err.str();
    return std::pair(nlohmann::json::parse(out.str(), nullptr, false), err.str());
  };
  const auto [first, first_said] = mend_again("5m", "--json");
  EXPECT_THAT(first_said, HasSubstr("trial 1"));
  EXPECT_THAT(first["runs"][0]["verdict"].get<std::string>(), StartsWith("mended by: "));
  EXPECT_EQ(first["runs"][0]["mends"][0]["earlier"], false);
  const std::string when = first["runs"][0]["mends"][0]["when"];
  EXPECT_THAT(when, StartsWith("20"));
  const auto [second, second_said] = mend_again("0", "--json");
  EXPECT_THAT(second_said, Not(HasSubstr("trial 1")));
  const auto& run = second["runs"][0];
  EXPECT_THAT(run["verdict"].get<std::string>(), StartsWith("nothing was tried now: the budget of 0 s was spent; what follows is from an earlier mend of 20"));
  for (const auto& trial : run["mends"]) EXPECT_EQ(trial["earlier"], trial["status"] != "not_tried") << trial.dump();
  EXPECT_EQ(run["mends"][0]["when"], when);
  std::ostringstream text, said;
  EXPECT_EQ(run_program({"mend", file, "--budget", "0"}, text, said), exit_ok);
  EXPECT_THAT(text.str(), AllOf(HasSubstr("nothing was tried now"), HasSubstr("by an earlier mend, " + when)));
  EXPECT_EQ(said.str(), "");
}

TEST_F(MendTest, AnInterruptLeavesTheFileAsItWas) {
  const std::string file = record(from_case("30", "fp16"));
  const auto bytes = [&] {
    std::ifstream f(file, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(f), {});
  };
  const std::string before = bytes();
  int asked = 0;
  const MendResult result = mend(file, {}, [&] { return ++asked > 30; }, nullptr);
  EXPECT_TRUE(result.interrupted);
  EXPECT_THAT(result.records, IsEmpty());
  record_mends(file, result);
  EXPECT_EQ(bytes(), before);
}

TEST_F(MendTest, AFileThatTookTheNameMeanwhileIsLeftAlone) {
  const std::string file = record(from_case("05", "fp16"));
  std::ifstream other_file(file, std::ios::binary);
  const std::string other(std::istreambuf_iterator<char>(other_file), {});
  const auto refused = [&](const MendResult& result, const std::string& fate) {
    EXPECT_THAT([&] { record_mends(file, result); }, testing::ThrowsMessage<Error>(HasSubstr(" was " + fate + " during the trials")));
  };
  ASSERT_EQ(record(from_case("01", "fp16")), file);
  const MendResult result = mend(file, {}, nullptr, nullptr);
  ASSERT_FALSE(result.records.empty());
  std::ofstream(file, std::ios::binary) << other;   // the same file for the system
  refused(result, "written over with another recording");
  std::filesystem::copy_file(file, file + "-other");
  std::filesystem::rename(file + "-other", file);
  refused(result, "replaced by another file");
  EXPECT_THAT(reports::RunFileReader(file).mends(), IsEmpty());
  std::filesystem::remove(file);
  refused(result, "removed");
}

TEST_F(MendTest, TheDiagnosisSaysWhatWasTried) {
  mended(from_case("01", "fp16"));
  const reports::Diagnosis diagnosis = reports::diagnose(reports::RunFileReader(in("run.ulp")));
  const reports::Cause& cause = diagnosis.runs.front().causes.front();
  const auto remedy = std::find_if(cause.remedies.begin(), cause.remedies.end(), [](const reports::Remedy& r) { return r.mend == "keep_fp32"; });
  ASSERT_NE(remedy, cause.remedies.end());
  EXPECT_THAT(remedy->status, HasSubstr("keep layer2.linear in fp32: verified"));
}

/// Keeps the checkpoints as they are after a step: those of a run that is killed later.
class Keeper final : public Watcher {
 public:
  Keeper(std::string from, std::string to, std::int64_t step) : from_(std::move(from)), to_(std::move(to)), step_(step) {}
  void step(const RunInfo&, const engine::StepResult& result, double) override {
    if (result.iteration == step_) fs::copy(from_, to_, fs::copy_options::recursive);
  }

 private:
  std::string from_, to_;
  std::int64_t step_;
};

TEST_F(MendTest, GoesOnFromACheckpointBeforeTheFault) {
  std::string steps = "1";
  for (int i = 1; i < 30; ++i) steps += ", 1";   // and 300 from step 31 on: 90000 does not fit
  Experiment experiment = from_text("model = {kind = 'graph', loss = 'loss'}\n"
                                    "train = {steps = 200, optimizer = 'sgd', momentum = 0.0, weight_decay = 0.0, lr = 0.0, scaler = {init = 256}}\n"
                                    "run = {modes = ['fp16'], checkpoint_every = 20}\n"
                                    "node = [{name = 'x', op = 'input', shape = [1, 2], steps = [" + steps + ", 300]},\n"
                                    "{name = 'w', op = 'parameter', init = [[200, 100], [200, 100]]},\n{name = 'y', op = 'linear', inputs = ['x', 'w']},\n"
                                    "{name = 'probs', op = 'softmax', inputs = 'y'},\n{name = 'loss', op = 'mean', inputs = 'probs'}]\n");
  experiment.run.timing_steps = 0;
  const std::string file = in("run.ulp"), checkpoints = file + ".ckpt";
  {
    Runner runner(experiment);
    reports::RunFileWriter writer(file, {.overwrite = true});
    Keeper keeper(checkpoints, in("kept"), 25);
    int done = 0;
    runner.run(writer, keeper, [&] { return ++done > 40; }, "ulpscope run");
    writer.close();
  }
  fs::remove_all(checkpoints);
  fs::copy(in("kept"), checkpoints, fs::copy_options::recursive);
  const MendResult result = mend(file, {}, nullptr, nullptr);
  ASSERT_FALSE(result.records.empty());
  const auto kept = std::find_if(result.records.begin(), result.records.end(), [](const auto& r) { return r.kind == "keep_fp32"; });
  ASSERT_NE(kept, result.records.end());
  EXPECT_EQ(kept->status, MendStatus::verified) << kept->detail_json;
  EXPECT_THAT(kept->how_run, HasSubstr("from the checkpoint after step 20, steps 21 to 51 of 200"));
  EXPECT_THAT(kept->change, HasSubstr("keep y in fp32"));
  const auto bf16 = std::find_if(result.records.begin(), result.records.end(), [](const auto& r) { return r.kind == "bf16"; });
  ASSERT_NE(bf16, result.records.end());
  EXPECT_THAT(bf16->how_run, HasSubstr("from the start"));
  EXPECT_TRUE(fs::exists(checkpoints)) << "it is still there to resume from";
}

TEST_F(MendTest, DataThatAreGone) {
  std::ofstream text(in("text.txt"));
  for (int i = 0; i < 400; ++i) text << "line " << i << " of a text\n";
  text.close();
  const std::string file = record(from_text("model = {kind = 'gpt', context = 8, width = 16, layers = 1, heads = 2}\n[data]\npath = 'text.txt'\n"
                                            "[train]\nsteps = 3\nbatch = 2\n"
                                            "[[inject]]\nstep = 1\nvalue = 'wte.weight'\nnumber = nan\n[run]\nmodes = ['fp16']\n"));
  fs::remove(in("text.txt"));
  try {
    mend(file, {}, nullptr, nullptr);
    FAIL() << "the data are gone";
  } catch (const std::exception& error) {
    EXPECT_THAT(error.what(), HasSubstr("text.txt"));
  }
}

}  // namespace
}  // namespace ulpscope::profiler
