// Activations and their gradients from the input x. Formulas and their order as in PyTorch
// (aten/native/cpu/Activation.cpp).
#pragma once

#include <cstdint>

#include "kernels/math/elementary.h"
#include "kernels/portable.h"

namespace ulpscope {

template <class T>
struct SigmoidBody {
  static constexpr const char* operation = "sigmoid";
  ULPSCOPE_MEMBER T operator()(std::int64_t, T x) const { return T(1) / (T(1) + math::exp(-x)); }
};

/// NaN stays NaN.
template <class T>
struct ReluBody {
  static constexpr const char* operation = "relu";
  ULPSCOPE_MEMBER T operator()(std::int64_t, T x) const { return x <= T(0) ? T(0) : x; }
};

template <class T>
struct ReluBackwardBody {
  static constexpr const char* operation = "relu_backward";
  ULPSCOPE_MEMBER T operator()(std::int64_t, T x, T dy) const { return x <= T(0) ? T(0) : dy; }
};

template <class T>
struct SiluBody {
  static constexpr const char* operation = "silu";
  ULPSCOPE_MEMBER T operator()(std::int64_t, T x) const { return x / (T(1) + math::exp(-x)); }
};

template <class T>
struct SiluBackwardBody {
  static constexpr const char* operation = "silu_backward";
  ULPSCOPE_MEMBER T operator()(std::int64_t, T x, T dy) const {
    const T sigmoid = T(1) / (T(1) + math::exp(-x));
    return dy * sigmoid * (T(1) + x * (T(1) - sigmoid));
  }
};

/// 0.5 x (1 + erf(x / sqrt 2))
template <class T>
struct GeluBody {
  static constexpr const char* operation = "gelu";
  ULPSCOPE_MEMBER T operator()(std::int64_t, T x) const {
    constexpr T sqrt_half = static_cast<T>(0.70710678118654752440);
    return x * T(0.5) * (T(1) + math::erf(x * sqrt_half));
  }
};

template <class T>
struct GeluBackwardBody {
  static constexpr const char* operation = "gelu_backward";
  ULPSCOPE_MEMBER T operator()(std::int64_t, T x, T dy) const {
    constexpr T sqrt_half = static_cast<T>(0.70710678118654752440);
    constexpr T density = static_cast<T>(0.39894228040143267794);  // 1 / sqrt(2 pi)
    const T cdf = T(0.5) * (T(1) + math::erf(x * sqrt_half));
    const T pdf = density * math::exp(x * x * T(-0.5));
    return dy * (cdf + x * pdf);
  }
};

/// GELU by tanh: 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))
template <class T>
struct GeluTanhBody {
  static constexpr const char* operation = "gelu_tanh";
  static constexpr T beta = static_cast<T>(0.79788456080286535588);  // sqrt(2 / pi)
  static constexpr T kappa = static_cast<T>(0.044715);
  ULPSCOPE_MEMBER T operator()(std::int64_t, T x) const {
    const T inner = beta * (x + kappa * (x * x * x));
    return T(0.5) * x * (T(1) + math::tanh(inner));
  }
};

template <class T>
struct GeluTanhBackwardBody {
  static constexpr const char* operation = "gelu_tanh_backward";
  static constexpr T beta = GeluTanhBody<T>::beta;
  static constexpr T kappa = GeluTanhBody<T>::kappa;
  ULPSCOPE_MEMBER T operator()(std::int64_t, T x, T dy) const {
    const T square = x * x;
    const T inner_tanh = math::tanh(beta * (x + kappa * (square * x)));
    const T left = T(0.5) * x;
    const T right = T(1) + inner_tanh;
    const T inner_derivative = beta * (T(1) + T(3) * kappa * square);
    return dy * (T(0.5) * right + left * (T(1) - inner_tanh * inner_tanh) * inner_derivative);
  }
};

}  // namespace ulpscope
