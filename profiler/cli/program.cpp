#include "profiler/cli/program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <ostream>
#include <sstream>

#include "kernels/error.h"
#include "kernels/nearest.h"
#include "profiler/cli/arguments.h"
#include "profiler/cli/command.h"
#include "profiler/cli/text.h"
#include "profiler/experiment/machine.h"

namespace ulpscope::profiler {
namespace {

constexpr auto commands = std::to_array<Command>({
    {"run", "train a model in several precision modes, record and compare them", declare_run},
    {"plan", "every operation of a step in a mode: formats and why, FLOPs, bytes, memory", declare_plan},
    {"compare", "the modes of one or more run files side by side", declare_compare},
    {"report", "a result as files that travel: HTML, Markdown, CSV, JSON, Perfetto trace", declare_report},
    {"view", "run files in the desktop viewer, finished or live", declare_view},
    {"diagnose", "what went wrong in a run file, why, and what to change", declare_diagnose},
    {"mend", "tries changes on a run with a fault, and says which help", declare_mend},
    {"replay", "a step that was kept in a capsule, in any mode", declare_replay},
    {"scale", "what other loss-scaling policies would have done with recorded ranges", declare_scale},
    {"time", "where a step's time went, what mixed precision costs, and what it can gain", declare_time},
    {"sweep", "one matrix product at sizes around its own, timed in each mode", declare_sweep},
    {"check", "whether a run file keeps to rules: for pipelines", declare_check},
    {"export", "a run's weights as a safetensors file", declare_export},
    {"import", "a trace or training log of another program, as a run file", declare_import},
    {"info", "what is in a run file", declare_info},
    {"devices", "what can run here, in which modes, and why a GPU is not seen", declare_devices},
    {"advise", "which mode for this model on which GPU, with evidence and what would change it", declare_advise},
    {"project", "time and memory of a step on a GPU that is not here", declare_project},
    {"hardware", "the table of GPUs: dense peaks, memory, modes, with sources", declare_hardware},
    {"tensor-core", "the sums of matrix units as they are emulated; tries vectors on them", declare_tensor_core},
});

/// CLI11's help, its descriptions broken so that no line is longer than the terminal.
class HelpFormatter final : public CLI::Formatter {
 public:
  std::string make_option_desc(const CLI::Option* option) const override {
    return broken(CLI::Formatter::make_option_desc(option));
  }
  std::string make_subcommand(const CLI::App* sub) const override {
    std::stringstream out;
    CLI::detail::format_help(out, sub->get_name(), broken(sub->get_description()), get_column_width());
    return out.str();
  }

 private:
  std::string broken(const std::string& text) const {
    return wrapped(text, "", text_width - static_cast<int>(get_column_width()));
  }
};

std::string version_line() {
  const std::string commit = program_commit();
  return fmt::format("ulpscope {}{}", program_version(), commit.empty() ? "" : fmt::format(" ({})", commit));
}

std::vector<std::string> command_names() {
  std::vector<std::string> names;
  for (const Command& command : commands) names.emplace_back(command.name);
  return names;
}

std::vector<std::string> flag_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

/// Words nothing in the command line takes.
void refuse_extras(const CLI::App& program, const CLI::App* command) {
  if (command == nullptr) {
    const std::vector<std::string> extras = program.remaining();
    const std::vector<std::string> names = command_names();
    if (extras.empty())
      throw UsageError(fmt::format("which command? Commands: {}; ulpscope --help", fmt::join(names, ", ")));
    const bool flag = extras.front().starts_with("-");
    throw UsageError(fmt::format("unknown {} {}; did you mean {}? Commands: {}", flag ? "flag" : "command",
                                 extras.front(), nearest(extras.front(), flag ? flag_names(program) : names),
                                 fmt::join(names, ", ")));
  }
  const std::vector<std::string> extras = command->remaining();
  if (extras.empty()) return;
  const auto flag =
      std::find_if(extras.begin(), extras.end(), [](const std::string& e) { return e.size() > 1 && e[0] == '-'; });
  if (flag == extras.end()) {
    throw UsageError(
        fmt::format("\"{}\" is one argument too many; see ulpscope {} --help", extras.front(), command->get_name()));
  }
  const std::string name = flag->substr(0, flag->find('='));
  throw UsageError(fmt::format("unknown flag {}; did you mean {}? All flags: ulpscope {} --help", name,
                               nearest(name, flag_names(*command)), command->get_name()));
}

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return reports::printable(text);
}

int complain(std::ostream& out, std::ostream& err, const std::string& message, int code) {
  out.flush();
  err << "ulpscope: " << one_line(message) << '\n' << std::flush;
  return code;
}

int parse_and_act(std::vector<std::string> arguments, std::ostream& out, std::ostream& err) {
  const std::string command_line = "ulpscope " + quoted(arguments);
  CLI::App program(
      "A precision profiler: trains a model in several precision modes on the same data\n"
      "from the same start, records what each costs and breaks, and compares them.",
      "ulpscope");
  program.formatter(std::make_shared<HelpFormatter>());  // commands inherit it
  program.set_version_flag("--version", version_line(), "print the version and end");
  program.allow_extras();
  program.require_subcommand(0, 1);
  program.footer(
      "Exit codes: 0 done, 1 fault or a run that failed, 2 wrong use, 130 ended by\n"
      "Ctrl-C, 143 by SIGTERM, 129 by a closed terminal. A reader of the output that\n"
      "goes away (| head) is no fault: the code is the command's.\n"
      "More on a command: ulpscope COMMAND --help");
  std::array<Action, commands.size()> actions;
  std::array<CLI::App*, commands.size()> apps{};
  for (std::size_t i = 0; i < commands.size(); ++i) {
    apps[i] = program.add_subcommand(commands[i].name, commands[i].summary);
    apps[i]->allow_extras();
    actions[i] = commands[i].declare(*apps[i]);
  }
  const auto chosen = std::find_if(commands.begin(), commands.end(),
                                   [&](const Command& c) { return !arguments.empty() && arguments.front() == c.name; });
  const auto index = static_cast<std::size_t>(chosen - commands.begin());
  if (chosen != commands.end()) arguments = attach_values(*apps[index], std::move(arguments));
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them last first
  try {
    program.parse(std::move(arguments));
  } catch (const CLI::CallForHelp&) {
    out << (chosen == commands.end() ? program.help() : apps[index]->help("ulpscope"));
    return exit_ok;
  } catch (const CLI::CallForVersion&) {
    out << version_line() << '\n';
    return exit_ok;
  } catch (const CLI::ParseError& error) {
    refuse_extras(program, chosen == commands.end() ? nullptr : apps[index]);
    throw UsageError(fmt::format("{}; see ulpscope{} --help", error.what(),
                                 chosen == commands.end() ? "" : fmt::format(" {}", chosen->name)));
  }
  const bool parsed = chosen != commands.end() && apps[index]->parsed();
  refuse_extras(program, parsed ? apps[index] : nullptr);
  return actions[index]({out, err, command_line});
}

}  // namespace

int run_program(std::vector<std::string> arguments, std::ostream& out, std::ostream& err) {
  try {
    return parse_and_act(std::move(arguments), out, err);
  } catch (const UsageError& error) {
    return complain(out, err, error.what(), exit_usage);
  } catch (const std::bad_alloc&) {
    return complain(out, err, "out of memory", exit_fault);
  } catch (const std::exception& error) {
    return complain(out, err, error.what(), exit_fault);
  }
}

}  // namespace ulpscope::profiler
