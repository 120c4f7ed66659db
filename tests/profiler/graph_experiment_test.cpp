// Graphs, overrides and injections given in the experiment file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "engine/train/trainer.h"
#include "kernels/error.h"
#include "profiler/experiment/experiment_file.h"
#include "profiler/experiment/load_data.h"
#include "profiler/experiment/runner.h"
#include "reports/run_file/reader.h"

namespace ulpscope::profiler {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

class GraphExperiment : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "ulpscope_graph_" + testing::UnitTest::GetInstance()->current_test_info()->name() + "_" +
              std::to_string(::getpid());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Experiment build(const std::string& toml) const {
    Settings settings;
    settings.add_text(toml, folder_ + "/g.toml");
    return settings.build();
  }
  std::string mistake_in(const std::string& toml) const {
    try {
      const Experiment e = build(toml);
      const std::unique_ptr<Device> device = make_cpu_device({1, {}});
      engine::plan_step(*device, engine::build_model(e.model, e.train.batch, true), engine::find_mode("fp16"), e.train);
    } catch (const UsageError& error) {
      const std::string text = error.what();
      EXPECT_EQ(text.find('\n'), std::string::npos) << text;
      return text;
    }
    return "no UsageError";
  }

  static std::vector<float> losses(Experiment e, const char* mode) {
    const std::unique_ptr<Device> device = make_cpu_device({1, {}});
    const std::unique_ptr<engine::Dataset> data = load_data(e);
    engine::Topics topics;
    engine::Trainer trainer(*device, *data, engine::TrainerSetup{e.model, engine::find_mode(mode), e.train, 3}, topics);
    std::vector<float> list;
    for (std::int64_t i = 0; i < e.train.steps; ++i) list.push_back(trainer.step().loss);
    list.push_back(static_cast<float>(trainer.evaluate().loss));
    return list;
  }

  /// numpy.save of little-endian fp32.
  void write_npy(const std::string& name, const std::string& shape, const std::vector<float>& values) const {
    std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }";
    header.resize(118, ' ');
    header[117] = '\n';
    std::ofstream out(folder_ + "/" + name, std::ios::binary);
    out << "\x93NUMPY" << '\x01' << '\0' << '\x76' << '\0' << header;
    out.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(float)));
  }

  std::string folder_;
};

const char* const regression = R"(
model = {kind = "graph", loss = "loss"}
train = {steps = 6, lr = 0.05, optimizer = "sgd", evaluate_every = 0}
run = {modes = ["fp32", "fp16"], timing_steps = 0}

[[node]]
name = "x"
op = "input"
shape = [4, 3]
values = {normal = 1.0}

[[node]]
name = "factor"
op = "input"
steps = [1, 1, 2.5, {uniform = [0.5, 1.0]}, 1]

[[node]]
name = "t"
op = "input"
shape = [4]
format = "i32"
values = {integers = 5}

[[node]]
name = "w"
op = "parameter"
shape = [5, 3]
init = {normal = 0.3}

[[node]]
name = "b"
op = "parameter"
init = [0.1, -0.2, 0.3, 1e-8, 0.123456789]

[[node]]
name = "zero"
op = "constant"
shape = [2, 1]

[[node]]
name = "scaled"
op = "mul"
inputs = ["x", "factor"]

[[node]]
name = "drop"
op = "dropout"
inputs = "scaled"
rate = 0.25

[[node]]
name = "y"
op = "linear"
inputs = ["drop", "w", "b"]

[[node]]
name = "soft"
op = "scale"
inputs = "y"
factor = 1e-3

[[node]]
name = "loss"
op = "cross_entropy"
inputs = ["soft", "t"]

[[override]]
nodes = ["y", "soft"]
output = "bf16"

[[override]]
nodes = "loss"
accumulate = "fp16"
order = "serial"
scalar = "lower"

[[inject]]
step = 4
value = "soft"
index = [0, 7]
number = 2.5
)";

TEST_F(GraphExperiment, IsWrittenOutAndReadsBack) {
  const Experiment first = build(regression);
  const std::string text = to_toml(first);
  const Experiment second = build(text);
  EXPECT_EQ(to_toml(second), text);
  EXPECT_EQ(second.train.batch, 4);
  for (const char* mode : {"fp32", "fp16"}) EXPECT_EQ(losses(first, mode), losses(second, mode)) << mode;
}

