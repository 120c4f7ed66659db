// y = f(x), element by element. A body is a functor of the compute type T: operator()(index in row-major order,
// operands). Bodies that need parameters or the step's state have a static make(params, state, elements).
#pragma once

#include <cstdint>

#include "kernels/math/elementary.h"
#include "kernels/ops/params.h"
#include "kernels/portable.h"
#include "kernels/step_state.h"

namespace ulpscope {

#define ULPSCOPE_UNARY_BODY(NAME, OPERATION, EXPRESSION)                         \
  template <class T>                                                             \
  struct NAME {                                                                  \
    static constexpr const char* operation = OPERATION;                          \
    ULPSCOPE_MEMBER T operator()(std::int64_t, T x) const { return EXPRESSION; } \
  }

ULPSCOPE_UNARY_BODY(CopyBody, "copy", x);
ULPSCOPE_UNARY_BODY(NegBody, "neg", -x);
ULPSCOPE_UNARY_BODY(AbsBody, "abs", x <= T(0) ? T(0) - x : x);  // -0 gives +0
ULPSCOPE_UNARY_BODY(SquareBody, "square", x* x);
ULPSCOPE_UNARY_BODY(SqrtBody, "sqrt", math::sqrt(x));
ULPSCOPE_UNARY_BODY(RsqrtBody, "rsqrt", math::rsqrt(x));
ULPSCOPE_UNARY_BODY(ReciprocalBody, "reciprocal", T(1) / x);
ULPSCOPE_UNARY_BODY(ExpBody, "exp", math::exp(x));
ULPSCOPE_UNARY_BODY(LogBody, "log", math::log(x));
ULPSCOPE_UNARY_BODY(SinBody, "sin", math::sin(x));
ULPSCOPE_UNARY_BODY(CosBody, "cos", math::cos(x));
ULPSCOPE_UNARY_BODY(ErfBody, "erf", math::erf(x));
ULPSCOPE_UNARY_BODY(TanhBody, "tanh", math::tanh(x));

#undef ULPSCOPE_UNARY_BODY

/// y = x * factor; the factor is rounded to T once.
template <class T>
struct ScaleBody {
  static constexpr const char* operation = "scale";
  T factor;

  static ULPSCOPE_MEMBER ScaleBody make(const void* params, const StepState*, std::int64_t) {
    return {static_cast<T>(static_cast<const ScaleParams*>(params)->factor)};
  }
  ULPSCOPE_MEMBER T operator()(std::int64_t, T x) const { return x * factor; }
};

/// y = x * S, the loss scale of the step.
template <class T>
struct ScaleByLossScaleBody {
  static constexpr const char* operation = "scale_by_loss_scale";
  T factor;

  static ULPSCOPE_MEMBER ScaleByLossScaleBody make(const void*, const StepState* state, std::int64_t) {
    return {static_cast<T>(state->loss_scale)};
  }
  ULPSCOPE_MEMBER T operator()(std::int64_t, T x) const { return x * factor; }
};

}  // namespace ulpscope
