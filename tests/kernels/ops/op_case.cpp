#include "tests/kernels/ops/op_case.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "kernels/formats/storage.h"
#include "tests/kernels/same_counts.h"

namespace ulpscope::test {
namespace {

constexpr std::size_t guard_bytes = 64;
constexpr unsigned char guard = 0xa5;

template <Format F>
void store(void* place, double value) {
  const typename Storage<F>::type stored = Storage<F>::round(value);
  std::memcpy(place, &stored, sizeof stored);
}

template <Format F>
double load(const void* place) {
  typename Storage<F>::type stored;
  std::memcpy(&stored, place, sizeof stored);
  return static_cast<double>(Storage<F>::widen(stored));
}

bool same_bits(const TestTensor& a, const TestTensor& b, std::int64_t i) {
  return a.bits(i) == b.bits(i) || (std::isnan(a.get(i)) && std::isnan(b.get(i)));
}

/// Whether `computed` is what the format and the tolerance allow.
bool within(double computed, const Expected& expected, Format output, Format compute, double factor) {
  const long double value = expected.value;
  if (std::isnan(value)) return std::isnan(computed);
  if (std::isnan(computed)) return false;
  const FormatInfo& facts = info(output);
  const long double error = static_cast<long double>(factor) * info(compute).unit_roundoff * expected.scale;
  if (std::isinf(value)) return computed == static_cast<double>(value);
  if (std::isinf(computed)) {
    const long double most = std::fabs(value) + error;
    return (computed > 0) == (value > 0) && most >= static_cast<long double>(facts.overflow_threshold);
  }
  // Beyond the result's own rounding: half a unit in the last place, relative to the computed value, or half the least
  // step.
  const long double magnitude = std::fabs(value) + error;
  const long double rounding =
      std::fmax(facts.unit_roundoff * magnitude, static_cast<long double>(facts.min_subnormal) * 0.5L);
  const bool exact = output == compute;  // no second rounding
  return std::fabs(static_cast<long double>(computed) - value) <=
         error + (exact ? static_cast<long double>(facts.min_subnormal) * 0.5L : rounding);
}

Format narrower_than(const OpCase& c, Format output) {
  int bits = info(output).mantissa_bits;
  for (const Format f : c.in_format) {
    if (is_float(f)) bits = std::min(bits, info(f).mantissa_bits);
  }
  if (bits > 10) return Format::fp16;
  return bits > 7 ? Format::bf16 : Format::fp8_e5m2;
}

struct Operands {
  std::vector<std::unique_ptr<TestTensor>> in;
  std::vector<std::unique_ptr<TestTensor>> out;
};

Operands make_operands(const OpCase& c) {
  Operands operands;
  Uniform uniform(c.in.size() + 17 * static_cast<std::size_t>(c.in[0].elements()));
  const auto fill = [&](TestTensor& t, int k) {
    for (std::int64_t i = 0; i < t.elements(); ++i) {
      const double u = uniform();
      t.set(i, c.fill ? c.fill(k, i, u) : 4.0 * u - 2.0);
    }
  };
  int k = 0;
  for (; k < static_cast<int>(c.in.size()); ++k) {
    const std::size_t at = static_cast<std::size_t>(k);
    operands.in.push_back(std::make_unique<TestTensor>(c.in[at], c.in_format[at],
                                                       is_float(c.in_format[at]) ? c.layout : Layout::contiguous));
    fill(*operands.in.back(), k);
  }
  for (std::size_t o = 0; o < c.out.size(); ++o) {
    const bool side_result = o > 0 && !c.updates;  // contiguous, says the catalogue
    operands.out.push_back(
        std::make_unique<TestTensor>(c.out[o], c.out_format[o], side_result ? Layout::contiguous : c.layout));
    if (c.updates) fill(*operands.out.back(), k + static_cast<int>(o));
  }
  return operands;
}

std::vector<std::unique_ptr<TestTensor>> run(const OpCase& c, const Operands& operands, const KernelTable& kernels,
                                             int threads, const std::vector<RoundingCounts*>& counts = {}) {
  std::vector<std::unique_ptr<TestTensor>> in, out;
  std::vector<Tensor> in_views, out_views;
  for (const auto& t : operands.in) in_views.push_back((in.emplace_back(t->clone()))->view());
  for (const auto& t : operands.out) out.push_back(t->clone());
  if (c.alias_first) out[0] = std::move(in[0]);
  for (const auto& t : out) out_views.push_back(t->view());
  execute(kernels, c.operation, c.compute, in_views, out_views, c.params.get(), c.state, threads, counts);
  for (const auto& t : out) EXPECT_TRUE(t->guards_intact()) << "written outside its elements";
  return out;
}

}  // namespace

TestTensor::TestTensor(const Shape& shape, Format format, Layout layout) : view_(nullptr, format, shape) {
  const std::size_t item = static_cast<std::size_t>(storage_bytes(format));
  std::int64_t step = layout == Layout::padded ? 2 : 1;
  for (int i = 0; i < shape.rank; ++i) {
    const int axis = layout == Layout::permuted ? i : shape.rank - 1 - i;
    view_.stride[static_cast<std::size_t>(axis)] = step;
    step = step * std::max<std::int64_t>(shape[axis], 1) + (layout == Layout::padded ? 3 : 0);
  }
  contiguous_ = view_.contiguous();
  memory_.assign(static_cast<std::size_t>(step) * item + 3 * guard_bytes, guard);
  is_element_.assign(memory_.size(), 0);
  const std::size_t misalignment = reinterpret_cast<std::uintptr_t>(memory_.data()) % 64;
  start_ = guard_bytes + (64 - misalignment) % 64;
  view_.data = memory_.data() + start_;
  for (std::int64_t i = 0; i < elements(); ++i) {
    const std::size_t at = static_cast<std::size_t>(address(i) - reinterpret_cast<char*>(memory_.data()));
    std::memset(is_element_.data() + at, 1, item);
  }
}

char* TestTensor::address(std::int64_t index) const {
  if (contiguous_) return static_cast<char*>(view_.data) + index * storage_bytes(view_.format);
  std::int64_t offset = 0;
  for (int axis = view_.shape.rank - 1; axis >= 0; --axis) {
    offset += index % view_.shape[axis] * view_.stride[static_cast<std::size_t>(axis)];
    index /= view_.shape[axis];
  }
  return static_cast<char*>(view_.data) + offset * storage_bytes(view_.format);
}

void TestTensor::set(std::int64_t index, double value) {
  char* place = address(index);
  switch (view_.format) {
    case Format::fp32:
      return store<Format::fp32>(place, value);
    case Format::tf32:
      return store<Format::tf32>(place, value);
    case Format::fp16:
      return store<Format::fp16>(place, value);
    case Format::bf16:
      return store<Format::bf16>(place, value);
    case Format::fp8_e4m3:
      return store<Format::fp8_e4m3>(place, value);
    case Format::fp8_e5m2:
      return store<Format::fp8_e5m2>(place, value);
    case Format::fp64:
      return store<Format::fp64>(place, value);
    case Format::i32: {
      const std::int32_t integer = static_cast<std::int32_t>(value);
      std::memcpy(place, &integer, sizeof integer);
    }
  }
}

double TestTensor::get(std::int64_t index) const {
  const char* place = address(index);
  switch (view_.format) {
    case Format::fp32:
      return load<Format::fp32>(place);
    case Format::tf32:
      return load<Format::tf32>(place);
    case Format::fp16:
      return load<Format::fp16>(place);
    case Format::bf16:
      return load<Format::bf16>(place);
    case Format::fp8_e4m3:
      return load<Format::fp8_e4m3>(place);
    case Format::fp8_e5m2:
      return load<Format::fp8_e5m2>(place);
    case Format::fp64:
      return load<Format::fp64>(place);
    case Format::i32:
      break;
  }
  std::int32_t integer;
  std::memcpy(&integer, place, sizeof integer);
  return integer;
}

std::uint64_t TestTensor::bits(std::int64_t index) const {
  std::uint64_t bits = 0;
  std::memcpy(&bits, address(index), static_cast<std::size_t>(storage_bytes(view_.format)));
  return bits;
}

bool TestTensor::guards_intact() const {
  for (std::size_t i = 0; i < memory_.size(); ++i) {
    if (is_element_[i] == 0 && memory_[i] != guard) return false;
  }
  return true;
}

std::unique_ptr<TestTensor> TestTensor::clone() const {
  auto copy = std::make_unique<TestTensor>(view_.shape, view_.format);
  copy->view_.stride = view_.stride;
  copy->contiguous_ = contiguous_;
  copy->memory_ = std::vector<unsigned char>(memory_.size() + 64, guard);
  copy->is_element_.assign(copy->memory_.size(), 0);
  const std::size_t misalignment = reinterpret_cast<std::uintptr_t>(copy->memory_.data()) % 64;
  copy->start_ = guard_bytes + (64 - misalignment) % 64;
  copy->view_.data = copy->memory_.data() + copy->start_;
  std::memcpy(copy->memory_.data() + copy->start_, memory_.data() + start_, memory_.size() - start_);
  std::memcpy(copy->is_element_.data() + copy->start_, is_element_.data() + start_, memory_.size() - start_);
  return copy;
}

OpCase& OpCase::set_formats(Format format) {
  std::vector<Format> indices = in_format;
  in_format.assign(in.size(), format);
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (!is_float(indices[i])) in_format[i] = Format::i32;
  }
  out_format.assign(out.size(), format);
  compute = format == Format::fp64 ? Format::fp64 : Format::fp32;
  return *this;
}

