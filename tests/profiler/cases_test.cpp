// Every examples/cases/NN.toml with the numbers beside it (NN.expect.toml): docs in examples/README.md.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "kernels/error.h"
#include "tests/profiler/support/case_run.h"

namespace ulpscope::profiler {
namespace {

namespace fs = std::filesystem;
using testing::CaseRun;

const fs::path folder = fs::path(ULPSCOPE_SOURCE_DIR) / "examples" / "cases";

std::vector<std::string> case_names() {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".toml" && entry.path().stem().extension() != ".expect") names.push_back(entry.path().stem());
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> texts(const toml::table& table, const char* key) {
  std::vector<std::string> list;
  if (const auto* one = table.get_as<std::string>(key)) return {one->get()};
  if (const toml::array* array = table.get_as<toml::array>(key))
    for (const toml::node& node : *array) list.push_back(*node.value<std::string>());
  return list;
}

/// What is compared, as "05.expect.toml:12 (fp16)".
std::string place(const std::string& name, const toml::node& node, const std::string& mode) {
  return fmt::format("{}.expect.toml:{} ({})", name, node.source().begin.line, mode);
}

/// Digit for digit: fp32 numbers as such, so that 0.94 means the fp32 number next to it. NaN equals NaN.
void compare(double expected, double found, const toml::table& check, const std::string& where) {
  if (std::isnan(expected) || std::isnan(found)) {
    EXPECT_EQ(std::isnan(expected), std::isnan(found)) << where << ": expected " << expected << ", found " << found;
  } else if (const auto within = check["within"].value<double>()) {
    EXPECT_LE(std::fabs(found - expected), *within) << where << fmt::format(": expected {} within {}, found {}", expected, *within, found);
  } else {
    EXPECT_EQ(static_cast<float>(expected), static_cast<float>(found)) << where << fmt::format(": expected {}, found {}", expected, found);
  }
}

void check_value(const toml::table& check, const CaseRun& run, const std::string& where) {
  const std::string name = *check["value"].value<std::string>();
  const std::int64_t step = check["step"].value_or(run.steps() - 1);
  const auto index = static_cast<std::size_t>(check["index"].value_or(std::int64_t{0}));
  const std::vector<float>& values = run.value(name, step);
  std::vector<double> expected;
  if (const toml::array* list = check["is"].as_array()) {
    for (const toml::node& node : *list) expected.push_back(*node.value<double>());
  } else {
    ASSERT_TRUE(check["is"].is_number()) << where << ": a value needs `is`";
    expected.push_back(*check["is"].value<double>());
  }
  const bool all = check["all"].value_or(false);
  const std::size_t count = all ? values.size() : expected.size();
  ASSERT_LE(index + count, values.size()) << where;
  for (std::size_t i = 0; i < count; ++i)
    compare(expected[all ? 0 : i], static_cast<double>(values[index + i]), check, fmt::format("{}: {}[{}] after step {}", where, name, index + i, step));
}

void check_counts(const toml::table& check, const CaseRun& run, const std::string& where) {
  const std::string name = *check["node"].value<std::string>();
  const RoundingCounts& c = run.counts(name, check["step"].value_or(run.steps() - 1));
  const std::pair<const char*, double> counts[] = {
      {"nan", static_cast<double>(c.nan)},
      {"positive_infinity", static_cast<double>(c.positive_infinity)},
      {"negative_infinity", static_cast<double>(c.negative_infinity)},
      {"overflowed", static_cast<double>(c.overflowed)},
      {"flushed", static_cast<double>(c.flushed)},
      {"lost_updates", static_cast<double>(c.lost_updates)},
      {"elements", static_cast<double>(c.elements)},
      {"greatest", c.greatest_magnitude},
  };
  int checked = 0;
  for (const auto& [key, found] : counts)
    if (const auto expected = check[key].value<double>()) {
      compare(*expected, found, check, fmt::format("{}: {} of {}", where, key, name));
      ++checked;
    }
  EXPECT_GT(checked, 0) << where << ": says nothing about the node";
}

void check_step(const toml::table& check, const CaseRun& run, const std::string& where) {
  const std::int64_t step = check["step"].value_or(run.steps() - 1);
  const engine::StepResult& r = run.result(step);
  const std::pair<const char*, double> numbers[] = {
      {"loss", static_cast<double>(r.loss)},
      {"scale", static_cast<double>(r.loss_scale)},
      {"next_scale", static_cast<double>(r.next_loss_scale)},
      {"lr", static_cast<double>(r.learning_rate)},
      {"norm", static_cast<double>(r.gradient_norm)},
      {"clip", static_cast<double>(r.clip_coefficient)},
      {"applied", static_cast<double>(r.applied)},
  };
  int checked = 0;
  for (const auto& [key, found] : numbers)
    if (const auto expected = check[key].value<double>()) {
      compare(*expected, found, check, fmt::format("{}: {} of step {}", where, key, step));
      ++checked;
    }
  for (const auto& [key, found] : {std::pair{"skipped", r.skipped}, std::pair{"finite", r.finite}, std::pair{"stopped", r.stopped}})
    if (const auto expected = check[key].value<bool>()) {
      EXPECT_EQ(*expected, found) << where << ": " << key << " of step " << step;
      ++checked;
    }
  EXPECT_GT(checked, 0) << where << ": says nothing that is known of a step";
}

/// What is said of the run as a whole. False: the check is of another kind.
bool check_whole(const toml::table& check, const CaseRun& run, const std::string& where) {
  bool any = false;
  const auto number = [&](const char* key, double found) {
    const auto expected = check[key].value<double>();
    if (!expected) return;
    any = true;
    compare(*expected, found, check, where + ": " + key);
  };
  number("skips", static_cast<double>(run.skips()));
  number("losses_not_finite", static_cast<double>(run.losses_not_finite()));
  number("greatest_scale", static_cast<double>(run.greatest_scale()));
  number("evaluation", run.evaluation());
  number("parameters_with_gradient", static_cast<double>(run.with_gradient().size()));
  if (const auto expected = check["first_not_finite"].value<std::string>()) {
    any = true;
    EXPECT_EQ(*expected, run.first_not_finite()) << where;
  }
  if (check.contains("without_gradient")) {
    any = true;
    EXPECT_EQ(texts(check, "without_gradient"), run.without_gradient()) << where;
  }
  if (check.contains("non_standard")) {
    any = true;
    const std::vector<std::string> expected = texts(check, "non_standard");
    EXPECT_EQ(expected.size(), run.non_standard().size()) << where;
    for (std::size_t i = 0; i < std::min(expected.size(), run.non_standard().size()); ++i) EXPECT_NE(run.non_standard()[i].find(expected[i]), std::string::npos) << where << ": " << run.non_standard()[i];
  }
  return any;
}

void check_one(const toml::table& check, const CaseRun& run, const std::string& where) {
  if (check.contains("value")) return check_value(check, run, where);
  if (check.contains("node")) return check_counts(check, run, where);
  if (check_whole(check, run, where)) return;
  check_step(check, run, where);
}

void run_mode(const std::string& name, const toml::table& table, const std::string& mode, Experiment experiment) {
  const toml::array* checks = table.get_as<toml::array>("expect");
  const bool healthy = table["healthy"].value_or(false);
  ASSERT_TRUE(checks != nullptr || healthy) << place(name, table, mode) << ": expects nothing";
  std::vector<testing::Wanted> wanted;
  for (std::size_t i = 0; checks != nullptr && i < checks->size(); ++i) {
    const toml::table* check = checks->get(i)->as_table();
    ASSERT_NE(check, nullptr) << place(name, *checks, mode);
    if (const auto value = (*check)["value"].value<std::string>())
      wanted.push_back({*value, (*check)["step"].value_or(experiment.train.steps - 1)});
  }
  const CaseRun run(std::move(experiment), mode, wanted);
  if (healthy) {
    EXPECT_EQ(run.first_not_finite(), "") << place(name, table, mode) << ": is said to be healthy";
    EXPECT_EQ(run.skips(), 0) << place(name, table, mode) << ": is said to be healthy";
    EXPECT_EQ(run.losses_not_finite(), 0) << place(name, table, mode) << ": is said to be healthy";
  }
  for (std::size_t i = 0; checks != nullptr && i < checks->size(); ++i)
    check_one(*checks->get(i)->as_table(), run, place(name, *checks->get(i), mode));
}

Experiment experiment_of(const std::string& name, const toml::table& table) {
  Settings settings;
  settings.add_file((folder / (name + ".toml")).string());
  for (const std::string& assignment : texts(table, "set")) settings.add_assignment(assignment);
  Experiment experiment = settings.build();
  for (const std::string& what : texts(table, "without")) {
    if (what == "override") experiment.train.overrides.clear();
    if (what == "inject") experiment.train.injections.clear();
  }
  return experiment;
}

class Case : public ::testing::TestWithParam<std::string> {};

TEST_P(Case, GivesItsNumbers) {
  const fs::path file = folder / (GetParam() + ".expect.toml");
  ASSERT_TRUE(fs::exists(file)) << "the case " << GetParam() << " has no expectations: " << file;
  const toml::table all = toml::parse_file(file.string());
  const toml::array* runs = all.get_as<toml::array>("run");
  ASSERT_NE(runs, nullptr) << file << " has no [[run]]";
  for (const toml::node& node : *runs) {
    const toml::table& table = *node.as_table();
    if (const auto refusal = table["refused"].value<std::string>()) {
      const auto build = [&] {
        const Experiment e = experiment_of(GetParam(), table);
        for (const std::string& mode : e.run.modes) CaseRun(e, mode, {});
      };
      try {
        build();
        ADD_FAILURE() << place(GetParam(), table, "any mode") << ": was not refused";
      } catch (const UsageError& error) {
        EXPECT_NE(std::string(error.what()).find(*refusal), std::string::npos) << error.what();
      }
      continue;
    }
    const Experiment experiment = experiment_of(GetParam(), table);
    const std::vector<std::string> modes = table.contains("modes") ? texts(table, "modes") : experiment.run.modes;
    for (const std::string& mode : modes) run_mode(GetParam(), table, mode, experiment);
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, Case, ::testing::ValuesIn(case_names()), [](const ::testing::TestParamInfo<std::string>& each) {
  std::string name = each.param;
  std::replace_if(name.begin(), name.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return "case_" + name;
});

}  // namespace
}  // namespace ulpscope::profiler
