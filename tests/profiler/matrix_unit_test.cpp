// Training with the sums of a generation's matrix units: the same bits however it is run, stopped and gone on with; what is
// recorded of it; vectors tried on the command line.
#include <gmock/gmock.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>

#include "kernels/error.h"
#include "kernels/formats/instruction_set.h"
#include "profiler/cli/program.h"
#include "profiler/experiment/past.h"
#include "profiler/experiment/runner.h"
#include "tests/profiler/support/answer.h"
#include "tests/profiler/tiny_experiment.h"

namespace ulpscope::profiler {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// The first line in which two recordings differ; empty: none.
std::string difference(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    const std::string x = i < a.size() ? a[i] : "nothing", y = i < b.size() ? b[i] : "nothing";
    if (x != y) return x + " / " + y;
  }
  return "";
}

class MatrixUnits : public TinyExperiment {
 protected:
  void record(const Experiment& e, const std::string& name, const std::function<bool()>& stop = [] { return false; }) {
    Runner runner(e);
    reports::RunFileWriter writer(in(name), {.overwrite = true});
    runner.run(writer, silent_, stop, "");
    writer.close();
  }
  /// The recorded numbers of runs in one mode, but for memory and what was looked at, which other settings change.
  std::vector<std::string> numbers(const std::vector<std::string>& assignments, const std::string& mode = "fp16") {
    std::vector<std::string> all = assignments;
    all.insert(all.end(), {"run.modes=" + mode, "run.seeds=1"});
    if (mode == "fp16") all.emplace_back("train.scaler.init=1024");
    record(experiment(all), "x.ulp");
    std::vector<std::string> lines = numbers_of(in("x.ulp"));
    std::erase_if(lines, [](const std::string& line) {
      return line.find(" memory ") != std::string::npos || line.find(" tensor ") != std::string::npos || line.find(" replay ") != std::string::npos;
    });
    return lines;
  }
  Watcher silent_;
};

TEST_F(MatrixUnits, ChangeTheModesTheyMultiplyAndNoOther) {
  const auto differs = [&](const char* unit, const char* mode) {
    const std::vector<std::string> larger{"model.width=64", "model.context=16", "train.steps=2", "train.scaler.init=1024"};
    std::vector<std::string> with = larger;
    with.push_back(std::string("train.accumulate_as=") + unit);
    return numbers(with, mode) != numbers(larger, mode);
  };
  for (const char* unit : {"v100", "hopper"}) EXPECT_TRUE(differs(unit, "fp16")) << unit;
  for (const char* mode : {"fp32", "bf16", "tf32"}) EXPECT_FALSE(differs("v100", mode)) << mode;
  for (const char* mode : {"bf16", "tf32", "bf16_pure"}) EXPECT_TRUE(differs("ada", mode)) << mode;
  EXPECT_FALSE(differs("ada", "fp32"));
}

TEST_F(MatrixUnits, TheSameBitsWithAnyNumberOfThreadsInstructionSetAndFusion) {
  const std::vector<std::string> first = numbers({"train.accumulate_as=ampere"});
  for (const char* other : {"run.threads=3", "train.fusion=false", "observe.every=1", "train.recompute=blocks"})
    EXPECT_EQ(difference(numbers({"train.accumulate_as=ampere", other}), first), "") << other;
  for (const char* set : {"portable", "avx2"}) {
    if (!available(parse_instruction_set(set))) continue;
    ::setenv("ULPSCOPE_ISA", set, 1);
    EXPECT_EQ(difference(numbers({"train.accumulate_as=ampere"}), first), "") << set;
    ::unsetenv("ULPSCOPE_ISA");
  }
}

TEST_F(MatrixUnits, AreRecorded) {
  record(experiment({"train.accumulate_as=turing", "run.modes=fp16,bf16", "run.seeds=1"}), "r.ulp");
  const reports::RunFileReader file(in("r.ulp"));
  const auto sums = [&](std::size_t run) { return nlohmann::json::parse(file.runs().at(run).attributes_json)["sums"]; };
  EXPECT_EQ(sums(0)["as"], "turing");
  EXPECT_EQ(sums(0)["of_unit"], sums(0)["products"]);
  EXPECT_EQ(sums(0)["provenance"], "emulated");
  EXPECT_THAT(sums(0)["words"].dump(), AllOf(HasSubstr("blocks of 8, 24 fraction bits"), HasSubstr("evidence: source"), HasSubstr("without split-K")));
  EXPECT_EQ(sums(1)["of_unit"], 0);
  EXPECT_THAT(sums(1)["words"].dump(), HasSubstr("turing has no matrix units for it"));
  std::int64_t of_unit = 0;
  for (const auto& node : file.nodes(*file.runs().front().plan))
    of_unit += nlohmann::json::parse(node.attributes_json.empty() ? "{}" : node.attributes_json).value("sums_as", "") == "turing" ? 1 : 0;
  EXPECT_EQ(of_unit, sums(0)["of_unit"]);
  // Whoever shows the run says so, of the mode that has them alone.
  for (const char* command : {"info", "diagnose", "time"}) {
    const std::string shown = ulpscope({command, in("r.ulp")}).out;
    const std::size_t said = shown.find("turing's");
    EXPECT_NE(said, std::string::npos) << command << shown;
    EXPECT_EQ(shown.find("turing's", said + 1), std::string::npos) << command << shown;
  }
}

