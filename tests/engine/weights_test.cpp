// Initial weights from a file: what is taken, what is refused, and what 16-bit weights cost a mixed mode.
#include "engine/train/weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "engine/train/trainer.h"
#include "kernels/error.h"
#include "kernels/formats/convert.h"
#include "tests/engine/data/temporary_folder.h"
#include "tests/engine/support/list_dataset.h"

namespace ulpscope::engine {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class Weights : public ::testing::Test {
 protected:
  Weights() {
    model_.context = 4;
    model_.width = 8;
    model_.layers = 1;
    text_ = load_text({folder_.write("text.txt", testing::made_up_text(3000))}, text_options(ModelConfig{model_}, 0.1));
    const Model model = build_model(model_, 2, true);
    for (const ValueId v : model.graph.with_role(Role::parameter)) {
      const Value& value = model.graph.value(v);
      const auto n = static_cast<std::size_t>(value.shape.elements());
      NamedTensor tensor{value.name, "F32", {}, std::vector<std::byte>(4 * n)};
      for (int i = 0; i < value.shape.rank; ++i) tensor.shape.push_back(value.shape[i]);
      std::vector<float> numbers(n);
      for (std::size_t i = 0; i < n; ++i) numbers[i] = 0.01f * static_cast<float>(i % 17) - 0.07f + 1e-6f;
      std::memcpy(tensor.data.data(), numbers.data(), 4 * n);
      parameters_ += static_cast<std::int64_t>(n);
      file_.tensors.push_back(std::move(tensor));
    }
  }
  TensorFile in_16_bits(Format format) const {
    TensorFile file = file_;
    for (NamedTensor& tensor : file.tensors) {
      const std::vector<float> numbers = tensor.numbers();
      tensor.dtype = dtype(format);
      tensor.data.resize(2 * numbers.size());
      narrow(format, numbers.data(), tensor.data.data(), numbers.size());
    }
    return file;
  }
  std::unique_ptr<Trainer> trainer(const TensorFile& file, const std::string& mode, bool widen = false) {
    TrainConfig config;
    config.batch = 2;
    config.weights = (folder_.path() / "w.safetensors").string();
    config.widen = widen;
    write_safetensors(config.weights, file);
    return std::make_unique<Trainer>(*device_, *text_, TrainerSetup{model_, find_mode(mode), config, 1}, topics_);
  }
  std::string refusal(const TensorFile& file, const std::string& mode = "fp32", bool widen = false) {
    try {
      trainer(file, mode, widen);
    } catch (const UsageError& error) {
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
      return error.what();
    }
    ADD_FAILURE() << "not refused";
    return "";
  }

  TemporaryFolder folder_;
  MlpConfig model_;
  std::unique_ptr<Dataset> text_;
  std::unique_ptr<Device> device_ = make_cpu_device({1, ""});
  Topics topics_;
  TensorFile file_;
  std::int64_t parameters_ = 0;
};

TEST_F(Weights, EveryModeStartsFromThem) {
  for (const char* mode : {"fp32", "fp16", "bf16"}) {
    const auto t = trainer(file_, mode);
    for (const NamedTensor& tensor : file_.tensors) EXPECT_EQ(t->read(tensor.name), tensor.numbers()) << mode << ' ' << tensor.name;
  }
}

TEST_F(Weights, ACheckpointServesToo) {
  const auto first = trainer(file_, "fp32");
  first->step();
  const TensorFile saved = to_file(first->state());
  EXPECT_GT(saved.tensors.size(), file_.tensors.size()) << "with the optimizer's state";
  const auto second = trainer(saved, "bf16");
  for (const NamedTensor& tensor : file_.tensors) EXPECT_EQ(second->read(tensor.name), first->read(tensor.name));
  EXPECT_EQ(second->iteration(), 0);
}

TEST_F(Weights, SixteenBitsAreRefusedForAMixedModeWithTheCost) {
  for (const Format format : {Format::fp16, Format::bf16}) {
    const TensorFile file = in_16_bits(format);
    for (const char* mode : {"fp16", "bf16", "bf16+tf32"})
      EXPECT_THAT(refusal(file, mode), AllOf(HasSubstr("its weights come in 16 bits (" + std::string(dtype(format)) + ")"), HasSubstr(mode),
                                             HasSubstr("4 bytes per parameter, " + std::to_string(4 * parameters_) + " bytes"),
                                             HasSubstr("--widen")));
    EXPECT_NO_THROW(trainer(file, "fp32")) << "no master copy is made there";
    const auto widened = trainer(file, "bf16", true);
    for (const NamedTensor& tensor : file.tensors) EXPECT_EQ(widened->read(tensor.name), tensor.numbers());
  }
  TensorFile one = file_;
  one.tensors[0] = in_16_bits(Format::bf16).tensors[0];
  EXPECT_THAT(refusal(one, "fp16"), HasSubstr(std::to_string(4 * one.tensors[0].elements()) + " bytes")) << "one is enough";
}

TEST_F(Weights, WhatDoesNotFitIsNamed) {
  TensorFile file = file_;
  const std::string name = file.tensors[1].name;
  file.tensors.erase(file.tensors.begin() + 1);
  EXPECT_THAT(refusal(file), AllOf(HasSubstr("model.weights: "), HasSubstr("it lacks '" + name + "'")));
  file = file_;
  file.tensors[0].name += "s";
  EXPECT_THAT(refusal(file), AllOf(HasSubstr("the model has no weight '" + file.tensors[0].name), HasSubstr(file_.tensors[0].name)));
  file = file_;
  file.tensors[0].shape.insert(file.tensors[0].shape.begin(), 1);
  EXPECT_THAT(refusal(file), HasSubstr("has shape (1, "));
  file = file_;
  file.tensors[0].dtype = "I32";
  EXPECT_THAT(refusal(file), HasSubstr("is I32, no floating-point numbers"));
  file = file_;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::memcpy(file.tensors[0].data.data() + 12, &nan, 4);
  EXPECT_THAT(refusal(file), HasSubstr("is NaN at element 3"));
}

}  // namespace
}  // namespace ulpscope::engine
