// The command advise, as it is typed, on runs that the program makes.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "profiler/cli/program.h"
#include "profiler/cli/text.h"
#include "reports/run_file/writer.h"
#include "tests/profiler/support/answer.h"
#include "tests/profiler/tiny_experiment.h"
#include "tests/reports/time_forged.h"

namespace ulpscope::profiler {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class AdviseCommand : public TinyExperiment {
 protected:
  std::string run(const std::string& name, std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments{"run", in("tiny.toml"), "-o", in(name)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Answer answer = ulpscope(arguments);
    EXPECT_EQ(answer.code, 0) << answer.err;
    return in(name);
  }
  static void narrow(const std::string& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(columns(line), text_width) << line;
  }
  static nlohmann::json json_of(std::vector<std::string> arguments) {
    arguments.emplace_back("--json");
    const Answer answer = ulpscope(std::move(arguments));
    EXPECT_EQ(answer.code, 0) << answer.err;
    return nlohmann::json::parse(answer.out);
  }
  /// One line on standard error, nothing on the other, exit code 2.
  static std::string refused(std::vector<std::string> arguments) {
    const Answer answer = ulpscope(std::move(arguments));
    EXPECT_EQ(answer.code, 2) << answer.out;
    EXPECT_EQ(answer.out, "");
    EXPECT_EQ(std::count(answer.err.begin(), answer.err.end(), '\n'), 1) << answer.err;
    return answer.err;
  }
  static const nlohmann::json& mode(const nlohmann::json& device, const std::string& name) {
    for (const auto& m : device.at("modes"))
      if (m.at("mode") == name) return m;
    throw Error("no mode " + name);
  }
};

TEST_F(AdviseCommand, ACpuRunSaysWhatItsNumericsSayAndAsksForAGpu) {
  const std::string file = run("a.ulp", {"--timing-steps", "10"});
  const Answer answer = ulpscope({"advise", file});
  ASSERT_EQ(answer.code, 0) << answer.err;
  narrow(answer.out);
  EXPECT_THAT(answer.out, AllOf(HasSubstr("no GPU named: undecided"), HasSubstr("other machines' times say nothing of one"), HasSubstr("--gpu"), HasSubstr("H100 SXM")));
  EXPECT_THAT(answer.out, Not(HasSubstr("settings of")));
  const auto json = json_of({"advise", file});
  EXPECT_TRUE(json["devices"][0]["gpu"].is_null());
  EXPECT_FALSE(mode(json["devices"][0], "fp32").contains("measured_step_seconds")) << "of a CPU";
}

TEST_F(AdviseCommand, OnGpusOfTheTable) {
  const std::string file = run("a.ulp", {"--timing-steps", "10"});
  const auto json = json_of({"advise", file, "--gpu", "t4,a100"});
  ASSERT_EQ(json["devices"].size(), 2u);
  const auto &t4 = json["devices"][0], &a100 = json["devices"][1];
  EXPECT_EQ(t4["gpu"], "T4");
  EXPECT_THAT(mode(t4, "bf16")["refused"].dump(), HasSubstr("emulated on T4"));
  EXPECT_TRUE(mode(t4, "bf16")["projected_step_seconds"]["value"].is_null());
  EXPECT_TRUE(mode(a100, "bf16")["refused"].empty());
  for (const auto& device : json["devices"])
    for (const auto& m : device["modes"]) {
      EXPECT_TRUE(m["measured_step_seconds"]["value"].is_null()) << "the CPU's, or emulated";
      EXPECT_EQ(m["memory_bytes"]["provenance"], "projected");
    }
  // Two seeds carry no verdict, and so small a model gains nothing: whatever it leans to, it is not fp16 or bf16 that is recommended.
  for (const auto& device : json["devices"]) {
    EXPECT_EQ(device["outcome"], "recommended") << device["reason"];
    EXPECT_EQ(device["winner"], "fp32") << device["reason"];
  }
  EXPECT_THAT(json["notes"].dump(), HasSubstr("\\\"a100\\\" is taken for A100 SXM 80GB"));
  const Answer text = ulpscope({"advise", "--gpu", "t4,a100", file});
  EXPECT_EQ(text.code, 0);
  narrow(text.out);
  EXPECT_THAT(text.out, AllOf(HasSubstr("\nT4 (\"t4\"): "), HasSubstr("\nA100 SXM 80GB (\"a100\"): "), HasSubstr("Hugging Face"), HasSubstr("projected")));
  EXPECT_LT(text.out.find("why "), text.out.find("evidence "));
  const Answer csv = ulpscope({"advise", file, "--gpu", "t4", "--csv"});
  EXPECT_THAT(csv.out, AllOf(StartsWith("gpu,mode,section,key,"), HasSubstr("T4,bf16,evidence,runs,,,,,,emulated\r\n")));
}

TEST_F(AdviseCommand, OverflowIsHeldAgainstFp16) {
  std::ofstream(in("case.toml")) << "model = {kind = 'graph', loss = 'loss'}\ntrain = {steps = 1, optimizer = 'sgd', momentum = 0.0, weight_decay = 0.0, lr = 0.0}\n"
                                    "run = {modes = ['fp32', 'fp16'], timing_steps = 0}\n"
                                    "node = [{name = 'x', op = 'input', shape = [1, 64], values = 1.0},\n"
                                    "{name = 'w1', op = 'parameter', shape = [64, 64], init = 0.5}, {name = 'w2', op = 'parameter', shape = [1, 64], init = 32.346870},\n"
                                    "{name = 'one', op = 'linear', inputs = ['x', 'w1']}, {name = 'two', op = 'linear', inputs = ['one', 'w2']}, {name = 'loss', op = 'sum', inputs = 'two'}]\n";
  ulpscope({"run", in("case.toml"), "-o", in("case.ulp")});
  const auto json = json_of({"advise", in("case.ulp"), "--gpu", "v100"});
  const auto& device = json["devices"][0];
  EXPECT_EQ(mode(device, "fp16")["overflow"]["known"], "found");
  EXPECT_EQ(mode(device, "fp16")["overflow"]["provenance"], "counted");
  EXPECT_THAT(mode(device, "fp16")["overflow"]["words"].get<std::string>(), HasSubstr("66240"));
  EXPECT_FALSE(mode(device, "fp16")["refused"].empty());
  EXPECT_EQ(device["winner"], "fp32");
}

TEST_F(AdviseCommand, LostUpdatesAreHeldAgainstPureModes) {
  const std::string file = run("pure.ulp", {"--modes", "fp32,bf16,bf16_pure", "--seeds", "1", "--learning_rate", "1e-7", "--warmup_steps", "0", "--shadow"});
  const auto device = json_of({"advise", file, "--gpu", "a100"})["devices"][0];
  EXPECT_EQ(mode(device, "bf16_pure")["lost_updates"]["known"], "found");
  EXPECT_THAT(mode(device, "bf16_pure")["refused"].dump(), HasSubstr("lost updates found"));
  EXPECT_EQ(mode(device, "bf16")["lost_updates"]["known"], "clean");
  // bf16 keeps 8 bits: its tensors are off by about 2^-9 of their size, and those of the fp32 run by nothing.
  EXPECT_GT(mode(device, "bf16")["shadow_error"]["value"].get<double>(), 1e-4);
  EXPECT_LT(mode(device, "bf16")["shadow_error"]["value"].get<double>(), 1e-1);
  EXPECT_EQ(mode(device, "bf16")["shadow_error"]["provenance"], "computed");
}

TEST_F(AdviseCommand, TheGpuOfTheRunIsAskedAboutWithoutBeingNamed) {
  const auto written = [&](const char* device) {
    reports::ForgedTime fp32("fp32", 1), fp16("fp16", 2);
    for (reports::ForgedTime* t : {&fp32, &fp16}) {
      t->forged.run.device = device;
      t->forged.run.device_kind = "cuda";
      t->forged.run.time_provenance = reports::Provenance::measured;
      for (const char* node : {"y", "unscale_check", "w.update"}) t->timed(node, 1e-3);
      t->sample(t == &fp32 ? 9e-3 : 4.5e-3);
    }
    reports::write_times(in("gpu.ulp"), {&fp32, &fp16});
    return in("gpu.ulp");
  };
  const auto t4 = json_of({"advise", written("Tesla T4")});
  EXPECT_EQ(t4["devices"][0]["gpu"], "T4");
  EXPECT_EQ(mode(t4["devices"][0], "fp16")["speed_against_fp32"]["value"], 2.0);
  EXPECT_EQ(mode(t4["devices"][0], "fp16")["speed_against_fp32"]["provenance"], "measured");
  EXPECT_EQ(t4["devices"][0]["outcome"], "undecided") << "no loss was held against fp32's";
  const auto l4 = json_of({"advise", in("gpu.ulp"), "--gpu", "l4"});
  EXPECT_EQ(mode(l4["devices"][0], "fp16")["speed_against_fp32"]["provenance"], "projected") << "timed on another GPU";
  EXPECT_THAT(l4["notes"].dump(), HasSubstr("the projection is fitted to"));
  const auto unknown = json_of({"advise", written("NVIDIA Frobnicator 1")});
  EXPECT_TRUE(unknown["devices"][0]["gpu"].is_null());
  EXPECT_THAT(unknown["notes"].dump(), AllOf(HasSubstr("NVIDIA Frobnicator 1 is not in the table"), HasSubstr("--add")));
}

TEST_F(AdviseCommand, OneModeAlone) {
  const std::string fp32 = run("fp32.ulp", {"--modes", "fp32"}), fp16 = run("fp16.ulp", {"--modes", "fp16"});
  const auto alone = json_of({"advise", fp32, "--gpu", "a100"})["devices"][0];
  EXPECT_EQ(alone["outcome"], "undecided");
  EXPECT_THAT(alone["reason"].get<std::string>(), HasSubstr("fp32 alone was run"));
  EXPECT_THAT(alone["would_change"].dump(), HasSubstr("tf32, fp16, bf16 are native there and not weighed"));
  EXPECT_THAT(json_of({"advise", fp16, "--gpu", "a100"})["devices"][0]["reason"].get<std::string>(), HasSubstr("no fp32 run"));
  // Others are planned, and foreseen.
  const auto planned = json_of({"advise", fp32, "--gpu", "a100", "--modes", "tf32"})["devices"][0];
  EXPECT_TRUE(mode(planned, "tf32")["projected_step_seconds"]["value"].is_number());
  EXPECT_EQ(mode(planned, "tf32")["overflow"]["known"], "unknown");
  const auto foreseen = json_of({"advise", fp32, "--gpu", "a100", "--predict"})["devices"][0];
  EXPECT_EQ(mode(foreseen, "bf16")["overflow"]["known"], "clean");
  EXPECT_EQ(mode(foreseen, "bf16")["overflow"]["provenance"], "projected");
  EXPECT_EQ(mode(foreseen, "fp16")["trained"], false);
}

TEST_F(AdviseCommand, ARunThatDidNotEnd) {
  const std::string file = run("a.ulp");
  {
    const reports::RunFileReader reader(file);
    std::vector<reports::RunRecord> runs = reader.runs();
    reports::RunFileWriter writer(file, {.append = true});
    for (reports::RunRecord& run : runs) {
      if (run.mode == "bf16") run.status = reports::RunStatus::interrupted;
      run.steps_planned = 100;
      writer.push(run);
    }
    writer.close();
  }
  const auto json = json_of({"advise", file, "--gpu", "a100"})["devices"][0];
  EXPECT_EQ(mode(json, "bf16")["trained"], false);
  EXPECT_THAT(mode(json, "bf16")["unfinished"].get<std::string>(), HasSubstr("interrupted after 12 of 100 steps"));
  EXPECT_NE(json["winner"], "bf16");
  EXPECT_EQ(ulpscope({"advise", file, "--gpu", "a100"}).code, 0);
}

TEST_F(AdviseCommand, BadInputIsOneLine) {
  const std::string file = run("a.ulp", {"--modes", "fp32", "--seeds", "1"});
  EXPECT_THAT(refused({"advise", file, "--gpu", "t4,H300"}), AllOf(HasSubstr("no GPU \"H300\""), HasSubstr("H200 SXM")));
  EXPECT_THAT(refused({"advise", in("none.ulp")}), HasSubstr("none.ulp"));
  EXPECT_THAT(refused({"advise", in("text.txt"), "--gpu", "t4"}), HasSubstr("text.txt"));
  EXPECT_THAT(refused({"advise", in("tiny.toml")}), AllOf(HasSubstr("is an experiment file"), HasSubstr("ulpscope run")));
  EXPECT_THAT(refused({"advise"}), HasSubstr("RUN"));
  EXPECT_THAT(refused({"advise", file, "--modes", "fp12"}), HasSubstr("fp12"));
  EXPECT_THAT(refused({"advise", file, "--measured", in("none.ulp")}), HasSubstr("none.ulp"));
  EXPECT_THAT(refused({"advise", file, "--json", "--csv"}), HasSubstr("--csv"));
  EXPECT_THAT(refused({"advise", file, in("b.ulp")}), HasSubstr("one argument too many"));
  reports::RunFileWriter(in("empty.ulp"), {.overwrite = true}).close();
  EXPECT_THAT(refused({"advise", in("empty.ulp")}), HasSubstr("there is no run in"));
}

}  // namespace
}  // namespace ulpscope::profiler
