#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <iostream>
#include <string>
#include <vector>

#include "profiler/cli/program.h"
#include "profiler/cli/spinning.h"
#include "profiler/cli/standard_output.h"

int main(int argc, char** argv) {
  using namespace ulpscope::profiler;
  if (argc > 1 && (std::strcmp(argv[1], "run") == 0 || std::strcmp(argv[1], "mend") == 0 || std::strcmp(argv[1], "sweep") == 0)) bound_spinning(argv);
  // A reader that goes away (`| head`) must not end a training run.
  std::signal(SIGPIPE, SIG_IGN);
  // A file that may not grow any further is said to be so, as a disk that is full is.
  std::signal(SIGXFSZ, SIG_IGN);
  // Standard output is for results.
  spdlog::set_default_logger(spdlog::stderr_logger_mt("ulpscope"));
  spdlog::set_pattern("ulpscope: %v");
  StandardOutput out(STDOUT_FILENO);
  std::cerr.tie(&out);   // what was written first is seen first
  const int code = run_program(std::vector<std::string>(argv + 1, argv + argc), out, std::cerr);
  std::cerr.tie(nullptr);
  out.flush();
  if (out.reason() == 0) return code;
  std::cerr << "ulpscope: standard output could not be written: " << std::strerror(out.reason()) << '\n';
  return code == exit_ok ? exit_fault : code;
}