TEST_F(GraphExperiment, TrainsOnItsOwnBatches) {
  Experiment e = build(regression);
  e.train.overrides.clear();
  e.train.injections.clear();
  const std::vector<float> fp32 = losses(e, "fp32"), fp16 = losses(e, "fp16");
  for (std::size_t i = 0; i < fp32.size(); ++i) EXPECT_NEAR(fp32[i], fp16[i], 0.02f * fp32[i]) << i;
  EXPECT_NE(fp32[0], fp32[1]) << "batches are drawn anew";
  EXPECT_NE(losses(build(regression), "fp16")[4], fp16[4]) << "the injection changes step 4";
}

TEST_F(GraphExperiment, ParametersAreDrawnBetweenTwoBounds) {
  const auto drawn = [&](const std::string& range) {
    Experiment e = build("model = {kind = 'graph', loss = 'loss'}\ntrain = {steps = 1}\n"
                               "node = [{name = 'w', op = 'parameter', shape = [500], init = {uniform = " + range + "}}, {name = 'loss', op = 'sum', inputs = 'w'}]\n");
    EXPECT_EQ(to_toml(build(to_toml(e))), to_toml(e));
    const std::unique_ptr<Device> device = make_cpu_device({1, {}});
    const std::unique_ptr<engine::Dataset> data = load_data(e);
    engine::Topics topics;
    return engine::Trainer(*device, *data, engine::TrainerSetup{e.model, engine::find_mode("fp32"), e.train, 3}, topics).read("w");
  };
  const std::vector<float> high = drawn("[40, 60]"), unit = drawn("[0.0, 1.0]"), both = drawn("2.0");
  for (std::size_t i = 0; i < high.size(); ++i) {
    EXPECT_EQ(high[i], 40.0f + 20.0f * unit[i]);
    EXPECT_EQ(both[i], 2.0f * (2.0f * unit[i] - 1.0f)) << "the same numbers are drawn";
  }
  EXPECT_LT(*std::min_element(high.begin(), high.end()), 40.5f);
  EXPECT_GT(*std::max_element(high.begin(), high.end()), 59.5f);
}

TEST_F(GraphExperiment, RunsAndIsRecorded) {
  const Experiment e = build(regression);
  Runner runner(e);
  {
    reports::RunFileWriter writer(folder_ + "/out.ulp", {.overwrite = true});
    Watcher silent;
    const Outcome outcome = runner.run(writer, silent, [] { return false; }, "ulpscope run g.toml");
    writer.close();
    EXPECT_EQ(outcome.finished, 2);
  }
  const reports::RunFileReader file(folder_ + "/out.ulp");
  EXPECT_EQ(build(file.experiment()->configuration).train.overrides.size(), 3u);
  const auto runs = file.runs();
  ASSERT_THAT(runs, SizeIs(2));
  EXPECT_EQ(runs[0].model, "graph");
  EXPECT_THAT(runs[0].non_standard, ::testing::Contains(HasSubstr("override of 'loss': accumulate = \"fp16\", order = \"serial\", scalar = \"lower\"")));
  EXPECT_THAT(runs[0].non_standard, ::testing::Contains(HasSubstr("inject: 'soft'")));
  EXPECT_THAT(runs[0].non_standard, Not(::testing::Contains(HasSubstr("output")))) << "a choice of precision is standard";
}

TEST_F(GraphExperiment, NumbersFromNpyFiles) {
  write_npy("w.npy", "(2, 3)", {1, 2, 3, 4, 5, 6});
  const std::string text = R"(
    model = {kind = "graph", loss = "loss"}
    node = [
      {name = "x", op = "input", values = [[1, 0, 0]]},
      {name = "w", op = "parameter", init = "w.npy"},
      {name = "y", op = "linear", inputs = ["x", "w"]},
      {name = "loss", op = "sum", inputs = "y"},
    ])";
  const Experiment e = build(text);
  EXPECT_EQ(losses(e, "fp32").front(), 5.0f);
  EXPECT_THAT(to_toml(e), HasSubstr(folder_ + "/w.npy"));
  EXPECT_EQ(losses(build(to_toml(e)), "fp32").front(), 5.0f);
  EXPECT_THAT(mistake_in("node = [{name = 'w', op = 'parameter', init = 'nothing.npy'}]"), AllOf(HasSubstr("g.toml:1: node 'w'"), HasSubstr("nothing.npy")));
  write_npy("short.npy", "(2, 4)", {1, 2});
  EXPECT_THAT(mistake_in("node = [{name = 'w', op = 'parameter', init = 'short.npy'}]"), AllOf(HasSubstr("g.toml:1: node 'w'"), HasSubstr("short.npy")));
}

