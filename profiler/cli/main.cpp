#include <iostream>
#include <string>
#include <vector>

#include "profiler/cli/program.h"

int main(int argc, char** argv) {
  return ulpscope::profiler::run_program(std::vector<std::string>(argv + 1, argv + argc), std::cout, std::cerr);
}
