// Element-wise kernels with one result. Which bodies there are: ops/elementwise_list.h.
#include "kernels/cuda/elementwise.h"

#include "kernels/cuda/element_stage.h"
#include "kernels/ops/elementwise_list.h"

namespace ulpscope::cuda {
namespace {

template <template <class> class Body>
struct ParametersOf {
  using Type = NoParameters;
};
template <>
struct ParametersOf<ScaleBody> {
  using Type = ScaleParams;
};
template <>
struct ParametersOf<MaskedFillBody> {
  using Type = MaskedFillParams;
};
template <>
struct ParametersOf<ClampBody> {
  using Type = ClampParams;
};
template <>
struct ParametersOf<ClampBackwardBody> {
  using Type = ClampParams;
};

}  // namespace

void register_elementwise(KernelTable& table) {
#define ULPSCOPE_ADD(BODY, INPUTS, COST) \
  add_map<BODY, INPUTS, ParametersOf<BODY>::Type>(table, element_stage<BODY, INPUTS, ParametersOf<BODY>::Type>());
  ULPSCOPE_ELEMENTWISE_BODIES(ULPSCOPE_ADD)
#undef ULPSCOPE_ADD
}

}  // namespace ulpscope::cuda
