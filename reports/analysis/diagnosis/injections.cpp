#include "reports/analysis/diagnosis/injections.h"

#include <charconv>

namespace ulpscope::reports {
namespace {

/// The value of a key in a block of the tables, without its quotes.
std::string value_of(const std::string& block, const std::string& key) {
  const std::size_t at = block.find("\n" + key + " = ");
  if (at == std::string::npos) return "";
  const std::size_t begin = at + key.size() + 4;
  std::string text = block.substr(begin, block.find('\n', begin) - begin);
  std::erase(text, '"');
  return text;
}

}  // namespace

std::vector<Injection> injections(const Evidence& evidence) {
  std::vector<Injection> list;
  const std::string tables = evidence.setting("tables");
  for (std::size_t at = tables.find("[[inject]]"); at != std::string::npos; at = tables.find("[[inject]]", at + 1)) {
    const std::string block = tables.substr(at, tables.find("\n[[", at + 1) - at);
    const std::string step = value_of(block, "step");
    Injection one{.value = value_of(block, "value"), .index = value_of(block, "index"), .number = value_of(block, "number")};
    const auto read = std::from_chars(step.data(), step.data() + step.size(), one.step);
    if (!one.value.empty() && read.ec == std::errc() && read.ptr == step.data() + step.size()) list.push_back(std::move(one));
  }
  return list;
}

}  // namespace ulpscope::reports
