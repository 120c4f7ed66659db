// Convolution on planes and its gradients: a matrix of taps (ops/window.h) for some images at a time, and products with the
// kernel. Sums are kept in the compute type and rounded once; no element is summed by two threads.
#include <string>

#include "kernels/cuda/lt_product.h"
#include "kernels/cuda/multiply.h"
#include "kernels/cuda/read.h"
#include "kernels/error.h"
#include "kernels/ops/window.h"

namespace ulpscope::cuda {
namespace {

struct Layout {
  Window window;
  Planes planes;
  std::int64_t images, channels, taps, pixels;   ///< taps: of all channels
  bool images_inside;   ///< of a tap; else taps of an image
};

/// columns[image][tap][pixel] or [tap][image][pixel] = the element of x under the tap, 0 in the padding.
template <class T>
ULPSCOPE_KERNEL void taps_kernel(DeviceView x, Layout l, Format format, void* columns) {
  const std::int64_t in_plane = l.window.kernel[0] * l.window.kernel[1];
  for (std::int64_t i = global_thread(); i < l.images * l.taps * l.pixels; i += global_threads()) {
    const Divided at = divided(i, l.pixels);
    const Divided line = divided(at.quotient, l.images_inside ? l.images : l.taps);
    const std::int64_t tap = l.images_inside ? line.quotient : line.rest, image = l.images_inside ? line.rest : line.quotient;
    const Divided channel = divided(tap, in_plane), k = divided(channel.rest, l.window.kernel[1]);
    const Divided pixel = divided(at.rest, l.planes.out_width);
    const std::int64_t h = pixel.quotient * l.window.stride[0] - l.window.padding[0] + k.quotient * l.window.dilation[0];
    const std::int64_t w = pixel.rest * l.window.stride[1] - l.window.padding[1] + k.rest * l.window.dilation[1];
    T value = T(0);
    if (h >= 0 && h < l.planes.height && w >= 0 && w < l.planes.width)
      value = load_any<T>(x.format, x.data, ((image * l.channels + channel.quotient) * l.planes.height + h) * l.planes.width + w);
    store_any(format, columns, i, value);
  }
}

/// The transposed movement: what the taps that cover an element brought, in ascending order of taps, as ops/window.h scatters it.
template <class T>
ULPSCOPE_KERNEL void gather_kernel(const T* columns, Layout l, Result dx) {
  for (std::int64_t i = global_thread(); i < dx.view.elements; i += global_threads()) {
    const Divided row = divided(i, l.planes.width), plane = divided(row.quotient, l.planes.height);
    const T* own = columns + plane.quotient * l.window.kernel[0] * l.window.kernel[1] * l.pixels;
    T sum = T(0);
    for (std::int64_t kh = 0; kh < l.window.kernel[0]; ++kh) {
      const std::int64_t h = plane.rest + l.window.padding[0] - kh * l.window.dilation[0];
      if (h < 0) break;
      const Divided oh = divided(h, l.window.stride[0]);
      if (oh.rest != 0 || oh.quotient >= l.planes.out_height) continue;
      for (std::int64_t kw = 0; kw < l.window.kernel[1]; ++kw) {
        const std::int64_t w = row.rest + l.window.padding[1] - kw * l.window.dilation[1];
        if (w < 0) break;
        const Divided ow = divided(w, l.window.stride[1]);
        if (ow.rest != 0 || ow.quotient >= l.planes.out_width) continue;
        sum += own[(kh * l.window.kernel[1] + kw) * l.pixels + oh.quotient * l.planes.out_width + ow.quotient];
      }
    }
    write_element(dx, i, sum);
  }
}

template <class T>
ULPSCOPE_KERNEL void add_kernel(T* sum, const T* part, std::int64_t n) {
  for (std::int64_t i = global_thread(); i < n; i += global_threads()) sum[i] += part[i];
}

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
  Format operand = Format::fp32;   ///< what matrices of taps are kept in: as the library is handed them
  Planes planes = {};
  std::int64_t images = 0, groups = 1, inputs = 0, outputs = 0;   ///< channels of one group
  std::int64_t at_once = 1;                                       ///< images
  void *taps = nullptr, *sums = nullptr, *part = nullptr, *bias = nullptr, *product = nullptr;
  std::size_t bytes = 0;

