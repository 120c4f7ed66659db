// Folders of processes that died are removed, those of others are left alone.
#include "profiler/experiment/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

#include "kernels/error.h"

namespace ulpscope::profiler {
namespace {

namespace fs = std::filesystem;

class TemporaryFolderTest : public ::testing::Test {
 protected:
  std::string kind() const { return "test" + std::to_string(::getpid()); }
  /// As another process would have left it.
  fs::path left(const std::string& name, bool lock) const {
    const fs::path folder = fs::temp_directory_path() / ("ulpscope-" + kind() + "-1-" + name);
    fs::create_directories(folder);
    std::ofstream(folder / "trial.ulp") << "numbers";
    if (lock) std::ofstream(folder / "lock") << "";
    return folder;
  }
};

TEST_F(TemporaryFolderTest, IsGoneWithTheObject) {
  fs::path path;
  {
    const TemporaryFolder folder(kind());
    path = folder.path();
    EXPECT_TRUE(path.filename().string().starts_with("ulpscope-" + kind() + "-" + std::to_string(::getpid()) + "-")) << path;
    std::ofstream(folder.file("a")) << "b";
    EXPECT_TRUE(fs::exists(path / "lock"));
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(TemporaryFolderTest, AFolderThatIsNotThereIsNamed) {
  const std::string before = fs::temp_directory_path();
  setenv("TMPDIR", "/nowhere/at/all", 1);
  EXPECT_THAT([this] { TemporaryFolder{kind()}; }, testing::ThrowsMessage<Error>(testing::HasSubstr("/nowhere/at/all; TMPDIR names one")));
  setenv("TMPDIR", before.c_str(), 1);
}

TEST_F(TemporaryFolderTest, OfTheDeadAreRemovedAndOfTheLivingStay) {
  const fs::path dead = left("dead", true), new_born = left("new", false), old = left("old", false);
  fs::last_write_time(old, fs::file_time_type::clock::now() - std::chrono::hours(1));
  const auto living = std::make_unique<TemporaryFolder>(kind());
  EXPECT_FALSE(fs::exists(dead));
  EXPECT_FALSE(fs::exists(old)) << "nobody takes an hour to lock";
  EXPECT_TRUE(fs::exists(new_born)) << "it may be locked in a moment";
  const TemporaryFolder another(kind());
  EXPECT_TRUE(fs::exists(living->path() / "lock")) << "its process lives";
  fs::remove_all(new_born);
}

TEST_F(TemporaryFolderTest, OfAProcessThatIsKilledIsRemovedByTheNext) {
  const std::string of_parent = kind();
  const pid_t child = fork();
  if (child == 0) {
    const TemporaryFolder folder(of_parent);
    raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  const auto of_child = [&] {
    for (const auto& each : fs::directory_iterator(fs::temp_directory_path()))
      if (each.path().filename().string().starts_with("ulpscope-" + kind() + "-" + std::to_string(child) + "-")) return true;
    return false;
  };
  EXPECT_TRUE(of_child());
  const TemporaryFolder next(kind());
  EXPECT_FALSE(of_child());
}

TEST_F(TemporaryFolderTest, LinksAreNotFollowed) {
  const fs::path kept = fs::temp_directory_path() / ("kept-" + kind()), link = fs::temp_directory_path() / ("ulpscope-" + kind() + "-1-link");
  fs::create_directories(kept);
  std::ofstream(kept / "lock") << "";
  fs::create_directory_symlink(kept, link);
  const TemporaryFolder next(kind());
  EXPECT_TRUE(fs::exists(kept / "lock"));
  fs::remove(link);
  fs::remove_all(kept);
}

}  // namespace
}  // namespace ulpscope::profiler
