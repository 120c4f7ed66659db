// The operations of kernels/, as a contract between those who launch and those who compute. No code.
//
// Conventions
//  * Views may be strided and broadcast (stride 0); every operand has its own format. Float operands are widened to the
//    compute type (fp32, or fp64 for gradient checks), computed there, and rounded once, to nearest even, into each output.
//  * Any reduction follows math/reduction_tree.h, whose shape depends on the length alone; results have the same bits for
//    any number of threads and on every device (matrix products: for the same library, kernel and shape).
//  * An output may be the same memory as an input of the same shape in element-wise kernels and the optimizer.
//  * With counts, the output goes through round_and_count in place of the plain rounding: the same bits.
//  * Counts are added to what is there (ops/rounding_counts.h). unscale_check and the optimizers observe their outputs too.
//  * "rows" are all dimensions but the last; rows of i32 and fp32 side results are contiguous.
//
// operation                    inputs                            outputs                     params
// ---- element-wise: inputs broadcast to the output's shape
// copy                         x                                 y                           -             cast, permute, slice, expand
// add sub mul div maximum      a, b                              y                           -
// scale                        x                                 y                           ScaleParams
// scale_by_loss_scale          x                                 y = x * state.loss_scale    -
// neg abs square sqrt rsqrt reciprocal exp log sin cos erf tanh sigmoid relu silu gelu gelu_tanh
//                              x                                 y                           -
// relu_backward silu_backward gelu_backward gelu_tanh_backward
//                              x, dy                             dx                          -
// tanh_backward sigmoid_backward sqrt_backward exp_backward   (from the output y)
//                              y, dy                             dx                          -
// dropout                      x (or dy)                         y                           DropoutParams
// causal_mask                  scores [.., Tq, Tk]               y                           CausalMaskParams  (j > i + Tk - Tq)
// ---- row-wise: over the last dimension
// softmax                      x                                 y                           -
// softmax_backward             y, dy                             dx                          -
// layer_norm                   x, gamma, beta                    y, mean [rows], rstd [rows] (fp32)   LayerNormParams
// layer_norm_backward          x, gamma, mean, rstd, dy          dx                          -
// layer_norm_backward_weights  x, mean, rstd, dy                 dgamma, dbeta               -
// cross_entropy                logits [.., C], target i32 [..]   loss [] (mean), lse [..] (fp32)      -
// cross_entropy_backward       logits, target, lse, dloss []     dlogits                     -
// ---- reductions: inside in the compute type
// sum_all, mean_all            x                                 y []                        -
// sum_leading                  x [R.., dims of y]                y                           -             over all leading dimensions
// sum_trailing                 x [rows, C]                       y [rows]                    -
// mse_loss                     prediction, target (same shape)   loss [] (mean)              -
// mse_loss_backward            prediction, target, dloss []      dprediction                 -
// ---- indices: i32; an index out of range is an Error at data loading, not here
// embedding                    table [V, C], index [..]          y [.., C]                   -
// embedding_backward           dy [.., C], index [..]            dtable [V, C]               -             each row summed in ascending position
// ---- products: operands as MatmulParams says, fp32 sums, one rounding at the end
// matmul                       a [.., M, K], b [.., K, N] (after transposition), bias [N] (optional)
//                                                                c [.., M, N]                MatmulParams
//                              up to two batch dimensions, broadcast by stride 0; bias is added to the fp32 sum
// attention                    q, k, v [B, H, T, D] (any strides, inner one 1)
//                                                                o [B, H, T, D], probs [B, H, Tq, Tk] (optional)   AttentionParams
//                              scores, scale, mask and softmax in fp32; probs rounded once to their format (without the optional
//                              output: to q's format) and read back by the second product
// attention_backward           q, k, v, probs, do                dq, dk, dv                  AttentionParams
//                              probs as stored (before dropout); the gradient of the scores is rounded once to q's format
// ---- the update: sgd and adamw write nothing if state.finite is 0 or state.halt is set; the gradients are multiplied by
//      state.clip_coefficient first
// unscale_check                g...                              g... (in place)             -             g *= state.inverse_scale; clears state.finite
//                                                                                                         if an element is not finite afterwards, as stored;
//                                                                                                         never sets it
// global_norm                  g...                              norm []                     ClipParams    fp32: norm of the tensors' norms; also
//                                                                                                         state.gradient_norm, state.clip_coefficient
// unscale_norm                 g...                              g... (in place), norm []    ClipParams    unscale_check and global_norm in one pass
// sgd                          g                                 p, buffer (with momentum)   SgdParams     first applied step: buffer = g, as PyTorch
// adamw                        g                                 p, m, v                     AdamWParams   t = state.applied + 1
// ---- several of these as one
// fused                        (those of the members)            (those of the members)      FusedLaunch (kernels/fused.h)
#pragma once
