#include "kernels/unit_questions.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "kernels/error.h"
#include "kernels/formats/bits.h"
#include "kernels/ops/unit_sums.h"
#include "kernels/tensor_core/reference.h"

namespace ulpscope::tensor_core {
namespace {

using Factors = std::vector<QuestionFactor>;
constexpr Format fp16 = Format::fp16, bf16 = Format::bf16, tf32 = Format::tf32, e4m3 = Format::fp8_e4m3, e5m2 = Format::fp8_e5m2;

float two(int exponent) { return std::ldexp(1.0f, exponent); }
constexpr const char* zero_question = "Z";

Factors alike(int n, float a, float b) {
  Factors factors;
  for (int k = 0; k < n; ++k) factors.push_back({k, a, b});
  return factors;
}
/// Two large products, a one, and the two taken back from element `back` on.
Factors swallowed(int back, float large, float by) {
  return {{0, large, by}, {1, large, by}, {2, 1.0f, 1.0f}, {back, -large, by}, {back + 1, -large, by}};
}

void ask_for_bits(std::vector<UnitQuestion>& all, Format format) {
  all.push_back({"T1", format, false, {{0, 1.0f, 1.0f}}, -(1.0f - two(-24)), "fraction bits: 23, or more"});
  all.push_back({"T2", format, false, alike(2, two(-12), two(-12)), 1.0f, "fraction bits: 23, or more"});
  all.push_back({"T3", format, false, alike(4, two(-12), two(-13)), 1.0f, "fraction bits: 24, or more"});
  all.push_back({"T6", format, false, {{0, 1.0f, 1.0f}}, -3.0f * two(-25), "fraction bits: 23, 24 or 25"});
  all.push_back({"T7", format, false, {{0, -1.0f, 1.0f}, {1, -two(-12), two(-12)}, {2, -two(-12), two(-12)}}, 0.0f, "truncated by magnitude"});
  all.push_back({"W4", format, false, swallowed(4, 4096.0f, 2048.0f), 0.0f, "block of 4, or wider"});
  all.push_back({"W8", format, false, swallowed(8, 4096.0f, 2048.0f), 0.0f, "block of 8, or wider"});
  all.push_back({"W16", format, false, swallowed(16, 4096.0f, 2048.0f), 0.0f, "block of 16, or wider"});
  all.push_back({"N2", format, false, {{0, 1.5f, 1.5f}, {1, -two(-12), two(-12)}, {2, -two(-12), two(-12)}}, 0.0f, "products not normalised"});
}

void ask_for_fp8(std::vector<UnitQuestion>& all, Format format) {
  all.push_back({"F1", format, false, {{0, 1.0f, 1.0f}, {1, two(-7), two(-7)}, {2, two(-7), two(-8)}, {3, two(-7), two(-8)}}, 0.0f,
                 "fraction bits: 13, or more"});
  all.push_back({"F2", format, false, swallowed(16, 128.0f, 64.0f), 0.0f, "block of 16, or of 32"});
  all.push_back({"F3", format, false, alike(32, 1.0f, 1.0f), 16383.0f, "how c is aligned"});
  all.push_back({"F4", format, false, {{0, 448.0f, 448.0f}, {2, two(-9), two(-9)}, {29, -448.0f, 448.0f}}, 0.0f, "two blocks by k mod 4"});
}

std::vector<UnitQuestion> make_questions() {
  std::vector<UnitQuestion> all;
  ask_for_bits(all, fp16);
  all.push_back({"S1", fp16, false, alike(4, two(-24), 1.0f), 0.0f, "subnormal operands"});
  all.push_back({"S2", fp16, false, {{0, 0.0f, 0.0f}}, float_from_bits(1), "subnormal c"});
  all.push_back({"S3", fp16, false, {{0, two(-24), two(-24)}}, 0.0f, "subnormal times subnormal"});
  all.push_back({"R1", fp16, true, {{0, two(-12), two(-13)}, {1, two(-13), two(-13)}}, 0.0f, "fp16 sums to nearest"});
  all.push_back({"R2", fp16, true, {{0, 2048.0f, 1.0f}, {1, 3.0f, 1.0f}}, 0.0f, "fp16 sums: ties to even"});
  ask_for_bits(all, bf16);
  all.push_back({zero_question, bf16, false, {{0, 0.0f, two(127)}, {1, 1.0f, two(-30)}}, 0.0f, "zero products: out, or aligned", true});
  ask_for_bits(all, tf32);
  // What the unit makes of bits that tf32 has no place for: rounded away, to even, or dropped.
  all.push_back({"Q1", tf32, false, {{0, 1.0f + two(-11), 1.0f}}, 0.0f, "1+2^-11: 3f802000 if away", true});
  all.push_back({"Q2", tf32, false, {{0, 1.0f + 3.0f * two(-11), 1.0f}}, 0.0f, "1+3*2^-11: 3f802000 dropped", true});
  all.push_back({"Q3", tf32, false, {{0, 1.0f + 3.0f * two(-12), 1.0f}}, 0.0f, "1+3*2^-12: 3f800000 dropped", true});
  all.push_back({"Q4", tf32, false, {{0, 1024.5f, 1.0f}}, 0.0f, "1024.5: 44802000 if away", true});
  ask_for_fp8(all, e4m3);
  ask_for_fp8(all, e5m2);
  return all;
}

std::uint32_t bits_of(float x) { return x != x ? canonical_nan : float_bits(x); }

struct Vectors {
  std::vector<const UnitQuestion*> questions;
  std::int64_t k = 1;
  std::vector<float> a, b, c;

