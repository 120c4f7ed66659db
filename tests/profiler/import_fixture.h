// A folder for a test, the program in it, and files made up by the test.
#pragma once

#include <gmock/gmock.h>
#include <unistd.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "profiler/cli/program.h"
#include "reports/run_file/reader.h"
#include "tests/profiler/support/answer.h"

namespace ulpscope::profiler {

class ImportFixture : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "ulpscope_import_" + testing::UnitTest::GetInstance()->current_test_info()->name() + "_" + std::to_string(::getpid());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string in(const std::string& name) const { return folder_ + "/" + name; }
  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(in(name), std::ios::binary) << text;
    return in(name);
  }
  /// Compressed; of the packed bytes the first `share` alone.
  std::string gzip(const std::string& name, const std::string& text, double share = 1.0) const {
    const std::string whole = in(name + ".whole");
    gzFile out = gzopen(whole.c_str(), "wb");
    gzwrite(out, text.data(), static_cast<unsigned>(text.size()));
    gzclose(out);
    std::string packed = read(whole);
    packed.resize(static_cast<std::size_t>(static_cast<double>(packed.size()) * share));
    std::filesystem::remove(whole);
    return file(name, packed);
  }
  static std::string read(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
  }
  /// import FILE -o run.ulp, and what was asked for besides.
  Answer import(const std::string& path, std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments{"import", path, "-o", in("run.ulp"), "--force"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return ulpscope(arguments);
  }
  /// Refused with one line, and nothing was written.
  void expect_refused(const std::string& path, const std::string& words, const std::vector<std::string>& more = {}) const {
    std::filesystem::remove(in("run.ulp"));
    const Answer answer = import(path, more);
    EXPECT_EQ(answer.code, 2) << answer.out << answer.err;
    EXPECT_THAT(answer.err, ::testing::HasSubstr(words));
    EXPECT_EQ(std::count(answer.err.begin(), answer.err.end(), '\n'), 1) << answer.err;
    EXPECT_FALSE(std::filesystem::exists(in("run.ulp")));
  }
  /// Words as they are wherever lines were broken.
  static std::string flat(std::string text) {
    std::string out;
    for (const char c : text) {
      const char plain = c == '\n' ? ' ' : c;
      if (plain != ' ' || out.empty() || out.back() != ' ') out += plain;
    }
    return out;
  }
  std::vector<reports::StepRecord> steps() const { return reports::RunFileReader(in("run.ulp")).steps(reports::RunId{1}); }
  reports::RunRecord run() const { return reports::RunFileReader(in("run.ulp")).runs().at(0); }
  std::string diagnosis() const {
    const Answer answer = ulpscope({"diagnose", in("run.ulp"), "--mode", run().mode});
    EXPECT_EQ(answer.code, 0) << answer.err;
    return flat(answer.out);
  }

  std::string folder_;
};

}  // namespace ulpscope::profiler
