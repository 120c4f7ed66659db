// Attention's work on rows of scores, between the products: a block for each row. T is the compute type.
#pragma once

#include <cstdint>

#include "kernels/cuda/observation.h"
#include "kernels/ops/params.h"
#include "kernels/step_state.h"

namespace ulpscope::cuda {

struct AttentionFormats {
  Format compute = Format::fp32;
  Format probs = Format::fp32;      ///< probabilities are stored in it, and so is what dropout makes of them
  Format gradient = Format::fp32;   ///< so is the gradient of the scores
  Format operand = Format::fp32;    ///< what the products read (cuBLAS rounds fp32 to tf32 by itself)
};

/// One sequence: [rows = heads * queries, keys], row by row.
struct AttentionRowsWork {
  AttentionFormats formats;
  std::int64_t rows = 0, queries = 0, keys = 0;
  std::int64_t first = 0;            ///< number of its first score in the whole tensor: keys dropout
  double scale = 1.0;
  bool causal = false;
  const std::int32_t* visible = nullptr;   ///< [keys]: 0 for a key that no query sees; null: all are seen
  DropoutParams dropout;
  const StepState* state = nullptr;
  void* scores = nullptr;            ///< T: forwards the scores, backwards the gradients of what dropout made of the probabilities
  void* probs = nullptr;             ///< out: the operand; may be the scores' memory forwards
  void* dscores = nullptr;           ///< out, backwards: the operand; may be the scores' memory
  void* spare = nullptr;             ///< T, backwards: memory for probabilities where attention_rows_in_memory says no
  Result stored;                     ///< probabilities: forwards written unless it has no memory, backwards read
};

/// Whether two rows of so many keys fit into a block's memory.
template <class T>
bool attention_rows_in_memory(std::int64_t keys);

/// Scores become probabilities: scaled, masked, softmax; stored; through dropout; the operand of the second product.
template <class T>
void attention_softmax(const AttentionRowsWork& work, void* stream);
/// The gradients of the probabilities become those of the scores; and the probabilities an operand once more.
template <class T>
void attention_softmax_backward(const AttentionRowsWork& work, void* stream);

#define ULPSCOPE_EXTERN(T)                                                            \
  extern template bool attention_rows_in_memory<T>(std::int64_t);                     \
  extern template void attention_softmax<T>(const AttentionRowsWork&, void*);         \
  extern template void attention_softmax_backward<T>(const AttentionRowsWork&, void*);
ULPSCOPE_EXTERN(float)
ULPSCOPE_EXTERN(double)
#undef ULPSCOPE_EXTERN

}  // namespace ulpscope::cuda