  void lay_out() {
    for (const UnitQuestion* q : questions)
      for (const QuestionFactor& f : q->factors) k = std::max<std::int64_t>(k, f.k + 1);
    const auto n = questions.size(), length = static_cast<std::size_t>(k);
    a.assign(n * length, 0.0f);
    b.assign(n * length, 0.0f);
    for (std::size_t v = 0; v < n; ++v) {
      c.push_back(questions[v]->c);
      for (const QuestionFactor& f : questions[v]->factors) {
        a[v * length + static_cast<std::size_t>(f.k)] = f.a;
        b[v * length + static_cast<std::size_t>(f.k)] = f.b;
      }
    }
  }
};

Buffer on_device(Device& device, const std::vector<float>& numbers) {
  Buffer buffer(device, numbers.size() * sizeof(float));
  device.copy_to_device(buffer.data(), numbers.data(), buffer.bytes());
  return buffer;
}

/// All tiles, one after the other.
std::vector<float> tiles_of(Device& device, const Vectors& v, const UnitSumsParams& params) {
  const auto n = static_cast<std::int64_t>(v.questions.size());
  std::vector<float> tiles(v.questions.size() * unit_tile_rows * unit_tile_columns);
  const Buffer a = on_device(device, v.a), b = on_device(device, v.b), c = on_device(device, v.c), sums = on_device(device, tiles);
  const Tensor in[] = {Tensor(a.data(), Format::fp32, Shape{n, v.k}), Tensor(b.data(), Format::fp32, Shape{n, v.k}),
                       Tensor(c.data(), Format::fp32, Shape{n})};
  const Tensor out(sums.data(), Format::fp32, Shape{n, unit_tile_rows, unit_tile_columns});
  Launch l;
  l.in = in;
  l.in_count = 3;
  l.out = &out;
  l.out_count = 1;
  l.params = &params;
  l.stream = device.stream();
  device.kernels().find("unit_sums", Format::fp32).run(l);
  device.copy_to_host(tiles.data(), sums.data(), sums.bytes());
  return tiles;
}

void ask(Device& device, int capability, const Vectors& v, std::vector<UnitAnswer>& answers) {
  const UnitQuestion& first = *v.questions.front();
  const UnitSumsParams params{first.operands, first.fp16_sums, unit_depth(capability, first.operands)};
  const std::vector<float> tiles = tiles_of(device, v, params);
  const Unit* unit = unit_of_mma(capability, first.operands, first.fp16_sums);
  constexpr std::size_t tile = unit_tile_rows * unit_tile_columns;
  for (std::size_t i = 0; i < v.questions.size(); ++i) {
    UnitAnswer answer{v.questions[i], unit, bits_of(tiles[i * tile]), 0, true};
    for (std::size_t j = 1; j < tile; ++j) answer.alike = answer.alike && bits_of(tiles[i * tile + j]) == answer.device;
    const std::size_t at = i * static_cast<std::size_t>(v.k);
    if (unit != nullptr) answer.emulated = bits_of(reference_sum(unit->rule, v.a.data() + at, 1, v.b.data() + at, 1, v.k, v.c[i]));
    answers.push_back(answer);
  }
}

}  // namespace

std::span<const UnitQuestion> unit_questions() {
  static const std::vector<UnitQuestion> all = make_questions();
  return all;
}

MatrixUnit generation_of(int capability) {
  if (capability >= 100) return MatrixUnit::blackwell;
  if (capability >= 90) return MatrixUnit::hopper;
  if (capability >= 89) return MatrixUnit::ada;
  if (capability >= 80) return MatrixUnit::ampere;
  if (capability >= 75) return MatrixUnit::turing;
  return capability >= 70 ? MatrixUnit::v100 : MatrixUnit::none;
}

const Unit* unit_of_mma(int capability, Format operands, bool fp16_sums) {
  const MatrixUnit generation = generation_of(capability);
  if (generation == MatrixUnit::none) return nullptr;
  const bool fp8 = operands == e4m3 || operands == e5m2;
  const char* instruction = !fp8 ? "" : capability >= 120 ? "qmma" : capability >= 90 ? "mma.sync" : "mma";
  return find_unit(generation, operands, fp16_sums ? Result::fp16 : Result::fp32, instruction);
}

std::vector<UnitAnswer> ask_unit(Device& device, int capability) {
  if (!device.kernels().contains("unit_sums", Format::fp32))
    throw UsageError(device.description().name + " has no matrix unit to ask: give it a GPU, such as cuda");
  std::vector<Vectors> asked;
  for (const UnitQuestion& q : unit_questions()) {
    if (unit_depth(capability, q.operands) == 0) continue;
    const auto fits = [&](const Vectors& v) { return v.questions.front()->operands == q.operands && v.questions.front()->fp16_sums == q.fp16_sums; };
    auto group = std::find_if(asked.begin(), asked.end(), fits);
    if (group == asked.end()) group = asked.insert(asked.end(), Vectors{});
    group->questions.push_back(&q);
  }
  if (asked.empty())
    throw UsageError(device.description().name + ", " + device.description().instruction_set +
                     ": the instruction that is asked is there from compute capability 7.5 on");
  std::vector<UnitAnswer> answers;
  for (Vectors& v : asked) {
    v.lay_out();
    ask(device, capability, v, answers);
  }
  return answers;
}

std::optional<ZeroProducts> zero_products(std::span<const UnitAnswer> answers) {
  for (const UnitAnswer& answer : answers) {
    if (std::string_view(answer.question->name) != zero_question || !answer.alike) continue;
    if (answer.device == float_bits(two(-30))) return ZeroProducts::excluded;
    if (answer.device == 0) return ZeroProducts::included;
  }
  return std::nullopt;
}

}  // namespace ulpscope::tensor_core
