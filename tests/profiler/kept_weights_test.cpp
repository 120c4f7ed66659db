// Weights out of a run and back in: kept at its end, or from the checkpoint of one that broke off; to the same bits.
#include "profiler/experiment/kept_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <sstream>

#include "engine/train/weights.h"
#include "kernels/error.h"
#include "profiler/cli/program.h"
#include "profiler/experiment/runner.h"
#include "reports/run_file/reader.h"
#include "reports/run_file/sqlite.h"
#include "tests/profiler/tiny_experiment.h"

namespace ulpscope::profiler {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Stop = std::function<bool()>;

class KeptWeightsTest : public TinyExperiment {
 protected:
  void record(const std::string& name, const std::vector<std::string>& assignments, const Stop& stop = [] { return false; }) {
    Runner runner(experiment(assignments));
    reports::RunFileWriter writer(in(name), {.overwrite = true});
    Watcher silent;
    runner.run(writer, silent, stop, "");
    writer.close();
  }
  /// The program's answer: its line, and its exit code.
  std::string exported(std::vector<std::string> arguments, int code = 0) {
    arguments.insert(arguments.begin(), "export");
    std::ostringstream out, err;
    EXPECT_EQ(run_program(arguments, out, err), code) << err.str();
    return code == 0 ? out.str() : err.str();
  }
  engine::TensorFile file(const std::string& name) const { return engine::read_safetensors(in(name)); }
  static void expect_same(const engine::TensorFile& a, const engine::TensorFile& b) {
    ASSERT_EQ(a.tensors.size(), b.tensors.size());
    for (std::size_t i = 0; i < a.tensors.size(); ++i) {
      EXPECT_EQ(a.tensors[i].name, b.tensors[i].name);
      EXPECT_EQ(a.tensors[i].dtype, b.tensors[i].dtype);
      EXPECT_EQ(a.tensors[i].shape, b.tensors[i].shape);
      EXPECT_EQ(a.tensors[i].data, b.tensors[i].data) << a.tensors[i].name;
    }
  }
};

TEST_F(KeptWeightsTest, OutAndInAgainIsTheSameBits) {
  record("a.ulp", {"run.save_weights=true", "run.seeds=1"});
  EXPECT_FALSE(std::filesystem::exists(in("a.ulp.ckpt"))) << "checkpoints go, weights stay";
  for (const char* mode : {"fp32", "fp16"}) {
    const std::string name = std::string(mode) + ".safetensors";
    EXPECT_THAT(exported({in("a.ulp"), "--mode", mode, "-o", in(name)}), AllOf(HasSubstr("in F32"), HasSubstr("seed")));
    const engine::TensorFile out = file(name);
    EXPECT_EQ(out.metadata.at("format"), "pt");
    for (const engine::NamedTensor& tensor : out.tensors) EXPECT_THAT(tensor.name, ::testing::Not(HasSubstr("moment"))) << "weights alone";
    // One step at a rate of 0 and without decay leaves them as they are: the round trip goes through the model.
    record("b.ulp", {"model.weights=" + in(name), std::string("run.modes=") + mode, "run.seeds=1", "train.steps=1", "train.lr=0",
                     "train.weight_decay=0", "run.save_weights=true"});
    exported({in("b.ulp"), "-o", in("back.safetensors"), "--force"});
    expect_same(file("back.safetensors"), out);
  }
  EXPECT_NE(file("fp32.safetensors").tensors.front().data, file("fp16.safetensors").tensors.front().data);
}

TEST_F(KeptWeightsTest, InSixteenBitsTheyAreRoundedAndAMixedModeAsksForAMaster) {
  record("a.ulp", {"run.save_weights=true", "run.seeds=1", "run.modes=fp32"});
  exported({in("a.ulp"), "-o", in("wide.safetensors")});
  for (const char* format : {"bf16", "fp16"}) {
    EXPECT_THAT(exported({in("a.ulp"), "-o", in("narrow.safetensors"), "--format", format, "--force"}),
                HasSubstr(std::string(format) == "bf16" ? "in BF16" : "in F16"));
    const engine::TensorFile wide = file("wide.safetensors"), narrow = file("narrow.safetensors");
    const float half_ulp = std::string(format) == "bf16" ? 0x1p-9f : 0x1p-12f;   // of 1 ≤ |x| < 2, relative; to nearest
    for (std::size_t i = 0; i < wide.tensors.size(); ++i) {
      const std::vector<float> a = wide.tensors[i].numbers(), b = narrow.tensors[i].numbers();
      for (std::size_t k = 0; k < a.size(); ++k) EXPECT_LE(std::fabs(a[k] - b[k]), 2 * half_ulp * std::fabs(a[k]) + 0x1p-25f) << a[k];
    }
    try {
      const Runner runner(experiment({"model.weights=" + in("narrow.safetensors"), "run.modes=bf16"}));
      ADD_FAILURE() << "not refused";
    } catch (const UsageError& error) {
      EXPECT_THAT(error.what(), HasSubstr("--widen"));
    }
    EXPECT_NO_THROW(Runner(experiment({"model.weights=" + in("narrow.safetensors"), "run.modes=bf16", "train.widen=true"})));
  }
}

TEST_F(KeptWeightsTest, ARunThatBrokeOffGivesThoseOfItsCheckpoint) {
  record("cut.ulp", {"run.modes=bf16_pure", "run.seeds=1"}, [asked = 0]() mutable { return ++asked >= 4; });
  EXPECT_THAT(exported({in("cut.ulp"), "-o", in("w.safetensors")}), AllOf(HasSubstr("4 (the checkpoint"), HasSubstr("in BF16")));
  record("whole.ulp", {"run.modes=bf16_pure", "run.seeds=1", "run.save_weights=true"});
  exported({in("whole.ulp"), "-o", in("end.safetensors")});
  EXPECT_EQ(file("w.safetensors").tensors.size(), file("end.safetensors").tensors.size()) << "no optimizer state among them";
  EXPECT_NE(file("w.safetensors").tensors.front().data, file("end.safetensors").tensors.front().data);
}

TEST_F(KeptWeightsTest, ARunThatWasStoppedKeepsThemWhenItHasGoneOn) {
  const std::vector<std::string> asked{"run.modes=fp16", "run.seeds=1", "run.save_weights=true"};
  record("whole.ulp", asked);
  record("cut.ulp", asked, [n = 0]() mutable { return ++n >= 5; });
  std::ostringstream out, err;
  EXPECT_EQ(run_program({"run", in("cut.ulp"), "--resume"}, out, err), 0) << err.str();
  exported({in("whole.ulp"), "-o", in("a.safetensors")});
  exported({in("cut.ulp"), "-o", in("b.safetensors")});
  expect_same(file("b.safetensors"), file("a.safetensors"));
}

TEST_F(KeptWeightsTest, WhatCannotBeExportedIsSaidInOneLine) {
  record("a.ulp", {"run.modes=fp32,fp16"});
  const std::string out = in("w.safetensors");
  EXPECT_THAT(exported({in("a.ulp"), "-o", out}, 2), HasSubstr("several modes: say whose weights with --mode: fp32, fp16"));
  EXPECT_THAT(exported({in("a.ulp"), "--mode", "bf61", "-o", out}, 2), HasSubstr("no run in the mode bf61"));
  EXPECT_THAT(exported({in("a.ulp"), "--mode", "fp16", "-o", out}, 2), HasSubstr("several seeds of fp16: say whose weights with --seed: 0, 1"));
  EXPECT_THAT(exported({in("a.ulp"), "--mode", "fp16", "--seed", "7", "-o", out}, 2), HasSubstr("no run with the seed 7; its seeds: 0, 1"));
  EXPECT_THAT(exported({in("a.ulp"), "--mode", "fp16", "--seed", "1", "-o", out}, 2),
              AllOf(HasSubstr("the weights of fp16, seed 1 were not kept"), HasSubstr("--save-weights")));
  EXPECT_THAT(exported({in("a.ulp"), "-o", out, "--format", "fp61"}, 2), HasSubstr("did you mean fp16? Formats: fp32, fp16, bf16"));
  EXPECT_THAT(exported({in("none.ulp"), "-o", out}, 2), HasSubstr("none.ulp: there is no such file"));
  EXPECT_THAT(exported({in("a.ulp"), "-o", in("text.txt")}, 2), HasSubstr("text.txt is there already"));
  EXPECT_THAT(exported({in("a.ulp")}, 2), HasSubstr("--output"));
  std::filesystem::create_symlink(in("a.ulp"), in("link"));
  for (const char* name : {"a.ulp", "./a.ulp", "link"})
    EXPECT_THAT(exported({in("a.ulp"), "--mode", "fp16", "--seed", "0", "-o", in(name), "--force"}, 2), HasSubstr("it is not written over"));
  // Of an earlier recording under the same name, put back by hand.
  record("b.ulp", {"run.modes=fp32", "run.seeds=1", "run.save_weights=true"});
  std::filesystem::copy(in("b.ulp.weights"), in("kept"));
  record("b.ulp", {"run.modes=fp32", "run.seeds=1", "train.lr=0.5"});
  EXPECT_FALSE(std::filesystem::exists(in("b.ulp.weights"))) << "a new recording removes them";
  std::filesystem::copy(in("kept"), in("b.ulp.weights"));
  reports::Database(in("b.ulp"), SQLITE_OPEN_READWRITE).execute("UPDATE run SET started = 'a second later'");   // they are told to the second
  EXPECT_THAT(exported({in("b.ulp"), "-o", out}, 2), HasSubstr("of another recording"));
  EXPECT_FALSE(std::filesystem::exists(out));
}

TEST_F(KeptWeightsTest, ANumberBeyondTheFormatIsNamed) {
  engine::NamedTensor tensor{"w", "F32", {3}, std::vector<std::byte>(12)};
  const float numbers[] = {1.0f, 65520.0f, 1e-9f};   // 65520 is where fp16 rounds to infinity
  std::memcpy(tensor.data.data(), numbers, 12);
  std::int64_t flushed = 0;
  try {
    engine::in_format({{tensor}, {}}, Format::fp16, flushed);
    ADD_FAILURE() << "not refused";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("1 of 3 numbers of 'w'"), HasSubstr("65520")));
  }
  flushed = 0;
  EXPECT_EQ(engine::in_format({{tensor}, {}}, Format::bf16, flushed).tensors[0].numbers()[1], 65536.0f);
  EXPECT_EQ(flushed, 0);
}

TEST_F(KeptWeightsTest, AMissingFileOfFirstWeightsIsNamedWithItsKey) {
  std::ostringstream out, err;
  EXPECT_EQ(run_program({"run", in("tiny.toml"), "--init", in("none.safetensors"), "-o", in("x.ulp")}, out, err), 2);
  EXPECT_THAT(err.str(), AllOf(HasSubstr("--init " + in("none.safetensors") + ": model.weights: "), HasSubstr("cannot read it"),
                               ::testing::Not(HasSubstr("data:"))));
}

}  // namespace
}  // namespace ulpscope::profiler