TEST_F(MatrixUnits, AStoppedRunGoesOnWithTheSameBitsAndWithNoOtherSums) {
  const Experiment e = experiment({"train.accumulate_as=v100", "run.modes=fp16", "run.seeds=1", "run.checkpoint_every=1"});
  record(e, "whole.ulp");
  record(e, "cut.ulp", [asked = 0]() mutable { return ++asked >= 6; });
  ASSERT_NE(difference(numbers_of(in("cut.ulp")), numbers_of(in("whole.ulp"))), "");
  Runner other(experiment({"train.accumulate_as=hopper", "run.modes=fp16", "run.seeds=1", "run.checkpoint_every=1"}));
  EXPECT_THROW(read_past(in("cut.ulp"), other, false), UsageError);
  Runner runner(recorded_experiment(in("cut.ulp")));
  Past past;
  reports::RunFileWriter writer(in("cut.ulp"), {.append = true, .rewind = [&] { return (past = read_past(in("cut.ulp"), runner, false)).rewind; }});
  runner.run(writer, silent_, [] { return false; }, "", &past);
  writer.close();
  EXPECT_EQ(difference(numbers_of(in("cut.ulp")), numbers_of(in("whole.ulp"))), "");
}

TEST_F(MatrixUnits, SamplingSaysWhatTheyWouldChangeAndChangesNoBit) {
  const std::vector<std::string> observed{"model.width=64", "train.steps=2", "observe.every=1"};
  std::vector<std::string> sampling = observed;
  sampling.insert(sampling.end(), {"observe.sums=v100,hopper", "observe.sums_share=0.05"});
  EXPECT_EQ(difference(numbers(sampling), numbers(observed)), "");
  record(experiment({"model.width=64", "train.steps=2", "observe.every=1", "observe.sums=v100,hopper", "run.modes=fp16,fp32", "run.seeds=1"}), "s.ulp");
  const reports::RunFileReader file(in("s.ulp"));
  const auto sampled = nlohmann::json::parse(file.runs().at(0).attributes_json)["sampled_sums"];
  EXPECT_EQ(sampled["steps"], 2);
  const auto &v100 = sampled["units"]["v100"], &hopper = sampled["units"]["hopper"];
  EXPECT_GT(v100["elements"], 100);
  EXPECT_GT(v100["rms"], hopper["rms"]);
  EXPECT_GT(hopper["rms"], 0.0);
  EXPECT_LT(v100["rms"], 1e-5);
  EXPECT_LT(v100["bias"], 0.0);
  EXPECT_TRUE(v100["products"].contains("block0.attn.qkv"));
  EXPECT_FALSE(nlohmann::json::parse(file.runs().at(1).attributes_json).contains("sampled_sums"));   // products of fp32 have no such sums
  EXPECT_THAT(ulpscope({"compare", in("s.ulp")}).out, HasSubstr("sampled: v100's sums of"));
}

TEST_F(MatrixUnits, ThePlanSaysWhoseSums) {
  const Answer fp16 = ulpscope({"plan", in("tiny.toml"), "--mode", "fp16", "--accumulate", "hopper"});
  EXPECT_THAT(fp16.out, AllOf(HasSubstr("products have the sums of hopper's matrix units, emulated"), HasSubstr("fp16 sums as on hopper")));
  const Answer bf16 = ulpscope({"plan", in("tiny.toml"), "--mode", "bf16", "--accumulate", "v100"});
  EXPECT_THAT(bf16.out, AllOf(HasSubstr("keep plain fp32 sums"), HasSubstr("v100 has no matrix units for bf16")));
  const Answer wrong = ulpscope({"plan", in("tiny.toml"), "--accumulate", "volta"});
  EXPECT_EQ(wrong.code, exit_usage);
  EXPECT_THAT(wrong.err, AllOf(HasSubstr("volta"), HasSubstr("v100, turing, ampere, ada, hopper, blackwell")));
}

