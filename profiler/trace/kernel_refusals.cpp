#include "profiler/trace/kernel_refusals.h"

#include <fmt/format.h>

#include <algorithm>

namespace ulpscope::profiler {
namespace {

/// Why, and what to do. Empty: a code that is not known here.
const char* remedy(int code) {
  switch (code) {
    case cupti_code::insufficient_privileges:
      return "the driver lets only administrators profile (RmProfilingAdminOnly: 1 in /proc/driver/nvidia/params): load it with "
             "NVreg_RestrictProfilingToAdminUsers=0 (a file in /etc/modprobe.d, then reboot), or run with CAP_SYS_ADMIN (docker run "
             "--cap-add=SYS_ADMIN)";
    case cupti_code::multiple_subscribers:
      return "another tool traces this process (Nsight Systems, Nsight Compute, cuda-gdb, a framework's profiler): run without it";
    case cupti_code::virtualized_device:
      return "the GPU is a virtual one that cannot be profiled: use a machine with the whole GPU (pass-through), or a vGPU type that "
             "supports profiling";
    case cupti_code::virtualized_privileges:
      return "the hypervisor does not allow profiling of this virtual GPU: its administrator sets the vGPU parameter enable_profiling=1";
    case cupti_code::confidential_computing:
      return "the GPU is in confidential computing mode, in which nothing is traced: use one that is not";
    case cupti_code::mining_processor:
      return "CUPTI does not support mining processors (CMP): use another GPU";
    case cupti_code::multi_instance:
      return "this part of a divided GPU (MIG) cannot be profiled: use the whole GPU";
    case cupti_code::linked_devices:
      return "GPUs linked by SLI cannot be profiled: turn SLI off";
    case cupti_code::windows_subsystem:
      return "CUPTI does not support this GPU under WSL: use Linux itself";
    case cupti_code::invalid_metric_name:
      return "this GPU has no tensor cores, or none that this libcupti can count: a newer driver and libcupti may";
    case cupti_code::invalid_chip_name:
      return "this libcupti does not know the GPU's chip: install that of the driver's CUDA version";
    case cupti_code::invalid_context:
      return "no GPU is in use on the thread that trains: please report it, with what ulpscope devices says";
    case cupti_code::not_initialized:
      return "CUPTI cannot reach the CUDA driver (is one loaded, and not older than the CUDA version of libcupti? ulpscope devices says "
             "which), or libnvperf_host.so, which comes with libcupti and which counting needs";
    case cupti_code::unknown:   // as libcupti 13.0 answers where libcuda.so.1 is missing
      return "CUPTI gives no reason; so it answers where it finds no CUDA driver, or one that does not fit it (ulpscope devices says "
             "which is there)";
    case cupti_code::disabled:
      return "CUPTI is switched off because another profiler is at work: run without it";
    case cupti_code::hardware_busy:
      return "another process uses the GPU's counters (DCGM, Nsight Compute): stop it, or pause it with dcgmi profile --pause";
    case cupti_code::not_supported:
    case cupti_code::not_compatible:
    case cupti_code::invalid_kind:
      return "this GPU, driver or version of CUPTI does not offer it: a newer driver and libcupti may";
    case cupti_code::legacy_profiler:
      return "the GPU is too new for the interface that was asked: install the libcupti of the driver's CUDA version";
    case cupti_code::out_of_memory:
      return "CUPTI found no memory: make the batch smaller";
    default:
      return "";
  }
}

}  // namespace

std::string refusal_line(const std::string& what, int code, const std::string& own_words) {
  const std::string known = remedy(code);
  std::string words = own_words;
  std::replace(words.begin(), words.end(), '\n', ' ');   // a line is a line
  const std::string why =
      !known.empty() ? known
                     : fmt::format("{}: install the libcupti of the driver's CUDA version, or look the code up in cupti_result.h",
                                   words.empty() ? "for a reason that it does not say" : words);
  return fmt::format("{} refused by CUPTI (error {}): {}", what, code, why);
}

}  // namespace ulpscope::profiler
