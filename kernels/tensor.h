// Shapes and views: what a kernel is handed. A view owns nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include "kernels/formats/format.h"

namespace ulpscope {

inline constexpr int max_rank = 6;

/// Dimensions, outermost first. Rank 0 is a scalar (one element).
struct Shape {
  int rank = 0;
  std::array<std::int64_t, max_rank> dim{};

  Shape() = default;
  /// Both throw UsageError for more than max_rank dimensions and for a negative one.
  Shape(std::initializer_list<std::int64_t> dims) : Shape(std::span<const std::int64_t>(dims.begin(), dims.size())) {}
  explicit Shape(std::span<const std::int64_t> dims);

  std::int64_t operator[](int axis) const { return dim[static_cast<std::size_t>(axis < 0 ? rank + axis : axis)]; }
  std::int64_t& operator[](int axis) { return dim[static_cast<std::size_t>(axis < 0 ? rank + axis : axis)]; }

  std::int64_t elements() const {
    std::int64_t n = 1;
    for (int i = 0; i < rank; ++i) n *= dim[static_cast<std::size_t>(i)];
    return n;
  }

  friend bool operator==(const Shape& a, const Shape& b) {
    if (a.rank != b.rank) return false;
    for (int i = 0; i < a.rank; ++i)
      if (a[i] != b[i]) return false;
    return true;
  }
};

/// "[8, 256, 384]"; a scalar is "[]".
std::string to_string(const Shape& shape);

/// A view of memory: strides in elements, 0 along a broadcast axis.
struct Tensor {
  void* data = nullptr;
  Format format = Format::fp32;
  Shape shape;
  std::array<std::int64_t, max_rank> stride{};

  Tensor() = default;
  /// Contiguous, row-major.
  Tensor(void* memory, Format f, const Shape& s) : data(memory), format(f), shape(s) {
    std::int64_t step = 1;
    for (int i = s.rank - 1; i >= 0; --i) {
      stride[static_cast<std::size_t>(i)] = step;
      step *= s[i];
    }
  }

  std::int64_t elements() const { return shape.elements(); }
  std::int64_t bytes() const { return elements() * storage_bytes(format); }
  bool contiguous() const {
    std::int64_t step = 1;
    for (int i = shape.rank - 1; i >= 0; --i) {
      if (shape[i] != 1 && stride[static_cast<std::size_t>(i)] != step) return false;
      step *= shape[i];
    }
    return true;
  }
};

}  // namespace ulpscope
