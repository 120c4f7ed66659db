// Steps kept in capsules and run again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "kernels/error.h"
#include "profiler/capsule/make_capsule.h"
#include "profiler/capsule/replay_capsule.h"
#include "profiler/cli/program.h"
#include "profiler/cli/replay_text.h"
#include "profiler/experiment/interrupt.h"
#include "tests/profiler/support/scratch.h"
#include "tests/profiler/tiny_experiment.h"

namespace ulpscope::profiler {
namespace {

using ::testing::HasSubstr;

MadeCapsule make(const CapsuleRequest& request) {
  auto made = make_capsule(request, [] { return false; });
  if (!made) throw std::runtime_error("stopped");
  return std::move(*made);
}

const ReplayedMode& mode(const CapsuleReplay& replay, const std::string& name) {
  for (const ReplayedMode& m : replay.modes)
    if (m.mode == name) return m;
  throw std::runtime_error("no mode " + name);
}

std::string refused(const std::function<void()>& work) {
  try {
    work();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "not refused";
}

TEST(Capsule, KeepsTheStepThatOverflowed) {
  const ScratchFolder scratch;
  record_experiment(case_settings("01").build(), scratch("01.ulp"));
  const MadeCapsule made =
      make({.run_file = scratch("01.ulp"), .output = scratch("01.capsule"), .step = {}, .mode = {}, .seed = {}});
  EXPECT_EQ(made.capsule.mode, "fp16");
  EXPECT_EQ(made.capsule.state.iteration, 0);
  EXPECT_TRUE(made.same_bits) << made.capsule.way;
  EXPECT_EQ(made.bytes, static_cast<std::int64_t>(std::filesystem::file_size(scratch("01.capsule"))));
  const CapsuleReplay replay = replay_capsule(scratch("01.capsule"), {"all"}, "ulpscope replay");
  EXPECT_EQ(replay.modes.size(), engine::modes().size());
  EXPECT_TRUE(replay.remarks.empty());
  const ReplayedMode& fp16 = mode(replay, "fp16");
  EXPECT_TRUE(fp16.same_bits.value());
  EXPECT_TRUE(std::isinf(fp16.result.loss));
  ASSERT_FALSE(fp16.diagnosis.causes.empty());
  EXPECT_EQ(fp16.diagnosis.causes.front().node, "layer2.linear");
  EXPECT_THAT(fp16.diagnosis.causes.front().what, HasSubstr("1.011 x the fp16 limit"));
  for (const char* name : {"fp32", "tf32", "bf16"}) {
    EXPECT_EQ(mode(replay, name).problem, "");
    EXPECT_EQ(reports::name(mode(replay, name).diagnosis.outcome), "healthy") << name;
    EXPECT_FALSE(mode(replay, name).same_bits) << "it was not recorded in this mode";
  }
  EXPECT_EQ(mode(replay, "bf16").result.loss, 66048.0f);
}

TEST(Capsule, OfALaterStepHasItsScale) {
  const ScratchFolder scratch;
  record_experiment(case_settings("30b").build(), scratch("30b.ulp"));
  const MadeCapsule made =
      make({.run_file = scratch("30b.ulp"), .output = scratch("c"), .step = 3, .mode = "fp16", .seed = {}});
  EXPECT_TRUE(made.same_bits) << made.capsule.way;
  EXPECT_THAT(made.capsule.way, HasSubstr("loss, scale and gradient norm of 4 steps to the bit as recorded"));
  const CapsuleReplay replay = replay_capsule(scratch("c"), {"fp16", "bf16", "fp32"}, "ulpscope replay");
  ASSERT_EQ(replay.modes.size(), 3u);
  EXPECT_TRUE(replay.modes[0].same_bits.value());
  EXPECT_EQ(replay.modes[0].result.loss_scale, 8192.0f);
  EXPECT_EQ(replay.modes[0].diagnosis.causes.front().node, "y");
  EXPECT_EQ(reports::name(replay.modes[1].diagnosis.outcome), "healthy");
  EXPECT_EQ(reports::name(replay.modes[2].diagnosis.outcome), "healthy");
  EXPECT_EQ(replay.modes[2].result.loss, 8.1e9f);
  EXPECT_THAT(refused([&] {
                make({.run_file = scratch("30b.ulp"), .output = scratch("d"), .step = 9, .mode = "fp16", .seed = {}});
              }),
              HasSubstr("--step 10"));
  EXPECT_THAT(refused([&] {
                make({.run_file = scratch("30b.ulp"), .output = scratch("d"), .step = {}, .mode = "bf16", .seed = {}});
              }),
              HasSubstr("no step"));
}

TEST(Capsule, OfAStepThatBeginsWithPoisonedWeightsSaysSo) {
  const ScratchFolder scratch;
  record_experiment(case_settings("30", {"train.steps=56"}).build(), scratch("30.ulp"));  // w [0] is NaN from step 51 on
  make({.run_file = scratch("30.ulp"), .output = scratch("c"), .step = 54, .mode = {}, .seed = {}});
  const CapsuleReplay replay = replay_capsule(scratch("c"), {"fp16", "fp32"}, "ulpscope replay");
  for (const ReplayedMode& m : replay.modes) {
    ASSERT_FALSE(m.diagnosis.causes.empty()) << m.mode;
    EXPECT_EQ(reports::name(m.diagnosis.causes.front().kind), "weights_poisoned") << m.mode;
    EXPECT_THAT(m.diagnosis.causes.front().what, HasSubstr("1 of 2 elements of w is not finite before step 55 begins"));
  }
}

/// Keeps the checkpoints as they are after a step: those of a run that is killed later.
class Keeper final : public Watcher {
 public:
  Keeper(std::string from, std::string to, std::int64_t step) : from_(std::move(from)), to_(std::move(to)), step_(step) {}
  void step(const RunInfo&, const engine::StepResult& result, double) override {
    if (result.iteration == step_)
      std::filesystem::copy(from_, to_, std::filesystem::copy_options::recursive);
  }

 private:
  std::string from_, to_;
  std::int64_t step_;
};

/// Lines are broken anywhere.
std::string replayed_words(const CapsuleReplay& replay) {
  std::string words;
  for (const char c : replay_text(replay))
    if (c != ' ' && c != '\n') words += c;
    else if (!words.ends_with(' ')) words += ' ';
  return words;
}

/// The print by hand, from its definition.
TEST(Capsule, PrintsOfGradientsAreAsDocumented) {
  const auto fnv1a = [](const std::vector<std::uint8_t>& bytes) {
    std::uint64_t hash = 14695981039346656037ull;
    for (const std::uint8_t byte : bytes) hash = (hash ^ byte) * 1099511628211ull;
    return fmt::format("{:016x}", hash);
  };
  EXPECT_EQ(print_of({1.0f, -2.0f}), fnv1a({0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0}));
  EXPECT_EQ(print_of({NAN}), fnv1a({0, 0, 0xc0, 0x7f}));
  EXPECT_EQ(print_of({-NAN}), print_of({NAN})) << "payload and sign of a NaN are the processor's affair";
  EXPECT_NE(print_of({0.0f}), print_of({-0.0f}));
  EXPECT_NE(print_of({1.0f, 2.0f}), print_of({2.0f, 1.0f}));
}

TEST(Capsule, GradientsThatDifferAreFoundWhereTheLossIsTheSame) {
  const ScratchFolder scratch;
  // Two layers; what the last gradient of a step is, no loss can tell.
  record_experiment(case_settings("30b").build(), scratch("30b.ulp"));
  make({.run_file = scratch("30b.ulp"), .output = scratch("c"), .step = 3, .mode = "fp16", .seed = {}});
  Capsule capsule = load_capsule(scratch("c"));
  ASSERT_EQ(capsule.recorded.gradients.size(), 1u);
  EXPECT_EQ(capsule.recorded.gradients.front().parameter, "w");
  const auto replayed = [&] {
    save_capsule(scratch("d"), capsule);
    return replay_capsule(scratch("d"), {"fp16", "bf16"}, "ulpscope replay");
  };
  CapsuleReplay replay = replayed();
  EXPECT_TRUE(replay.modes[0].same_bits.value());
  EXPECT_EQ(replay.modes[0].gradients.compared, 1);
  EXPECT_THAT(replayed_words(replay), HasSubstr("the bits of the recorded step, 1 gradient included"));

  capsule.recorded.gradients.front().print[3] ^= 1;
  replay = replayed();
  EXPECT_FALSE(replay.modes[0].same_bits.value());
  EXPECT_TRUE(replay.modes[0].same_loss);
  EXPECT_EQ(replay.modes[0].gradients.first_different, "w");
  EXPECT_THAT(replayed_words(replay), HasSubstr("1 of 1 gradients"));
  EXPECT_FALSE(replay.modes[1].own) << "no comparison is due in another mode";
  EXPECT_FALSE(replay.modes[1].same_bits);

  capsule.recorded.gradients.clear();  // as older capsules are
  replay = replayed();
  EXPECT_FALSE(replay.modes[0].same_bits) << "unknown";
  EXPECT_TRUE(replay.modes[0].same_loss);
  EXPECT_THAT(replayed_words(replay), HasSubstr("gradients were not recorded"));
  const auto document = nlohmann::json::parse(replay_json(replay));
  EXPECT_TRUE(document["modes"][0]["same_bits"].is_null());
  EXPECT_EQ(document["modes"][0]["gradients"]["recorded"], false);
  EXPECT_TRUE(document["modes"][1]["gradients"].is_null());

  capsule.recorded.gradients = {{"w", "0123"}};
  save_capsule(scratch("d"), capsule);
  EXPECT_THAT(refused([&] { load_capsule(scratch("d")); }), HasSubstr("its gradient.w is no print"));
}

TEST(Capsule, TheFirstDifferenceIsInTheOrderOfTheBackwardPass) {
  const std::vector<GradientPrint> here{{"last", "1"}, {"middle", "2"}, {"first", "3"}};
  EXPECT_TRUE(compare({{"first", "3"}, {"last", "1"}, {"middle", "2"}}, here).alike());
  const GradientComparison two = compare({{"first", "9"}, {"last", "1"}, {"middle", "8"}}, here);
  EXPECT_EQ(two.different, 2);
  EXPECT_EQ(two.first_different, "middle");
  const GradientComparison missing = compare({{"first", "3"}, {"gone", "4"}, {"middle", "2"}}, here);
  EXPECT_EQ(missing.different, 2) << "last has no counterpart, nor has gone";
  EXPECT_EQ(missing.compared, 4);
  EXPECT_EQ(missing.first_different, "last");
  EXPECT_FALSE(compare({}, here).recorded);
}

class CapsuleOfText : public TinyExperiment {};

TEST_F(CapsuleOfText, GoesOnFromACheckpoint) {
  const std::string file = in("tiny.ulp"), checkpoints = file + ".ckpt";
  Experiment e = experiment({"run.seeds=1", "run.modes=fp16", "run.checkpoint_every=4"});
  {
    Runner runner(e);
    reports::RunFileWriter writer(file, {.overwrite = true});
    Keeper keeper(checkpoints, in("kept"), 9);
    runner.run(writer, keeper, [] { return false; }, "ulpscope run");
    writer.close();
  }
  std::filesystem::remove_all(checkpoints);
  std::filesystem::copy(in("kept"), checkpoints, std::filesystem::copy_options::recursive);
  const MadeCapsule made = make({.run_file = file, .output = in("c"), .step = 9, .mode = "fp16", .seed = {}});
  EXPECT_THAT(made.capsule.way, HasSubstr("from the checkpoint after step 8"));
  EXPECT_THAT(made.capsule.way, HasSubstr("2 steps to the bit as recorded"));
  EXPECT_TRUE(made.same_bits);
  std::filesystem::remove_all(checkpoints);
  const MadeCapsule whole = make({.run_file = file, .output = in("d"), .step = 9, .mode = "fp16", .seed = {}});
  EXPECT_THAT(whole.capsule.way, HasSubstr("from the first step"));
  const auto weights = [](const Capsule& capsule) {
    std::map<std::string, std::vector<std::byte>> all;
    for (const engine::NamedTensor& t : capsule.state.tensors) all[t.name] = t.data;
    return all;
  };
  EXPECT_EQ(weights(made.capsule), weights(whole.capsule)) << "either way leads to the same state";
  EXPECT_EQ(made.capsule.state.scaler, whole.capsule.state.scaler);
  const CapsuleReplay again = replay_capsule(in("c"), {"fp16"}, "ulpscope replay");
  EXPECT_TRUE(mode(again, "fp16").same_bits.value()) << replay_text(again) << "observed and unfused, the gradients have the same bits";
  EXPECT_EQ(mode(again, "fp16").gradients.compared, static_cast<std::int64_t>(made.capsule.recorded.gradients.size()));
  EXPECT_GT(mode(again, "fp16").gradients.compared, 5);
  EXPECT_EQ(made.capsule.recorded.gradients.back().parameter, "wte.weight") << "the embedding's gradient is the last one to be made";
}

TEST_F(CapsuleOfText, NeedsNoData) {
  const std::string file = in("tiny.ulp"), capsule = in("tiny.capsule");
  record_experiment(experiment({"train.micro_batches=2", "run.seeds=1"}), file);
  const MadeCapsule made = make({.run_file = file, .output = capsule, .step = 9, .mode = "fp16", .seed = {}});
  EXPECT_TRUE(made.same_bits) << made.capsule.way;
  std::filesystem::remove(in("text.txt"));
  std::filesystem::remove(file);
  const CapsuleReplay replay = replay_capsule(capsule, {"all"}, "ulpscope replay");
  EXPECT_TRUE(mode(replay, "fp16").same_bits.value());
  EXPECT_EQ(mode(replay, "fp16").result.iteration, 9);
  const float fp32 = mode(replay, "fp32").result.loss;
  for (const ReplayedMode& m : replay.modes) {
    EXPECT_EQ(m.problem, "") << m.mode;
    EXPECT_NEAR(m.result.loss, fp32, 0.02f * fp32)
        << m.mode;  // the same batch and dropout; bf16_pure rounds all weights
  }
}

TEST_F(CapsuleOfText, OtherDataAreRefused) {
  record_experiment(experiment({"run.seeds=1", "run.modes=fp16", "train.steps=2"}), in("tiny.ulp"));
  std::ofstream(in("text.txt"), std::ios::app) << "one line more\n";
  EXPECT_THAT(
      refused([&] { make({.run_file = in("tiny.ulp"), .output = in("c"), .step = 1, .mode = {}, .seed = {}}); }),
      HasSubstr("the data are no longer"));
}

TEST_F(CapsuleOfText, AStopEndsTheReplayInTheMiddleOfAStep) {
  record_experiment(experiment({"run.seeds=1", "run.modes=fp16", "train.steps=2"}), in("tiny.ulp"));
  make({.run_file = in("tiny.ulp"), .output = in("c"), .step = 1, .mode = {}, .seed = {}});
  std::filesystem::create_directory(in("tmp"));
  setenv("TMPDIR", in("tmp").c_str(), 1);
  for (const int after : {0, 3, 40}) {
    int asked = 0;
    EXPECT_THROW(replay_capsule(in("c"), {"all"}, "ulpscope replay", [&] { return asked++ == after; }), Interrupted);
    EXPECT_EQ(asked, after + 1) << "not asked again";
    EXPECT_TRUE(std::filesystem::is_empty(in("tmp")));
  }
  unsetenv("TMPDIR");
}

class BadCapsule : public ::testing::Test {
 protected:
  void SetUp() override {
    record_experiment(case_settings("01").build(), scratch("01.ulp"));
    make({.run_file = scratch("01.ulp"), .output = scratch("good"), .step = {}, .mode = {}, .seed = {}});
    std::ifstream file(scratch("good"), std::ios::binary);
    good.assign(std::istreambuf_iterator<char>(file), {});
  }
  std::string refusal_of(const std::string& bytes) {
    std::ofstream(scratch("bad"), std::ios::binary) << bytes;
    const std::string message = refused([&] { load_capsule(scratch("bad")); });
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    EXPECT_THAT(message, HasSubstr(scratch("bad") + ": "));
    return message;
  }
  std::string with(const std::string& from, const std::string& to) const {
    std::string bytes = good;
    const std::size_t at = bytes.find(from);
    if (at == std::string::npos || from.size() != to.size()) throw std::runtime_error(from);
    return bytes.replace(at, from.size(), to);
  }
  ScratchFolder scratch;
  std::string good;
};

TEST_F(BadCapsule, IsRefusedInOneLine) {
  EXPECT_THAT(refusal_of(""), HasSubstr("not a safetensors file"));
  EXPECT_THAT(refusal_of("[model]\nkind = 'graph'\n"), HasSubstr("not a safetensors file"));
  EXPECT_THAT(refusal_of(good.substr(0, good.size() - 5)), HasSubstr("cut off"));
  EXPECT_THAT(refusal_of(good.substr(0, 100)), HasSubstr("cut off"));
  EXPECT_THAT(refusal_of(with("\"capsule\":\"1\"", "\"capsule\":\"9\"")), HasSubstr("a newer ulpscope is needed"));
  EXPECT_THAT(refusal_of(with("\"capsule\":", "\"kapsule\":")), HasSubstr("not a capsule"));
  EXPECT_THAT(refusal_of(with("\"mode\":\"fp16\"", "\"mode\":\"fp61\"")), HasSubstr("damaged"));
  EXPECT_THAT(refusal_of(with("kind = \\\"graph\\\"", "kind = \\\"grafh\\\"")),
              HasSubstr("its experiment cannot be read"));
  EXPECT_THAT(refusal_of(with("\"state/layer1", "\"mouse/layer1")), HasSubstr("nothing is known of its tensor"));
  EXPECT_THAT(refused([&] { load_capsule(scratch("nowhere")); }), HasSubstr("nowhere"));
  EXPECT_THAT(refused([&] { load_capsule(scratch("01.ulp")); }), HasSubstr("is a run file, not a capsule: ulpscope diagnose"));
  const std::string key = "\"recorded.loss_scale\":\"";
  const std::string scale = good.substr(good.find(key), key.size() + 8);
  EXPECT_THAT(refusal_of(with(scale, key + "c7800000")), HasSubstr("no step has the loss scale -65536"));
  EXPECT_THAT(refusal_of(with(scale, key + "7fc00000")), HasSubstr("no step has the loss scale nan"));
  Capsule capsule = load_capsule(scratch("good"));
  const auto refusal_with = [&](auto&& change) {
    Capsule bad = capsule;
    change(bad.state);
    save_capsule(scratch("bad"), bad);
    return refused([&] { load_capsule(scratch("bad")); });
  };
  EXPECT_THAT(refusal_with([](engine::TrainerState& s) { s.scaler.growth_tracker = -1; }), HasSubstr("damaged: its scaler.growth_tracker is -1"));
  EXPECT_THAT(refusal_with([](engine::TrainerState& s) { s.scaler.hysteresis = -1; }), HasSubstr("its scaler.hysteresis is -1"));
  EXPECT_THAT(refusal_with([](engine::TrainerState& s) { s.scaler.step = -7; }), HasSubstr("its scaler.step is -7"));
  EXPECT_THAT(refusal_with([](engine::TrainerState& s) { s.scaler.last_overflow = -2; }), HasSubstr("its scaler.last_overflow is -2"));
  EXPECT_THAT(refusal_with([](engine::TrainerState& s) { s.scaler.overflows = -1; }), HasSubstr("its scaler.overflows is -1"));
  EXPECT_THAT(refusal_with([](engine::TrainerState& s) { s.iteration = -1; }), HasSubstr("0 of -1 steps applied"));
  EXPECT_THAT(refusal_with([](engine::TrainerState& s) { s.applied = 1; }), HasSubstr("1 of 0 steps applied"));
  EXPECT_EQ(refusal_with([](engine::TrainerState& s) { s.scaler.last_overflow = s.scaler.last_rescale = -1; }), "not refused") << "none yet";
}

TEST_F(BadCapsule, TheProgramSaysSo) {
  const auto run = [](std::vector<std::string> arguments) {
    std::ostringstream out, err;
    const int code = run_program(std::move(arguments), out, err);
    return std::tuple(code, out.str(), err.str());
  };
  const auto [good_code, good_out, good_err] = run({"replay", scratch("good"), "--modes", "fp16,fp32", "--json"});
  EXPECT_EQ(good_code, exit_ok) << good_err;
  const auto document = nlohmann::json::parse(good_out);
  EXPECT_EQ(document["kind"], "ulpscope replay");
  const auto [toml_code, toml_out, toml_err] = run({"diagnose", scratch("case.toml")});
  EXPECT_EQ(toml_code, exit_usage);
  EXPECT_THAT(toml_err, HasSubstr("nothing was recorded yet: --predict says"));
  EXPECT_EQ(document["modes"][0]["loss"], "Infinity");
  EXPECT_EQ(document["modes"][0]["first_fault"]["node"], "layer2.linear");
  EXPECT_EQ(document["modes"][0]["same_bits"], true);
  EXPECT_EQ(document["modes"][1]["outcome"], "healthy");
  EXPECT_TRUE(document["modes"][1]["first_fault"].is_null());
  EXPECT_EQ(std::get<0>(run({"replay", scratch("good"), "--modes", "fp17"})), exit_usage);
  EXPECT_EQ(std::get<0>(run({"replay", scratch("01.ulp")})), exit_usage);
  const auto [code, out, err] = run({"diagnose", scratch("01.ulp"), "--capsule", scratch("01.ulp")});
  EXPECT_EQ(code, exit_usage);
  EXPECT_THAT(err, HasSubstr("it is no capsule"));
  for (const std::string& place : {std::string("/nonexistent/c"), scratch("")}) {
    const auto [place_code, place_out, place_err] = run({"diagnose", scratch("01.ulp"), "--capsule", place});
    EXPECT_EQ(place_code, exit_usage);
    EXPECT_THAT(place_err, HasSubstr("--capsule " + place + ": "));
  }
  ASSERT_EQ(mkfifo(scratch("pipe").c_str(), 0600), 0);
  for (const std::string& endless : {std::string("/dev/zero"), scratch("pipe")}) {
    const auto [read_code, read_out, read_err] = run({"replay", endless});
    EXPECT_EQ(read_code, exit_usage);
    EXPECT_EQ(read_err, "ulpscope: " + endless + ": is not a plain file\n");
  }
  const auto [full_code, full_out, full_err] = run({"diagnose", scratch("01.ulp"), "--capsule", "/dev/full"});
  EXPECT_EQ(full_code, exit_usage);
  EXPECT_EQ(full_err, "ulpscope: --capsule /dev/full: is not a plain file\n");
  const auto [made, text, problem] = run({"diagnose", scratch("01.ulp"), "--capsule", scratch("good")});
  EXPECT_EQ(made, exit_ok) << problem;
  EXPECT_THAT(text, HasSubstr("step 1 of fp16"));
}

}  // namespace
}  // namespace ulpscope::profiler
