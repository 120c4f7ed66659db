# The kernels of kernels/ops/catalogue.h for a grid: compiled by nvcc for GPUs, and by the C++ compiler for the emulated grid of
# the tests (tests/kernels/emulated).
set(ulpscope_grid_kernel_sources
  register.cpp
  observation.cu
  elementwise.cu
  copy.cu
  rows.cu
  layer_norm.cu
  rms_norm.cu
  cross_entropy.cu
  rotary.cu
  masks.cu
  dropout.cu
  fused.cu
  narrow_sums.cu
  reductions.cu
  columns.cu
  embedding.cu
  update.cu
  gradient_list.cu
  gradients.cu
  persistent.cu
  step_flow.cu
  batch_norm.cu
  pool.cu
  unit_sums.cu
  lt_plan.cpp
  matmul.cu
  convolution.cu
  attention.cu
  attention_rows.cu
)
# Beside them: lt_product.cpp, the calls of cuBLASLt, for GPUs; emulated_grid.cpp, emulated_product.cpp and
# emulated_unit.cpp for the tests.
