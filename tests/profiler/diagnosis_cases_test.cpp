// Every examples/cases/NN.toml recorded and diagnosed: what NN.expect.toml says under `diagnosis`, and that a healthy
// twin is called healthy. The form of an expectation: examples/README.md.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "profiler/experiment/experiment_file.h"
#include "profiler/experiment/runner.h"
#include "reports/analysis/diagnosis/diagnosis.h"

namespace ulpscope::profiler {
namespace {

namespace fs = std::filesystem;
using reports::Cause;
using reports::RunDiagnosis;

const fs::path folder = fs::path(ULPSCOPE_SOURCE_DIR) / "examples" / "cases";

std::vector<std::string> case_names() {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".toml" && entry.path().stem().extension() != ".expect")
      names.push_back(entry.path().stem());
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

Experiment experiment_of(const std::string& name, const toml::table& table) {
  Settings settings;
  settings.add_file((folder / (name + ".toml")).string());
  for (const std::string& assignment : texts(table, "set")) settings.add_assignment(assignment);
  Experiment experiment = settings.build();
  for (const std::string& what : texts(table, "without")) {
    if (what == "override") experiment.train.overrides.clear();
    if (what == "inject") experiment.train.injections.clear();
  }
  if (table.contains("modes")) experiment.run.modes = texts(table, "modes");
  experiment.run.timing_steps = 0;
  experiment.run.checkpoint_every = -1;
  return experiment;
}

struct Scratch {
  Scratch() {
    std::string name = (fs::temp_directory_path() / "ulpscope-diagnosis-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp " + name);
    folder = name;
  }
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(folder, ignored);
  }
  fs::path folder;
};

reports::Diagnosis record_and_diagnose(const Experiment& experiment, const fs::path& file) {
  Runner runner(experiment);
  reports::RunFileWriter writer(file.string(), {.overwrite = true});
  Watcher watcher;
  runner.run(
      writer, watcher, [] { return false; }, "ulpscope run");
  writer.close();
  return reports::diagnose(reports::RunFileReader(file.string()));
}

bool means(const toml::table& expected, const Cause& cause) {
  const auto is = [&](const char* key, std::string_view found) {
    const auto wanted = expected[key].value<std::string>();
    return !wanted || *wanted == found;
  };
  const auto step = expected["step"].value<std::int64_t>();
  return is("kind", name(cause.kind)) && is("gravity", name(cause.gravity)) && is("node", cause.node) &&
         is("tensor", cause.tensor) && is("phase", cause.phase) && (!step || cause.step == step);
}

std::string told(const RunDiagnosis& run) {
  std::string text = fmt::format("\n  {}: {}", name(run.outcome), run.verdict);
  for (const Cause& c : run.causes) {
    text += fmt::format("\n  {} [{}] {} {} step {}: {}", name(c.kind), name(c.gravity), c.node, c.phase,
                        c.step.value_or(-1), c.what);
    text += fmt::format("\n    {} -> {}", fmt::join(c.chain, " > "), c.reaches);
    for (const reports::Fact& f : c.facts) text += fmt::format("\n    {} = {}", f.key, f.text);
  }
  return text + fmt::format("\n  {}", fmt::join(run.reasons, "\n  ")) +
         fmt::format("\n  {}", fmt::join(run.notes, "\n  "));
}

void check_facts(const toml::table& facts, const Cause& cause, const std::string& where) {
  for (const auto& [key, expected] : facts) {
    const auto found = std::find_if(cause.facts.begin(), cause.facts.end(),
                                    [&key = key](const reports::Fact& f) { return f.key == key.str(); });
    ASSERT_NE(found, cause.facts.end()) << where << ": no fact " << key.str();
    const double wanted = *expected.value<double>();
    EXPECT_NEAR(found->value.value_or(NAN), wanted, std::fabs(wanted) * 2e-4) << where << ": " << key.str();
  }
}

void check_run(const toml::table& expected, const RunDiagnosis& run, const std::string& where) {
  const std::string all = told(run);
  if (const auto outcome = expected["outcome"].value<std::string>()) {
    EXPECT_EQ(*outcome, name(run.outcome)) << where << all;
  }
  for (const std::string& unwanted : texts(expected, "not"))
    EXPECT_TRUE(
        std::none_of(run.causes.begin(), run.causes.end(), [&](const Cause& c) { return name(c.kind) == unwanted; }))
        << where << all;
  for (const std::string& words : texts(expected, "words"))
    EXPECT_NE(all.find(words), std::string::npos) << where << ": \"" << words << "\" in" << all;
  if (!expected.contains("kind")) return;
  const auto cause =
      std::find_if(run.causes.begin(), run.causes.end(), [&](const Cause& c) { return means(expected, c); });
  ASSERT_NE(cause, run.causes.end()) << where << all;
  if (const toml::table* facts = expected["facts"].as_table()) check_facts(*facts, *cause, where + all);
  if (expected["first"].value_or(false)) {
    EXPECT_EQ(cause, run.causes.begin()) << where << all;
  }
}

/// What is printed after "here:" can be used as it stands: the experiment takes it.
void check_remedies(const std::string& name, const toml::table& table, const RunDiagnosis& run, const std::string& where) {
  for (const Cause& cause : run.causes)
    for (const reports::Remedy& remedy : cause.remedies) {
      if (remedy.ulpscope.empty()) continue;
      if (remedy.ulpscope.starts_with("override = ")) {
        EXPECT_NO_THROW((void)toml::parse(remedy.ulpscope)) << where << ": " << remedy.ulpscope;
        continue;
      }
      Settings settings;
      settings.add_file((folder / (name + ".toml")).string());
      try {
        for (const std::string& assignment : texts(table, "set")) settings.add_assignment(assignment);
        settings.add_assignment(remedy.ulpscope);
        (void)settings.build();
      } catch (const std::exception& e) {
        ADD_FAILURE() << where << ": " << reports::name(cause.kind) << ": " << remedy.ulpscope << ": " << e.what();
      }
    }
}

class DiagnosedCase : public ::testing::TestWithParam<std::string> {};

TEST_P(DiagnosedCase, NamesItsFault) {
  const Scratch scratch;
  const toml::table all = toml::parse_file((folder / (GetParam() + ".expect.toml")).string());
  bool any = false;
  for (const toml::node& node : *all.get_as<toml::array>("run")) {
    const toml::table& table = *node.as_table();
    const toml::array* expected = table.get_as<toml::array>("diagnosis");
    const bool healthy = table["healthy"].value_or(false) && expected == nullptr;
    if (table.contains("refused") || (expected == nullptr && !healthy)) continue;
    any = true;
    const std::string where = fmt::format("{}.expect.toml:{}", GetParam(), table.source().begin.line);
    const reports::Diagnosis diagnosis =
        record_and_diagnose(experiment_of(GetParam(), table), scratch.folder / "case.ulp");
    for (const RunDiagnosis& run : diagnosis.runs) {
      check_remedies(GetParam(), table, run, where);
      if (healthy) {
        EXPECT_EQ(name(run.outcome), "healthy") << where << " (" << run.run.mode << "): a healthy twin" << told(run);
      }
      for (std::size_t i = 0; expected != nullptr && i < expected->size(); ++i) {
        const toml::table& one = *expected->get(i)->as_table();
        const std::vector<std::string> modes = texts(one, "mode");
        if (modes.empty() || std::find(modes.begin(), modes.end(), run.run.mode) != modes.end())
          check_run(one, run, fmt::format("{}:{} ({})", where, one.source().begin.line, run.run.mode));
      }
    }
  }
  EXPECT_TRUE(any) << GetParam() << ".expect.toml says nothing of a diagnosis";
}

INSTANTIATE_TEST_SUITE_P(Cases, DiagnosedCase, ::testing::ValuesIn(case_names()),
                         [](const ::testing::TestParamInfo<std::string>& each) {
                           std::string name = each.param;
                           std::replace_if(
                               name.begin(), name.end(),
                               [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
                           return "case_" + name;
                         });

}  // namespace
}  // namespace ulpscope::profiler
