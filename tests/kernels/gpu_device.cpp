#include "tests/kernels/gpu_device.h"

#include <charconv>
#include <cstdlib>
#include <string>

#include "kernels/cuda_module.h"
#include "kernels/error.h"

namespace ulpscope::test {
namespace {

Device* open() {
  const char* const variable = std::getenv("ULPSCOPE_TEST_GPU");
  if (variable == nullptr) return nullptr;
  const std::string text = variable;
  int number = -1;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || rest != text.data() + text.size() || number < 0)
    throw Error("ULPSCOPE_TEST_GPU=" + text + ": it takes the number of a GPU, from 0");
  return cuda_module().make_device(number).release();
}

}  // namespace

Device* gpu_device() {
  static Device* const device = open();
  return device;
}

}  // namespace ulpscope::test
