// The kernels of GPUs, and how they get into a table. One source for each family of kernels/ops/catalogue.h.
#pragma once

#include "kernels/launch.h"

namespace ulpscope::cuda {

/// Adds every operation of kernels/ops/catalogue.h but the matrix products, computing in fp32 and in fp64.
void register_kernels(KernelTable& table);

void register_elementwise(KernelTable& table);
void register_copy(KernelTable& table);
void register_rows(KernelTable& table);
void register_layer_norm(KernelTable& table);
void register_rms_norm(KernelTable& table);
void register_cross_entropy(KernelTable& table);
void register_rotary(KernelTable& table);
void register_masks(KernelTable& table);
void register_dropout(KernelTable& table);
void register_reductions(KernelTable& table);
void register_columns(KernelTable& table);
void register_embedding(KernelTable& table);
void register_update(KernelTable& table);
void register_gradients(KernelTable& table);
void register_persistent(KernelTable& table);
void register_step_flow(KernelTable& table);
void register_batch_norm(KernelTable& table);
void register_pool(KernelTable& table);
void register_fused(KernelTable& table);
void register_unit_sums(KernelTable& table);

}  // namespace ulpscope::cuda
