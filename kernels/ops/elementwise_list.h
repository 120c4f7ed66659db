// The element-wise bodies with one result: what the CPU registers and what nvcc compiles. X(body, inputs, cost of an
// element relative to an addition: it decides only when a second thread pays).
#pragma once

#include "kernels/ops/activations.h"
#include "kernels/ops/clamp.h"
#include "kernels/ops/elementwise_binary.h"
#include "kernels/ops/elementwise_unary.h"
#include "kernels/ops/losses.h"
#include "kernels/ops/masks.h"

#define ULPSCOPE_ELEMENTWISE_BODIES(X) \
  X(NegBody, 1, 1)                     \
  X(AbsBody, 1, 1)                     \
  X(SquareBody, 1, 1)                  \
  X(SqrtBody, 1, 2)                    \
  X(RsqrtBody, 1, 2)                   \
  X(ReciprocalBody, 1, 2)              \
  X(ExpBody, 1, 4)                     \
  X(LogBody, 1, 4)                     \
  X(SinBody, 1, 8)                     \
  X(CosBody, 1, 8)                     \
  X(ErfBody, 1, 8)                     \
  X(TanhBody, 1, 8)                    \
  X(ScaleBody, 1, 1)                   \
  X(ScaleByLossScaleBody, 1, 1)        \
  X(ClampBody, 1, 1)                   \
  X(SigmoidBody, 1, 4)                 \
  X(ReluBody, 1, 1)                    \
  X(SiluBody, 1, 4)                    \
  X(GeluBody, 1, 8)                    \
  X(GeluTanhBody, 1, 8)                \
  X(AddBody, 2, 1)                     \
  X(SubBody, 2, 1)                     \
  X(MulBody, 2, 1)                     \
  X(DivBody, 2, 2)                     \
  X(MaximumBody, 2, 1)                 \
  X(TanhBackwardBody, 2, 1)            \
  X(SigmoidBackwardBody, 2, 1)         \
  X(SqrtBackwardBody, 2, 2)            \
  X(ExpBackwardBody, 2, 1)             \
  X(ReluBackwardBody, 2, 1)            \
  X(ClampBackwardBody, 2, 1)           \
  X(SiluBackwardBody, 2, 4)            \
  X(GeluBackwardBody, 2, 8)            \
  X(GeluTanhBackwardBody, 2, 8)        \
  X(MaskedFillBody, 2, 1)              \
  X(WhereBody, 3, 1)                   \
  X(L1LossBackwardBody, 3, 1)          \
  X(BceWithLogitsBackwardBody, 3, 4)   \
  X(MseLossBackwardBody, 3, 1)
