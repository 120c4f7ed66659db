// Free memory of a control group, and JSON that must stay JSON.
#include "profiler/experiment/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "profiler/experiment/json_text.h"
#include "profiler/experiment/plan_records.h"

namespace ulpscope::profiler {
namespace {

class ControlGroup : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(root_ + "/memory"); }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void file(const std::string& name, const std::string& text) const { std::ofstream(root_ + "/" + name) << text; }

  std::string root_ = testing::TempDir() + "ulpscope_cgroup_" + std::to_string(::getpid());
};

TEST_F(ControlGroup, CachedFilesAreAsGoodAsFree) {
  file("memory.max", "1000000\n");
  file("memory.current", "900000\n");
  EXPECT_EQ(control_group_free_bytes(root_), 100000);
  file("memory.stat", "anon 200000\nfile 700000\ninactive_file 600000\nactive_file 100000\n");
  EXPECT_EQ(control_group_free_bytes(root_), 700000);
}

TEST_F(ControlGroup, OfVersion1Too) {
  file("memory/memory.limit_in_bytes", "1000\n");
  file("memory/memory.usage_in_bytes", "900\n");
  file("memory/memory.stat", "cache 500\ninactive_file 1\ntotal_inactive_file 400\n");
  EXPECT_EQ(control_group_free_bytes(root_), 500);
}

TEST_F(ControlGroup, WithoutALimitThereIsNone) {
  EXPECT_EQ(control_group_free_bytes(root_), std::nullopt);
  file("memory.max", "max\n");
  file("memory.current", "900000\n");
  EXPECT_EQ(control_group_free_bytes(root_), std::nullopt);
}

TEST(AttributesJson, NumbersThatAreNotFiniteAreWords) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  const auto json = nlohmann::json::parse(attributes_json(
      {{"mask", -inf}, {"limit", inf}, {"hole", std::numeric_limits<double>::quiet_NaN()}, {"epsilon", 0.5}}));
  EXPECT_EQ(json["mask"], "-inf");
  EXPECT_EQ(json["limit"], "inf");
  EXPECT_EQ(json["hole"], "nan");
  EXPECT_EQ(json["epsilon"], 0.5);
}

TEST(JsonText, ReplacesWhatIsNotUtf8) { EXPECT_EQ(json_text({{"path", "a\xff"}}), "{\"path\":\"a\xEF\xBF\xBD\"}"); }

}  // namespace
}  // namespace ulpscope::profiler
