#include "kernels/cpu/register.h"

#include <string>

#include "kernels/error.h"

namespace ulpscope {
namespace cpu {

namespace portable {
void register_kernels(KernelTable& table);
}
#if defined(__x86_64__)
namespace avx2 {
void register_kernels(KernelTable& table);
}
namespace avx512 {
void register_kernels(KernelTable& table);
}
#endif

void add_kernel(KernelTable& table, const char* operation, Format compute, RunFunction run,
                WorkspaceFunction workspace, const Stage* stage) {
  table.add(operation, compute, Kernel{run, workspace, stage});
}

}  // namespace cpu

void register_cpu_kernels(KernelTable& table, InstructionSet set) {
  switch (set) {
    case InstructionSet::portable:
      return cpu::portable::register_kernels(table);
#if defined(__x86_64__)
    case InstructionSet::avx2:
      return cpu::avx2::register_kernels(table);
    case InstructionSet::avx512:
      return cpu::avx512::register_kernels(table);
#else
    case InstructionSet::avx2:
    case InstructionSet::avx512:
      break;
#endif
  }
  throw Error(std::string("register_cpu_kernels: this program has no code for ") + name(set));
}

}  // namespace ulpscope
