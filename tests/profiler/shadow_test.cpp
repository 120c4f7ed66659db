// The fp32 shadow: errors against a reference in double, and a run whose bits it does not touch.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "engine/optim/optimizer_config.h"
#include "kernels/error.h"
#include "tests/profiler/support/scratch.h"
#include "tests/profiler/tiny_experiment.h"

namespace ulpscope::profiler {
namespace {

constexpr std::size_t rows = 4, in = 32, out = 3;

std::vector<double> numbers(std::size_t count, double phase) {
  std::vector<double> list;
  for (std::size_t i = 0; i < count; ++i)
    list.push_back(static_cast<double>(static_cast<float>(0.9 * std::sin(phase + 0.77 * static_cast<double>(i)))));
  return list;
}

std::string table(const std::vector<double>& list, std::size_t width) {
  std::string text = "[";
  for (std::size_t i = 0; i < list.size(); i += width)
    text += fmt::format("{}[{:.9g}]", i == 0 ? "" : ", ",
                        fmt::join(list.begin() + static_cast<std::ptrdiff_t>(i),
                                  list.begin() + static_cast<std::ptrdiff_t>(i + width), ", "));
  return text + "]";
}

/// loss = sum(c * (x wT)), and relu(x wT) + x wT beside it, which nothing reads.
Experiment one_linear(const std::string& mode, const std::string& more = "") {
  const std::string toml = fmt::format(
      "{}\n[model]\nkind = 'graph'\nloss = 'loss'\n[train]\nsteps = 1\noptimizer = 'sgd'\nmomentum = 0.0\nlr = "
      "0.0\nscaler.fixed = 1024\n[run]\nmodes = ['{}']\n[observe]\nshadow = true\n"
      "[[node]]\nname = 'x'\nop = 'input'\nvalues = [{}]\n[[node]]\nname = 'w'\nop = 'parameter'\ninit = "
      "{}\n[[node]]\nname = 'c'\nop = 'constant'\ninit = {}\n"
      "[[node]]\nname = 'y'\nop = 'linear'\ninputs = ['x', 'w']\n[[node]]\nname = 'act'\nop = 'relu'\ninputs = "
      "'y'\n[[node]]\nname = 'sum'\nop = 'add'\ninputs = ['act', 'y']\n"
      "[[node]]\nname = 'weighted'\nop = 'mul'\ninputs = ['y', 'c']\n[[node]]\nname = 'loss'\nop = 'sum'\ninputs = "
      "'weighted'\n",
      more, mode, table(numbers(rows * in, 0.0), in), table(numbers(out * in, 1.0), in),
      table(numbers(rows * out, 2.0), out));
  Settings settings;
  settings.add_text(toml, "linear.toml");
  return settings.build();
}

double stored(double x, Format format) { return engine::in_scalar_format(x, format, engine::ScalarRounding::round); }

/// Relative RMS difference of a product of rounded operands, itself rounded, from the exact one: rows of a by rows of
/// b.
double error_of_product(const std::vector<double>& a, const std::vector<double>& b, std::size_t depth, Format format) {
  double differences = 0.0, squares = 0.0;
  for (std::size_t r = 0; r < a.size() / depth; ++r)
    for (std::size_t o = 0; o < b.size() / depth; ++o) {
      double exact = 0.0, narrow = 0.0;
      for (std::size_t k = 0; k < depth; ++k) {
        exact += a[r * depth + k] * b[o * depth + k];
        narrow += stored(a[r * depth + k], format) * stored(b[o * depth + k], format);
      }
      narrow = stored(narrow, format);
      differences += (narrow - exact) * (narrow - exact);
      squares += exact * exact;
    }
  return std::sqrt(differences / squares);
}

std::vector<double> transposed(const std::vector<double>& list, std::size_t width) {
  std::vector<double> turned;
  for (std::size_t c = 0; c < width; ++c)
    for (std::size_t r = 0; r < list.size() / width; ++r) turned.push_back(list[r * width + c]);
  return turned;
}

/// Rows of the first run by name of the tensor.
std::map<std::string, reports::TensorStatsRecord> rows_of(const std::string& file, const std::string& observation) {
  const reports::RunFileReader reader(file);
  const reports::RunRecord run = reader.runs().front();
  std::map<reports::TensorId, std::string> names;
  for (const auto& tensor : reader.tensors(*run.plan)) names[tensor.id] = tensor.name;
  std::map<std::string, reports::TensorStatsRecord> found;
  for (const auto& row : reader.tensor_stats(run.id))
    if (row.observation == observation) found[names.at(row.tensor)] = row;
  return found;
}

class ShadowOfLinear : public ::testing::TestWithParam<Format> {};

TEST_P(ShadowOfLinear, ErrorsAreThoseOfTheFormat) {
  const Format format = GetParam();
  const ScratchFolder scratch;
  Experiment experiment = one_linear(name(format));
  experiment.train.fusion = false;  // every result is in memory
  record_experiment(experiment, scratch("linear.ulp"));
  const auto sampled = rows_of(scratch("linear.ulp"), "sampled");
  const double unit = info(format).unit_roundoff;
  const double y = error_of_product(numbers(rows * in, 0.0), numbers(out * in, 1.0), in, format);
  ASSERT_TRUE(sampled.at("y").shadow_error);
  EXPECT_NEAR(*sampled.at("y").shadow_error, y, 1e-3 * y);  // of the double reference; the rest is fp32's own rounding
  EXPECT_GT(y, 0.1 * unit);
  EXPECT_LT(y, 3.0 * unit);
  // dL/dw = cT x, of a loss that is multiplied by 1024: a product in 16 bits, too.
  const double dw = error_of_product(transposed(numbers(rows * out, 2.0), out), transposed(numbers(rows * in, 0.0), in),
                                     rows, format);
  ASSERT_TRUE(sampled.contains("y.dweight"));
  ASSERT_TRUE(sampled.at("y.dweight").shadow_error);
  EXPECT_NEAR(*sampled.at("y.dweight").shadow_error, dw, 1e-3 * dw);
  EXPECT_EQ(*sampled.at("w").shadow_error, 0.0) << "the weights are the same";
  const auto shadow = rows_of(scratch("linear.ulp"), "shadow");
  ASSERT_TRUE(shadow.contains("y.dweight"));
  EXPECT_EQ(shadow.at("y.dweight").provenance, reports::Provenance::recomputed);
  EXPECT_LT(*shadow.at("y.dweight").greatest_magnitude, 8.0) << "not multiplied by the scale";
  for (const auto& [tensor, row] : sampled)
    if (tensor.find(".cast") != std::string::npos || tensor.ends_with(name(format))) {
      EXPECT_FALSE(row.shadow_error) << tensor;
    }
}

INSTANTIATE_TEST_SUITE_P(Formats, ShadowOfLinear, ::testing::Values(Format::fp16, Format::bf16),
                         [](const auto& each) { return std::string(name(each.param)); });

TEST(Shadow, WhatIsNotInMemoryIsReadFromAStepThatIsNotFused) {
  const ScratchFolder scratch;
  record_experiment(one_linear("fp16"), scratch("linear.ulp"));
  const reports::RunFileReader reader(scratch("linear.ulp"));
  const reports::RunRecord run = reader.runs().front();
  const auto sampled = rows_of(scratch("linear.ulp"), "sampled");
  Experiment unfused = one_linear("fp16");
  unfused.train.fusion = false;
  record_experiment(unfused, scratch("unfused.ulp"));
  const auto alone = rows_of(scratch("unfused.ulp"), "sampled");
  int fused = 0, known = 0;
  for (const auto& tensor : reader.tensors(*run.plan)) {
    if (tensor.materialised || !sampled.contains(tensor.name)) continue;
    ++fused;
    known += sampled.at(tensor.name).shadow_error ? 1 : 0;
    EXPECT_EQ(sampled.at(tensor.name).shadow_error, alone.at(tensor.name).shadow_error) << tensor.name;
    EXPECT_TRUE(rows_of(scratch("linear.ulp"), "shadow").contains(tensor.name))
        << tensor.name << ": the shadow is not fused";
  }
  EXPECT_GT(fused, 0) << "nothing was fused: the test shows nothing";
  EXPECT_GT(known, 0);
}

TEST(Shadow, AnOverflowHasAnInfiniteError) {
  const ScratchFolder scratch;
  Experiment experiment = case_settings("01").build();
  experiment.run.modes = {"fp16"};
  experiment.observe.shadow = true;
  experiment.train.fusion = false;
  record_experiment(experiment, scratch("01.ulp"));
  EXPECT_TRUE(std::isinf(*rows_of(scratch("01.ulp"), "sampled").at("layer2.linear").shadow_error));
  EXPECT_NEAR(*rows_of(scratch("01.ulp"), "shadow").at("layer2.linear").greatest_magnitude, 66246.39, 0.25);
}

class ShadowedRun : public TinyExperiment {};

TEST_F(ShadowedRun, ItsMemoryIsCountedBeforehand) {
  const std::vector<std::string> one{"run.modes=fp16", "run.seeds=1", "train.steps=1"};
  std::vector<std::string> shadowed = one;
  shadowed.emplace_back("observe.shadow=true");
  const auto needs = [&](const std::vector<std::string>& assignments) {
    const Runner runner(experiment(assignments));
    std::int64_t enough = std::int64_t{1} << 40, too_few = 0;
    while (enough - too_few > 1) {
      const std::int64_t middle = too_few + (enough - too_few) / 2;
      try {
        runner.check_memory(middle);
        enough = middle;
      } catch (const UsageError&) {
        too_few = middle;
      }
    }
    return enough;
  };
  const std::int64_t alone = needs(one), beside = needs(shadowed);
  // The step in fp32, and the one that is not fused: neither is smaller than half of the run's own.
  EXPECT_GT(beside, 2 * alone);
  EXPECT_LT(beside, 5 * alone);
  const Runner runner(experiment(shadowed));
  try {
    runner.check_memory(alone);
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("a step in fp16 and those beside it (observe.shadow) needs"), std::string::npos) << error.what();
  }
}

TEST_F(ShadowedRun, BitsStayTheSame) {
  const auto recorded = [&](const char* shadow) {
    const std::string path = in(std::string(shadow) + ".ulp");
    record_experiment(experiment({"observe.every=3", "train.micro_batches=2", std::string("observe.shadow=") + shadow}),
                      path);
    std::vector<std::string> lines = numbers_of(path);
    std::erase_if(lines, [](const std::string& line) {
      return line.find(" memory ") != std::string::npos || line.find(" shadow ") != std::string::npos;
    });  // the shadow has its own
    return lines;
  };
  EXPECT_EQ(recorded("true"), recorded("false"));
  const reports::RunFileReader file(in("true.ulp"));
  std::map<std::string, double> greatest;
  for (const auto& run : file.runs())
    for (const auto& row : file.tensor_stats(run.id))
      if (row.shadow_error && std::isfinite(*row.shadow_error))
        greatest[run.mode] = std::max(greatest[run.mode], *row.shadow_error);
  EXPECT_FALSE(greatest.contains("fp32")) << "it is its own shadow";
  EXPECT_GT(greatest["fp16"], 0x1p-13);
  EXPECT_GT(greatest["bf16"], greatest["fp16"]);
  EXPECT_LT(greatest["bf16"], 0.5);
  for (const auto& row : file.completeness()) EXPECT_NE(row.kind, "fault") << row.subject << " " << row.detail;
}

}  // namespace
}  // namespace ulpscope::profiler
