// A compile check: every element-wise body of kernels/ops inside a __global__ function, for float and double, so that a
// body which nvcc does not take is noticed at once. Not linked into any program: there is no GPU device here, only the
// proof that the single source is one.
#include <cstdint>

#include "kernels/formats/storage.h"
#include "kernels/ops/adamw.h"
#include "kernels/ops/dropout.h"
#include "kernels/ops/elementwise_list.h"
#include "kernels/ops/persistent.h"
#include "kernels/ops/sgd.h"
#include "kernels/ops/unscale.h"
#include "kernels/ops/weight_rounding.h"

namespace ulpscope::cuda {
namespace {

template <class Body>
__device__ Body make_body(const void* params, const StepState* state, std::int64_t elements) {
  if constexpr (requires { Body::make(params, state, elements); }) {
    return Body::make(params, state, elements);
  } else {
    return Body{};
  }
}

__device__ std::int64_t first_element() { return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ std::int64_t grid_stride() { return static_cast<std::int64_t>(gridDim.x) * blockDim.x; }

}  // namespace

/// params and state are in device memory.
template <class T, template <class> class Body, int inputs>
__global__ void map_kernel(const void* params, const StepState* state, std::int64_t n, const T* a, const T* b,
                           const T* c, T* y) {
  const Body<T> body = make_body<Body<T>>(params, state, n);
  for (std::int64_t i = first_element(); i < n; i += grid_stride()) {
    if constexpr (inputs == 1) {
      y[i] = body(i, a[i]);
    } else if constexpr (inputs == 2) {
      y[i] = body(i, a[i], b[i]);
    } else {
      y[i] = body(i, a[i], b[i], c[i]);
    }
  }
}

#define ULPSCOPE_INSTANTIATE(BODY, INPUTS, COST)                                                                      \
  template __global__ void map_kernel<float, BODY, INPUTS>(const void*, const StepState*, std::int64_t, const float*, \
                                                           const float*, const float*, float*);                       \
  template __global__ void map_kernel<double, BODY, INPUTS>(const void*, const StepState*, std::int64_t,              \
                                                            const double*, const double*, const double*, double*);
ULPSCOPE_ELEMENTWISE_BODIES(ULPSCOPE_INSTANTIATE)
ULPSCOPE_INSTANTIATE(CopyBody, 1, 1)
ULPSCOPE_INSTANTIATE(DropoutBody, 1, 8)
ULPSCOPE_INSTANTIATE(EmaBody, 2, 1)
ULPSCOPE_INSTANTIATE(AccumulateBody, 2, 1)
#undef ULPSCOPE_INSTANTIATE

template <class T>
__global__ void dropout_blocks_kernel(const DropoutParams* params, const StepState* state, std::int64_t n, const T* x,
                                      T* y) {
  const DropoutStream<T> stream = dropout_stream<T>(*params, *state);
  for (std::int64_t block = first_element(); 4 * block < n; block += grid_stride()) {
    T factor[4];
    dropout_factors(stream, block, 1, factor);
    for (int i = 0; i < 4 && 4 * block + i < n; ++i) y[4 * block + i] = x[4 * block + i] * factor[i];
  }
}
template __global__ void dropout_blocks_kernel<float>(const DropoutParams*, const StepState*, std::int64_t,
                                                      const float*, float*);
template __global__ void dropout_blocks_kernel<double>(const DropoutParams*, const StepState*, std::int64_t,
                                                       const double*, double*);

template <class T>
__global__ void unscale_kernel(StepState* state, std::int64_t n, T limit, T* g) {
  const UnscaleBody<T> body = {static_cast<T>(state->inverse_scale), limit};
  for (std::int64_t i = first_element(); i < n; i += grid_stride()) {
    g[i] = body(g[i]);
    if (!body.finite(g[i])) state->finite = 0;
  }
}
template __global__ void unscale_kernel<float>(StepState*, std::int64_t, float, float*);
template __global__ void unscale_kernel<double>(StepState*, std::int64_t, double, double*);

template <class T>
__global__ void sgd_kernel(const SgdParams* params, const StepState* state, std::int64_t n, const T* g, T* p,
                           T* buffer) {
  if (state->finite == 0 || state->halt != 0) return;
  const SgdBody<T> body = SgdBody<T>::make(params, state, n);
  for (std::int64_t i = first_element(); i < n; i += grid_stride()) {
    if (buffer != nullptr) {
      body(g[i], p[i], buffer[i]);
    } else {
      body(g[i], p[i]);
    }
  }
}
template __global__ void sgd_kernel<float>(const SgdParams*, const StepState*, std::int64_t, const float*, float*,
                                           float*);
template __global__ void sgd_kernel<double>(const SgdParams*, const StepState*, std::int64_t, const double*, double*,
                                            double*);

template <class T>
__global__ void adamw_kernel(const AdamWParams* params, const StepState* state, std::int64_t n, const T* g, T* p, T* m,
                             T* v) {
  if (state->finite == 0 || state->halt != 0) return;
  const AdamWBody<T> body = AdamWBody<T>::make(params, state, n);
  for (std::int64_t i = first_element(); i < n; i += grid_stride()) body(g[i], p[i], m[i], v[i]);
}
template __global__ void adamw_kernel<float>(const AdamWParams*, const StepState*, std::int64_t, const float*, float*,
                                             float*, float*);
template __global__ void adamw_kernel<double>(const AdamWParams*, const StepState*, std::int64_t, const double*,
                                              double*, double*, double*);

/// The storage formats' conversions.
template <Format from, Format to>
__global__ void cast_kernel(std::int64_t n, const typename Storage<from>::type* x, typename Storage<to>::type* y) {
  for (std::int64_t i = first_element(); i < n; i += grid_stride())
    y[i] = Storage<to>::round(Storage<from>::widen(x[i]));
}
#define ULPSCOPE_CAST(FORMAT)                                                                         \
  template __global__ void cast_kernel<Format::fp32, Format::FORMAT>(std::int64_t, const float*,      \
                                                                     Storage<Format::FORMAT>::type*); \
  template __global__ void cast_kernel<Format::fp64, Format::FORMAT>(std::int64_t, const double*,     \
                                                                     Storage<Format::FORMAT>::type*); \
  template __global__ void cast_kernel<Format::FORMAT, Format::fp32>(std::int64_t,                    \
                                                                     const Storage<Format::FORMAT>::type*, float*);
ULPSCOPE_CAST(tf32)
ULPSCOPE_CAST(fp16)
ULPSCOPE_CAST(bf16)
ULPSCOPE_CAST(fp8_e4m3)
ULPSCOPE_CAST(fp8_e5m2)
#undef ULPSCOPE_CAST

}  // namespace ulpscope::cuda
