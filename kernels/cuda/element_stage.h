// How element-wise operations take part in a fused launch of a GPU (fused.cu): by a number, because a kernel cannot be handed functions
// of other files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/launch.h"
#include "kernels/ops/dropout.h"
#include "kernels/ops/elementwise_list.h"

namespace ulpscope::cuda {

/// CopyBody, DropoutBody and those of ops/elementwise_list.h.
enum class ElementCode : std::int32_t {
  CopyBody,
  DropoutBody,
#define ULPSCOPE_CODE(BODY, INPUTS, COST) BODY,
  ULPSCOPE_ELEMENTWISE_BODIES(ULPSCOPE_CODE)
#undef ULPSCOPE_CODE
};

template <template <class> class Body>
struct CodeOf;
#define ULPSCOPE_CODE(BODY, INPUTS, COST)                          \
  template <>                                                      \
  struct CodeOf<BODY> {                                            \
    static constexpr ElementCode value = ElementCode::BODY;        \
  };
ULPSCOPE_CODE(CopyBody, 1, 1)
ULPSCOPE_CODE(DropoutBody, 1, 1)
ULPSCOPE_ELEMENTWISE_BODIES(ULPSCOPE_CODE)
#undef ULPSCOPE_CODE

inline constexpr std::size_t most_parameter_bytes = 32;

/// Stage::functions of this device.
struct ElementStage {
  ElementCode code;
  std::size_t parameter_bytes;   ///< of Launch::params
};

struct NoStageParameters {};

template <template <class> class Body, int inputs, class Parameters = NoStageParameters>
const Stage* element_stage() {
  constexpr bool none = std::is_empty_v<Parameters>;
  static_assert(std::is_trivially_copyable_v<Parameters>, "parameters reach the GPU as bytes");
  static_assert(none || sizeof(Parameters) <= most_parameter_bytes, "a link of a fused launch holds most_parameter_bytes of parameters");
  static const ElementStage functions{CodeOf<Body>::value, none ? 0 : sizeof(Parameters)};
  static const Stage stage = [] {
    Stage s;
    s.reads = inputs;
    s.functions = &functions;
    return s;
  }();
  return &stage;
}

}  // namespace ulpscope::cuda
