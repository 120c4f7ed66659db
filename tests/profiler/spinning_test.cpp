// What `ulpscope run` tells libgomp, seen in the run file's account of the machine.
#include "profiler/cli/spinning.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "reports/run_file/reader.h"
#include "tests/reports/scratch.h"

namespace ulpscope::profiler {
namespace {

class Spinning : public reports::Scratch {
 protected:
  /// The variables of that kind that a run sees, if it is started with these settings (and without others).
  nlohmann::json variables(const std::string& settings) {
    write(in("text.txt"), std::string(2000, 'x'));
    write(in("tiny.toml"),
          "[model]\ncontext = 8\nwidth = 16\nlayers = 1\nheads = 2\n[data]\npath = 'text.txt'\n"
          "[train]\nsteps = 1\nbatch = 2\nevaluation_batches = 1\n[run]\nmodes = ['fp32']\nthreads = 1\n");
    const std::string command = "env -u GOMP_SPINCOUNT -u OMP_WAIT_POLICY " + settings + " '" ULPSCOPE_PROGRAM "' run '" +
                                in("tiny.toml") + "' --timing_steps 0 -o '" + in("a.ulp") + "' > '" + in("log") + "' 2>&1";
    EXPECT_EQ(std::system(command.c_str()), 0) << read(in("log"));
    const auto machines = reports::RunFileReader(in("a.ulp")).machines();
    const nlohmann::json all = nlohmann::json::parse(machines.at(0).environment_json);
    nlohmann::json some = nlohmann::json::object();
    for (const char* name : {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"})
      if (all.contains("variables") && all["variables"].contains(name)) some[name] = all["variables"][name];
    return some;
  }
};

TEST_F(Spinning, IsBoundedUnlessTheUserHasSaidOtherwise) {
  EXPECT_EQ(variables(""), (nlohmann::json{{"GOMP_SPINCOUNT", bounded_spins}}));
}
TEST_F(Spinning, AUsersCountStays) {
  EXPECT_EQ(variables("GOMP_SPINCOUNT=77"), (nlohmann::json{{"GOMP_SPINCOUNT", "77"}}));
}
TEST_F(Spinning, AUsersPolicyStays) {
  EXPECT_EQ(variables("OMP_WAIT_POLICY=passive"), (nlohmann::json{{"OMP_WAIT_POLICY", "passive"}}));
}

}  // namespace
}  // namespace ulpscope::profiler
