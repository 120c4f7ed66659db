// A GPU asked how its matrix unit adds up: the kernel, its operands' places in registers and the table of answers, on the emulated grid
// with the unit of each generation; on a GPU the same kernel says what is true.
#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "kernels/cuda/matrix_unit.h"
#include "kernels/error.h"
#include "kernels/formats/bits.h"
#include "kernels/ops/unit_sums.h"
#include "kernels/tensor_core/reference.h"
#include "kernels/unit_questions.h"
#include "profiler/cli/program.h"
#include "profiler/cli/tensor_core_device.h"
#include "tests/kernels/emulated/emulated_device.h"

namespace ulpscope::test {
namespace {

using tensor_core::SumRule;
using tensor_core::UnitAnswer;
using ::testing::AllOf;
using ::testing::HasSubstr;

/// The unit of a rule is the emulated GPU's, as long as this lives.
class WithUnit final : public cuda::EmulatedUnit {
 public:
  explicit WithUnit(const SumRule& rule) : rule_(rule) { cuda::emulated_unit = this; }
  ~WithUnit() override { cuda::emulated_unit = nullptr; }
  WithUnit(const WithUnit&) = delete;
  WithUnit& operator=(const WithUnit&) = delete;
  float sum(const float* a, const float* b, std::int64_t k, float c) const override { return tensor_core::reference_sum(rule_, a, 1, b, 1, k, c); }

