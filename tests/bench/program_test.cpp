// The bench program: every row is printed and written, whatever the clock said; wrong use ends in one line.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "kernels/error.h"
#include "tests/bench/rows.h"
#include "tests/bench/scratch_folder.h"

namespace ulpscope::bench {
namespace {

struct Outcome {
  int code = -1;
  std::string printed;
};

Outcome run_bench(const std::string& arguments) {
  Outcome outcome;
  FILE* pipe = popen((ULPSCOPE_BENCH_PROGRAM " " + arguments + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return outcome;
  std::array<char, 4096> buffer{};
  while (std::fgets(buffer.data(), static_cast<int>(buffer.size()), pipe) != nullptr) outcome.printed += buffer.data();
  const int status = pclose(pipe);
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return outcome;
}

TEST(BenchProgram, PrintsAndWritesEveryRow) {
  const ScratchFolder folder;
  const std::string file = folder.file("bench.json");
  const Outcome outcome = run_bench("--quick --tiny -o " + file);
  ASSERT_TRUE(outcome.code == 0 || outcome.code == 1) << outcome.code << "\n" << outcome.printed;
  const nlohmann::json json = nlohmann::json::parse(std::ifstream(file));
  ASSERT_EQ(json.at("rows").size(), all_rows().size());
  bool beyond = false;
  for (std::size_t i = 0; i < all_rows().size(); ++i) {
    const Row& row = all_rows()[i];
    EXPECT_NE(outcome.printed.find("\n" + row.name + " "), std::string::npos) << row.name;
    const nlohmann::json& r = json.at("rows").at(i);
    EXPECT_EQ(r.at("name"), row.name);
    EXPECT_EQ(r.at("values").size(), 7u) << row.name;
    EXPECT_GT(r.at("median").get<double>(), 0.0) << row.name;
    EXPECT_LE(r.at("low").get<double>(), r.at("median").get<double>()) << row.name;
    EXPECT_GE(r.at("high").get<double>(), r.at("median").get<double>()) << row.name;
    EXPECT_GE(r.at("coverage").get<double>(), confidence) << row.name;
    beyond |= r.at("verdict") == "beyond the bar";
  }
  EXPECT_EQ(outcome.code, beyond ? 1 : 0);
  EXPECT_TRUE(json.at("context").contains("num_cpus"));
}

TEST(BenchProgram, AFilterMeasuresOnlyWhatItNames) {
  const ScratchFolder folder;
  const Outcome outcome = run_bench("--quick --tiny --filter kept -o " + folder.file("bench.json"));
  ASSERT_TRUE(outcome.code == 0 || outcome.code == 1) << outcome.printed;
  EXPECT_NE(outcome.printed.find("kept/bf16"), std::string::npos);
  EXPECT_EQ(outcome.printed.find("steps/"), std::string::npos);
}

TEST(BenchProgram, WrongUseIsOneLineAndCode2) {
  for (const auto& [arguments, said] : {std::pair<std::string, std::string>{"--filter nonsense", "Rows: products/own"},
                                        {"--repetitions 3", "at least 7"},
                                        {"--frobnicate", "--frobnicate"},
                                        {"--quick -o /nowhere/bench.json", "cannot write /nowhere/bench.json"}}) {
    const Outcome outcome = run_bench(arguments);
    EXPECT_EQ(outcome.code, 2) << arguments;
    EXPECT_NE(outcome.printed.find(said), std::string::npos) << outcome.printed;
    EXPECT_EQ(outcome.printed.find('\n'), outcome.printed.size() - 1) << outcome.printed;
  }
}

}  // namespace
}  // namespace ulpscope::bench