double Uniform::operator()() {
  state_ = state_ * 6364136223846793005u + 1442695040888963407u;
  return static_cast<double>((state_ ^ (state_ >> 29)) >> 11 & ((1ull << 42) - 1)) * 0x1p-42;
}

long double rounded(long double x, Format format) {
  if (x == 0 || !std::isfinite(x)) return x;
  const FormatInfo& facts = info(format);
  int exponent;
  std::frexp(x, &exponent);  // |x| in [2^(exponent - 1), 2^exponent)
  const int lowest = std::ilogb(facts.min_normal);
  const int scale = std::max(exponent - 1, lowest) - facts.mantissa_bits;
  const long double whole = std::ldexp(x, -scale);
  long double integer = std::floor(whole);
  const long double rest = whole - integer;
  if (rest > 0.5L || (rest == 0.5L && std::fmod(integer, 2.0L) != 0)) integer += 1;
  const long double result = std::ldexp(integer, scale);
  if (std::fabs(result) > facts.max_finite) return std::copysign(HUGE_VALL, x);
  return result == 0 ? std::copysign(0.0L, x) : result;
}

namespace {

/// Every output observed: what is counted, on the CPU and by the kernels of GPUs.
void expect_same_counts(const OpCase& c, const Operands& operands, const NamedKernels& grid) {
  std::vector<RoundingCounts> cpu(c.out.size()), counted(c.out.size());
  const auto pointers = [](std::vector<RoundingCounts>& counts) {
    std::vector<RoundingCounts*> result;
    for (RoundingCounts& each : counts) result.push_back(&each);
    return result;
  };
  run(c, operands, kernels_of(InstructionSet::portable), 1, pointers(cpu));
  const auto values = run(c, operands, grid.kernels, 1, pointers(counted));
  const auto unobserved = run(c, operands, grid.kernels, 1);
  for (std::size_t o = 0; o < cpu.size(); ++o) {
    ASSERT_TRUE(same_counts(cpu[o], counted[o])) << grid.name << ": output " << o << " is counted otherwise, sum " << counted[o].sum << " and "
                                                 << cpu[o].sum << ", elements " << counted[o].elements << " and " << cpu[o].elements;
    for (std::int64_t i = 0; i < values[o]->elements(); ++i)
      ASSERT_TRUE(same_bits(*values[o], *unobserved[o], i)) << grid.name << ": counting changes output " << o << "[" << i << "]";
  }
}

template <class Outputs, class Expectations>
void expect_within(const OpCase& c, const Outputs& out, const Expectations& expected, const std::string& where) {
  for (std::size_t o = 0; o < out.size(); ++o) {
    ASSERT_EQ(static_cast<std::int64_t>(expected[o].size()), out[o]->elements());
    for (std::int64_t i = 0; i < out[o]->elements(); ++i) {
      const auto& e = expected[o][static_cast<std::size_t>(i)];
      ASSERT_TRUE(within(out[o]->get(i), e, c.out_format[o], c.compute, c.factor))
          << where << ": output " << o << "[" << i << "] is " << out[o]->get(i) << ", expected " << static_cast<double>(e.value) << ", off by "
          << static_cast<double>(out[o]->get(i) - e.value);
    }
  }
}

}  // namespace

