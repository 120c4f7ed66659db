// Convolution on planes and its gradients: for each image and group a matrix of taps (kernels/ops/window.h), and a
// product with the kernel. Sums are kept in the compute type and rounded once.
#include "kernels/cpu/convolution.h"

#include <algorithm>
#include <string>
#include <type_traits>

#include "kernels/cpu/counted_items.h"
#include "kernels/cpu/matmul.h"
#include "kernels/matmul_plan.h"
#include "kernels/error.h"
#include "kernels/ops/params.h"
#include "kernels/ops/reductions.h"
#include "kernels/ops/window.h"
#include "kernels/tensor_core/units.h"

namespace ulpscope {
namespace {

/// Images are summed into the gradient of the kernel in at most so many runs, whatever the number of threads. With a matrix unit's
/// sums there is one chain over all images; rows of the kernel are shared out instead.
constexpr std::int64_t most_image_runs = 16;

template <class T>
constexpr Format own_format = std::is_same_v<T, float> ? Format::fp32 : Format::fp64;

[[noreturn]] void refuse(const Launch& launch, const char* operation, const char* why) {
  std::string views;
  for (int i = 0; i < launch.in_count; ++i) views += (i ? ", " : "") + to_string(launch.in[i].shape);
  throw Error(std::string(operation) + ": " + why + " (inputs " + views + ")");
}

/// Sizes, and where a launch keeps what.
template <class T>
struct Work {
  Window window;
  Format multiply = Format::fp32;
  Planes planes = {};
  std::int64_t images = 0, groups = 1, inputs = 0, outputs = 0;  ///< channels of one group
  std::int64_t runs = 1, shares = 1;  ///< of images, of output channels: the gradient of the kernel
  BlockSums sums = {};
  int threads = 1;
  std::size_t counts_bytes = 0, kernel_bytes = 0, sums_bytes = 0, thread_bytes = 0;

  std::int64_t plane() const { return planes.height * planes.width; }
  std::int64_t pixels() const { return planes.out_height * planes.out_width; }
  std::int64_t taps() const { return inputs * window.kernel[0] * window.kernel[1]; }
  std::int64_t kernel() const { return groups * outputs * taps(); }
  /// Taps are the image itself.
  bool pointwise() const {
    for (int axis = 0; axis < 2; ++axis)
      if (window.kernel[axis] != 1 || window.stride[axis] != 1 || window.padding[axis] != 0) return false;
    return true;
  }
  std::size_t bytes() const {
    return counts_bytes + kernel_bytes + sums_bytes + thread_bytes * static_cast<std::size_t>(threads);
  }
};

template <class T>
std::size_t bytes_of(std::int64_t elements) {
  return aligned_bytes(static_cast<std::size_t>(elements) * sizeof(T));
}

/// x [N, C, H, W], kernel [O, C / groups, KH, KW], y [N, O, OH, OW], or tensors like them.
template <class T>
Work<T> describe(const Launch& launch, const char* operation, const Tensor& x, const Tensor& kernel, const Tensor& y) {
  const ConvParams& params = *static_cast<const ConvParams*>(launch.params);
  for (const Tensor* t : {&x, &kernel, &y}) {
    if (t->shape.rank != 4 || !is_float(t->format) || !t->contiguous())
      refuse(launch, operation, "takes contiguous operands with four dimensions");
  }
  Work<T> w;
  w.window = params.window;
  w.multiply = params.multiply;
  w.groups = params.groups;
  if (std::is_same_v<T, float>)
    w.sums.rule = tensor_core::rule_of(launch.arithmetic.unit, params.multiply, {launch.in[0].format, launch.in[1].format});
  w.images = x.shape[0];
  if (w.groups < 1 || x.shape[1] % w.groups != 0 || kernel.shape[0] % w.groups != 0)
    refuse(launch, operation, "groups do not divide the channels");
  w.inputs = x.shape[1] / w.groups;
  w.outputs = kernel.shape[0] / w.groups;
  w.planes = {x.shape[2], x.shape[3], y.shape[2], y.shape[3]};
  const Shape wanted{w.images, kernel.shape[0], window_outputs(w.window, 0, x.shape[2]),
                     window_outputs(w.window, 1, x.shape[3])};
  if (kernel.shape[1] != w.inputs || kernel.shape[2] != w.window.kernel[0] || kernel.shape[3] != w.window.kernel[1] ||
      y.shape != wanted)
    refuse(launch, operation, "the shapes do not fit");
  constexpr std::int64_t worth_sharing = 100000;  // multiplications: about the cost of waking a team
  const std::int64_t items = w.images * w.groups;
  const bool small = items * w.outputs * w.pixels() * w.taps() < worth_sharing;
  w.threads = small ? 1 : static_cast<int>(std::max<std::int64_t>(1, std::min<std::int64_t>(launch.threads, items)));
  w.counts_bytes = aligned_bytes(tally_bytes(items));
  return w;
}

/// A thread's scratch memory; with a null base only its size counts.
template <class T>
struct Scratch {
  T *image, *columns, *result, *product;
};
template <class T>
Scratch<T> scratch_of(const Work<T>& w, InstructionSet set, unsigned char* base, std::size_t* bytes) {
  std::size_t used = 0;
  const auto take = [&](std::int64_t elements) {
    T* at = base == nullptr ? nullptr : reinterpret_cast<T*>(base + used);
    used += bytes_of<T>(elements);
    return at;
  };
  Scratch<T> s;
  s.image = take(std::max(w.inputs * w.plane(), w.outputs * w.pixels()));
  s.columns = take(w.taps() * w.pixels());
  s.result = take(std::max({w.outputs * w.pixels(), w.outputs * w.taps(), w.inputs * w.plane()}));
  std::int64_t product = 0;
  if (std::is_same_v<T, float>)
    product = std::max({multiply_scratch(set, w.outputs, w.pixels(), w.taps(), w.sums),
                        multiply_scratch(set, w.taps(), w.pixels(), w.outputs, w.sums),
                        multiply_scratch(set, w.outputs, w.taps(), w.pixels(), w.sums)});
  s.product = take(product);
  if (bytes != nullptr) *bytes = used;
  return s;
}

/// One thread's hands.
template <class T>
struct Worker {
  const Work<T>& w;
  const ProductLines<T>& lines;
  InstructionSet set;
  Scratch<T> s;

