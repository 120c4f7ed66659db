// ulpscope view: finds the viewer and becomes it, or says in one line why not.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <sstream>

#include "profiler/cli/program.h"
#include "tests/reports/made_up_runs.h"
#include "tests/reports/scratch.h"

namespace ulpscope::profiler {
namespace {

class ViewCommand : public reports::Scratch {
 protected:
  void SetUp() override {
    reports::make_run_file(in("run.ulp"), {reports::made_up("fp32", 1, 2.0)});
    std::filesystem::create_directory(in("programs"));
    setenv("PATH", in("programs").c_str(), 1);  // each case is a process of its own
  }
  int view(const std::vector<std::string>& files) {
    std::vector<std::string> arguments{"view"};
    arguments.insert(arguments.end(), files.begin(), files.end());
    err_.str("");
    return run_program(arguments, out_, err_);
  }
  std::ostringstream out_, err_;
};

TEST_F(ViewCommand, WithoutAViewerItSaysHowToGetOne) {
  EXPECT_EQ(view({in("run.ulp")}), exit_usage);
  EXPECT_NE(err_.str().find("ulpscope-gui is neither beside ulpscope nor in PATH"), std::string::npos) << err_.str();
  EXPECT_EQ(err_.str().find('\n'), err_.str().size() - 1);
}

TEST_F(ViewCommand, AFileThatIsNoRunFileIsRefusedHere) {
  EXPECT_EQ(view({in("missing.ulp")}), exit_usage);
  EXPECT_NE(err_.str().find("missing.ulp: there is no such file"), std::string::npos) << err_.str();
}

TEST_F(ViewCommand, ItBecomesTheViewer) {
  const std::string viewer = in("programs") + "/ulpscope-gui";
  write(viewer, "#!/bin/sh\necho \"given: $*\" >&2\nexit 7\n");
  std::filesystem::permissions(viewer, std::filesystem::perms::owner_all);
  EXPECT_EXIT(view({in("run.ulp")}), testing::ExitedWithCode(7), "given: " + in("run.ulp"));
}

}  // namespace
}  // namespace ulpscope::profiler
