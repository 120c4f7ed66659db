// A trainer that goes on from a saved state takes the same steps as one that was never stopped, to the bit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "engine/train/trainer.h"
#include "kernels/error.h"
#include "tests/engine/data/temporary_folder.h"
#include "tests/engine/support/list_dataset.h"

namespace ulpscope::engine {
namespace {

using ::testing::HasSubstr;

GptConfig tiny_gpt() {
  GptConfig c;
  c.context = 8;
  c.width = 16;
  c.layers = 1;
  c.heads = 2;
  c.dropout = 0.25;
  return c;
}

class Resume : public ::testing::TestWithParam<std::string> {
 protected:
  Resume() { text_ = load_text({folder_.write("text.txt", testing::made_up_text(5000))}, text_options(ModelConfig{tiny_gpt()}, 0.1)); }

  static TrainConfig config(const scaling::Policy& scaler) {
    TrainConfig c;
    c.batch = 2;
    c.steps = 24;
    c.schedule.warmup = 3;
    c.schedule.steps = 24;
    c.scaler = scaler;
    c.evaluation_batches = 2;
    return c;
  }
  std::unique_ptr<Trainer> trainer(const std::string& mode, const scaling::Policy& scaler = {}, std::uint64_t seed = 3) {
    return std::make_unique<Trainer>(*device_, *text_, TrainerSetup{tiny_gpt(), find_mode(mode), config(scaler), seed}, topics_);
  }
  static std::vector<std::uint32_t> bits(const StepResult& r) {
    return {std::bit_cast<std::uint32_t>(r.loss), std::bit_cast<std::uint32_t>(r.gradient_norm),
            std::bit_cast<std::uint32_t>(r.loss_scale), std::bit_cast<std::uint32_t>(r.learning_rate),
            static_cast<std::uint32_t>(r.applied), static_cast<std::uint32_t>(r.iteration), r.skipped ? 1u : 0u};
  }
  static void expect_same(const TrainerState& a, const TrainerState& b) {
    EXPECT_EQ(a.iteration, b.iteration);
    EXPECT_EQ(a.applied, b.applied);
    EXPECT_EQ(a.scaler, b.scaler);
    ASSERT_EQ(a.tensors.size(), b.tensors.size());
    for (std::size_t i = 0; i < a.tensors.size(); ++i) EXPECT_EQ(a.tensors[i].data, b.tensors[i].data) << a.tensors[i].name;
  }
  /// One trainer all the way, one that is made anew from a file after `cut` steps.
  void check(const std::string& mode, const scaling::Policy& scaler, int cut, int steps) {
    const auto whole = trainer(mode, scaler), before = trainer(mode, scaler);
    for (int i = 0; i < cut; ++i) {
      whole->step();
      before->step();
    }
    before->evaluate();   // between steps, it changes nothing
    const std::string path = (folder_.path() / "state.safetensors").string();
    write_safetensors(path, to_file(before->state()));
    const auto after = trainer(mode, scaler);
    after->restore(from_file(read_safetensors(path), path));
    EXPECT_EQ(after->iteration(), cut);
    for (int i = cut; i < steps; ++i) EXPECT_EQ(bits(after->step()), bits(whole->step())) << mode << " step " << i;
    expect_same(after->state(), whole->state());
    const double loss = after->evaluate().loss, wanted = whole->evaluate().loss;
    EXPECT_TRUE(loss == wanted || (std::isnan(loss) && std::isnan(wanted))) << mode << ' ' << loss << ' ' << wanted;
  }

  TemporaryFolder folder_;
  std::unique_ptr<Dataset> text_;
  std::unique_ptr<Device> device_ = make_cpu_device({1, ""});
  Topics topics_;
};

TEST_P(Resume, TheSameBitsAsWithoutAStop) {
  for (const int cut : {0, 1, 7}) check(GetParam(), scaling::PytorchScaler{.growth_interval = 4}, cut, 12);
}

std::vector<std::string> mode_names() {
  std::vector<std::string> names;
  for (const Mode& mode : modes()) names.push_back(mode.name);
  return names;
}
INSTANTIATE_TEST_SUITE_P(Modes, Resume, ::testing::ValuesIn(mode_names()), [](const auto& name) {
  std::string text = name.param;
  for (char& c : text) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return text;
});

TEST_F(Resume, EveryScalerWithItsCountersInTheMiddle) {
  // Scales that overflow at first: every counter has moved when the state is taken.
  check("fp16", scaling::PytorchScaler{.initial_scale = 0x1p40f, .growth_interval = 3}, 5, 30);
  check("fp16", scaling::DeepspeedScaler{.initial_scale = 0x1p32f, .growth_interval = 4, .hysteresis = 3}, 5, 30);
  check("fp16", scaling::MegatronScaler{.growth_interval = 3}, 5, 30);
  check("fp16", scaling::FairseqScaler{.initial_scale = 0x1p40f, .growth_interval = 4, .tolerance = 0.3}, 5, 30);
}

TEST_F(Resume, TheStateIsEveryCounterAndSurvivesTheFile) {
  TrainerState state{12, 9, {0x1.fffffep3f, 1, 2, 3, 4, 5, 6}, {}};
  const TrainerState back = from_file(to_file(state), "x");
  EXPECT_EQ(back.scaler, state.scaler);
  EXPECT_EQ(back.iteration, 12);
  EXPECT_EQ(back.applied, 9);
  state.scaler.scale = INFINITY;
  EXPECT_EQ(from_file(to_file(state), "x").scaler.scale, INFINITY);
}

TEST_F(Resume, AStateThatDoesNotFitIsRefusedAndNothingChanges) {
  const auto said = [](auto&& call) -> std::string {
    try {
      call();
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  const auto from = trainer("fp32"), to = trainer("fp32", {}, 4);
  from->step();
  const TrainerState good = from->state(), start = to->state();
  TrainerState bad = good;
  bad.tensors.back().name = "other";
  EXPECT_THAT(said([&] { to->restore(bad); }), HasSubstr("the saved state has no '"));
  bad = good;
  bad.tensors.push_back(bad.tensors.front());
  EXPECT_THAT(said([&] { to->restore(bad); }), HasSubstr("tensors"));
  bad = good;
  bad.tensors.back().dtype = "F16";
  EXPECT_THAT(said([&] { to->restore(bad); }), HasSubstr("and in the saved state F16"));
  expect_same(to->state(), start);
  TensorFile file = to_file(good);
  file.metadata["iteration"] = "7x";
  EXPECT_THAT(said([&] { from_file(file, "c"); }), HasSubstr("its iteration is missing or no number"));
  file.metadata.clear();
  EXPECT_THAT(said([&] { from_file(file, "c"); }), HasSubstr("c: it is not a checkpoint of ulpscope"));
}

TEST_F(Resume, AnEvaluationEndsWhenAsked) {
  const auto t = trainer("fp32");
  int asked = 0;
  const Trainer::Evaluation evaluation = t->evaluate([&] { return ++asked == 2; });
  EXPECT_TRUE(evaluation.stopped);
  EXPECT_FALSE(evaluation.available);
  EXPECT_EQ(asked, 2) << "between the batches";
}

}  // namespace
}  // namespace ulpscope::engine