  std::int64_t plane() const { return planes.height * planes.width; }
  std::int64_t pixels() const { return planes.out_height * planes.out_width; }
  std::int64_t all_taps() const { return groups * inputs * window.kernel[0] * window.kernel[1]; }
  std::int64_t group_taps() const { return inputs * window.kernel[0] * window.kernel[1]; }
  std::int64_t kernel() const { return outputs * all_taps(); }
  /// Taps are the image itself.
  bool pointwise() const {
    for (int axis = 0; axis < 2; ++axis)
      if (window.kernel[axis] != 1 || window.stride[axis] != 1 || window.padding[axis] != 0) return false;
    return true;
  }
  Layout layout(std::int64_t n, bool images_inside) const { return {window, planes, n, groups * inputs, all_taps(), pixels(), images_inside}; }
};

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
  w.operand = std::is_same_v<T, double> ? Format::fp64 : operand_format({launch.in[0].format, launch.in[1].format}, params.multiply);
  w.groups = params.groups;
  w.images = x.shape[0];
  if (w.groups < 1 || x.shape[1] % w.groups != 0 || kernel.shape[0] % w.groups != 0)
    refuse(launch, operation, "groups do not divide the channels");
  w.inputs = x.shape[1] / w.groups;
  w.outputs = kernel.shape[0] / w.groups;
  w.planes = {x.shape[2], x.shape[3], y.shape[2], y.shape[3]};
  const Shape wanted{w.images, kernel.shape[0], window_outputs(w.window, 0, x.shape[2]), window_outputs(w.window, 1, x.shape[3])};
  if (kernel.shape[1] != w.inputs || kernel.shape[2] != w.window.kernel[0] || kernel.shape[3] != w.window.kernel[1] || y.shape != wanted)
    refuse(launch, operation, "the shapes do not fit");
  const std::int64_t image_bytes = std::max<std::int64_t>(1, w.all_taps() * w.pixels() * static_cast<std::int64_t>(sizeof(T)));
  w.at_once = std::clamp<std::int64_t>(most_scratch_bytes() / image_bytes, 1, std::max<std::int64_t>(1, w.images));
  return w;
}

/// `n` images from `first` on.
Tensor images_of(const Tensor& t, std::int64_t first, std::int64_t n) {
  Tensor part = t;
  part.shape[0] = n;
  part.data = advanced(t.data, t.format, first * t.stride[0]);
  return part;
}
/// [N, groups * lines, …] as [N, groups, lines, length].
Tensor by_group(const Tensor& t, std::int64_t groups, std::int64_t lines, std::int64_t length) {
  return Tensor(t.data, t.format, Shape{t.shape[0], groups, lines, length});
}
/// The kernel as one matrix for each group, the same for every image.
template <class T>
Tensor kernel_of(const Work<T>& w, const Tensor& kernel) {
  return Tensor(kernel.data, kernel.format, Shape{1, w.groups, w.outputs, w.group_taps()});
}
MatmulParams matmul_params(bool trans_a, bool trans_b, Format multiply) {
  MatmulParams p;
  p.trans_a = trans_a;
  p.trans_b = trans_b;
  p.multiply = multiply;
  return p;
}

/// The taps of some images, [n, groups, taps, pixels] or [groups, taps, n * pixels]; the images themselves where they are that.
/// stream: null where only shapes are asked for.
template <class T>
Tensor taps_of(const Work<T>& w, const Tensor& x, bool images_inside, void* const* stream) {
  const std::int64_t n = x.shape[0];
  const bool in_place = w.pointwise() && (!images_inside || n == 1);
  const Format format = in_place ? x.format : w.operand;
  const Tensor taps(in_place ? x.data : w.taps, format,
                    images_inside ? Shape{w.groups, w.group_taps(), n * w.pixels()} : Shape{n, w.groups, w.group_taps(), w.pixels()});
  if (!in_place && stream != nullptr)
    launch(taps_kernel<T>, blocks_of_threads(taps.elements()), team_threads, *stream, DeviceView(view_of(x)),
           w.layout(n, images_inside), format, w.taps);
  return taps;
}

template <class T>
Product forward_product(const Work<T>& w, const Launch& l, std::int64_t first, std::int64_t n, void* const* stream) {
  Product p;
  p.a = kernel_of(w, l.in[1]);
  p.b = taps_of(w, images_of(l.in[0], first, n), false, stream);
  p.c = by_group(images_of(l.out[0], first, n), w.groups, w.outputs, w.pixels());
  if (l.in_count > 2) p.c = Tensor(w.sums, own_format<T>, p.c.shape);
  p.params = matmul_params(false, false, w.multiply);
  return p;
}

