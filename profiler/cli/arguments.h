// Small help for command lines, beyond what CLI11 does.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}

namespace ulpscope::profiler {

/// Joins flags of `command` with their values: "--lr -1" becomes "--lr=-1" (else "-1" would be a flag), and "--tf32
/// true" becomes
/// "--tf32=true", while in "--tf32 gpt.toml" the file stays a file: flags whose value is optional take no words but
/// true and false.
std::vector<std::string> attach_values(const CLI::App& command, std::vector<std::string> arguments);

/// A flag that may be given several times, each time with one value: the word after that is not its own, but the
/// experiment file perhaps.
void take_one_at_a_time(CLI::Option& option);

/// Whether a word may follow a flag that needs no value: true, false, as Python writes them too.
bool is_flag_value(const std::string& word);

/// The command line as one would type it again, words quoted where a shell needs it.
std::string quoted(const std::vector<std::string>& arguments);

}  // namespace ulpscope::profiler
