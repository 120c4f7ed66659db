#include "kernels/formats/instruction_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>

#include "kernels/error.h"

namespace ulpscope {
namespace {

using ::testing::HasSubstr;

// Sets ULPSCOPE_ISA for one test and puts back what was there.
class Override {
 public:
  explicit Override(const char* value) {
    if (const char* old = std::getenv("ULPSCOPE_ISA"); old != nullptr) old_ = old;
    if (value != nullptr) setenv("ULPSCOPE_ISA", value, 1);
    if (value == nullptr) unsetenv("ULPSCOPE_ISA");
  }
  ~Override() {
    if (old_) setenv("ULPSCOPE_ISA", old_->c_str(), 1);
    if (!old_) unsetenv("ULPSCOPE_ISA");
  }

 private:
  std::optional<std::string> old_;
};

TEST(InstructionSet, NamesThereAndBack) {
  for (const InstructionSet set : {InstructionSet::portable, InstructionSet::avx2, InstructionSet::avx512})
    EXPECT_EQ(parse_instruction_set(name(set)), set);
  try {
    parse_instruction_set("sse9");
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("'sse9'"));
    EXPECT_THAT(error.what(), HasSubstr("portable, avx2, avx512"));
  }
}

TEST(InstructionSet, BestIsAvailableAndNothingBetterIs) {
  const Override none(nullptr);
  const InstructionSet best = best_instruction_set();
  EXPECT_TRUE(available(best));
  EXPECT_TRUE(available(InstructionSet::portable));
  for (const InstructionSet set : {InstructionSet::avx2, InstructionSet::avx512})
    EXPECT_TRUE(set <= best || !available(set));
  EXPECT_THAT(available_instruction_sets(), HasSubstr(name(best)));
}

TEST(InstructionSet, VariableOverrides) {
  {
    const Override portable("portable");
    EXPECT_EQ(best_instruction_set(), InstructionSet::portable);
  }
  {
    const Override empty("");
    EXPECT_TRUE(available(best_instruction_set()));
  }
  const Override wrong("mmx");
  try {
    best_instruction_set();
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("ULPSCOPE_ISA='mmx'"));
    EXPECT_THAT(error.what(), HasSubstr(available_instruction_sets()));
  }
}

}  // namespace
}  // namespace ulpscope