template <class T>
Work<T> forward_work(const Launch& l) {
  if (l.in_count < 2 || l.in_count > 3 || l.out_count != 1) refuse(l, "conv2d", "takes x, kernel, bias (optional) and gives y");
  Work<T> w = describe<T>(l, "conv2d", l.in[0], l.in[1], l.out[0]);
  const std::int64_t channels = w.groups * w.outputs;
  if (l.in_count > 2 && l.in[2].shape != Shape{channels}) refuse(l, "conv2d", "the bias has one element for each output channel");
  Rooms rooms(l.workspace);
  w.taps = rooms.take(w.pointwise() ? 0 : w.at_once * w.all_taps() * w.pixels(), own_format<T>);
  w.sums = rooms.take(l.in_count > 2 ? w.at_once * channels * w.pixels() : 0, own_format<T>);
  w.bias = rooms.take(l.in_count > 2 ? channels : 0, own_format<T>);
  w.product = rooms.take(multiply_bytes<T>(forward_product(w, l, 0, w.at_once, nullptr)));
  w.bytes = rooms.used();
  return w;
}

template <class T>
void run_forward(const Launch& l) {
  const Work<T> w = forward_work<T>(l);
  Observation<T> observation(l);
  const Result y = observation.result(0, view_of(l.out[0]));
  void* stream = l.stream;
  const std::int64_t channels = w.groups * w.outputs;
  const bool biased = l.in_count > 2;
  if (biased) copy_tensor<T>(l.in[2], Tensor(w.bias, own_format<T>, l.in[2].shape), stream);
  for (std::int64_t first = 0; first < w.images; first += w.at_once) {
    const std::int64_t n = std::min(w.at_once, w.images - first);
    const Result part = part_of<T>(y, first * channels * w.pixels(), images_of(l.out[0], first, n));
    multiply<T>(forward_product(w, l, first, n, &stream), biased ? nullptr : part.before, w.product, stream);
    if (biased) finish<T>(static_cast<const T*>(w.sums), static_cast<const T*>(w.bias), w.pixels(), channels, part, stream);
  }
  observation.count(0, count_tiles(l.out[0].elements()));
}

template <class T>
Product input_product(const Work<T>& w, const Launch& l, std::int64_t first, std::int64_t n) {
  Product p;
  p.a = kernel_of(w, l.in[0]);
  p.b = by_group(images_of(l.in[1], first, n), w.groups, w.outputs, w.pixels());
  p.c = w.pointwise() ? by_group(images_of(l.out[0], first, n), w.groups, w.inputs, w.plane())
                      : Tensor(w.taps, own_format<T>, Shape{n, w.groups, w.group_taps(), w.pixels()});
  p.params = matmul_params(true, false, w.multiply);
  return p;
}

template <class T>
Work<T> input_work(const Launch& l) {
  if (l.in_count != 2 || l.out_count != 1) refuse(l, "conv2d_backward_input", "takes kernel, dy and gives dx");
  Work<T> w = describe<T>(l, "conv2d_backward_input", l.out[0], l.in[0], l.in[1]);
  Rooms rooms(l.workspace);
  w.taps = rooms.take(w.pointwise() ? 0 : w.at_once * w.all_taps() * w.pixels(), own_format<T>);
  w.product = rooms.take(multiply_bytes<T>(input_product(w, l, 0, w.at_once)));
  w.bytes = rooms.used();
  return w;
}

template <class T>
void run_input(const Launch& l) {
  const Work<T> w = input_work<T>(l);
  Observation<T> observation(l);
  const Result dx = observation.result(0, view_of(l.out[0]));
  for (std::int64_t first = 0; first < w.images; first += w.at_once) {
    const std::int64_t n = std::min(w.at_once, w.images - first);
    const Result part = part_of<T>(dx, first * l.out[0].stride[0], images_of(l.out[0], first, n));
    multiply<T>(input_product(w, l, first, n), w.pointwise() ? part.before : nullptr, w.product, l.stream);
    if (!w.pointwise())
      launch(gather_kernel<T>, blocks_of_threads(part.view.elements), team_threads, l.stream, static_cast<const T*>(w.taps),
             w.layout(n, false), part);
  }
  observation.count(0, count_tiles(l.out[0].elements()));
}

