// Pooling: x is [planes, H, W], a window slides over each plane. A thread for each result: gradients are gathered from the windows
// that cover an element, in their order, not scattered.
#include "kernels/cuda/observation.h"
#include "kernels/cuda/read.h"
#include "kernels/cuda/register.h"
#include "kernels/ops/params.h"
#include "kernels/ops/window.h"

namespace ulpscope::cuda {
namespace {

struct Pool {
  std::int64_t count = 0;
  Planes planes = {};
  Window window;

  ULPSCOPE_MEMBER std::int64_t inner() const { return planes.height * planes.width; }
  ULPSCOPE_MEMBER std::int64_t outer() const { return planes.out_height * planes.out_width; }
};

/// x [planes, H, W] and y [planes, OH, OW], or their gradients.
Pool pool_of(const char* operation, const Launch& l, const Tensor& x, const Tensor& y) {
  if (x.shape.rank != 3 || y.shape.rank != 3 || x.shape.dim[0] != y.shape.dim[0]) fail(operation, "takes planes [N, H, W]");
  const Window window = static_cast<const PoolParams*>(l.params)->window;
  for (int axis = 0; axis < 2; ++axis)
    if (y.shape[axis + 1] != window_outputs(window, axis, x.shape[axis + 1])) fail(operation, "the outputs are not those of the window");
  return {x.shape.dim[0], {x.shape.dim[1], x.shape.dim[2], y.shape.dim[1], y.shape.dim[2]}, window};
}

/// Element i of planes of so many rows and columns.
struct Place {
  std::int64_t plane, row, column;
};
ULPSCOPE_DEVICE Place place_of(std::int64_t i, std::int64_t rows, std::int64_t columns) {
  const Divided line = divided(i, columns), plane = divided(line.quotient, rows);
  return {plane.quotient, plane.rest, line.rest};
}

template <class T>
struct DevicePlane {
  const DeviceView* x;
  std::int64_t begin;
  ULPSCOPE_DEVICE_MEMBER T operator[](std::int64_t i) const { return read_element<T>(*x, begin + i); }
};

/// The lanes of the reduction tree by one thread, without memory for all of them: in the order in which the fold by halving meets
/// them, bits of the lane reversed, sums of 2^k lanes wait at level k. n <= 16384.
template <class T, class Load>
ULPSCOPE_DEVICE T lanes_sum(std::int64_t n, const Load& load) {
  int levels = 0;
  while ((1 << levels) < n && levels < 8) ++levels;
  T waiting[8] = {};
  T x = T(0);
  for (int k = 0; k < 1 << levels; ++k) {
    int lane = 0;
    for (int bit = 0; bit < levels; ++bit) lane |= (k >> bit & 1) << (levels - 1 - bit);
    x = static_cast<T>(-0.0);
    for (std::int64_t i = lane; i < n; i += math::tree_lanes) x = x + load(i);
    bool carries = true;
    ULPSCOPE_UNROLL
    for (int level = 0; level < 8; ++level) {
      if (!carries) continue;
      if ((k >> level & 1) != 0) {
        x = waiting[level] + x;
      } else {
        waiting[level] = x;
        carries = false;
      }
    }
  }
  return x;
}

/// As window_sum.
template <class T>
ULPSCOPE_DEVICE T thread_window_sum(const DevicePlane<T>& plane, std::int64_t width, Span h, Span w) {
  const std::int64_t columns = w.last - w.first;
  if (columns <= 0 || h.last <= h.first) return T(0);
  const std::int64_t first = h.first * width + w.first, n = (h.last - h.first) * columns;
  const auto load = [&](std::int64_t i) {
    const Divided place = divided(i, columns);
    return plane[first + place.quotient * width + place.rest];
  };
  if (n <= math::tree_chunk) return lanes_sum<T>(n, load);
  return lanes_sum<T>(math::tree_chunks(n), [&](std::int64_t c) {
    return lanes_sum<T>(math::tree_chunk_length(n, c), [&](std::int64_t i) { return load(c * math::tree_chunk + i); });
  });
}

template <class T>
ULPSCOPE_KERNEL void max_kernel(DeviceView x, Pool p, Result y, std::int32_t* index) {
  for (std::int64_t i = global_thread(); i < p.count * p.outer(); i += global_threads()) {
    const Place o = place_of(i, p.planes.out_height, p.planes.out_width);
    const Greatest<T> best = window_max<T>(DevicePlane<T>{&x, o.plane * p.inner()}, p.planes.width, covered(p.window, 0, o.row, p.planes.height),
                                           covered(p.window, 1, o.column, p.planes.width));
    put_element(y, i, best.value);
    index[i] = best.index;
  }
}

template <class T>
ULPSCOPE_KERNEL void average_kernel(DeviceView x, Pool p, T area, Result y) {
  for (std::int64_t i = global_thread(); i < p.count * p.outer(); i += global_threads()) {
    const Place o = place_of(i, p.planes.out_height, p.planes.out_width);
    const T sum = thread_window_sum(DevicePlane<T>{&x, o.plane * p.inner()}, p.planes.width, covered(p.window, 0, o.row, p.planes.height),
                                    covered(p.window, 1, o.column, p.planes.width));
    put_element(y, i, sum / area);
  }
}

/// index null: every window that covers an element gives it its share; else those that found it the greatest give all.
template <class T>
ULPSCOPE_KERNEL void backward_kernel(DeviceView dy, const std::int32_t* index, Pool p, T area, Result dx) {
  for (std::int64_t i = global_thread(); i < p.count * p.inner(); i += global_threads()) {
    const Place e = place_of(i, p.planes.height, p.planes.width);
    const Span rows = covering(p.window, 0, e.row, p.planes.out_height), columns = covering(p.window, 1, e.column, p.planes.out_width);
    T sum = T(0);
    for (std::int64_t oh = rows.first; oh < rows.last; ++oh) {
      for (std::int64_t ow = columns.first; ow < columns.last; ++ow) {
        const std::int64_t o = e.plane * p.outer() + oh * p.planes.out_width + ow;
        if (index == nullptr) {
          sum += read_element<T>(dy, o) / area;
        } else if (index[o] == e.row * p.planes.width + e.column) {
          sum += read_element<T>(dy, o);
        }
      }
    }
    put_element(dx, i, sum);
  }
}

template <class T>
T area_of(const Pool& p) {
  return static_cast<T>(p.window.kernel[0] * p.window.kernel[1]);
}

template <class T>
void run_max(const Launch& l) {
  const char* operation = "max_pool";
  expect_index_output(operation, l, 1);
  const Pool p = pool_of(operation, l, l.in[0], l.out[0]);
  Observation<T> observation(l);
  const Result y = observation.result(0, view_of(l.out[0]));
  launch(max_kernel<T>, blocks_of_threads(p.count * p.outer()), team_threads, l.stream, DeviceView(view_of(l.in[0])), p, y,
         static_cast<std::int32_t*>(l.out[1].data));
  observation.count(0, count_rows(p.count, p.outer()));
}

template <class T>
void run_average(const Launch& l) {
  const char* operation = "avg_pool";
  expect_operands(operation, l, 1, 1);
  const Pool p = pool_of(operation, l, l.in[0], l.out[0]);
  Observation<T> observation(l);
  const Result y = observation.result(0, view_of(l.out[0]));
  launch(average_kernel<T>, blocks_of_threads(p.count * p.outer()), team_threads, l.stream, DeviceView(view_of(l.in[0])), p,
         area_of<T>(p), y);
  observation.count(0, count_rows(p.count, p.outer()));
}

template <class T>
void run_gradient(const char* operation, const Launch& l, const std::int32_t* index) {
  const Pool p = pool_of(operation, l, l.out[0], l.in[0]);
  if (index != nullptr) expect_shape(operation, "the index", l.in[1].shape, l.in[0].shape);
  Observation<T> observation(l);
  const Result dx = observation.result(0, view_of(l.out[0]));
  launch(backward_kernel<T>, blocks_of_threads(p.count * p.inner()), team_threads, l.stream, DeviceView(view_of(l.in[0])), index, p,
         area_of<T>(p), dx);
  observation.count(0, count_rows(p.count, p.inner()));
}

template <class T>
void run_max_backward(const Launch& l) {
  expect_operands("max_pool_backward", l, 2, 1, 1u << 1);
  run_gradient<T>("max_pool_backward", l, static_cast<const std::int32_t*>(l.in[1].data));
}

template <class T>
void run_average_backward(const Launch& l) {
  expect_operands("avg_pool_backward", l, 1, 1);
  run_gradient<T>("avg_pool_backward", l, nullptr);
}

template <class T>
void add_pools(KernelTable& table, Format compute) {
  table.add("max_pool", compute, Kernel{run_max<T>});
  table.add("max_pool_backward", compute, Kernel{run_max_backward<T>});
  table.add("avg_pool", compute, Kernel{run_average<T>});
  table.add("avg_pool_backward", compute, Kernel{run_average_backward<T>});
}

}  // namespace

void register_pool(KernelTable& table) {
  add_pools<float>(table, Format::fp32);
  add_pools<double>(table, Format::fp64);
}

}  // namespace ulpscope::cuda
