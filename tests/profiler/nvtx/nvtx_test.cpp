// What the program tells a tool through NVTX: a run of the program itself with a recorder injected.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

struct Range {
  int category = 0;
  std::string name;
  long long payload = -1;
};

struct Said {
  std::vector<std::string> domains;
  std::map<int, std::string> categories;
  /// Every range with those around it, outermost first.
  std::vector<std::vector<Range>> ranges;
  std::size_t left_open = 0;
  bool popped_too_often = false;
};

Said read(const std::filesystem::path& path) {
  Said said;
  std::vector<Range> open;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string what, name;
    words >> what;
    if (what == "domain") {
      words >> name;
      said.domains.push_back(name);
    } else if (what == "category") {
      int id = 0;
      words >> id >> name;
      said.categories[id] = name;
    } else if (what == "push") {
      Range range;
      std::string domain, rest;
      words >> domain >> range.category;
      std::getline(words >> std::ws, rest);
      EXPECT_EQ(domain, "ulpscope");
      const std::size_t space = rest.rfind(' ');
      if (space != std::string::npos && rest.find_first_not_of("0123456789", space + 1) == std::string::npos && range.category >= 3) {
        range.payload = std::stoll(rest.substr(space + 1));
        rest.resize(space);
      }
      range.name = rest;
      open.push_back(range);
      said.ranges.push_back(open);
    } else if (what == "pop") {
      if (open.empty()) said.popped_too_often = true;
      if (!open.empty()) open.pop_back();
    }
  }
  said.left_open = open.size();
  return said;
}

class Nvtx : public ::testing::Test {
 protected:
  Nvtx() : folder_(std::filesystem::temp_directory_path() / fmt::format("ulpscope_nvtx_{}", ::getpid())) {
    std::filesystem::create_directories(folder_);
  }
  ~Nvtx() override { std::filesystem::remove_all(folder_); }

  Said run(const std::string& arguments, const std::string& recorder = ULPSCOPE_NVTX_RECORDER) {
    const std::filesystem::path log = folder_ / "said.txt";
    const std::string command =
        fmt::format("NVTX_INJECTION64_PATH='{}' ULPSCOPE_NVTX_LOG='{}' '{}' {} -o '{}' --force > '{}' 2>&1", recorder, log.string(),
                    ULPSCOPE_PROGRAM, arguments, (folder_ / "x.ulp").string(), (folder_ / "out.txt").string());
    code_ = std::system(command.c_str());
    return read(log);
  }

  std::filesystem::path folder_;
  int code_ = 0;
};

TEST_F(Nvtx, RunsPhasesStepsPassesAndNodesAreNested) {
  const Said said = run("run '" ULPSCOPE_SOURCE_DIR "/examples/mlp.toml' --modes fp32,fp16 --steps 3 --seeds 1 --timing-steps 10");
  ASSERT_EQ(code_, 0);
  EXPECT_THAT(said.domains, ::testing::ElementsAre("ulpscope"));
  const std::map<int, std::string> categories = {{1, "run"}, {2, "phase"}, {3, "step"}, {4, "pass"}, {5, "node"}};
  EXPECT_EQ(said.categories, categories);
  EXPECT_EQ(said.left_open, 0u);
  EXPECT_FALSE(said.popped_too_often);

  std::vector<std::string> runs, phases;
  std::set<long long> steps;
  std::set<std::string> passes, nodes;
  for (const auto& around : said.ranges) {
    const Range& inner = around.back();
    if (inner.category == 1) runs.push_back(inner.name);
    if (inner.category == 2) phases.push_back(inner.name);
    if (inner.category == 3) steps.insert(inner.payload);
    if (inner.category < 4) continue;
    // A node lies in a pass of its step, that in a step, a phase and a run.
    ASSERT_EQ(around.size(), static_cast<std::size_t>(inner.category)) << inner.name;
    for (std::size_t i = 0; i < around.size(); ++i) EXPECT_EQ(around[i].category, static_cast<int>(i) + 1) << inner.name;
    EXPECT_EQ(inner.payload, around[2].payload) << inner.name;
    (inner.category == 4 ? passes : nodes).insert(inner.name);
  }
  EXPECT_THAT(runs, ::testing::ElementsAre("fp32, seed 0", "fp16, seed 0"));
  EXPECT_THAT(phases, ::testing::IsSupersetOf({"training", "timing"}));
  EXPECT_EQ(steps, (std::set<long long>{0, 1, 2}));
  EXPECT_EQ(passes, (std::set<std::string>{"forward", "backward", "unscale", "update"}));
  EXPECT_THAT(nodes, Contains(HasSubstr("loss")));
  EXPECT_GT(nodes.size(), 10u);
}

TEST_F(Nvtx, WithoutAToolNothingIsSaid) {
  EXPECT_TRUE(run("run '" ULPSCOPE_SOURCE_DIR "/examples/mlp.toml' --modes fp32 --steps 1 --seeds 1 --timing-steps 0", "").ranges.empty());
  EXPECT_EQ(code_, 0);
}

}  // namespace