TEST_F(GraphExperiment, ReadsTextWhereItsInputsHaveNoValues) {
  std::ofstream(folder_ + "/text.txt") << std::string(300, 'a') << std::string(300, 'b');
  const std::string text = R"(
    model = {kind = "graph", loss = "loss"}
    data = {path = "text.txt"}
    train = {steps = 2, batch = 4}
    node = [
      {name = "tokens", op = "input", shape = [4, 8], format = "i32"},
      {name = "targets", op = "input", shape = [4, 8], format = "i32"},
      {name = "table", op = "parameter", shape = [256, 256], init = {normal = 0.1}},
      {name = "logits", op = "embedding", inputs = ["table", "tokens"]},
      {name = "loss", op = "cross_entropy", inputs = ["logits", "targets"]},
    ])";
  EXPECT_NEAR(losses(build(text), "fp32").front(), std::log(256.0f), 0.3f);
  std::string other = text;
  other.replace(other.find("batch = 4"), 9, "batch = 2");
  EXPECT_THAT(mistake_in(other), AllOf(HasSubstr("g.toml:6: node 'tokens'"), HasSubstr("train.batch, 2")));
}

TEST_F(GraphExperiment, MistakesAreNamedWithTheirPlace) {
  const std::string head = "model = {kind = 'graph', loss = 'loss'}\nnode = [\n {name = 'w', op = 'parameter', shape = [2], init = 1},\n";
  const auto with = [&](const std::string& lines) { return mistake_in(head + lines + "]\n"); };
  const std::string loss = " {name = 'loss', op = 'sum', inputs = 'w'},\n";
  EXPECT_EQ(with(loss), "no UsageError");
  EXPECT_THAT(with(" {name = 'loss', op = 'summ', inputs = 'w'},\n"), AllOf(StartsWith(folder_ + "/g.toml:4: node 'loss'"), HasSubstr("did you mean 'sum'"), HasSubstr("parameter, constant")));
  EXPECT_THAT(with(" {name = 'loss', op = 'sum', inputs = 'v'},\n"), AllOf(HasSubstr("g.toml:4"), HasSubstr("'v' is not there"), HasSubstr("'w'")));
  EXPECT_THAT(with(" {name = 'a', op = 'sum', inputs = 'loss'},\n" + loss), HasSubstr("'loss' stands below it"));
  EXPECT_THAT(with(" {name = 'w', op = 'sum', inputs = 'w'},\n"), HasSubstr("the name is taken"));
  EXPECT_THAT(with(" {name = 'loss', op = 'scale', inputs = 'w', factr = 2},\n"), HasSubstr("factor"));
  EXPECT_THAT(with(" {name = 's', op = 'scale', inputs = 'w', factor = 2, facto = 3},\n" + loss), AllOf(HasSubstr("unknown key 'facto'"), HasSubstr("did you mean 'factor'")));
  EXPECT_THAT(with(" {name = 's', op = 'scale', inputs = 'w', factor = 'two'},\n" + loss), AllOf(HasSubstr("g.toml:4"), HasSubstr("'factor' is not a number")));
  EXPECT_THAT(with(" {name = 's', op = 'mul', inputs = 'w'},\n" + loss), AllOf(HasSubstr("g.toml:4"), HasSubstr("takes 2 inputs, not 1")));
  EXPECT_THAT(with(" {name = 's', op = 'adamw', inputs = 'w'},\n" + loss), HasSubstr("a model cannot use it"));
  EXPECT_THAT(with(" {name = 'v', op = 'parameter', shape = [3], init = [1, 2]},\n" + loss), HasSubstr("takes 3 numbers, 2 are given"));
  EXPECT_THAT(with(" {name = 'v', op = 'parameter', init = [[1, 2], [3]]},\n" + loss), HasSubstr("differ in length"));
  EXPECT_THAT(with(" {name = 'v', op = 'parameter', init = {gauss = 1}},\n" + loss), AllOf(HasSubstr("unknown distribution 'gauss'"), HasSubstr("uniform")));
  EXPECT_THAT(with(" {name = 'v', op = 'parameter', inti = 1},\n" + loss), AllOf(HasSubstr("unknown key inti"), HasSubstr("did you mean init")));
  EXPECT_THAT(with(" {op = 'parameter'},\n" + loss), HasSubstr("name is missing"));
  for (const char* name : {"a,b", "l*", "l?"})
    EXPECT_THAT(with(std::string(" {name = '") + name + "', op = 'scale', inputs = 'w', factor = 2},\n" + loss), AllOf(HasSubstr("g.toml:4"), HasSubstr("no comma, * or ?"))) << name;
  EXPECT_THAT(with(" {name = 'x', op = 'input', shape = [2], values = 1},\n {name = 'y', op = 'input', shape = [2]},\n" + loss), AllOf(HasSubstr("g.toml:5"), HasSubstr("input 'y' has no values")));
  const std::string look = " {name = 't', op = 'parameter', shape = [4, 2]},\n {name = 'l', op = 'embedding', inputs = ['t', 'i']},\n" + loss;
  EXPECT_THAT(with(" {name = 'i', op = 'constant', format = 'i32', init = [0, 3, 4]},\n" + look), AllOf(HasSubstr("g.toml:4: node 'i': holds 4"), HasSubstr("indices from 0 to 3")));
  EXPECT_THAT(with(" {name = 'i', op = 'input', format = 'i32', shape = [9], values = {integers = 5}},\n" + look), HasSubstr("draws up to 4"));
  EXPECT_EQ(with(" {name = 'i', op = 'input', format = 'i32', shape = [9], values = {integers = 4}},\n" + look), "no UsageError");
  EXPECT_THAT(with(" {name = 'v', op = 'parameter', shape = [4611686018427387904, 4], init = 1},\n" + loss),
              HasSubstr("'v': the shape [4611686018427387904, 4] has more elements"));
  EXPECT_THAT(with(" {name = 'v', op = 'parameter', shape = [0, 3], init = 1},\n" + loss), AllOf(HasSubstr("g.toml:4"), HasSubstr("[0, 3] has no element")));
  const std::string long_row = " {name = 'x', op = 'parameter', shape = [1, 1, 4], init = 1},\n {name = 's', inputs = 'x', ";
  for (const char* wide : {"op = 'split_heads', heads = 4294967296, parts = 4294967296", "op = 'split_heads', heads = 1, parts = 9223372036854775807"})
    EXPECT_THAT(with(long_row + wide + "},\n" + loss), AllOf(HasSubstr("g.toml:5"), HasSubstr("must divide into"))) << wide;
  EXPECT_THAT(with(long_row + "op = 'attention', heads = 9223372036854775807},\n" + loss), AllOf(HasSubstr("g.toml:5"), HasSubstr("are more than q's 4")));
  for (const char* wide : {"op = 'avg_pool1d', kernel = 2, padding = 4611686018427387904", "op = 'avg_pool1d', kernel = 2, stride = 9223372036854775807", "op = 'avg_pool1d', kernel = 4294967296, stride = 1"})
    EXPECT_THAT(with(long_row + wide + "},\n" + loss), AllOf(HasSubstr("g.toml:5"), HasSubstr("at most 2147483647"))) << wide;
  EXPECT_THAT(with(" {name = 'v', op = 'sum', inputs = 'w'},\n"), HasSubstr("model.loss = \"loss\": no node has this name"));
  EXPECT_THAT(with(" {name = 'loss', op = 'scale', inputs = 'w', factor = 2},\n"), HasSubstr("a loss is one number"));
  EXPECT_THAT(mistake_in("model = {kind = 'graph'}"), HasSubstr("no [[node]] table"));
  EXPECT_THAT(mistake_in("[[node]]\nname = 'a'\nop = 'input'"), AllOf(HasSubstr("g.toml:1"), HasSubstr("model.kind = \"graph\"")));
  EXPECT_THAT(mistake_in("[node]\nname = 'a'"), HasSubstr("write [[node]]"));
  EXPECT_THAT(mistake_in("[[nodes]]\nname = 'a'"), HasSubstr("g.toml:"));
}

