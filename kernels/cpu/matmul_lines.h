// The work of a product on one line of numbers: widening operands, rounding results. Compiled once per instruction set.
#pragma once

#include <cstdint>

#include "kernels/formats/format.h"

namespace ulpscope {

struct RoundingTally;

/// T is the compute type, float or double.
template <class T>
struct ProductLines {
  /// to[i] = element i of the line, widened; rounded to `multiply` if that is narrower than `format` (float only:
  /// products in double check gradients, and a rounding there would be mistaken for an error of the gradient).
  void (*load)(Format format, const void* line, std::int64_t stride, T* to, std::int64_t n, Format multiply);
  /// sum[i] += the other parts of a sum cut along K (part_stride apart, ascending), += bias[i] (may be null); then one
  /// rounding into the line, counted if there is a tally. `line` may be `sum` itself.
  void (*finish)(T* sum, std::int64_t parts, std::int64_t part_stride, const T* bias, Format format, void* line,
                 std::int64_t stride, std::int64_t n, RoundingTally* tally);
};

namespace portable {
template <class T>
const ProductLines<T>& product_lines();
}
#if defined(__x86_64__)
namespace avx2 {
template <class T>
const ProductLines<T>& product_lines();
}
namespace avx512 {
template <class T>
const ProductLines<T>& product_lines();
}
#endif

}  // namespace ulpscope
