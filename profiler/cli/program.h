// The program `ulpscope`, callable from tests.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace ulpscope::profiler {

inline constexpr int exit_ok = 0;
inline constexpr int exit_fault = 1;  ///< of the program or the machine; a run that failed, a finding of check
inline constexpr int exit_usage = 2;  ///< the user's mistake: one line on err names it and the valid choices

/// arguments: without the program's name. Returns the exit code.
int run_program(std::vector<std::string> arguments, std::ostream& out, std::ostream& err);

}  // namespace ulpscope::profiler