TEST_F(MatrixUnits, TriesVectors) {
  const auto with = [&](const std::string& text, std::vector<std::string> more = {}) {
    std::ofstream(in("v.csv")) << text;
    std::vector<std::string> arguments{"tensor-core", in("v.csv")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return ulpscope(arguments);
  };
  // T2: p0 = p1 = 2^-24, C = 1.
  const std::string t2 = "0c00 0c00,0c00 0c00,3f800000,3f800001\n";
  const Answer good = with("# T2\ngeneration,format,a,b,c,expected\nhopper,fp16," + t2 + "ampere,fp16," + t2);
  EXPECT_EQ(good.code, exit_ok);
  EXPECT_EQ(good.out, "2 vectors, 0 mismatches\n");
  const Answer v100 = with("a,b,c,expected\n" + t2, {"--generation", "v100", "--format", "fp16"});
  EXPECT_EQ(v100.code, exit_fault);
  const auto unwrapped = [](std::string text) {
    for (std::size_t at; (at = text.find("\n  ")) != std::string::npos;) text.replace(at, 3, " ");
    return text;
  };
  EXPECT_THAT(unwrapped(v100.out), AllOf(HasSubstr("v.csv:2: expected 3f800001, computed 3f800000"), HasSubstr("1 vector, 1 mismatch\n")));
  // A unit does not look at the low 13 bits of a tf32 operand.
  const Answer tf32 = with("\xEF\xBB\xBF" "a,b,expected\n3f801fff,3f800000,3f800000\n", {"--generation", "ampere", "--format", "tf32"});
  EXPECT_EQ(tf32.code, exit_ok) << tf32.out << tf32.err;
  const auto refused = [&](const std::string& text, const std::string& said) {
    const Answer answer = with(text);
    EXPECT_EQ(answer.code, exit_usage) << text;
    EXPECT_THAT(answer.err, HasSubstr(said)) << text;
    EXPECT_EQ(std::count(answer.err.begin(), answer.err.end(), '\n'), 1) << answer.err;
  };
  refused("", "there is no vector");
  refused("generation,format,a,b,expected\n", "there is no vector");
  refused("a,b,bogus\n", "v.csv:1: unknown column \"bogus\"");
  refused("a,b\n", "no column \"expected\"");
  refused("generation,format,a,b,expected\nhopper,fp16,3c00,3c0,3f800000\n", "v.csv:2, column b: \"3c0\" is not a bit pattern of 4");
  refused("generation,format,a,b,expected\nhopper,fp16,3c00 3c00,3c00,3f800000\n", "a has 2 numbers, b has 1");
  refused("generation,format,a,b,expected\nv100,bf16,3f80,3f80,3f800000\n", "v100 has no bf16 to fp32; it has fp16 to fp32 (mma)");
  refused("generation,format,a,b,expected\nhopper,fp16,3c00\n", "3 columns, the first line names 5");
  refused("a,b,expected\n3c00,3c00,3f800000\n", "no generation is named");
}

TEST_F(MatrixUnits, ShowsItsTable) {
  const Answer table = ulpscope({"tensor-core", "--generation", "turing"});
  EXPECT_THAT(table.out, AllOf(HasSubstr("evidence: source"), HasSubstr("blocks of 8, 24 fraction bits")));
  std::istringstream lines(ulpscope({"tensor-core"}).out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
  EXPECT_EQ(nlohmann::json::parse(ulpscope({"tensor-core", "--json", "--format", "tf32"}).out).size(), 4u);
  EXPECT_EQ(ulpscope({"tensor-core", "--generation", "pascal"}).code, exit_usage);
  EXPECT_THAT(ulpscope({"tensor-core", "--generation", "turing", "--format", "bf16"}).err, HasSubstr("turing has no bf16"));
  EXPECT_THAT(ulpscope({"tensor-core", "--promote", "128"}).err, HasSubstr("none is given"));
  for (const char* flag : {"--result", "--zero-products"}) {   // their defaults, too: the GPU is asked whatever it is asked
    const Answer refused = ulpscope({"tensor-core", "--device", "cuda", flag, flag == std::string("--result") ? "fp32" : "excluded"});
    EXPECT_EQ(refused.code, exit_usage) << flag;
    EXPECT_THAT(refused.err, HasSubstr("--device asks a GPU the vectors that tell units apart: no file"));
  }
  const Answer unreachable = ulpscope({"tensor-core", "--device", "cuda:77"});   // no machine has it
  EXPECT_EQ(unreachable.code, exit_usage);
  EXPECT_THAT(unreachable.err, HasSubstr("--device cuda:77 cannot be used"));
  EXPECT_THAT(ulpscope({"tensor-core", folder_}).err, HasSubstr("a folder"));
}

}  // namespace
}  // namespace ulpscope::profiler