std::string describe(const OpCase& c) {
  std::string text = c.operation + " " + to_string(c.in[0]) + " layout " + std::to_string(static_cast<int>(c.layout));
  for (const Format f : c.in_format) text += std::string(" ") + name(f);
  text += " ->";
  for (const Format f : c.out_format) text += std::string(" ") + name(f);
  return text + (c.alias_first ? " in place" : "");
}

void check(const OpCase& c) {
  SCOPED_TRACE(describe(c));
  const Operands operands = make_operands(c);
  std::vector<Values> values;
  const auto collect = [&](const TestTensor& t) {
    Values v(static_cast<std::size_t>(t.elements()));
    for (std::int64_t i = 0; i < t.elements(); ++i) v[static_cast<std::size_t>(i)] = t.get(i);
    values.push_back(std::move(v));
  };
  for (const auto& t : operands.in) collect(*t);
  if (c.updates) {
    for (const auto& t : operands.out) collect(*t);
  }
  const auto expected = c.reference(values);
  const auto first = run(c, operands, kernels_of(InstructionSet::portable), 1);
  const auto expect_same = [&](const KernelTable& kernels, int threads, const std::string& where) {
    const auto other = run(c, operands, kernels, threads);
    for (std::size_t o = 0; o < other.size(); ++o) {
      for (std::int64_t i = 0; i < other[o]->elements(); ++i) {
        ASSERT_TRUE(same_bits(*first[o], *other[o], i)) << where << ", " << threads << " threads: output " << o << "[" << i << "] "
                                                        << other[o]->get(i) << " differs from " << first[o]->get(i);
      }
    }
  };
  for (const InstructionSet set : instruction_sets()) {
    for (int threads = 1; threads <= (c.threads ? 3 : 1); ++threads) expect_same(kernels_of(set), threads, name(set));
  }
  for (const NamedKernels& grid : grid_kernels()) {
    if (!grid.kernels.contains(c.operation, c.compute)) continue;
    if (!grids_have_the_bits_of(c.compute)) {
      expect_within(c, run(c, operands, grid.kernels, 1), expected, grid.name);
      if (::testing::Test::HasFatalFailure()) return;
      continue;
    }
    expect_same(grid.kernels, 1, grid.name);
    const bool indices = !is_float(c.out_format[0]);   // nothing is rounded
    if (!indices && first[0]->elements() < 70000) expect_same_counts(c, operands, grid);
    if (::testing::Test::HasFatalFailure()) return;
  }
  expect_within(c, first, expected, "portable");
  if (::testing::Test::HasFatalFailure()) return;
  for (std::size_t o = 0; o < first.size(); ++o) {
    const Format format = c.out_format[o];
    const Format narrow = narrower_than(c, format);
    bool rejected = false;
    for (const Expected& e : expected[o])
      rejected = rejected || !within(static_cast<double>(rounded(e.value, narrow)), e, format, c.compute, c.factor);
    if (c.rejects_narrow && first[o]->elements() >= 17) {
      EXPECT_TRUE(rejected) << "output " << o << ": results rounded to " << name(narrow) << " would pass";
    }
  }
}

}  // namespace ulpscope::test
