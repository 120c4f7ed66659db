#include "profiler/cli/arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "kernels/error.h"

namespace ulpscope::profiler {

void take_one_at_a_time(CLI::Option& option) {
  option.expected(1)->allow_extra_args(false)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

namespace {

/// No option means something by nothing: it comes of a variable that is not set, and the parser would take the next word for its value, or the
/// default.
void refuse_empty(const CLI::App& command, const std::string& word, std::size_t equals, const std::string* next) {
  const CLI::Option* option = word.starts_with("-") && word.size() > 1 ? command.get_option_no_throw(word.substr(0, equals)) : nullptr;
  if (option == nullptr || option->get_expected_min() != 1) return;
  const bool empty = equals == std::string::npos ? next != nullptr && next->empty() : equals + 1 == word.size();
  if (empty) throw UsageError(fmt::format("{}: its value is empty; it takes {}: {}", word.substr(0, equals), option->get_type_name(), option->get_description()));
}

}  // namespace

std::vector<std::string> attach_values(const CLI::App& command, std::vector<std::string> arguments) {
  std::vector<std::string> joined;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == "--") {  // everything after it is positional
      joined.insert(joined.end(), arguments.begin() + static_cast<std::ptrdiff_t>(i), arguments.end());
      break;
    }
    const std::size_t equals = word.starts_with("--") ? word.find('=') : std::string::npos;
    const CLI::Option* option = word.starts_with("--") ? command.get_option_no_throw(word.substr(0, equals)) : nullptr;
    const std::string* const next = i + 1 < arguments.size() ? &arguments[i + 1] : nullptr;
    refuse_empty(command, word, equals, next);
    if (equals != std::string::npos) {
      joined.push_back(word);
      continue;
    }
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

namespace {

/// Length of the control character at `at`, in ASCII or (C1) in UTF-8; 0: there is none.
std::size_t control_character(std::string_view word, std::size_t at) {
  const auto byte = [&](std::size_t i) { return i < word.size() ? static_cast<unsigned char>(word[i]) : 0u; };
  if (byte(at) < 0x20 || byte(at) == 0x7f) return 1;
  return byte(at) == 0xc2 && byte(at + 1) >= 0x80 && byte(at + 1) < 0xa0 ? 2 : 0;
}

/// $'…', as bash, zsh and POSIX 2024 have it: no control character is in it, so that it neither drives a terminal nor breaks a line.
std::string quoted_controls(std::string_view word) {
  std::string line = "$'";
  for (std::size_t at = 0; at < word.size();) {
    const std::size_t control = control_character(word, at);
    for (std::size_t i = 0; i < control; ++i) line += fmt::format("\\{:03o}", static_cast<unsigned char>(word[at + i]));
    if (control == 0 && (word[at] == '\'' || word[at] == '\\')) line += '\\';
    if (control == 0) line += word[at];
    at += control == 0 ? 1 : control;
  }
  return line + '\'';
}

bool has_controls(std::string_view word) {
  for (std::size_t at = 0; at < word.size(); ++at)
    if (control_character(word, at) > 0) return true;
  return false;
}

}  // namespace

std::string quoted(const std::vector<std::string>& arguments) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@%";
  std::string line;
  for (const std::string& word : arguments) {
    if (!line.empty()) line += ' ';
    if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) {
      line += word;
      continue;
    }
    if (has_controls(word)) {
      line += quoted_controls(word);
      continue;
    }
    line += '\'';
    for (const char c : word) line += c == '\'' ? std::string("'\\''") : std::string(1, c);
    line += '\'';
  }
  return line;
}

}  // namespace ulpscope::profiler
