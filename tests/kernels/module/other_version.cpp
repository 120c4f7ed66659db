#include "kernels/cuda_module.h"

extern "C" const ulpscope::CudaModuleFacts* ulpscope_cuda_module();
extern "C" const ulpscope::CudaModuleFacts* ulpscope_cuda_module() {
  static const ulpscope::CudaModuleFacts facts = {ulpscope::cuda_module_interface + 1, 13000, "80 90", nullptr};
  return &facts;
}
