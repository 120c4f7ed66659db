// ulpscope replay: the step of a capsule in other modes; and how a capsule is made.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "kernels/error.h"
#include "profiler/capsule/replay_capsule.h"
#include "profiler/cli/arguments.h"
#include "profiler/cli/capsule.h"
#include "profiler/cli/output_file.h"
#include "profiler/cli/program.h"
#include "profiler/cli/replay_text.h"
#include "profiler/cli/text.h"
#include "profiler/experiment/interrupt.h"
#include "profiler/experiment/json_text.h"

namespace ulpscope::profiler {
namespace {

struct ReplayArguments {
  std::string path;
  std::vector<std::string> modes;
  bool json = false;
};

int replay(const ReplayArguments& arguments, const Invocation& call) {
  const std::vector<std::string> modes = arguments.modes.empty() ? std::vector<std::string>{"all"} : arguments.modes;
  const Interrupt interrupt;
  try {
    const CapsuleReplay result = replay_capsule(arguments.path, modes, call.command_line, [] { return Interrupt::requested(); });
    call.out << (arguments.json ? replay_json(result) + "\n" : replay_text(result));
  } catch (const Interrupted&) {
    call.err << "interrupted; nothing was kept\n" << std::flush;
    return Interrupt::exit_code();
  }
  return exit_ok;
}

/// A file that is there and is no capsule is not replaced; nor is a run made again for a place that cannot be written.
void check_output(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) throw UsageError(fmt::format("--capsule {}: that is a folder: give the name of a file", path));
  check_can_write(path, "--capsule");
  if (!std::filesystem::exists(path, ignored)) return;
  if (!std::filesystem::is_regular_file(path, ignored)) throw UsageError(fmt::format("--capsule {}: is not a plain file", path));
  try {
    load_capsule(path);
  } catch (const UsageError&) {
    throw UsageError(
        fmt::format("--capsule {}: there is a file of that name, and it is no capsule: give another name", path));
  }
}

}  // namespace

int keep_capsule(const CapsuleRequest& request, bool json, const Invocation& call) {
  check_output(request.output);
  const Interrupt interrupt;
  const std::optional<MadeCapsule> made = make_capsule(request, [] { return Interrupt::requested(); });
  if (!made) {
    call.err << "interrupted; no capsule was written\n" << std::flush;
    return Interrupt::exit_code();
  }
  const Capsule& capsule = made->capsule;
  if (json) {
    call.out << json_text({{"kind", "ulpscope capsule"},
                           {"version", 1},
                           {"file", request.output},
                           {"bytes", made->bytes},
                           {"mode", capsule.mode},
                           {"seed", capsule.seed},
                           {"step", capsule.state.iteration},
                           {"same_bits", made->same_bits},
                           {"way", capsule.way}},
                          2)
             << '\n';
    return exit_ok;
  }
  call.out << wrapped(
                  reports::printable(fmt::format("{}: step {} of {}, seed {}, in {}; {}", request.output, capsule.state.iteration + 1,
                              capsule.mode, capsule.seed, bytes_text(static_cast<double>(made->bytes)), capsule.way)),
                  "  ")
           << "\n\nTry next:\n  ulpscope replay " << quoted({request.output}) << " --modes all\n";
  return exit_ok;
}

Action declare_replay(CLI::App& app) {
  auto arguments = std::make_shared<ReplayArguments>();
  app.add_option("CAPSULE", arguments->path, "a step kept by ulpscope diagnose RUN.ulp --capsule FILE")
      ->required()
      ->type_name("");
  app.add_option("--modes", arguments->modes, "precision modes, with commas; all (as without it)")
      ->type_name("LIST")
      ->delimiter(',')
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_flag("--json", arguments->json, "print JSON");
  app.footer(
      "The data are not needed: the batch is in the capsule. Weights, optimizer state\n"
      "and buffers are converted to each mode's formats.");
  return [arguments](const Invocation& call) { return replay(*arguments, call); };
}

}  // namespace ulpscope::profiler
