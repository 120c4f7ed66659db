// Bodies in loops, one copy per instruction set (bodies_isa.cpp), for the comparison of their bits.
#pragma once

#include <cstdint>

namespace ulpscope::bodies_test {

inline constexpr int function_count = 9;   ///< exp log tanh erf sin cos sqrt rsqrt fp16-stochastic
inline constexpr int reduction_count = 2;  ///< sum and maximum

struct Bodies {
  void (*apply)(int function, const float* x, float* y, std::int64_t n);
  float (*reduce)(int reduction, const float* x, std::int64_t n);
  void (*normals)(std::uint64_t key, float* y, std::int64_t n);
};

}  // namespace ulpscope::bodies_test
