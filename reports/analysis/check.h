// Whether a recording is what somebody's pipeline wants it to be: rules, and one finding for each break of one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reports/analysis/compare.h"

namespace ulpscope::reports {

struct CheckRule {
  std::string name;             ///< one of check_rules()
  std::optional<double> limit;  ///< of skip-rate
};

struct CheckRuleInfo {
  const char* name;
  const char* meaning;
  bool takes_limit = false;
};
/// Every rule there is.
const std::vector<CheckRuleInfo>& check_rules();

/// "overflow,skip-rate=0.1" and the like, in several words or one. Throws UsageError "--fail-on WORD: …" naming the nearest and
/// every rule.
std::vector<CheckRule> parse_check_rules(const std::vector<std::string>& words);

struct Finding {
  std::string file;
  std::string rule;
  std::string mode;                    ///< empty: the whole recording
  std::optional<std::int64_t> seed;    ///< none: all of the mode
  std::string text;                    ///< in words: "2 of 200 steps overflowed, first in step 5"
};

struct CheckResult {
  std::vector<std::string> files;
  std::vector<CheckRule> rules;
  std::int64_t runs = 0;
  std::vector<Finding> findings;
};

/// What is unknown (steps that are missing from the recording) is a finding: nothing can be vouched for. Throws UsageError if
/// there is no reader or no run.
CheckResult check(const std::vector<const RunFileReader*>& readers, const std::vector<CheckRule>& rules);

}  // namespace ulpscope::reports
