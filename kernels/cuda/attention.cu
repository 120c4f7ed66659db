// Attention: for each sequence of the batch the products of its heads, and kernels on rows of scores between them. The scores of
// one sequence at a time are in memory, in the compute type.
#include <string>

#include "kernels/cuda/attention_rows.h"
#include "kernels/cuda/lt_plan.h"
#include "kernels/cuda/multiply.h"
#include "kernels/cuda/read.h"
#include "kernels/error.h"

namespace ulpscope::cuda {
namespace {

/// sum[group][i] = the gradients of the heads that share a head of k or v, in ascending order, rounded once.
template <class T>
ULPSCOPE_KERNEL void group_sum_kernel(const T* heads, std::int64_t sharing, std::int64_t length, Result sum) {
  for (std::int64_t i = global_thread(); i < sum.view.elements; i += global_threads()) {
    const Divided at = divided(i, length);
    const T* first = heads + at.quotient * sharing * length + at.rest;
    T value = first[0];
    for (std::int64_t h = 1; h < sharing; ++h) value += first[h * length];
    write_element(sum, i, value);
  }
}

[[noreturn]] void refuse(const Launch& launch, const char* operation, const std::string& why) {
  std::string views;
  for (int i = 0; i < launch.in_count; ++i) views += (i ? ", " : "") + to_string(launch.in[i].shape);
  throw Error(std::string(operation) + ": " + why + " (inputs " + views + ")");
}

/// Sizes, formats and memory of a launch.
template <class T>
struct Work {
  const AttentionParams* params = nullptr;
  std::int64_t batch = 0, heads = 0, groups = 0, queries = 0, keys = 0, width = 0, value_width = 0;
  const std::int32_t* visible = nullptr;
  AttentionFormats formats;
  void *scores = nullptr, *probs = nullptr, *dscores = nullptr, *rows = nullptr, *heads_sums = nullptr, *product = nullptr;
  std::size_t bytes = 0;

  std::int64_t sharing() const { return heads / groups; }
  std::int64_t scores_of_one() const { return heads * queries * keys; }
  bool empty() const { return batch * heads == 0 || queries * keys == 0; }

