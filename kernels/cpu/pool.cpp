// Pooling: x is [planes, H, W], a window slides over each plane.
#include "kernels/cpu/register_isa.h"
#include "kernels/cpu/rows.h"
#include "kernels/ops/params.h"
#include "kernels/ops/window.h"

namespace ulpscope::cpu::ULPSCOPE_ISA {
namespace {

struct Pool {
  std::int64_t count = 0;
  Planes planes = {};
  Window window;

  std::int64_t inner() const { return planes.height * planes.width; }
  std::int64_t outer() const { return planes.out_height * planes.out_width; }
  Span rows(std::int64_t oh) const { return covered(window, 0, oh, planes.height); }
  Span columns(std::int64_t ow) const { return covered(window, 1, ow, planes.width); }
};

/// x [planes, H, W] and y [planes, OH, OW], or their gradients.
Pool pool_of(const char* operation, const Launch& launch, const Tensor& x, const Tensor& y) {
  if (x.shape.rank != 3 || y.shape.rank != 3 || x.shape.dim[0] != y.shape.dim[0])
    fail(operation, "takes planes [N, H, W]");
  const Window window = static_cast<const PoolParams*>(launch.params)->window;
  for (int axis = 0; axis < 2; ++axis) {
    const unsigned at = static_cast<unsigned>(axis + 1);
    if (y.shape.dim[at] != window_outputs(window, axis, x.shape.dim[at]))
      fail(operation, "the outputs are not those of the window");
  }
  return {x.shape.dim[0], {x.shape.dim[1], x.shape.dim[2], y.shape.dim[1], y.shape.dim[2]}, window};
}

/// For each thread a plane of inputs and one of outputs, larger or smaller.
template <class T>
std::size_t workspace(const Launch& launch) {
  std::int64_t most = 1;
  const auto look = [&](const Tensor& t) {
    std::int64_t plane = 1;
    for (int axis = 1; axis < t.shape.rank; ++axis) plane *= t.shape.dim[static_cast<unsigned>(axis)];
    most = plane > most ? plane : most;
  };
  for (int i = 0; i < launch.in_count; ++i) look(launch.in[i]);
  for (int o = 0; o < launch.out_count; ++o) look(launch.out[o]);
  return row_workspace(launch, most, 2, 0, sizeof(T));
}

/// work(plane, input scratch, output scratch, tally) for every plane.
template <class T, class Work>
inline void for_planes(const Launch& launch, const Pool& pool, const Work& work) {
  const std::int64_t area = pool.window.kernel[0] * pool.window.kernel[1];
  const std::size_t pitch = padded(pool.inner() > pool.outer() ? pool.inner() : pool.outer());
  run_units(launch, pool.count, pool.count * (pool.inner() + pool.outer() * area),
            [&](int thread, std::int64_t first, std::int64_t last, RoundingTally* const* tally) {
              T* own = static_cast<T*>(launch.workspace) + static_cast<std::size_t>(thread) * 2 * pitch;
              for (std::int64_t plane = first; plane < last; ++plane) work(plane, own, own + pitch, tally[0]);
            });
}

template <class T>
void run_max(const Launch& launch) {
  const char* operation = "max_pool";
  expect_index_output(operation, launch, 1);
  expect_workspace(operation, launch);
  const Pool pool = pool_of(operation, launch, launch.in[0], launch.out[0]);
  const View x = view_of(launch.in[0]), y = view_of(launch.out[0]);
  std::int32_t* index = static_cast<std::int32_t*>(launch.out[1].data);
  for_planes<T>(launch, pool, [&](std::int64_t plane, T* in, T* out, RoundingTally* tally) {
    const T* from = read_run(x, plane * pool.inner(), pool.inner(), in);
    T* to = write_place(y, plane * pool.outer(), out, tally);
    for (std::int64_t oh = 0; oh < pool.planes.out_height; ++oh) {
      for (std::int64_t ow = 0; ow < pool.planes.out_width; ++ow) {
        const Greatest<T> best = window_max<T>(from, pool.planes.width, pool.rows(oh), pool.columns(ow));
        to[oh * pool.planes.out_width + ow] = best.value;
        index[plane * pool.outer() + oh * pool.planes.out_width + ow] = best.index;
      }
    }
    write_run(y, plane * pool.outer(), pool.outer(), to, tally);
  });
}

template <class T>
void run_max_backward(const Launch& launch) {
  const char* operation = "max_pool_backward";
  expect_operands(operation, launch, 2, 1, 1u << 1);
  expect_workspace(operation, launch);
  const Pool pool = pool_of(operation, launch, launch.out[0], launch.in[0]);
  expect_shape(operation, "the index", launch.in[1].shape, launch.in[0].shape);
  const View dy = view_of(launch.in[0]), dx = view_of(launch.out[0]);
  const std::int32_t* index = static_cast<const std::int32_t*>(launch.in[1].data);
  for_planes<T>(launch, pool, [&](std::int64_t plane, T* in, T* out, RoundingTally* tally) {
    const T* from = read_run(dy, plane * pool.outer(), pool.outer(), in);
    T* to = write_place(dx, plane * pool.inner(), out, tally);
    for (std::int64_t i = 0; i < pool.inner(); ++i) to[i] = T(0);
    for (std::int64_t i = 0; i < pool.outer(); ++i) to[index[plane * pool.outer() + i]] += from[i];
    write_run(dx, plane * pool.inner(), pool.inner(), to, tally);
  });
}

/// The padding counts as zeros: divided by the window's area, as torch.nn.functional.avg_pool2d does.
template <class T>
void run_average(const Launch& launch) {
  const char* operation = "avg_pool";
  expect_operands(operation, launch, 1, 1);
  expect_workspace(operation, launch);
  const Pool pool = pool_of(operation, launch, launch.in[0], launch.out[0]);
  const View x = view_of(launch.in[0]), y = view_of(launch.out[0]);
  const T area = static_cast<T>(pool.window.kernel[0] * pool.window.kernel[1]);
  for_planes<T>(launch, pool, [&](std::int64_t plane, T* in, T* out, RoundingTally* tally) {
    const T* from = read_run(x, plane * pool.inner(), pool.inner(), in);
    T* to = write_place(y, plane * pool.outer(), out, tally);
    for (std::int64_t oh = 0; oh < pool.planes.out_height; ++oh) {
      for (std::int64_t ow = 0; ow < pool.planes.out_width; ++ow) {
        to[oh * pool.planes.out_width + ow] =
            window_sum(from, pool.planes.width, pool.rows(oh), pool.columns(ow)) / area;
      }
    }
    write_run(y, plane * pool.outer(), pool.outer(), to, tally);
  });
}

template <class T>
void run_average_backward(const Launch& launch) {
  const char* operation = "avg_pool_backward";
  expect_operands(operation, launch, 1, 1);
  expect_workspace(operation, launch);
  const Pool pool = pool_of(operation, launch, launch.out[0], launch.in[0]);
  const View dy = view_of(launch.in[0]), dx = view_of(launch.out[0]);
  const T area = static_cast<T>(pool.window.kernel[0] * pool.window.kernel[1]);
  for_planes<T>(launch, pool, [&](std::int64_t plane, T* in, T* out, RoundingTally* tally) {
    const T* from = read_run(dy, plane * pool.outer(), pool.outer(), in);
    T* to = write_place(dx, plane * pool.inner(), out, tally);
    for (std::int64_t i = 0; i < pool.inner(); ++i) to[i] = T(0);
    for (std::int64_t oh = 0; oh < pool.planes.out_height; ++oh) {
      for (std::int64_t ow = 0; ow < pool.planes.out_width; ++ow) {
        const Span h = pool.rows(oh), w = pool.columns(ow);
        const T share = from[oh * pool.planes.out_width + ow] / area;
        for (std::int64_t r = h.first; r < h.last; ++r) {
          for (std::int64_t i = w.first; i < w.last; ++i) to[r * pool.planes.width + i] += share;
        }
      }
    }
    write_run(dx, plane * pool.inner(), pool.inner(), to, tally);
  });
}

template <class T>
void add_pools(KernelTable& table) {
  add_kernel(table, "max_pool", format_of<T>(), run_max<T>, workspace<T>);
  add_kernel(table, "max_pool_backward", format_of<T>(), run_max_backward<T>, workspace<T>);
  add_kernel(table, "avg_pool", format_of<T>(), run_average<T>, workspace<T>);
  add_kernel(table, "avg_pool_backward", format_of<T>(), run_average_backward<T>, workspace<T>);
}

}  // namespace

void register_pool(KernelTable& table) {
  add_pools<float>(table);
  add_pools<double>(table);
}

}  // namespace ulpscope::cpu::ULPSCOPE_ISA
