#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <iostream>
#include <string>
#include <vector>

#include "profiler/cli/program.h"
#include "profiler/cli/spinning.h"

int main(int argc, char** argv) {
  using namespace ulpscope::profiler;
  if (argc > 1 && (std::strcmp(argv[1], "run") == 0 || std::strcmp(argv[1], "mend") == 0 || std::strcmp(argv[1], "sweep") == 0)) bound_spinning(argv);
  // A reader that goes away (`| head`) must not end a training run.
  std::signal(SIGPIPE, SIG_IGN);
  // Standard output is for results.
  spdlog::set_default_logger(spdlog::stderr_logger_mt("ulpscope"));
  spdlog::set_pattern("ulpscope: %v");
  const int code = run_program(std::vector<std::string>(argv + 1, argv + argc), std::cout, std::cerr);
  errno = 0;
  if (std::cout.flush()) return code;
  const int reason = errno;   // 0: an earlier write failed
  if (reason != EPIPE) std::cerr << "ulpscope: standard output could not be written" << (reason != 0 ? ": " : "") << (reason != 0 ? std::strerror(reason) : "") << '\n';
  return code == exit_ok ? exit_fault : code;
}
