// Losses, gradient norms, loss scales and running statistics beside those that PyTorch recorded from the same weights and
// batches: in fp32, under bf16 autocast, and under fp16 autocast with its GradScaler.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <tuple>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/golden/setups.h"

namespace ulpscope::engine {
namespace {

struct Difference {
  double loss = 0.0, norm = 0.0;
};

/// Greatest relative differences.
struct Tolerance {
  Difference first;          ///< up to the first step that is applied: from the same weights
  Difference all;
  double statistics = 0.0;   ///< buffer_difference at the end
};

/// fp32: two programs differ by the order of their sums, some u = 2^-24 for each result; a norm is a sum over all gradients.
///
/// 16 bits: operands are the same, but the order of a sum decides now and then which way its result is rounded, so that single
/// values differ by an ulp of 2^-10 (fp16) or 2^-7 (bf16) of theirs. From the same weights loss and norm, which are means over
/// thousands of values, differ by a part of that: at most 1/60 of an ulp in the loss, 1/3 in the norm. (The
/// cnn in fp16, evaluated in double and rounded where it must be, differs by 1.2e-5 from the loss here and by 1.3e-5 from
/// PyTorch's.) Sums of products of bf16 numbers are mostly exact in fp32, hence the cnn's few flips; PyTorch's fused attention rounds probabilities before it
/// divides by their sum, here after. Later steps carry the differences on in the weights, most in the encoder and the cnn:
/// their loss is a mean of 16 or 32 targets, the GPTs' of 128.
///
/// Met when these were recorded: first steps loss, norm; all steps loss, norm; running statistics.
///   fp32                  7.4e-8, 1.1e-7; 2.5e-7, 1.2e-6; 2.7e-7
///   gpt bf16              9.8e-6, 1.4e-4; 1.3e-4, 1.1e-3          fp16  3.0e-6, 5.7e-6; 3.2e-6, 1.0e-4
///   llama bf16            4.5e-6, 1.7e-6; 7.5e-5, 1.2e-3          fp16  2.0e-6, 1.0e-5; 3.6e-6, 7.1e-5
///   mlp bf16              8.6e-8, 7.2e-8; 1.6e-5, 7.1e-5          fp16  8.6e-8, 4.3e-7; 2.6e-7, 9.5e-7
///   encoder bf16          2.2e-5, 6.3e-5; 1.0e-3, 3.4e-3          fp16  5.3e-6, 6.7e-6; 3.6e-5, 2.6e-4
///   encoder_composed bf16 0, 4.0e-5; 7.0e-4, 3.4e-3               fp16  2.7e-6, 8.0e-7; 2.6e-5, 1.8e-4
///   cnn bf16              7.3e-8, 4.6e-5; 5.8e-4, 4.9e-3; 1.8e-3  fp16  1.6e-5, 3.0e-4; 7.1e-5, 2.9e-3; 4.0e-4
///   cnn fp16_fp32sums     1.1e-5, 2.6e-4; 8.8e-5, 9.5e-4; 3.7e-4
/// Recorded in bf16, trained in fp32 or tf32: gpt 2.1e-4 (all, loss); llama 6.6e-3 (all, norm); mlp 4.4e-5, 1.1e-3 (all);
/// encoders 5.5e-4, 4.0e-4 (first, norm); cnn 1.7e-4 (first, loss). fp16 is told apart by the steps it skips.
/// Under torch_cuda encoder_composed's norm in fp16 is at 5.7e-6 (first): there its softmax runs in fp32.
Tolerance tolerance(const std::string& model, const std::string& recorded) {
  constexpr double fp16 = 0x1p-10, bf16 = 0x1p-7;   // an ulp of 1
  static const std::map<std::string, Tolerance> in_16_bits{
      {"gpt_bf16", {{bf16 / 128, bf16 / 16}, {0.75 * bf16 / 32, 1.5 * bf16 / 8}}},
      {"gpt_fp16", {{fp16 / 128, fp16 / 32}, {fp16 / 32, fp16 / 2}}},
      {"llama_bf16", {{bf16 / 128, bf16 / 16}, {bf16 / 32, bf16 / 2}}},
      {"llama_fp16", {{fp16 / 128, fp16 / 32}, {fp16 / 32, fp16 / 2}}},
      {"mlp_bf16", {{bf16 / 512, bf16 / 512}, {bf16 / 256, bf16 / 16}}},
      {"mlp_fp16", {{fp16 / 512, fp16 / 512}, {fp16 / 512, fp16 / 64}}},
      {"encoder_bf16", {{bf16 / 128, bf16 / 32}, {bf16 / 4, bf16}}},
      {"encoder_fp16", {{fp16 / 64, fp16 / 32}, {fp16 / 8, fp16}}},
      {"encoder_composed_bf16", {{bf16 / 2048, bf16 / 64}, {bf16 / 4, bf16}}},
      {"encoder_composed_fp16", {{fp16 / 128, fp16 / 256}, {fp16 / 8, fp16}}},
      {"cnn_bf16", {{bf16 / 256, bf16 / 32}, {bf16 / 4, 2 * bf16}, bf16 / 2}},
      // PyTorch's fp16 sums (models.py): each of the up to 32 terms adds half an ulp.
      {"cnn_fp16", {{fp16 / 32, fp16}, {fp16 / 4, 8 * fp16}, fp16}},
      {"cnn_fp16_fp32sums", {{fp16 / 32, fp16}, {fp16 / 4, 2 * fp16}, fp16}},
  };
  constexpr double u = 0x1p-24;
  if (recorded == "fp32") return {{4 * u, 16 * u}, {16 * u, 256 * u}, 32 * u};
  return in_16_bits.at(model + "_" + recorded);
}

struct Training {
  std::vector<StepResult> steps;
  std::map<std::string, std::vector<float>> buffers;   ///< at the end
};

Training train(const std::string& name, const std::string& mode) {
  const std::unique_ptr<Device> device = make_cpu_device();
  const std::unique_ptr<Dataset> data = golden::data(name);
  Topics topics;
  Trainer trainer(*device, *data, TrainerSetup{golden::model(name), find_mode(mode), golden::training(name), golden::seed}, topics);
  Training run;
  for (int i = 0; i < golden::steps; ++i) run.steps.push_back(trainer.step());
  const Graph& graph = trainer.plan().graph;
  for (const ValueId v : graph.with_role(Role::buffer)) run.buffers[graph.value(v).name] = trainer.read(graph.value(v).name);
  return run;
}

nlohmann::json recording(const std::string& name, const std::string& mode) {
  std::ifstream in(std::string(ULPSCOPE_SOURCE_DIR) + "/tests/golden/" + name + "_" + mode + ".json");
  return nlohmann::json::parse(in);
}

/// Steps whose history must agree: up to the first whose greatest scaled gradient lies so close to fp16's limit that a
/// rounding decides whether it overflows.
std::size_t comparable_steps(const nlohmann::json& expected) {
  constexpr double limit = 65504.0, close = 0.10;
  const auto& greatest = expected["greatest_scaled_gradient"];
  for (std::size_t i = 0; i < greatest.size(); ++i)
    if (greatest[i].is_number() && std::abs(greatest[i].get<double>() / limit - 1.0) < close) return i;
  return greatest.size();
}

/// Steps from the initial weights: up to the first that is applied. What differs there is how operators round; later steps
/// carry the differences on in the weights.
std::size_t first_steps(const nlohmann::json& expected) {
  const auto& skipped = expected["skipped"];
  return static_cast<std::size_t>(std::find(skipped.begin(), skipped.end(), false) - skipped.begin()) + 1;
}

/// Greatest relative differences to the recording over the first steps; skipped ones have no norm.
Difference difference(const Training& got, const nlohmann::json& expected, std::size_t steps) {
  const auto relative = [](float ours, const nlohmann::json& recorded) {
    return recorded.is_number() ? std::abs(static_cast<double>(ours) / recorded.get<double>() - 1.0) : 0.0;
  };
  Difference worst;
  for (std::size_t i = 0; i < steps; ++i) {
    worst.loss = std::max(worst.loss, relative(got.steps[i].loss, expected["loss"][i]));
    worst.norm = std::max(worst.norm, relative(got.steps[i].gradient_norm, expected["gradient_norm"][i]));
  }
  return worst;
}

bool within(const Difference& d, const Difference& limit) { return d.loss < limit.loss && d.norm < limit.norm; }

/// Greatest difference of running statistics at the end: of a mean in standard deviations of its channel, of a variance in itself.
double buffer_difference(const Training& got, const nlohmann::json& expected) {
  double worst = 0.0;
  for (const auto& [name, values] : expected.items()) {
    const bool mean = name.ends_with(".running_mean");
    const nlohmann::json& variance = mean ? expected[name.substr(0, name.size() - 4) + "var"] : values;
    const std::vector<float>& ours = got.buffers.at(name);
    for (std::size_t i = 0; i < ours.size(); ++i) {
      const double unit = mean ? std::sqrt(variance[i].get<double>()) : variance[i].get<double>();
      worst = std::max(worst, std::abs(static_cast<double>(ours[i]) - values[i].get<double>()) / unit);
    }
  }
  return worst;
}

class Golden : public ::testing::TestWithParam<std::tuple<const char*, const char*>> {
 protected:
  std::string model() const { return std::get<0>(GetParam()); }
  std::string recorded() const { return std::get<1>(GetParam()); }   ///< as "fp16_fp32sums"
  std::string mode() const { return recorded().substr(0, recorded().find('_')); }
};

TEST_P(Golden, FollowsPytorch) {
  const Training training = train(model(), mode());
  const std::vector<StepResult>& got = training.steps;
  const nlohmann::json expected = recording(model(), recorded());
  ASSERT_EQ(expected["loss"].size(), got.size());
  const std::size_t steps = comparable_steps(expected);
  EXPECT_GE(steps, got.size() / 2);
  const Difference first = difference(training, expected, std::min(steps, first_steps(expected)));
  const Difference all = difference(training, expected, steps);
  std::printf("%s in %s: from the initial weights loss %.1e, norm %.1e; in %zu of %zu steps loss %.1e, norm %.1e\n", model().c_str(),
              recorded().c_str(), first.loss, first.norm, steps, got.size(), all.loss, all.norm);
  const Tolerance limit = tolerance(model(), recorded());
  EXPECT_LT(first.loss, limit.first.loss);
  EXPECT_LT(first.norm, limit.first.norm);
  EXPECT_LT(all.loss, limit.all.loss);
  EXPECT_LT(all.norm, limit.all.norm);
  for (std::size_t i = 0; i < got.size(); ++i) {
    const bool same = got[i].loss_scale == expected["scale"][i].get<float>() && got[i].skipped == expected["skipped"][i].get<bool>();
    if (i < steps) {
      EXPECT_TRUE(same) << "step " << i << ": scale " << got[i].loss_scale << ", recorded " << expected["scale"][i];
    } else if (!same) {
      std::printf("%s in %s: from step %zu on the scales differ: %g, recorded %g\n", model().c_str(), recorded().c_str(), i,
                  static_cast<double>(got[i].loss_scale), expected["scale"][i].get<double>());
      break;
    }
  }
  ASSERT_EQ(training.buffers.empty(), !expected.contains("buffers"));
  if (training.buffers.empty()) return;
  ASSERT_EQ(training.buffers.size(), expected["buffers"].size());
  ASSERT_EQ(steps, got.size()) << "the running statistics are those after the last step";
  const double statistics = buffer_difference(training, expected["buffers"]);
  std::printf("%s in %s: running statistics %.1e\n", model().c_str(), recorded().c_str(), statistics);
  EXPECT_LT(statistics, limit.statistics);
}

/// The limits are no formality: trained in another mode the run lies beyond them.
TEST_P(Golden, AndTheToleranceTellsOtherModesApart) {
  const nlohmann::json expected = recording(model(), recorded());
  for (const std::string other : {"fp32", "tf32", "fp16", "bf16"}) {
    if (other == mode()) continue;
    const Training training = train(model(), other);
    const std::size_t steps = std::min(comparable_steps(expected), comparable_steps(recording(model(), other == "tf32" ? "fp32" : other)));
    // Modes that scale skip steps that others apply: those are told apart by the history.
    bool same_history = true;
    for (std::size_t i = 0; i < steps; ++i) same_history = same_history && training.steps[i].skipped == expected["skipped"][i].get<bool>();
    const Difference first = difference(training, expected, std::min(steps, first_steps(expected)));
    const Difference all = difference(training, expected, steps);
    std::printf("%s recorded in %s, trained in %s: %s, from the initial weights %.1e, %.1e; later %.1e, %.1e\n", model().c_str(),
                recorded().c_str(), other.c_str(), same_history ? "the same steps" : "other steps", first.loss, first.norm, all.loss, all.norm);
    const Tolerance limit = tolerance(model(), recorded());
    EXPECT_FALSE(same_history && within(first, limit.first) && within(all, limit.all)) << other;
  }
}

std::string name_of(const ::testing::TestParamInfo<std::tuple<const char*, const char*>>& param) {
  return std::string(std::get<0>(param.param)) + "_" + std::get<1>(param.param);
}

INSTANTIATE_TEST_SUITE_P(Models, Golden,
                         ::testing::Combine(::testing::Values("gpt", "llama", "mlp", "encoder", "encoder_composed", "cnn"),
                                            ::testing::Values("fp32", "bf16", "fp16")),
                         name_of);
INSTANTIATE_TEST_SUITE_P(SummedInFp32, Golden, ::testing::Values(std::tuple("cnn", "fp16_fp32sums")), name_of);

}  // namespace
}  // namespace ulpscope::engine