  /// `n` elements from `begin`, as the multiplier sees them: where they lie, or in `copy`.
  const T* operand(const Tensor& t, std::int64_t begin, std::int64_t n, T* copy) const {
    const void* from = static_cast<const unsigned char*>(t.data) + begin * storage_bytes(t.format);
    const bool own = t.format == own_format<T> || (std::is_same_v<T, float> && t.format == Format::tf32);
    if (own && (std::is_same_v<T, double> || !needs_rounding(t.format, w.multiply))) return static_cast<const T*>(from);
    lines.load(t.format, from, 1, copy, n, w.multiply);
    return copy;
  }
  /// The matrix [taps, pixels] of an image's channels.
  const T* taps_of(const T* image) const {
    if (w.pointwise()) return image;
    T* row = s.columns;
    for (std::int64_t c = 0; c < w.inputs; ++c)
      for (std::int64_t kh = 0; kh < w.window.kernel[0]; ++kh)
        for (std::int64_t kw = 0; kw < w.window.kernel[1]; ++kw, row += w.pixels())
          gather_tap(image + c * w.plane(), w.planes, w.window, kh, kw, row);
    return s.columns;
  }
  void product(bool trans_a, bool trans_b, std::int64_t m, std::int64_t n, std::int64_t k, const T* a, const T* b,
               T* c) const {
    multiply_block(set, trans_a, trans_b, m, n, k, a, trans_a ? m : k, b, trans_b ? k : n, c, n, s.product, all_columns,
                   w.sums);
  }
  /// Some rows of the gradient of a kernel from one image, added to `sum` in the way of its sums.
  void add_kernel_rows(std::int64_t first, std::int64_t rows, const T* dy, const T* taps, T* sum) const {
    if (w.sums.rule == nullptr) {
      product(false, true, rows, w.taps(), w.pixels(), dy, taps, s.result);
      for (std::int64_t i = 0; i < rows * w.taps(); ++i) sum[i] += s.result[i];
      return;
    }
    multiply_block(set, false, true, rows, w.taps(), w.pixels(), dy + first * w.pixels(), w.pixels(), taps, w.pixels(),
                   sum + first * w.taps(), w.taps(), s.product, all_columns, {w.sums.rule, tensor_core::Start::c});
  }
  /// Rounds `n` elements into an output.
  void store(T* sum, const Tensor& out, std::int64_t begin, std::int64_t n, RoundingTally* tally) const {
    void* to = static_cast<unsigned char*>(out.data) + begin * storage_bytes(out.format);
    lines.finish(sum, 1, 0, nullptr, out.format, to, 1, n, tally);
  }
};

/// body(worker, image, group, tally) for every image and group.
template <class T, InstructionSet set, class Body>
void for_images(const Launch& launch, const Work<T>& w, unsigned char* threads_memory, const Body& body) {
  for_each_item(launch, w.threads, w.images * w.groups, static_cast<RoundingCounts*>(launch.workspace),
                [&](int thread, std::int64_t item, RoundingTally* const* tally) {
                  unsigned char* own = threads_memory + w.thread_bytes * static_cast<std::size_t>(thread);
                  Worker<T> worker{w, product_lines<T>(set), set, scratch_of(w, set, own, nullptr)};
                  body(worker, item / w.groups, item % w.groups, tally[0]);
                });
}

template <class T, InstructionSet set>
Work<T> forward_work(const Launch& launch) {
  if (launch.in_count < 2 || launch.in_count > 3 || launch.out_count != 1)
    refuse(launch, "conv2d", "takes x, kernel, bias (optional) and gives y");
  Work<T> w = describe<T>(launch, "conv2d", launch.in[0], launch.in[1], launch.out[0]);
  if (launch.in_count > 2 && launch.in[2].shape != Shape{launch.in[1].shape[0]})
    refuse(launch, "conv2d", "the bias has one element for each output channel");
  w.kernel_bytes = bytes_of<T>(w.kernel()) + bytes_of<T>(w.groups * w.outputs);
  scratch_of(w, set, static_cast<unsigned char*>(nullptr), &w.thread_bytes);
  return w;
}

template <class T, InstructionSet set>
void run_forward(const Launch& launch) {
  const Work<T> w = forward_work<T, set>(launch);
  unsigned char* memory = static_cast<unsigned char*>(launch.workspace) + w.counts_bytes;
  const Worker<T> caller{w, product_lines<T>(set), set, {}};
  const T* kernel = caller.operand(launch.in[1], 0, w.kernel(), reinterpret_cast<T*>(memory));
  T* bias = reinterpret_cast<T*>(memory + bytes_of<T>(w.kernel()));
  if (launch.in_count > 2)
    product_lines<T>(set).load(launch.in[2].format, launch.in[2].data, 1, bias, w.groups * w.outputs, own_format<T>);
  for_images<T, set>(launch, w, memory + w.kernel_bytes,
                     [&](const Worker<T>& worker, std::int64_t image, std::int64_t group, RoundingTally* tally) {
                       const std::int64_t channel = (image * w.groups + group) * w.inputs,
                                          begin = (image * w.groups + group) * w.outputs;
                       const T* x =
                           worker.operand(launch.in[0], channel * w.plane(), w.inputs * w.plane(), worker.s.image);
                       T* y = worker.s.result;
                       worker.product(false, false, w.outputs, w.pixels(), w.taps(),
                                      kernel + group * w.outputs * w.taps(), worker.taps_of(x), y);
                       for (std::int64_t o = 0; o < w.outputs && launch.in_count > 2; ++o) {
                         const T b = bias[group * w.outputs + o];
                         for (std::int64_t i = 0; i < w.pixels(); ++i) y[o * w.pixels() + i] += b;
                       }
                       worker.store(y, launch.out[0], begin * w.pixels(), w.outputs * w.pixels(), tally);
                     });
}

template <class T, InstructionSet set>
Work<T> input_work(const Launch& launch) {
  if (launch.in_count != 2 || launch.out_count != 1)
    refuse(launch, "conv2d_backward_input", "takes kernel, dy and gives dx");
  Work<T> w = describe<T>(launch, "conv2d_backward_input", launch.out[0], launch.in[0], launch.in[1]);
  w.kernel_bytes = bytes_of<T>(w.kernel());
  scratch_of(w, set, static_cast<unsigned char*>(nullptr), &w.thread_bytes);
  return w;
}

template <class T, InstructionSet set>
void run_input(const Launch& launch) {
  const Work<T> w = input_work<T, set>(launch);
  unsigned char* memory = static_cast<unsigned char*>(launch.workspace) + w.counts_bytes;
  const Worker<T> caller{w, product_lines<T>(set), set, {}};
  const T* kernel = caller.operand(launch.in[0], 0, w.kernel(), reinterpret_cast<T*>(memory));
  for_images<T, set>(
      launch, w, memory + w.kernel_bytes,
      [&](const Worker<T>& worker, std::int64_t image, std::int64_t group, RoundingTally* tally) {
        const std::int64_t channel = (image * w.groups + group) * w.inputs,
                           begin = (image * w.groups + group) * w.outputs;
        const T* dy = worker.operand(launch.in[1], begin * w.pixels(), w.outputs * w.pixels(), worker.s.image);
        T* dx = worker.s.result;
        T* row = w.pointwise() ? dx : worker.s.columns;
        worker.product(true, false, w.taps(), w.pixels(), w.outputs, kernel + group * w.outputs * w.taps(), dy, row);
        if (!w.pointwise()) {
          std::fill_n(dx, w.inputs * w.plane(), T(0));
          for (std::int64_t c = 0; c < w.inputs; ++c)
            for (std::int64_t kh = 0; kh < w.window.kernel[0]; ++kh)
              for (std::int64_t kw = 0; kw < w.window.kernel[1]; ++kw, row += w.pixels())
                scatter_tap(row, w.planes, w.window, kh, kw, dx + c * w.plane());
        }
        worker.store(dx, launch.out[0], channel * w.plane(), w.inputs * w.plane(), tally);
      });
}

template <class T, InstructionSet set>
Work<T> kernel_work(const Launch& launch) {
  if (launch.in_count != 2 || launch.out_count != 1)
    refuse(launch, "conv2d_backward_weight", "takes x, dy and gives dkernel");
  Work<T> w = describe<T>(launch, "conv2d_backward_weight", launch.in[0], launch.out[0], launch.in[1]);
  const bool of_unit = w.sums.rule != nullptr;
  w.runs = of_unit ? 1 : std::max<std::int64_t>(1, std::min(w.images, most_image_runs));
  w.shares = of_unit ? std::clamp<std::int64_t>(launch.threads, 1, std::max<std::int64_t>(1, w.outputs)) : 1;
  w.threads = static_cast<int>(std::min<std::int64_t>(of_unit ? launch.threads : w.threads, w.runs * w.groups * w.shares));
  w.counts_bytes = 0;
  w.sums_bytes = bytes_of<T>(w.runs * w.kernel());
  scratch_of(w, set, static_cast<unsigned char*>(nullptr), &w.thread_bytes);
  w.thread_bytes += bytes_of<T>(w.outputs * w.pixels());
  return w;
}

/// The images of one run, in ascending order; then the runs, as ops/reductions.h sums chunks of rows.
template <class T, InstructionSet set>
void run_kernel(const Launch& launch) {
  const Work<T> w = kernel_work<T, set>(launch);
  T* sums = static_cast<T*>(launch.workspace);  // [run][kernel]
  unsigned char* memory = static_cast<unsigned char*>(launch.workspace) + w.sums_bytes;
  const std::int64_t block = w.outputs * w.taps();
  Launch unobserved = launch;
  unobserved.counts = nullptr;
  for_each_item(
      unobserved, w.threads, w.runs * w.groups * w.shares, nullptr,
      [&](int thread, std::int64_t item, RoundingTally* const*) {
        unsigned char* own = memory + w.thread_bytes * static_cast<std::size_t>(thread);
        std::size_t used = 0;
        const Worker<T> worker{w, product_lines<T>(set), set, scratch_of(w, set, own, &used)};
        T* copy = reinterpret_cast<T*>(own + used);
        const std::int64_t share = item % w.shares, run = item / w.shares / w.groups, group = item / w.shares % w.groups;
        const std::int64_t first = w.outputs * share / w.shares, rows = w.outputs * (share + 1) / w.shares - first;
        T* sum = sums + run * w.kernel() + group * block;
        std::fill_n(sum + first * w.taps(), rows * w.taps(), T(0));
        for (std::int64_t image = w.images * run / w.runs; image < w.images * (run + 1) / w.runs; ++image) {
          const std::int64_t at = image * w.groups + group;
          const T* x = worker.operand(launch.in[0], at * w.inputs * w.plane(), w.inputs * w.plane(), worker.s.image);
          const T* dy = worker.operand(launch.in[1], at * w.outputs * w.pixels(), w.outputs * w.pixels(), copy);
          worker.add_kernel_rows(first, rows, dy, worker.taps_of(x), sum);
        }
      });
  fold_column_chunks(sums, w.runs, w.kernel(), static_cast<int>(w.kernel()));
  RoundingTally tally;
  const bool counting = launch.counts != nullptr && launch.counts[0] != nullptr;
  if (counting) begin_tally(tally, *launch.counts[0]);
  Worker<T>{w, product_lines<T>(set), set, {}}.store(sums, launch.out[0], 0, w.kernel(), counting ? &tally : nullptr);
  if (!counting) return;
  finish_tally(tally);
  merge_counts(*launch.counts[0], tally.counts);
}

template <class T, InstructionSet set, Work<T> (*work)(const Launch&)>
std::size_t bytes(const Launch& launch) {
  return work(launch).bytes();
}

template <class T, InstructionSet set>
void add(KernelTable& table) {
  table.add("conv2d", own_format<T>, {run_forward<T, set>, bytes<T, set, forward_work<T, set>>});
  table.add("conv2d_backward_input", own_format<T>, {run_input<T, set>, bytes<T, set, input_work<T, set>>});
  table.add("conv2d_backward_weight", own_format<T>, {run_kernel<T, set>, bytes<T, set, kernel_work<T, set>>});
}

}  // namespace

void register_cpu_convolutions(KernelTable& table, InstructionSet set) {
  switch (set) {
    case InstructionSet::portable:
      add<float, InstructionSet::portable>(table);
      return add<double, InstructionSet::portable>(table);
    case InstructionSet::avx2:
      add<float, InstructionSet::avx2>(table);
      return add<double, InstructionSet::avx2>(table);
    case InstructionSet::avx512:
      add<float, InstructionSet::avx512>(table);
      return add<double, InstructionSet::avx512>(table);
  }
}

}  // namespace ulpscope
