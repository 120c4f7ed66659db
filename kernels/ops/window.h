// A window that slides over a plane [H, W]: which elements an output sees (pooling), and which outputs a tap of a
// convolution's kernel serves.
#pragma once

#include <cstdint>

#include "kernels/math/reduction_tree.h"
#include "kernels/ops/params.h"
#include "kernels/portable.h"

namespace ulpscope {

/// Outputs along one axis of `extent` elements.
ULPSCOPE_BODY std::int64_t window_outputs(const Window& w, int axis, std::int64_t extent) {
  const std::int64_t room = extent + 2 * w.padding[axis] - w.dilation[axis] * (w.kernel[axis] - 1) - 1;
  return room < 0 ? 0 : room / w.stride[axis] + 1;
}

/// Positions [first, last) along one axis.
struct Span {
  std::int64_t first;
  std::int64_t last;
};

/// What the window of output `out` covers of [0, extent), without dilation.
ULPSCOPE_BODY Span covered(const Window& w, int axis, std::int64_t out, std::int64_t extent) {
  const std::int64_t begin = out * w.stride[axis] - w.padding[axis];
  const std::int64_t end = begin + w.kernel[axis];
  return {begin < 0 ? 0 : begin, end < extent ? end : extent};
}

template <class T>
struct Greatest {
  T value;
  std::int32_t index;  ///< in the plane, row by row
};

/// plane[i] is element i. The greatest element of a window, the first of equals; a NaN wins, as in torch.nn.functional.max_pool2d.
template <class T, class Plane>
ULPSCOPE_BODY Greatest<T> window_max(const Plane& plane, std::int64_t width, Span h, Span w) {
  Greatest<T> best = {static_cast<T>(-__builtin_huge_val()), static_cast<std::int32_t>(h.first * width + w.first)};
  for (std::int64_t y = h.first; y < h.last; ++y) {
    for (std::int64_t x = w.first; x < w.last; ++x) {
      const T value = plane[y * width + x];
      if (value > best.value || value != value) best = {value, static_cast<std::int32_t>(y * width + x)};
    }
  }
  return best;
}

/// The sum of a window along the tree, row by row.
template <class T>
ULPSCOPE_BODY T window_sum(const T* plane, std::int64_t width, Span h, Span w) {
  const std::int64_t columns = w.last - w.first;
  if (columns <= 0 || h.last <= h.first) return T(0);
  const T* first = plane + h.first * width + w.first;
  if (columns == width)
    return math::tree_sum<T>((h.last - h.first) * columns, [=](std::int64_t i) { return first[i]; });
  return math::tree_sum<T>((h.last - h.first) * columns,
                           [=](std::int64_t i) { return first[i / columns * width + i % columns]; });
}

/// Outputs along one axis whose window covers `position`, without dilation.
ULPSCOPE_BODY Span covering(const Window& w, int axis, std::int64_t position, std::int64_t outputs) {
  const std::int64_t shifted = position + w.padding[axis], early = shifted - w.kernel[axis] + 1;
  const std::int64_t last = shifted / w.stride[axis] + 1;
  return {early <= 0 ? 0 : (early + w.stride[axis] - 1) / w.stride[axis], last < outputs ? last : outputs};
}

/// Outputs along one axis whose tap `tap` falls inside [0, extent): position out * stride - padding + tap * dilation.
ULPSCOPE_BODY Span served(const Window& w, int axis, std::int64_t tap, std::int64_t outputs, std::int64_t extent) {
  const std::int64_t shift = tap * w.dilation[axis] - w.padding[axis];
  const std::int64_t stride = w.stride[axis];
  const std::int64_t first = shift >= 0 ? 0 : (-shift + stride - 1) / stride;
  const std::int64_t room = extent - shift;
  std::int64_t last = room <= 0 ? 0 : (room + stride - 1) / stride;
  last = last < outputs ? last : outputs;
  return {first < last ? first : last, last};
}

/// Plane [height, width] and the plane [out_height, out_width] of outputs.
struct Planes {
  std::int64_t height, width, out_height, out_width;
};

/// row[oh, ow] = the element of the plane under tap (kh, kw), 0 in the padding: one row of the matrix whose product
/// with the kernel is the convolution.
template <class T>
ULPSCOPE_BODY void gather_tap(const T* plane, const Planes& p, const Window& w, std::int64_t kh, std::int64_t kw,
                              T* row) {
  const Span rows = served(w, 0, kh, p.out_height, p.height);
  const Span columns = served(w, 1, kw, p.out_width, p.width);
  for (std::int64_t oh = 0; oh < p.out_height; ++oh) {
    T* to = row + oh * p.out_width;
    const bool inside = oh >= rows.first && oh < rows.last;
    const Span s = inside ? columns : Span{0, 0};
    const T* from =
        plane + (oh * w.stride[0] - w.padding[0] + kh * w.dilation[0]) * p.width - w.padding[1] + kw * w.dilation[1];
    for (std::int64_t ow = 0; ow < s.first; ++ow) to[ow] = T(0);
    if (w.stride[1] == 1) {
      for (std::int64_t ow = s.first; ow < s.last; ++ow) to[ow] = from[ow];
    } else {
      for (std::int64_t ow = s.first; ow < s.last; ++ow) to[ow] = from[ow * w.stride[1]];
    }
    for (std::int64_t ow = s.last; ow < p.out_width; ++ow) to[ow] = T(0);
  }
}

/// The transposed movement: what is in the row is added to the plane.
template <class T>
ULPSCOPE_BODY void scatter_tap(const T* row, const Planes& p, const Window& w, std::int64_t kh, std::int64_t kw,
                               T* plane) {
  const Span rows = served(w, 0, kh, p.out_height, p.height);
  const Span columns = served(w, 1, kw, p.out_width, p.width);
  for (std::int64_t oh = rows.first; oh < rows.last; ++oh) {
    const T* from = row + oh * p.out_width;
    T* to =
        plane + (oh * w.stride[0] - w.padding[0] + kh * w.dilation[0]) * p.width - w.padding[1] + kw * w.dilation[1];
    for (std::int64_t ow = columns.first; ow < columns.last; ++ow) to[ow * w.stride[1]] += from[ow];
  }
}

}  // namespace ulpscope
