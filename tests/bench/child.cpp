// The program ulpscope, which writes down how much memory it needed: child REPORT ARGUMENT…
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "profiler/cli/program.h"

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: ulpscope_bench_child REPORT ARGUMENT…\n";
    return ulpscope::profiler::exit_usage;
  }
  spdlog::set_default_logger(spdlog::stderr_logger_mt("ulpscope"));
  const int code =
      ulpscope::profiler::run_program(std::vector<std::string>(argv + 2, argv + argc), std::cout, std::cerr);
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word != "VmHWM:") continue;  // in KiB
    status >> word;
    std::ofstream(argv[1]) << word << '\n';
    return code;
  }
  std::cerr << "/proc/self/status has no VmHWM\n";
  return ulpscope::profiler::exit_fault;
}
