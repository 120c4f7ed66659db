// The families of kernels of one instruction set. Each source registers its own.
#pragma once

namespace ulpscope {
class KernelTable;
}

namespace ulpscope::cpu::ULPSCOPE_ISA {

void register_elementwise(KernelTable& table);
void register_copy(KernelTable& table);
void register_observe(KernelTable& table);
void register_dropout(KernelTable& table);
void register_rows(KernelTable& table);
void register_layer_norm(KernelTable& table);
void register_cross_entropy(KernelTable& table);
void register_reductions(KernelTable& table);
void register_columns(KernelTable& table);
void register_embedding(KernelTable& table);
void register_update(KernelTable& table);
void register_gradients(KernelTable& table);
void register_persistent(KernelTable& table);
void register_rms_norm(KernelTable& table);
void register_rotary(KernelTable& table);
void register_masks(KernelTable& table);
void register_batch_norm(KernelTable& table);
void register_pool(KernelTable& table);
void register_fused(KernelTable& table);

void register_kernels(KernelTable& table);

}  // namespace ulpscope::cpu::ULPSCOPE_ISA
