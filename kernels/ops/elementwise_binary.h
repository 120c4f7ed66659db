// y = f(a, b), element by element, and the gradients that are computed from an output y and its gradient dy.
#pragma once

#include <cstdint>

#include "kernels/portable.h"

namespace ulpscope {

#define ULPSCOPE_BINARY_BODY(NAME, OPERATION, A, B, EXPRESSION)                       \
  template <class T>                                                                  \
  struct NAME {                                                                       \
    static constexpr const char* operation = OPERATION;                               \
    ULPSCOPE_MEMBER T operator()(std::int64_t, T A, T B) const { return EXPRESSION; } \
  }

ULPSCOPE_BINARY_BODY(AddBody, "add", a, b, a + b);
ULPSCOPE_BINARY_BODY(SubBody, "sub", a, b, a - b);
ULPSCOPE_BINARY_BODY(MulBody, "mul", a, b, (a * b));
ULPSCOPE_BINARY_BODY(DivBody, "div", a, b, a / b);
// NaN if either is, as torch.maximum.
ULPSCOPE_BINARY_BODY(MaximumBody, "maximum", a, b, (a > b) | (a != a) ? a : b);

ULPSCOPE_BINARY_BODY(TanhBackwardBody, "tanh_backward", y, dy, (dy * (T(1) - y * y)));
ULPSCOPE_BINARY_BODY(SigmoidBackwardBody, "sigmoid_backward", y, dy, (dy * (T(1) - y) * y));
ULPSCOPE_BINARY_BODY(SqrtBackwardBody, "sqrt_backward", y, dy, dy / (T(2) * y));
ULPSCOPE_BINARY_BODY(ExpBackwardBody, "exp_backward", y, dy, (dy * y));

#undef ULPSCOPE_BINARY_BODY

}  // namespace ulpscope
