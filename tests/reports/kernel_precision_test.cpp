// What names of kernels say of their precision: names as cuBLAS, cuDNN, CUTLASS, PyTorch, NCCL and Triton give them, and what they must not be taken to say.
#include <gtest/gtest.h>

#include "reports/analysis/kernel_precision.h"

namespace ulpscope::reports {
namespace {

struct Case {
  const char* name;
  const char* reads;   ///< "" must be unknown
  const char* sums;
};

// clang-format off
const Case cases[] = {
    {"volta_sgemm_128x64_nn", "fp32", ""},
    {"ampere_sgemm_64x32_sliced1x4_tn", "fp32", ""},
    {"volta_fp16_s884gemm_fp16_128x64_ldg8_f2f_nn", "fp16", "fp32"},
    {"turing_fp16_s1688gemm_fp16_128x128_ldg8_f2f_tn", "fp16", "fp32"},
    {"turing_h884gemm_128x64_ldg8_nn", "fp16", "fp16"},
    {"volta_h884gemm_256x64_ldg8_tn", "fp16", "fp16"},
    {"turing_h1688gemm_128x128_ldg8_stages_32x1_tn", "fp16", "fp16"},
    {"volta_s884gemm_128x128_nn", "fp16", "fp32"},
    {"ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_stages_64x4_tn", "fp16", "fp32"},
    {"ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn", "bf16", "fp32"},
    {"ampere_s16816gemm_fp16_256x128_ldg8_stages_32x3_nn", "fp16", "fp32"},
    {"ampere_h16816gemm_128x64_ldg8_stages_64x4_tn", "fp16", "fp16"},
    {"cutlass_80_tensorop_s1688gemm_128x128_16x5_nn_align4", "", ""},
    {"cutlass_80_tensorop_s1688tf32gemm_256x128_16x3_tn_align4", "tf32", "fp32"},
    {"void cutlass::Kernel2<cutlass_80_tensorop_f16_s16816gemm_relu_f16_256x128_32x3_tn_align8>(cutlass_80_tensorop_f16_s16816gemm_relu_f16_256x128_32x3_tn_align8::Params)", "fp16", "fp32"},
    {"void cutlass::Kernel<cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_32x32_32x1_tn_align8>(cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_32x32_32x1_tn_align8::Params)", "bf16", "fp32"},
    {"void cutlass::Kernel2<cutlass_80_simt_sgemm_128x32_8x5_nn_align1>(cutlass_80_simt_sgemm_128x32_8x5_nn_align1::Params)", "fp32", ""},
    {"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas", "bf16", "fp32"},
    {"sm80_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize96x64x32_stage4_warpsize2x2x1_tensor16x8x16_kernel", "fp16", "fp32"},
    {"sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize128x128x16_stage4_warpsize2x2x1_tensor16x8x8_kernel", "tf32", "fp32"},
    {"sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize32x32x8_stage3_warpsize1x2x1_ffma_aligna4_alignc4_execute_kernel__5x_cublas", "fp32", "fp32"},
    {"sm90_xmma_gemm_e4m3bf16_e4m3f32_f32_tn_n_tilesize64x128x128_warpgroupsize1x1x1_algo2_execute_segment_k_off_kernel__5x_cublas", "fp8_e4m3", "fp32"},
    {"sm90_xmma_gemm_bf16f32_bf16f32_f32_tn_n_tilesize64x64x64_cgasize1x1x1_stage4", "bf16", "fp32"},
    {"sm80_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nchw_tilesize128x128x32_stage4_warpsize2x2x1_g1_tensor16x8x16_kernel", "fp16", "fp32"},
    {"sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nchw_tilesize128x64x32_stage5", "tf32", "fp32"},
    {"nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_NNT", "fp16", "fp32"},
    {"nvjet_tst_192x192_64x3_2x1_v_bz_coopB_TNN", "bf16", "fp32"},
    {"nvjet_sm90_tst_mma_128x256x64_4_64x128x64_cga1x2x1_TNT", "bf16", "fp32"},
    {"nvjet_qqtst_128x128_128x6_1x2_h_bz_TNT", "", ""},
    {"void flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4, false, false, cutlass::half_t, Flash_kernel_traits<64, 128, 128, 4, cutlass::half_t> >, false, true, false, true, false>(Flash_fwd_params)", "fp16", ""},
    {"void pytorch_flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<pytorch_flash::Flash_bwd_kernel_traits<64, 128, 128, 8, 4, 4, 4, false, false, cutlass::bfloat16_t, pytorch_flash::Flash_kernel_traits<64, 128, 128, 8, cutlass::bfloat16_t> >, false, true>(pytorch_flash::Flash_bwd_params)", "bf16", ""},
    {"fmha_cutlassF_f16_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<cutlass::half_t, cutlass::arch::Sm80, true, 64, 64, 64, true, true>::Params)", "fp16", ""},
    {"fmha_cutlassF_f32_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<float, cutlass::arch::Sm80, true, 64, 64, 64, true, true>::Params)", "", ""},
    {"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::Half>, at::detail::Array<char*, 3> >(int, at::native::CUDAFunctor_add<c10::Half>, at::detail::Array<char*, 3>)", "fp16", ""},
    {"void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float> >, at::detail::Array<char*, 3> >(int, float)", "fp32", ""},
    {"void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() const::{lambda()#7}::operator()() const::{lambda(float)#1}, at::detail::Array<char*, 2>, TrivialOffsetCalculator<1, unsigned int>, char*, at::native::memory::LoadWithCast<1>, at::detail::Array<char*, 2>::StoreWithCast>(int)", "", ""},
    {"void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, c10::Half, float, c10::Half, at::native::(anonymous namespace)::SoftMaxForwardEpilogue>(c10::Half*, c10::Half const*, int)", "", ""},
    {"void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>(int, float, float const*, float const*, float const*, float*, float*, float*)", "fp32", ""},
    {"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::func_wrapper_t<float, at::native::sum_functor<float, float, float>::operator()(at::TensorIterator&)::{lambda(float, float)#1}>, unsigned int, float, 4> >(at::native::ReduceOp<float>)", "fp32", ""},
    {"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::TensorListMetadata<4>, at::native::(anonymous namespace)::FusedAdamMathFunctor<float, 4, (at::native::ADAM_MODE)1, false>, float const*>(...)", "fp32", ""},
    {"void gemv2T_kernel_val<int, int, float, float, float, float, 128, 16, 4, 4, false, false, cublasGemvParams<cublasGemvTensorStridedBatched<float const>>>(...)", "fp32", ""},
    {"void gemmSN_TN_kernel<float, 128, 16, 2, 4, 4, 4, true, cublasGemvTensorStridedBatched<float const> >(cublasGemmSmallNParams<...>)", "fp32", ""},
    {"std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, __nv_bfloat16, __nv_bfloat16, __nv_bfloat16, float, false, true, true, false, 7, false, cublasGemvParamsEx<int, ...>>(...)", "", ""},
    {"void cublasLt::splitKreduce_kernel<32, 16, int, float, __half, float, __half, false, true, false>(cublasLt::cublasSplitKParams<float>)", "", ""},
    {"void implicit_convolve_sgemm<float, float, 1024, 5, 5, 3, 3, 3, 1, true, false, true>(int)", "fp32", ""},
    {"volta_scudnn_128x64_relu_interior_nn_v1", "fp32", ""},
    {"turing_fp16_s1688cudnn_fp16_128x128_ldg8_relu_f2f_exp_small_nhwc_tn_v1", "fp16", "fp32"},
    {"ampere_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1", "fp32", ""},
    {"volta_fp16_scudnn_fp16_128x64_relu_small_nn_v1", "fp16", "fp32"},
    {"void cudnn::winograd_nonfused::winogradForwardData4x4<float, float>(cudnn::winograd_nonfused::WinogradDataParams<float, float>)", "fp32", ""},
    {"ncclDevKernel_AllReduce_Sum_f16_RING_LL(ncclDevComm*, unsigned long, ncclWork*)", "fp16", ""},
    {"ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)", "fp32", ""},
    {"ncclDevKernel_AllGather_RING_LL(ncclDevComm*, unsigned long, ncclWork*)", "", ""},
    {"triton_poi_fused_add_mul_0", "", ""},
    {"triton_red_fused__to_copy_native_layer_norm_fp16_2", "", ""},
    {"_attn_fwd", "", ""},
    {"_Z17my_custom_kernelPKfPf", "", ""},
    {"turing_int8_i8816gemm_int8_256x128_ldg16_relu_stages_64x1_tn", "int8", "int32"},
    {"volta_dgemm_64x64_nn", "fp64", ""},
    {"ampere_cgemm_64x64_nn", "", ""},
    {"magma_sgemmEx_kernel<float, __half, float, true, false, 6, 4, 6, 3, 4>", "", ""},
    {"elementwise_kernel", "", ""},
    {"cast_fp32_to_fp16_kernel", "", ""},
    {"my_fp16_kernel", "", ""},
    {"cudnn_convert_fp32_to_fp16", "", ""},
    {"cudnn_scale_fp64_kernel", "fp64", ""},
    {"Memcpy HtoD (Pageable -> Device)", "", ""},
    {"void cask_cudnn_infer::computeOffsetsKernel(cask_cudnn_infer::ComputeOffsetsParams)", "", ""},
};
// clang-format on

TEST(KernelPrecision, SaysWhatTheNameSaysAndNoMore) {
  for (const Case& c : cases) {
    const KernelPrecision precision = kernel_precision(c.name);
    EXPECT_EQ(precision.reads, c.reads) << c.name << ": " << precision.why;
    EXPECT_EQ(precision.sums, c.sums) << c.name;
    EXPECT_EQ(precision.known(), *c.reads != '\0') << c.name;
    EXPECT_FALSE(precision.why.empty()) << c.name;
  }
}

TEST(KernelPrecision, AnyBytesAreAName) {
  for (const std::string& name : {std::string(), std::string("\0<\xff>", 4), std::string(100000, '<'), std::string(100000, 's'), std::string("<<>>()))(<float"), std::string("s9999999999999999999999gemm"), std::string("nvjet")})
    EXPECT_NO_THROW(kernel_precision(name));
}

}  // namespace
}  // namespace ulpscope::reports
