// What the name of a GPU kernel says of the precision it works in. Names are all that a trace of another program has. What they say is *inferred*;
// a name that does not say it is unknown: nothing is guessed from what kernels of that sort usually do, and whether tensor cores worked is not
// concluded at all.
#pragma once

#include <string>
#include <string_view>

namespace ulpscope::reports {

struct KernelPrecision {
  std::string reads{};  ///< format of what it multiplies or reads: "fp16", "bf16", "tf32", "fp32", "fp64", "fp8_e4m3", "int8"; empty: unknown
  std::string sums{};   ///< format of its sums, where the name says it
  std::string why{};    ///< the part of the name that says so; of an unknown one why it does not

  bool known() const { return !reads.empty(); }
};

/// Understood are the names of cuBLAS and cuDNN (ampere_fp16_s16816gemm_…, sm90_xmma_gemm_bf16bf16_bf16f32_f32_…, nvjet_hsh_…, volta_sgemm_…), of CUTLASS
/// (cutlass_80_tensorop_f16_…), of NCCL (…_Sum_f16_…), and types in the template arguments of C++ names (c10::Half, float, cutlass::bfloat16_t) where there
/// is one alone.
KernelPrecision kernel_precision(std::string_view name);

}  // namespace ulpscope::reports
