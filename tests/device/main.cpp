// same_steps [--json] A.ulp B.ulp: exit code 1 if the two recordings differ by more than devices may.
#include <cstdio>
#include <exception>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/device/same_steps.h"

namespace {

using ulpscope::test::SameSteps;

nlohmann::json step_number(const std::optional<std::int64_t>& step) { return step ? nlohmann::json(*step + 1) : nlohmann::json(nullptr); }

nlohmann::json json_of(const SameSteps& s) {
  return {{"mode", s.mode},
          {"seed", s.seed},
          {"steps", s.steps},
          {"first_step_near_limit", step_number(s.near_limit)},
          {"first_skip_that_differs", step_number(s.skip_differs)},
          {"greatest_loss_difference", s.greatest_difference},
          {"tolerance_of_first_steps", s.tolerance},
          {"wrong", s.wrong}};
}

void print(const SameSteps& s) {
  std::printf("%-10s seed %lld: %lld steps, losses up to %.3g apart", s.mode.c_str(), static_cast<long long>(s.seed), static_cast<long long>(s.steps),
              s.greatest_difference);
  if (s.skip_differs) std::printf(", skipped steps differ from step %lld on", static_cast<long long>(*s.skip_differs + 1));
  if (!s.skip_differs) std::printf(", the same steps skipped");
  if (s.near_limit) std::printf(", a gradient within 10 %% of its limit in step %lld", static_cast<long long>(*s.near_limit + 1));
  std::printf("%s%s\n", s.wrong.empty() ? "" : ": WRONG: ", s.wrong.c_str());
}

}  // namespace

int main(int count, char** words) {
  std::vector<std::string> paths;
  bool json = false;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    json = json || word == "--json";
    if (word != "--json") paths.push_back(word);
  }
  if (paths.size() != 2) {
    std::fputs("usage: same_steps [--json] A.ulp B.ulp\n", stderr);
    return 2;
  }
  try {
    const std::vector<SameSteps> all = ulpscope::test::same_steps(ulpscope::reports::RunFileReader(paths[0]), ulpscope::reports::RunFileReader(paths[1]));
    bool right = true;
    nlohmann::json list = nlohmann::json::array();
    for (const SameSteps& s : all) {
      right = right && s.wrong.empty();
      list.push_back(json_of(s));
      if (!json) print(s);
    }
    if (json) std::printf("%s\n", list.dump(2).c_str());
    return right ? 0 : 1;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "same_steps: %s\n", e.what());
    return 2;
  }
}
