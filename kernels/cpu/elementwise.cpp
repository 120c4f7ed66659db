// Element-wise kernels with one result. Which bodies there are: ops/elementwise_list.h.
#include "kernels/cpu/elementwise.h"

#include "kernels/cpu/register_isa.h"
#include "kernels/ops/elementwise_list.h"

namespace ulpscope::cpu::ULPSCOPE_ISA {

void register_elementwise(KernelTable& table) {
#define ULPSCOPE_ADD(BODY, INPUTS, COST) add_map<BODY, INPUTS, COST>(table);
  ULPSCOPE_ELEMENTWISE_BODIES(ULPSCOPE_ADD)
#undef ULPSCOPE_ADD
}

}  // namespace ulpscope::cpu::ULPSCOPE_ISA
