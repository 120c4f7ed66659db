// Losses, gradient norms and loss scales beside those that PyTorch recorded from the same weights and batches: in fp32, under
// bf16 autocast, and under fp16 autocast with its GradScaler.
#include <cmath>
#include <cstdio>
#include <fstream>
#include <tuple>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/golden/setups.h"

namespace ulpscope::engine {
namespace {

struct Tolerance {
  double loss, norm;   ///< greatest relative difference over the run
};

/// Two fp32 programs differ by the order of their sums: some u = 2^-24 for each result. With operands in 16 bits an order of
/// sums decides now and then which way a result is rounded, so that single values differ by an ulp of 2^-10 (fp16) or 2^-7
/// (bf16) of theirs; loss and norm are means over thousands of them. Met when these were recorded (loss, norm): fp32 1.3e-7,
/// 3.6e-7; fp16 5.7e-6, 1.0e-4; bf16 9.6e-5, 8.7e-4 in the GPT and 1.6e-5, 7.1e-5 in the MLP, whose roundings are fewer. A
/// run in another mode is at least at 2.2e-4, 2.1e-3 and 4.4e-5, 1.1e-3 from the latter.
Tolerance tolerance(const std::string& model, const std::string& mode) {
  if (mode == "fp32") return {16 * 0x1p-24, 256 * 0x1p-24};
  if (mode == "fp16") return {0x1p-15, 0x1p-11};
  return model == "gpt" ? Tolerance{0.75 * 0x1p-12, 1.5 * 0x1p-10} : Tolerance{0x1p-15, 0x1p-11};
}

std::vector<StepResult> train(const std::string& name, const std::string& mode) {
  const std::unique_ptr<Device> device = make_cpu_device();
  const std::unique_ptr<Dataset> data = golden::text(name);
  Topics topics;
  Trainer trainer(*device, *data, TrainerSetup{golden::model(name), find_mode(mode), golden::training(name), golden::seed}, topics);
  std::vector<StepResult> results;
  for (int i = 0; i < golden::steps; ++i) results.push_back(trainer.step());
  return results;
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

/// Greatest relative difference to the recording over the first steps; skipped ones have no norm.
double difference(const std::vector<StepResult>& got, const nlohmann::json& expected, bool norm, std::size_t steps) {
  double worst = 0.0;
  for (std::size_t i = 0; i < steps; ++i) {
    if (!expected[i].is_number()) continue;
    const double e = expected[i].get<double>(), g = static_cast<double>(norm ? got[i].gradient_norm : got[i].loss);
    worst = std::max(worst, std::abs(g - e) / e);
  }
  return worst;
}

class Golden : public ::testing::TestWithParam<std::tuple<const char*, const char*>> {
 protected:
  const char* model() const { return std::get<0>(GetParam()); }
  const char* mode() const { return std::get<1>(GetParam()); }
};

TEST_P(Golden, FollowsPytorch) {
  const std::vector<StepResult> got = train(model(), mode());
  const nlohmann::json expected = recording(model(), mode());
  ASSERT_EQ(expected["loss"].size(), got.size());
  const std::size_t steps = std::string(mode()) == "fp16" ? comparable_steps(expected) : got.size();
  const double loss = difference(got, expected["loss"], false, steps), norm = difference(got, expected["gradient_norm"], true, steps);
  std::printf("%s in %s, %zu of %zu steps: greatest relative difference of the loss %.2e, of the gradient norm %.2e\n", model(), mode(),
              steps, got.size(), loss, norm);
  EXPECT_LT(loss, tolerance(model(), mode()).loss);
  EXPECT_LT(norm, tolerance(model(), mode()).norm);
  EXPECT_GE(steps, got.size() / 2);
  for (std::size_t i = 0; i < got.size(); ++i) {
    const bool same = got[i].loss_scale == expected["scale"][i].get<float>() && got[i].skipped == expected["skipped"][i].get<bool>();
    if (i < steps) {
      EXPECT_TRUE(same) << "step " << i << ": scale " << got[i].loss_scale << ", recorded " << expected["scale"][i];
    } else if (!same) {
      std::printf("%s in %s: from step %zu on the scales differ: %g, recorded %g\n", model(), mode(), i, static_cast<double>(got[i].loss_scale),
                  expected["scale"][i].get<double>());
      break;
    }
  }
}

/// The limits are no formality: trained in another mode the run lies beyond them.
TEST_P(Golden, AndTheToleranceTellsOtherModesApart) {
  const nlohmann::json expected = recording(model(), mode());
  for (const std::string other : {"fp32", "tf32", "fp16", "bf16"}) {
    if (other == mode()) continue;
    const std::vector<StepResult> got = train(model(), other);
    std::size_t steps = got.size();
    for (const nlohmann::json& recorded : {expected, recording(model(), other == "tf32" ? "fp32" : other)})
      steps = std::min(steps, comparable_steps(recorded));
    // Modes that scale skip steps that others apply: those are told apart by the history.
    bool same_history = true;
    for (std::size_t i = 0; i < steps; ++i) same_history = same_history && got[i].skipped == expected["skipped"][i].get<bool>();
    const double loss = difference(got, expected["loss"], false, steps), norm = difference(got, expected["gradient_norm"], true, steps);
    std::printf("%s recorded in %s, trained in %s: %.2e, %.2e\n", model(), mode(), other.c_str(), loss, norm);
    EXPECT_TRUE(!same_history || loss > tolerance(model(), mode()).loss || norm > tolerance(model(), mode()).norm) << other;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Golden, ::testing::Combine(::testing::Values("gpt", "mlp"), ::testing::Values("fp32", "bf16", "fp16")),
                         [](const auto& param) { return std::string(std::get<0>(param.param)) + "_" + std::get<1>(param.param); });

}  // namespace
}  // namespace ulpscope::engine
