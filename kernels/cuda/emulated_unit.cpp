#include "kernels/cuda/matrix_unit.h"

namespace ulpscope::cuda {

const EmulatedUnit* emulated_unit = nullptr;

}  // namespace ulpscope::cuda
