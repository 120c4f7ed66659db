// A folder of a test's own, removed at its end.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace ulpscope::reports {

class Scratch : public testing::Test {
 protected:
  Scratch() {
    std::string name = (std::filesystem::temp_directory_path() / "ulpscope-reports-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp " + name);
    folder_ = name;
  }
  ~Scratch() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  std::string in(const std::string& name) const { return (folder_ / name).string(); }

  static std::string read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static void write(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  }

  std::filesystem::path folder_;
};

/// What a call throws, or "" if it does not.
template <class E, class Call>
std::string message_of(Call&& call) {
  try {
    call();
  } catch (const E& error) {
    return error.what();
  }
  return "";
}

}  // namespace ulpscope::reports
