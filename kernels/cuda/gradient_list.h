// Gradients of a whole model, a launch for every 56 tensors (most_listed): unscaled, checked and squared, a block for each chunk of the
// reduction tree, whichever tensor it is of. The same bits as tensor by tensor. T is the compute type.
#pragma once

#include <cstdint>

#include "kernels/cuda/view.h"
#include "kernels/launch.h"
#include "kernels/step_state.h"

namespace ulpscope::cuda {

struct ListedGradient {
  const void* g = nullptr;
  void* out = nullptr;             ///< null: it is only read
  std::int64_t elements = 0;
  std::int64_t first_chunk = 0;    ///< of the list's
  Format format = Format::fp32, out_format = Format::fp32;
  std::int32_t number = 0;         ///< of the tensor: where its norm goes
  bool in_place = false;           ///< out is where g is, in the compute type
};

/// Handed to the kernel by value: 4 KiB is what every driver takes.
inline constexpr int most_listed = 56;
struct GradientList {
  StepState* state = nullptr;
  std::int64_t chunks = 0;
  int count = 0;
  bool unscales = false;
  ListedGradient item[most_listed];
};
static_assert(sizeof(GradientList) <= 4000);

/// Whether a tensor can be an item: its elements lie in one piece.
inline bool can_be_listed(const View& g) { return g.flat; }

/// Adds a tensor; launches what is there when the list is full. norms: null, or one number for each tensor, the square root of the sum of its
/// squares as it is stored; partial: room for the chunks of all tensors then.
template <class T>
class GradientLists {
 public:
  GradientLists(const Launch& launch, bool unscales, T* norms, T* partial);
  /// out: null where nothing is unscaled.
  void add(int number, const View& g, const View* out);
  /// What is left.
  void flush();

 private:
  const Launch& launch_;
  T *norms_, *partial_;
  GradientList list_;
};

extern template class GradientLists<float>;
extern template class GradientLists<double>;

}  // namespace ulpscope::cuda
