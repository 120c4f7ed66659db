#include "profiler/cli/arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>

namespace ulpscope::profiler {

std::vector<std::string> attach_values(const CLI::App& command, std::vector<std::string> arguments) {
  std::vector<std::string> joined;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == "--") {  // everything after it is positional
      joined.insert(joined.end(), arguments.begin() + static_cast<std::ptrdiff_t>(i), arguments.end());
      break;
    }
    const CLI::Option* option = word.starts_with("--") ? command.get_option_no_throw(word) : nullptr;
    const std::string* const next = i + 1 < arguments.size() ? &arguments[i + 1] : nullptr;
    const bool flag = option != nullptr && option->get_expected_max() == 0;
    const bool value = option != nullptr && option->get_expected_min() == 1;
    if (next != nullptr && ((flag && is_flag_value(*next)) || (value && !next->starts_with("--")))) {
      joined.push_back(word + "=" + arguments[++i]);
    } else {
      joined.push_back(word);
    }
  }
  return joined;
}

bool is_flag_value(const std::string& word) {
  for (const char* value : {"true", "True", "false", "False"}) {
    if (word == value) return true;
  }
  return false;
}

std::string quoted(const std::vector<std::string>& arguments) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@%";
  std::string line;
  for (const std::string& word : arguments) {
    if (!line.empty()) line += ' ';
    if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) {
      line += word;
      continue;
    }
    line += '\'';
    for (const char c : word) line += c == '\'' ? std::string("'\\''") : std::string(1, c);
    line += '\'';
  }
  return line;
}

}  // namespace ulpscope::profiler
