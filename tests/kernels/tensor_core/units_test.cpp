// The table of units: which formats each generation multiplies, and that every row can be carried out.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "kernels/error.h"
#include "kernels/tensor_core/units.h"

namespace ulpscope::tensor_core {
namespace {

TEST(Units, WhatEachGenerationMultiplies) {
  const auto has = [](MatrixUnit unit, Format format) { return rule_of(unit, format) != nullptr; };
  for (const MatrixUnit unit : {MatrixUnit::v100, MatrixUnit::turing}) {
    EXPECT_TRUE(has(unit, Format::fp16));
    for (const Format format : {Format::bf16, Format::tf32, Format::fp8_e4m3, Format::fp8_e5m2, Format::fp32})
      EXPECT_FALSE(has(unit, format)) << name(format);
  }
  for (const MatrixUnit unit : {MatrixUnit::ampere, MatrixUnit::ada, MatrixUnit::hopper, MatrixUnit::blackwell}) {
    for (const Format format : {Format::fp16, Format::bf16, Format::tf32}) EXPECT_TRUE(has(unit, format)) << name(format);
    EXPECT_EQ(has(unit, Format::fp8_e4m3), unit != MatrixUnit::ampere);
    EXPECT_FALSE(has(unit, Format::fp32));
    EXPECT_FALSE(has(unit, Format::fp64));
  }
  EXPECT_EQ(rule_of(MatrixUnit::none, Format::fp16), nullptr);
}

TEST(Units, EveryRowCanBeCarriedOut) {
  std::set<std::string> seen;
  for (const Unit& unit : units()) {
    EXPECT_NO_THROW(check(unit.rule));
    EXPECT_NE(std::string(unit.basis), "");
    const std::string key = std::string(name(unit.generation)) + name(unit.rule.operands) + name(unit.rule.result) + unit.instruction;
    EXPECT_TRUE(seen.insert(key).second) << key;
  }
}

TEST(Units, Fp8DependsOnTheInstruction) {
  EXPECT_EQ(find_unit(MatrixUnit::hopper, Format::fp8_e4m3)->rule.fraction, 13);
  EXPECT_EQ(find_unit(MatrixUnit::hopper, Format::fp8_e4m3, Result::fp32, "mma.sync")->rule.fraction, 25);
  EXPECT_EQ(find_unit(MatrixUnit::blackwell, Format::fp8_e5m2)->rule.width, 32);
  EXPECT_EQ(find_unit(MatrixUnit::blackwell, Format::fp8_e5m2)->evidence, Evidence::unverified);
  EXPECT_EQ(find_unit(MatrixUnit::hopper, Format::fp8_e4m3, Result::fp32, "tcgen05"), nullptr);
}

TEST(Units, RulesThatCannotBeCarriedOutAreRefused) {
  const SumRule good = *rule_of(MatrixUnit::hopper, Format::fp16);
  const auto refused = [&](auto change) {
    SumRule rule = good;
    change(rule);
    EXPECT_THROW(check(rule), UsageError);
  };
  refused([](SumRule& r) { r.width = 0; });
  refused([](SumRule& r) { r.width = 33; });
  refused([](SumRule& r) { r.fraction = 26; });
  refused([](SumRule& r) { r.operands = Format::fp32; });
  refused([](SumRule& r) { r.restart = 24; });
  refused([](SumRule& r) { r.restart = 1024; });
  EXPECT_EQ(promoted(good, 128).restart, 128);
  EXPECT_THROW(promoted(good, 100), UsageError);
}

}  // namespace
}  // namespace ulpscope::tensor_core