  /// Sequence b of a tensor [B, H, T, D] as [groups, heads that share one, T, D]; of k and v as [groups, 1, T, D].
  Tensor of(const Tensor& t, std::int64_t b) const {
    const std::int64_t inner = t.shape[1] / groups;
    Tensor part = t;
    part.data = advanced(t.data, t.format, b * t.stride[0]);
    part.shape = Shape{groups, inner, t.shape[2], t.shape[3]};
    part.stride[0] = inner * t.stride[1];
    return part;
  }
  Tensor matrices(void* data, Format format) const { return Tensor(data, format, Shape{groups, sharing(), queries, keys}); }
  Product product_of(const Tensor& a, bool trans_a, const Tensor& b, bool trans_b, const Tensor& c) const {
    Product p;
    p.a = a;
    p.b = b;
    p.c = c;
    p.params.trans_a = trans_a;
    p.params.trans_b = trans_b;
    p.params.multiply = params->multiply;
    return p;
  }
};

/// Sizes and checks. `o_like` is o or do, which is an operand where it is the latter.
template <class T>
Work<T> describe(const Launch& launch, const char* operation, const Tensor& o_like, const Tensor* probs, bool backward) {
  Work<T> w;
  w.params = static_cast<const AttentionParams*>(launch.params);
  const Tensor& q = launch.in[0];
  const Tensor& k = launch.in[1];
  const Tensor& v = launch.in[2];
  for (const Tensor* t : {&q, &k, &v, &o_like}) {
    if (t->shape.rank != 4 || !is_float(t->format)) refuse(launch, operation, "takes [B, H, T, D] in a float format");
  }
  w.batch = q.shape[0];
  w.heads = q.shape[1];
  w.groups = k.shape[1];
  w.queries = q.shape[2];
  w.keys = k.shape[2];
  w.width = q.shape[3];
  w.value_width = v.shape[3];
  if (w.groups < 1 || w.heads % w.groups != 0 || k.shape != Shape{w.batch, w.groups, w.keys, w.width} ||
      v.shape != Shape{w.batch, w.groups, w.keys, w.value_width} || o_like.shape != Shape{w.batch, w.heads, w.queries, w.value_width} ||
      (probs != nullptr && probs->shape != Shape{w.batch, w.heads, w.queries, w.keys})) {
    refuse(launch, operation, "the shapes do not fit");
  }
  AttentionFormats& f = w.formats;
  f.compute = own_format<T>;
  f.probs = probs != nullptr ? probs->format : q.format;
  f.gradient = is_16bit(q.format) ? q.format : f.compute;
  const Format multiply = w.params->multiply;
  if constexpr (std::is_same_v<T, double>) {
    f.operand = f.compute;
  } else if (backward) {
    f.operand = operand_format({f.probs, f.gradient, q.format, k.format, o_like.format}, multiply);
  } else {
    f.operand = operand_format({f.probs, v.format}, multiply);
  }
  return w;
}

template <class T>
AttentionRowsWork rows_of(const Work<T>& w, const Launch& launch, std::int64_t b) {
  AttentionRowsWork r;
  r.formats = w.formats;
  r.rows = w.heads * w.queries;
  r.queries = w.queries;
  r.keys = w.keys;
  r.first = b * w.scores_of_one();
  r.scale = static_cast<double>(w.params->scale);
  r.causal = w.params->causal;
  r.visible = w.visible == nullptr ? nullptr : w.visible + b * w.keys;
  r.dropout = w.params->dropout;
  r.state = launch.state;
  r.scores = w.scores;
  r.probs = w.probs;
  r.dscores = w.dscores;
  r.spare = w.rows;
  return r;
}

/// The operand of a product: where the scores are, if it is of their format.
template <class T>
void* operand_room(const Work<T>& w, Rooms& rooms, void* scores) {
  return w.formats.operand == own_format<T> ? scores : rooms.take(w.scores_of_one(), w.formats.operand);
}

template <class T>
Product scores_product(const Work<T>& w, const Tensor& left, const Tensor& right, std::int64_t b) {
  return w.product_of(w.of(left, b), false, w.of(right, b), true, w.matrices(w.scores, own_format<T>));
}
template <class T>
Product forward_product(const Work<T>& w, const Launch& l, std::int64_t b) {
  return w.product_of(w.matrices(w.probs, w.formats.operand), false, w.of(l.in[2], b), false, w.of(l.out[0], b));
}

template <class T>
Work<T> forward_work(const Launch& l) {
  constexpr const char* operation = "attention";
  if (l.in_count < 3 || l.in_count > 4 || l.out_count < 1 || l.out_count > 2)
    refuse(l, operation, "takes q, k, v, visible (optional) and gives o, probs (optional)");
  Work<T> w = describe<T>(l, operation, l.out[0], l.out_count > 1 ? &l.out[1] : nullptr, false);
  if (l.in_count > 3) {
    const Tensor& visible = l.in[3];
    if (visible.format != Format::i32 || !visible.contiguous() || visible.shape != Shape{w.batch, w.keys})
      refuse(l, operation, "takes visible keys as contiguous i32 [B, Tk]");
    w.visible = static_cast<const std::int32_t*>(visible.data);
  }
  if (w.empty()) return w;
  Rooms rooms(l.workspace);
  w.scores = rooms.take(w.scores_of_one(), own_format<T>);
  w.probs = operand_room(w, rooms, w.scores);
  w.product = rooms.take(std::max(multiply_bytes<T>(scores_product(w, l.in[0], l.in[1], 0)), multiply_bytes<T>(forward_product(w, l, 0))));
  w.bytes = rooms.used();
  return w;
}

template <class T>
void run_attention(const Launch& l) {
  const Work<T> w = forward_work<T>(l);
  if (w.empty()) return;
  Observation<T> observation(l);
  const Result o = observation.result(0, view_of(l.out[0]));
  Result probs;
  if (l.out_count > 1) probs = observation.result(1, view_of(l.out[1]));
  for (std::int64_t b = 0; b < w.batch; ++b) {
    multiply<T>(scores_product(w, l.in[0], l.in[1], b), nullptr, w.product, l.stream);
    AttentionRowsWork rows = rows_of(w, l, b);
    if (l.out_count > 1) rows.stored = part_of<T>(probs, rows.first, w.of(l.out[1], b));
    attention_softmax<T>(rows, l.stream);
    multiply<T>(forward_product(w, l, b), advanced(o.before, own_format<T>, b * w.heads * w.queries * w.value_width), w.product, l.stream);
  }
  for (int i = 0; i < l.out_count; ++i) observation.count(i, count_tiles(l.out[i].elements()));
}

/// dq, dk, dv; gradients of shared heads apart from each other, in the compute type.
template <class T>
Product gradient_product(const Work<T>& w, const Launch& l, int which, std::int64_t b) {
  const Tensor scores = w.matrices(which == 2 ? w.probs : w.dscores, w.formats.operand);
  const Tensor& with = l.in[which == 0 ? 1 : which == 1 ? 0 : 4];
  Tensor c = w.of(l.out[which], b);
  if (which != 0 && w.sharing() > 1)
    c = Tensor(w.heads_sums, own_format<T>, Shape{w.groups, w.sharing(), w.keys, which == 1 ? w.width : w.value_width});
  return w.product_of(scores, which != 0, w.of(with, b), false, c);
}

template <class T>
Work<T> backward_work(const Launch& l) {
  constexpr const char* operation = "attention_backward";
  if (l.in_count != 5 || l.out_count != 3) refuse(l, operation, "takes q, k, v, probs, do and gives dq, dk, dv");
  Work<T> w = describe<T>(l, operation, l.in[4], &l.in[3], true);
  for (int i = 0; i < 3; ++i) {
    if (l.out[i].shape != l.in[i].shape) refuse(l, operation, "dq, dk, dv have the shapes of q, k, v");
  }
  if (w.empty()) return w;
  Rooms rooms(l.workspace);
  w.scores = rooms.take(w.scores_of_one(), own_format<T>);
  w.dscores = operand_room(w, rooms, w.scores);
  w.probs = rooms.take(w.scores_of_one(), w.formats.operand);
  w.rows = rooms.take(attention_rows_in_memory<T>(w.keys) ? 0 : w.scores_of_one(), own_format<T>);
  w.heads_sums = rooms.take(w.sharing() > 1 ? w.heads * w.keys * std::max(w.width, w.value_width) : 0, own_format<T>);
  std::size_t product = multiply_bytes<T>(scores_product(w, l.in[4], l.in[2], 0));
  for (int i = 0; i < 3; ++i) product = std::max(product, multiply_bytes<T>(gradient_product(w, l, i, 0)));
  w.product = rooms.take(product);
  w.bytes = rooms.used();
  return w;
}

template <class T>
void run_attention_backward(const Launch& l) {
  const Work<T> w = backward_work<T>(l);
  if (w.empty()) return;
  Observation<T> observation(l);
  Result gradients[3];
  for (int i = 0; i < 3; ++i) gradients[i] = observation.result(i, view_of(l.out[i]));
  for (std::int64_t b = 0; b < w.batch; ++b) {
    multiply<T>(scores_product(w, l.in[4], l.in[2], b), nullptr, w.product, l.stream);
    AttentionRowsWork rows = rows_of(w, l, b);
    rows.stored.view = DeviceView(view_of(w.of(l.in[3], b)));
    attention_softmax_backward<T>(rows, l.stream);
    for (int i = 0; i < 3; ++i) {
      const Tensor part = w.of(l.out[i], b);
      const Result to = part_of<T>(gradients[i], b * part.elements(), part);
      const bool apart = i != 0 && w.sharing() > 1;
      multiply<T>(gradient_product(w, l, i, b), apart ? nullptr : to.before, w.product, l.stream);
      if (apart)
        launch(group_sum_kernel<T>, blocks_of_threads(part.elements()), team_threads, l.stream, static_cast<const T*>(w.heads_sums),
               w.sharing(), part.shape[2] * part.shape[3], to);
    }
  }
  for (int i = 0; i < 3; ++i) observation.count(i, count_tiles(l.out[i].elements()));
}

template <class T, Work<T> (*work)(const Launch&)>
std::size_t bytes(const Launch& l) {
  return work(l).bytes;
}

template <class T>
void add(KernelTable& table) {
  table.add("attention", own_format<T>, Kernel{run_attention<T>, bytes<T, forward_work<T>>});
  table.add("attention_backward", own_format<T>, Kernel{run_attention_backward<T>, bytes<T, backward_work<T>>});
}

}  // namespace

void register_attention(KernelTable& table) {
  add<float>(table);
  add<double>(table);
}

}  // namespace ulpscope::cuda