 private:
  SumRule rule_;
};

/// One instruction on a tile whose rows and columns all differ: an integer sum of each element, exact in any order.
template <Format format, int depth>
ULPSCOPE_KERNEL void tile_kernel(const float* a, const float* b, float* d) {
  using namespace cuda;
  constexpr int n = numbers_in_register<format>, bits = 32 / n;
  const int thread = thread_index();
  UnitOperands x = {};
  // As the PTX manual words it.
  for (int r = 0; r < 4; ++r)
    for (int j = 0; j < n; ++j) {
      const int row = thread / 4 + 8 * (r % 2), k = n * (thread % 4) + j + 4 * n * (r / 2);
      const auto word = [&](float number) -> std::uint32_t {
        if constexpr (format == Format::tf32)
          return float_bits(number);
        else
          return static_cast<std::uint32_t>(Storage<format>::round(number)) << (bits * j);
      };
      if (k < depth) x.a[r] |= word(a[row * depth + k]);
      if (r < 2 && n * (thread % 4) + j + 4 * n * r < depth) x.b[r] |= word(b[(thread / 4) * depth + n * (thread % 4) + j + 4 * n * r]);
    }
  float sums[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  unit_multiply<format, depth>(x, sums);
  for (int i = 0; i < 4; ++i) d[(thread / 4 + 8 * (i / 2)) * 8 + 2 * (thread % 4) + i % 2] = sums[i];
}

template <Format format, int depth>
void expect_tile() {
  std::mt19937 generator(7);
  float a[16 * depth], b[8 * depth], d[16 * 8];
  for (float& x : a) x = static_cast<float>(static_cast<int>(generator() % 9) - 4);
  for (float& x : b) x = static_cast<float>(static_cast<int>(generator() % 9) - 4);
  const SumRule rule{.operands = format, .width = depth, .fraction = 25};
  const WithUnit unit(rule);
  cuda::launch_team(tile_kernel<format, depth>, 1, 32, 0, nullptr, static_cast<const float*>(a), static_cast<const float*>(b), static_cast<float*>(d));
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 8; ++j) {
      float sum = 0.0f;
      for (int k = 0; k < depth; ++k) sum += a[i * depth + k] * b[j * depth + k];
      ASSERT_EQ(d[i * 8 + j], sum) << name(format) << " " << depth << ": " << i << ", " << j;
    }
}

TEST(MatrixUnitInstruction, ThePtxManualAndCutlassPutOperandsIntoTheSamePlaces) {
  expect_tile<Format::fp16, 16>();
  expect_tile<Format::fp16, 8>();
  expect_tile<Format::bf16, 16>();
  expect_tile<Format::tf32, 8>();
  expect_tile<Format::fp8_e4m3, 32>();
  expect_tile<Format::fp8_e5m2, 32>();
}

std::uint32_t answer_of(const std::vector<UnitAnswer>& answers, const std::string& vector, Format format) {
  for (const UnitAnswer& a : answers)
    if (a.question->name == vector && a.question->operands == format) return a.device;
  ADD_FAILURE() << vector << " in " << name(format) << " was not asked";
  return 0;
}

class UnitQuestions : public ::testing::Test {
 protected:
  /// With one unit for all formats that are asked: questions of others get what that one makes of them.
  std::vector<UnitAnswer> ask(int capability, const SumRule& rule) {
    const WithUnit unit(rule);
    return tensor_core::ask_unit(*device_, capability);
  }
  const SumRule& rule(MatrixUnit unit, Format format, const char* instruction = "") const {
    return tensor_core::find_unit(unit, format, tensor_core::Result::fp32, instruction)->rule;
  }
  std::unique_ptr<Device> device_ = make_emulated_device();
};

TEST_F(UnitQuestions, ADeviceThatAddsUpAsItsGenerationIsRecognised) {
  const struct {
    int capability;
    MatrixUnit unit;
    std::vector<Format> formats;
  } rows[] = {{75, MatrixUnit::turing, {Format::fp16}},
              {80, MatrixUnit::ampere, {Format::fp16, Format::bf16, Format::tf32}},
              {89, MatrixUnit::ada, {Format::fp16, Format::bf16, Format::tf32, Format::fp8_e4m3, Format::fp8_e5m2}},
              {90, MatrixUnit::hopper, {Format::fp16, Format::bf16, Format::tf32, Format::fp8_e4m3, Format::fp8_e5m2}},
              {120, MatrixUnit::blackwell, {Format::fp16, Format::bf16, Format::tf32, Format::fp8_e4m3, Format::fp8_e5m2}}};
  for (const auto& row : rows)
    for (const Format format : row.formats) {
      const tensor_core::Unit* unit = tensor_core::unit_of_mma(row.capability, format, false);
      ASSERT_NE(unit, nullptr);
      int asked = 0;
      for (const UnitAnswer& a : ask(row.capability, unit->rule)) {
        EXPECT_TRUE(a.alike) << a.question->name;
        if (a.question->operands != format || a.question->fp16_sums) continue;
        ++asked;
        EXPECT_TRUE(a.same()) << a.question->name << " " << name(format) << " of " << row.capability << ": " << std::hex << a.device << ", " << a.emulated;
      }
      EXPECT_GE(asked, 4) << name(format);
    }
}

TEST_F(UnitQuestions, Fp16SumsAreAskedForToo) {
  const tensor_core::Unit* unit = tensor_core::unit_of_mma(80, Format::fp16, true);
  int asked = 0;
  for (const UnitAnswer& a : ask(80, unit->rule)) {
    if (!a.question->fp16_sums) continue;
    ++asked;
    EXPECT_TRUE(a.same()) << a.question->name;
  }
  EXPECT_EQ(asked, 2);
}

TEST_F(UnitQuestions, AnswersOfOtherUnitsAreNoticed) {
  // A100's sums on what calls itself an H100.
  const std::vector<UnitAnswer> answers = ask(90, rule(MatrixUnit::ampere, Format::fp16));
  for (const UnitAnswer& a : answers) {
    if (a.question->operands != Format::fp16 || a.question->fp16_sums) continue;
    const std::string vector = a.question->name;
    EXPECT_EQ(a.same(), vector != "T3" && vector != "T6" && vector != "W8") << vector;
  }
  EXPECT_EQ(answer_of(answers, "T3", Format::fp16), 0x3f800000u);
  EXPECT_EQ(answer_of(answers, "W8", Format::fp16), 0x00000000u);
}

TEST_F(UnitQuestions, WhatNumericsLeavesOpenIsSaid) {
  EXPECT_EQ(tensor_core::zero_products(ask(90, rule(MatrixUnit::hopper, Format::bf16))), tensor_core::ZeroProducts::excluded);
  SumRule included = rule(MatrixUnit::hopper, Format::bf16);
  included.zeros = tensor_core::ZeroProducts::included;
  EXPECT_EQ(tensor_core::zero_products(ask(90, included)), tensor_core::ZeroProducts::included);
  EXPECT_EQ(tensor_core::zero_products(ask(75, rule(MatrixUnit::turing, Format::fp16))), std::nullopt);
  // The bits that tf32 has no place for are dropped.
  const std::vector<UnitAnswer> answers = ask(80, rule(MatrixUnit::ampere, Format::tf32));
  EXPECT_EQ(answer_of(answers, "Q1", Format::tf32), float_bits(1.0f));
  EXPECT_EQ(answer_of(answers, "Q2", Format::tf32), float_bits(1.0f + 0x1p-10f));
  EXPECT_EQ(answer_of(answers, "Q3", Format::tf32), float_bits(1.0f));
  EXPECT_EQ(answer_of(answers, "Q4", Format::tf32), float_bits(1024.0f));
}

TEST_F(UnitQuestions, ThePrintedTableSaysWhatDiffersAndEndsWithOne) {
  std::ostringstream text, json;
  const WithUnit unit(rule(MatrixUnit::ampere, Format::fp16));
  EXPECT_EQ(profiler::print_unit_answers(*device_, 90, false, text), profiler::exit_fault);
  EXPECT_EQ(profiler::print_unit_answers(*device_, 90, true, json), profiler::exit_fault);
  EXPECT_EQ(profiler::print_unit_answers(*device_, 75, true, json), profiler::exit_ok) << "Turing's are not captured data, and its fp16 sums are the same";
  EXPECT_THAT(text.str(), AllOf(HasSubstr("emulated GPU, compute capability 9.0"), HasSubstr("T3     fp16     fp32 3f800000 3f800001 DIFFERS"),
                                HasSubstr("T1     fp16     fp32 33800000 33800000 same")));
  std::istringstream lines(text.str());
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
  const auto read = nlohmann::json::parse(json.str().substr(0, json.str().find("\n}\n") + 2));
  EXPECT_EQ(read["generation"], "hopper");
  EXPECT_EQ(read["vectors"][0]["vector"], "T1");
  EXPECT_EQ(read["vectors"][0]["same"], true);
}

TEST_F(UnitQuestions, AnOpenQuestionIsNoFault) {
  for (const UnitAnswer& a : ask(90, rule(MatrixUnit::hopper, Format::bf16)))
    EXPECT_EQ(a.question->open, a.question->name[0] == 'Z' || a.question->name[0] == 'Q') << a.question->name;
  SumRule included = rule(MatrixUnit::hopper, Format::bf16);
  included.zeros = tensor_core::ZeroProducts::included;
  const WithUnit unit(included);
  std::ostringstream text;
  profiler::print_unit_answers(*device_, 90, false, text);
  EXPECT_THAT(text.str(), HasSubstr("Z      bf16     fp32 00000000 30800000 other"));
}

TEST_F(UnitQuestions, OldAndOtherDevicesAreRefused) {
  EXPECT_THROW(tensor_core::ask_unit(*device_, 70), UsageError);
  EXPECT_THROW(tensor_core::ask_unit(*make_cpu_device(), 90), UsageError);
  UnitSumsParams params{Format::fp32, false, 8};
  Tensor in[3] = {Tensor(nullptr, Format::fp32, Shape{0, 8}), Tensor(nullptr, Format::fp32, Shape{0, 8}), Tensor(nullptr, Format::fp32, Shape{0})};
  Tensor out(nullptr, Format::fp32, Shape{0, 16, 8});
  Launch l;
  l.in = in;
  l.in_count = 3;
  l.out = &out;
  l.out_count = 1;
  l.params = &params;
  EXPECT_THROW(device_->kernels().find("unit_sums", Format::fp32).run(l), Error);
}

}  // namespace
}  // namespace ulpscope::test
