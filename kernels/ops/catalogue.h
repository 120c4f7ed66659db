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
//  * sum_all, mean_all, sum_leading, sum_trailing, the losses (their means), layer_norm, rms_norm, embedding_backward and
//    global_norm honour Launch::arithmetic, in fp32: ops/narrow_sum.h. They add to Launch::inner: elements is then the number of
//    additions, overflowed that of addends and partial sums rounded to infinity, lost_updates that of additions that changed
//    nothing, flushed and zero that of addends which were rounded to zero and which were zero, greatest_magnitude the greatest
//    partial sum before rounding, greatest_relative_error the greatest share of a sum that its flushed addends would have made,
//    sum_of_errors of a norm the greatest error of a row by its narrow sums (ops/norm_error.h); the rest stays as it is.
//  * "rows" are all dimensions but the last; rows of i32 and fp32 side results are contiguous.
//
// operation                    inputs                            outputs                     params
// ---- element-wise: inputs broadcast to the output's shape
// copy                         x                                 y                           -             cast, permute, slice, expand
// observe                      x                                 x (only read)               -             counts what a tensor holds
// add sub mul div maximum      a, b                              y                           -
// scale clamp                  x                                 y                           ScaleParams, ClampParams (ops/clamp.h)
// scale_by_loss_scale          x                                 y = x * state.loss_scale    -
// neg abs square sqrt rsqrt reciprocal exp log sin cos erf tanh sigmoid relu silu gelu gelu_tanh
//                              x                                 y                           -
// relu_backward silu_backward gelu_backward gelu_tanh_backward clamp_backward (ClampParams)
//                              x, dy                             dx                          -
// tanh_backward sigmoid_backward sqrt_backward exp_backward   (from the output y)
//                              y, dy                             dx                          -
// masked_fill                  x, mask (i32)                     y: value where mask != 0    MaskedFillParams
// where                        condition (i32), a, b             y: a where condition != 0   -
// dropout                      x (or dy)                         y                           DropoutParams
// causal_mask                  scores [.., Tq, Tk]               y                           CausalMaskParams  (j > i + Tk - Tq)
// ---- row-wise: over the last dimension
// softmax                      x                                 y                           -
// softmax_backward             y, dy                             dx                          -
// layer_norm                   x, gamma, beta                    y, mean [rows], rstd [rows] (fp32)   LayerNormParams
// layer_norm_backward          x, gamma, mean, rstd, dy          dx                          -
// layer_norm_backward_weights  x, mean, rstd, dy                 dgamma, dbeta               -
// rms_norm                     x, gamma                          y, rstd [rows] (fp32)       RmsNormParams
// rms_norm_backward            x, gamma, rstd, dy                dx                          -
// rms_norm_backward_weights    x, rstd, dy                       dgamma                      -
// rotary_table                 -                                 cos, sin [T, D/2]           RotaryTableParams
// rotary                       x [B, T, H, D], cos, sin [T, D/2] y                           RotaryParams
// cross_entropy                logits [.., C], target i32 [..]   loss [] (mean), lse [..] (fp32)      CrossEntropyParams
// cross_entropy_backward       logits, target, lse, dloss []     dlogits                     CrossEntropyParams
//                              without params: CrossEntropyParams{}; the mean is over the targets that are not ignored
// ---- over the batch: x is [N, C, L], by-products and vectors have C elements; sums along each run of L, then along N
// batch_norm                   x, gamma, beta                    y, mean, rstd, variance (unbiased; fp32)   BatchNormParams
// batch_norm_inference         x, gamma, beta, mean, variance    y                           BatchNormParams
// batch_norm_backward          x, gamma, mean, rstd, dy          dx, dgamma, dbeta           -
// sum_channels                 x                                 y                           -
// ---- a window over planes [N, H, W]
// max_pool                     x                                 y, index (i32, in the plane)   PoolParams   the first of equals; NaN wins
// max_pool_backward            dy, index                         dx                          PoolParams
// avg_pool                     x                                 y                           PoolParams   the padding counts as zeros
// avg_pool_backward            dy                                dx                          PoolParams
// ---- reductions: inside in the compute type
// sum_all, mean_all            x                                 y []                        -
// sum_leading                  x [R.., dims of y]                y                           -             over all leading dimensions
// sum_trailing                 x [rows, C]                       y [rows]                    -
// mse_loss l1_loss bce_with_logits
//                              prediction, target (same shape)   loss [] (mean)              -
// mse_loss_backward l1_loss_backward bce_with_logits_backward
//                              prediction, target, dloss []      dprediction                 -
// masked_mean                  x [B, T, C], mask i32 [B, T]      y [B, C]                    -             none set: NaN
// masked_mean_backward         dy [B, C], mask                   dx [B, T, C]                -
// ---- indices: i32; an index out of range is an Error at data loading, not here
// compare                      x (i32)                           y (i32): 1 or 0             CompareParams
// embedding                    table [V, C], index [..]          y [.., C]                   -
// embedding_backward           dy [.., C], index [..]            dtable [V, C]               -             each row summed in ascending position
// ---- products: operands as MatmulParams says, fp32 sums, one rounding at the end
// matmul                       a [.., M, K], b [.., K, N] (after transposition), bias [N] (optional)
//                                                                c [.., M, N]                MatmulParams
//                              up to two batch dimensions, broadcast by stride 0; bias is added to the fp32 sum
// conv2d                       x [N, C, H, W], kernel [O, C / groups, KH, KW], bias [O] (optional)
//                                                                y [N, O, OH, OW]            ConvParams    contiguous operands
// conv2d_backward_input        kernel, dy                        dx                          ConvParams
// conv2d_backward_weight       x, dy                             dkernel                     ConvParams
// attention                    q [B, H, T, D], k, v [B, G, T, D] (any strides, inner one 1; G divides H), visible i32 [B, Tk] (optional)
//                                                                o [B, H, T, D], probs [B, H, Tq, Tk] (optional)   AttentionParams
//                              a key whose `visible` is 0 is seen by no query; neighbouring heads of q share one of k and v
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
// ema                          buffer, x                         buffer                      EmaParams     buffer = (1 - momentum) buffer + momentum x
// accumulate                   g, sum                            sum (in place)              AccumulateParams   state.micro_batch 0: sum = g, else sum += g; counted: also lost_updates,
//                                                                                                         gradients that change nothing
// commit_buffer                                                  buffer, committed           -             both read and written: committed = buffer if the
//                                                                                                         step is committed, else buffer = committed
// sgd                          g                                 p, buffer (with momentum)   SgdParams     first applied step: buffer = g, as PyTorch
// adamw                        g                                 p, m, v                     AdamWParams   t = state.applied + 1
//                              both: with Kahan rounding a compensation as the last output; counted: also lost_updates
// ---- between steps, on devices that the host does not wait for (Device::queue)
// begin_step settle_step       -                                 -                           StepFlowParams (ops/step_flow.h)
// ---- no part of a step, on GPUs alone
// unit_sums                    a, b [V, K], c [V] (fp32)         sums [V, 16, 8] (fp32)      UnitSumsParams (ops/unit_sums.h)
// ---- several of these as one
// fused                        (those of the members)            (those of the members)      FusedLaunch (kernels/fused.h)
#pragma once
