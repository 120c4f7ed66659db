// A module as it should be, whose devices do not exist.
#include "kernels/cuda_module.h"
#include "kernels/error.h"

extern "C" const ulpscope::CudaModuleFacts* ulpscope_cuda_module();
extern "C" const ulpscope::CudaModuleFacts* ulpscope_cuda_module() {
  static const ulpscope::CudaModuleFacts facts = {
      ulpscope::cuda_module_interface, 13000, "80 90",
      [](int ordinal) -> ulpscope::Device* { throw ulpscope::Error("cuda: no GPU " + std::to_string(ordinal)); }};
  return &facts;
}
