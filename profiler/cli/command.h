// The subcommands of `ulpscope`: one table, one file each.
//
// To add one: write profiler/cli/NAME.cpp with a function that declares its options and returns what it does, declare
// it here, add a line to the table in program.cpp.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>

namespace CLI {
class App;
}

namespace ulpscope::profiler {

/// How a command was called, and where it writes: results to out; progress and messages to err.
struct Invocation {
  std::ostream& out;
  std::ostream& err;
  std::string command_line;  ///< as one would type it again
};

/// What a command does once its arguments are parsed. Returns the exit code: 0, or 130 after Ctrl-C, 143 after
/// SIGTERM and 129 after SIGHUP. Throws UsageError (exit code 2) or anything else (1).
using Action = std::function<int(const Invocation&)>;

struct Command {
  const char* name;
  const char* summary;
  Action (*declare)(CLI::App& app);
};

Action declare_run(CLI::App& app);
Action declare_plan(CLI::App& app);
Action declare_compare(CLI::App& app);
Action declare_report(CLI::App& app);
Action declare_view(CLI::App& app);
Action declare_diagnose(CLI::App& app);
Action declare_mend(CLI::App& app);
Action declare_replay(CLI::App& app);
Action declare_scale(CLI::App& app);
Action declare_time(CLI::App& app);
Action declare_sweep(CLI::App& app);
Action declare_check(CLI::App& app);
Action declare_export(CLI::App& app);
Action declare_info(CLI::App& app);
Action declare_devices(CLI::App& app);
Action declare_hardware(CLI::App& app);
Action declare_project(CLI::App& app);
Action declare_advise(CLI::App& app);
Action declare_tensor_core(CLI::App& app);
Action declare_import(CLI::App& app);

}  // namespace ulpscope::profiler