TEST_F(GraphExperiment, OverridesAndInjectionsThatCannotBeAreRefused) {
  const std::string graph =
      "model = {kind = 'graph', loss = 'loss'}\nnode = [{name = 'w', op = 'parameter', shape = [2], init = 1},\n"
      "{name = 'h', op = 'exp', inputs = 'w'}, {name = 'v', op = 'reshape', inputs = 'h', shape = [2, 1]}, {name = 'loss', op = 'sum', inputs = 'v'}]\n";
  const auto override_with = [&](const std::string& words) { return mistake_in(graph + "[[override]]\n" + words); };
  EXPECT_EQ(override_with("nodes = 'loss'\naccumulate = 'bf16'"), "no UsageError");
  EXPECT_THAT(override_with("nodes = 'los'\naccumulate = 'bf16'"), AllOf(HasSubstr("g.toml:4"), HasSubstr("matches no node"), HasSubstr("'loss'")));
  EXPECT_THAT(override_with("nodes = []\noutput = 'bf16'"), AllOf(HasSubstr("g.toml:5"), HasSubstr("nodes is empty")));
  EXPECT_THAT(mistake_in(graph + "[[rewrite]]\nkind = 'rescale'\nfactor = 0.5\nnodes = []"), HasSubstr("nodes is empty"));
  EXPECT_THAT(override_with("nodes = 'hh'\noutput = 'bf16'"), AllOf(HasSubstr("g.toml:4"), HasSubstr("matches no node")));
  EXPECT_THAT(override_with("nodes = 'h'\naccumulate = 'bf16'"), AllOf(HasSubstr("'h' (exp) keeps no sum"), HasSubstr("layer_norm")));
  EXPECT_THAT(override_with("nodes = 'loss'\nscalar = 'fp16'"), AllOf(HasSubstr("keeps no mean"), HasSubstr("mse_loss")));
  EXPECT_THAT(override_with("nodes = 'v'\noutput = 'fp16'"), HasSubstr("has no result of its own"));
  EXPECT_THAT(override_with("nodes = 'h'\ncompute = 'tf32'"), HasSubstr("no matrix product"));
  EXPECT_THAT(override_with("nodes = 'h'\noutput = 'fp61'"), AllOf(HasSubstr("g.toml:6"), HasSubstr("did you mean \"fp16\""), HasSubstr("lower")));
  EXPECT_THAT(override_with("nodes = 'h'"), HasSubstr("says nothing"));
  EXPECT_THAT(override_with("nodes = 'h'\nformat = 'fp16'"), AllOf(HasSubstr("unknown key format"), HasSubstr("accumulate")));

  const auto inject_with = [&](const std::string& words) { return mistake_in(graph + "[[inject]]\n" + words); };
  EXPECT_EQ(inject_with("step = 1\nvalue = 'h'\nindex = 1\nnumber = -inf"), "no UsageError");
  EXPECT_THAT(inject_with("step = 1\nvalue = 'g'\nnumber = 1"), AllOf(HasSubstr("g.toml:4"), HasSubstr("no such value"), HasSubstr("nearest")));
  EXPECT_THAT(inject_with("step = 1\nvalue = 'h'\nindex = 2\nnumber = 1"), HasSubstr("elements 0 to 1"));
  EXPECT_THAT(inject_with("step = 100\nvalue = 'h'\nnumber = 1"), HasSubstr("never reached"));
  EXPECT_THAT(inject_with("step = 1\nvalue = 'h'\nnumber = 1\n[train]\nrecompute = 'h'"), HasSubstr("train.recompute: does not go with [[inject]]"));
  EXPECT_THAT(inject_with("step = 1\nvalue = 'h'\nnumber = 1\n[train]\nweight_copies = 'recast'"), HasSubstr("train.weight_copies: does not go with"));
  EXPECT_THAT(mistake_in("model = {kind = 'graph', loss = 'loss'}\nnode = [{name = 'w', op = 'parameter', shape = [2], init = 1},\n"
                         "{name = 'c', op = 'constant', shape = [2], init = 2}, {name = 'h', op = 'mul', inputs = ['w', 'c']}, "
                         "{name = 'loss', op = 'sum', inputs = 'h'}]\n[[inject]]\nstep = 1\nvalue = 'c'\nnumber = 1"),
              HasSubstr("it is a constant"));
  EXPECT_THAT(inject_with("step = -1\nvalue = 'h'\nnumber = 1"), HasSubstr("at least 0"));
  EXPECT_THAT(inject_with("step = 1\nvalue = 'h'"), HasSubstr("number is missing"));
}

}  // namespace
}  // namespace ulpscope::profiler
