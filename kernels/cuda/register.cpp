#include "kernels/cuda/register.h"

namespace ulpscope::cuda {

void register_kernels(KernelTable& table) {
  register_elementwise(table);
  register_copy(table);
  register_rows(table);
  register_layer_norm(table);
  register_rms_norm(table);
  register_cross_entropy(table);
  register_rotary(table);
  register_masks(table);
  register_dropout(table);
  register_reductions(table);
  register_columns(table);
  register_embedding(table);
  register_update(table);
  register_gradients(table);
  register_persistent(table);
  register_step_flow(table);
  register_batch_norm(table);
  register_pool(table);
  register_fused(table);
  register_unit_sums(table);
}

}  // namespace ulpscope::cuda