/// dy of some images as [groups, outputs, n * pixels]: where it lies if it is one image, else moved.
template <class T>
Tensor dy_of(const Work<T>& w, const Tensor& dy, void* moved, void* const* stream) {
  const std::int64_t n = dy.shape[0], channels = w.groups * w.outputs;
  const Shape shape{w.groups, w.outputs, n * w.pixels()};
  if (n == 1) return Tensor(dy.data, dy.format, shape);
  const Tensor to(moved, w.operand, Shape{channels, n, w.pixels()});
  if (stream != nullptr) {
    Tensor from = to;
    from.data = dy.data;
    from.format = dy.format;
    from.stride = {w.pixels(), channels * w.pixels(), 1};
    copy_tensor<T>(from, to, *stream);
  }
  return Tensor(moved, to.format, shape);
}

template <class T>
Product kernel_product(const Work<T>& w, const Launch& l, std::int64_t first, std::int64_t n, void* const* stream) {
  Product p;
  p.a = dy_of(w, images_of(l.in[1], first, n), w.bias, stream);
  p.b = taps_of(w, images_of(l.in[0], first, n), true, stream);
  const Shape shape{w.groups, w.outputs, w.group_taps()};
  p.c = w.at_once >= w.images ? Tensor(l.out[0].data, l.out[0].format, shape) : Tensor(first == 0 ? w.sums : w.part, own_format<T>, shape);
  p.params = matmul_params(false, true, w.multiply);
  return p;
}

template <class T>
Work<T> kernel_work(const Launch& l) {
  if (l.in_count != 2 || l.out_count != 1) refuse(l, "conv2d_backward_weight", "takes x, dy and gives dkernel");
  Work<T> w = describe<T>(l, "conv2d_backward_weight", l.in[0], l.out[0], l.in[1]);
  const bool parts = w.at_once < w.images, moves = w.at_once > 1;
  Rooms rooms(l.workspace);
  w.taps = rooms.take(w.pointwise() && !moves ? 0 : w.at_once * w.all_taps() * w.pixels(), own_format<T>);
  w.bias = rooms.take(moves ? w.at_once * w.groups * w.outputs * w.pixels() : 0, own_format<T>);
  w.sums = rooms.take(parts ? w.kernel() : 0, own_format<T>);
  w.part = rooms.take(parts ? w.kernel() : 0, own_format<T>);
  // The last images may be fewer, and one alone is read where it lies.
  w.product = rooms.take(std::max(multiply_bytes<T>(kernel_product(w, l, 0, w.at_once, nullptr)), multiply_bytes<T>(kernel_product(w, l, 0, 1, nullptr))));
  w.bytes = rooms.used();
  return w;
}

/// A product over some images at a time; their sums are added in ascending order.
template <class T>
void run_kernel(const Launch& l) {
  const Work<T> w = kernel_work<T>(l);
  Observation<T> observation(l);
  const Result dkernel = observation.result(0, view_of(l.out[0]));
  void* stream = l.stream;
  for (std::int64_t first = 0; first < std::max<std::int64_t>(1, w.images); first += w.at_once) {
    const std::int64_t n = std::min(w.at_once, w.images - first);
    const bool whole = w.at_once >= w.images;
    multiply<T>(kernel_product(w, l, first, n, &stream), whole ? dkernel.before : nullptr, w.product, stream);
    if (first > 0)
      launch(add_kernel<T>, blocks_of_threads(w.kernel()), team_threads, stream, static_cast<T*>(w.sums), static_cast<const T*>(w.part), w.kernel());
  }
  if (w.at_once < w.images) finish<T>(static_cast<const T*>(w.sums), nullptr, 1, 1, dkernel, stream);
  observation.count(0, count_tiles(l.out[0].elements()));
}

template <class T, Work<T> (*work)(const Launch&)>
std::size_t bytes(const Launch& l) {
  return work(l).bytes;
}

template <class T>
void add(KernelTable& table) {
  table.add("conv2d", own_format<T>, Kernel{run_forward<T>, bytes<T, forward_work<T>>});
  table.add("conv2d_backward_input", own_format<T>, Kernel{run_input<T>, bytes<T, input_work<T>>});
  table.add("conv2d_backward_weight", own_format<T>, Kernel{run_kernel<T>, bytes<T, kernel_work<T>>});
}

}  // namespace

void register_convolutions(KernelTable& table) {
  add<float>(table);
  add<double>(table);
}

}  // namespace ulpscope::cuda
