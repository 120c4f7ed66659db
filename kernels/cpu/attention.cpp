// Attention as one operator: for each (batch, head) two products and a softmax between them (backward: five products),
// in one thread, in scratch memory of that thread. Scores are never stored outside it.
#include <algorithm>

#include "kernels/cpu/attention_head.h"
#include "kernels/cpu/counted_items.h"
#include "kernels/tensor_core/units.h"

namespace ulpscope {
namespace {

using namespace attention;

template <class T>
const AttentionRows<T>& attention_rows(InstructionSet set) {
#if defined(__x86_64__)
  if (set == InstructionSet::avx512) return avx512::attention_rows<T>();
  if (set == InstructionSet::avx2) return avx2::attention_rows<T>();
#endif
  static_cast<void>(set);
  return portable::attention_rows<T>();
}

/// Sizes and checks. `o_like` is o or do.
template <class T>
Work<T> describe(const Launch& launch, const char* operation, const Tensor& o_like, const Tensor* probs, bool by_group) {
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
      v.shape != Shape{w.batch, w.groups, w.keys, w.value_width} ||
      o_like.shape != Shape{w.batch, w.heads, w.queries, w.value_width} ||
      (probs != nullptr && probs->shape != Shape{w.batch, w.heads, w.queries, w.keys})) {
    refuse(launch, operation, "the shapes do not fit");
  }
  w.probs_format = probs != nullptr ? probs->format : q.format;
  if (std::is_same_v<T, float>)
    w.sums.rule = tensor_core::rule_of(launch.arithmetic.unit, w.params->multiply,
                                       {q.format, k.format, v.format, w.probs_format, by_group ? o_like.format : q.format});
  w.dropout = w.params->dropout.rate > 0.0f;
  w.items = w.batch * (by_group ? w.groups : w.heads);
  constexpr std::int64_t worth_sharing = 100000;  // multiplications: about the cost of waking a team
  const bool small = w.batch * w.heads * w.scores() * (w.width + w.value_width) < worth_sharing;
  w.threads =
      small ? 1 : static_cast<int>(std::max<std::int64_t>(1, std::min<std::int64_t>(launch.threads, w.items)));
  w.counts_bytes = aligned_bytes(tally_bytes(w.items));
  return w;
}

template <class T>
struct ForwardScratch {
  T *q, *k, *v, *scores, *row, *factor, *sums, *product;
};
template <class T>
ForwardScratch<T> forward_scratch(const Work<T>& w, const Launch& launch, InstructionSet set, Scratch<T>& s) {
  const auto copy = [&](int i) {
    const Tensor& t = launch.in[i];
    return s.take(readable<T>(t, w.params->multiply) ? 0 : t.shape[2] * t.shape[3]);
  };
  ForwardScratch<T> f;
  f.q = copy(0);
  f.k = copy(1);
  f.v = copy(2);
  f.scores = s.take(w.scores());
  f.row = s.take(w.keys);
  f.factor = s.take(w.dropout ? w.scores() : 0);
  f.sums = s.take(w.queries * w.value_width);
  f.product = s.take(w.product_scratch(set));
  return f;
}

template <class T>
void forward_head(Head<T>& head, const Launch& launch, const DropoutStream<T>& stream, const ForwardScratch<T>& s) {
  const Work<T>& w = head.work;
  head.product_scratch = s.product;
  const Matrix<T> scores{s.scores, w.keys};
  // Scores of hidden keys are never looked at.
  const std::int64_t wanted = w.params->causal ? w.keys - w.queries + 1 : all_columns;
  head.product(false, true, w.queries, w.keys, w.width, head.operand(launch.in[0], s.q),
               head.operand(launch.in[1], s.k), scores, wanted);
  const std::int32_t* visible = w.visible == nullptr ? nullptr : w.visible + head.b * w.keys;
  head.rows.softmax(s.scores, w.queries, w.keys, static_cast<T>(w.params->scale), w.params->causal, visible, s.row);
  if (launch.out_count > 1) head.store(scores, launch.out[1], 1);
  if (w.probs_format != own_format<T>) head.rows.round(s.scores, w.scores(), w.probs_format);
  if (w.dropout) head.rows.dropout_factors(stream, head.item() * w.scores(), s.factor, w.scores());
  head.make_operand(s.scores, s.factor);
  head.product_into(false, w.keys, {s.scores, w.keys}, head.operand(launch.in[2], s.v), launch.out[0], 0, s.sums);
}

template <class T>
struct BackwardScratch {
  T *q, *k, *v, *dout, *probs, *dscores, *factor, *sums, *dk, *dv, *product;
};
template <class T>
BackwardScratch<T> backward_scratch(const Work<T>& w, const Launch& launch, InstructionSet set, Scratch<T>& s) {
  const auto copy = [&](int i) {
    const Tensor& t = launch.in[i];
    return s.take(readable<T>(t, w.params->multiply) ? 0 : t.shape[2] * t.shape[3]);
  };
  BackwardScratch<T> f;
  f.q = copy(0);
  f.k = copy(1);
  f.v = copy(2);
  f.dout = copy(4);
  f.probs = s.take(w.scores());
  f.dscores = s.take(w.scores());
  f.factor = s.take(w.dropout ? w.scores() : 0);
  f.sums = s.take(std::max(w.queries, w.keys) * std::max(w.width, w.value_width));
  f.dk = s.take(w.sharing() > 1 ? w.keys * w.width : 0);
  f.dv = s.take(w.sharing() > 1 ? w.keys * w.value_width : 0);
  f.product = s.take(w.product_scratch(set));
  return f;
}

template <class T>
void gather(T* sum, const T* part, std::int64_t n, bool first) {
  for (std::int64_t i = 0; i < n; ++i) sum[i] = first ? part[i] : sum[i] + part[i];
}

template <class T>
void backward_head(Head<T>& head, const Launch& launch, const DropoutStream<T>& stream, const BackwardScratch<T>& s) {
  const Work<T>& w = head.work;
  head.product_scratch = s.product;
  const Matrix<const T> q = head.operand(launch.in[0], s.q);
  const Matrix<const T> k = head.operand(launch.in[1], s.k);
  const Matrix<const T> v = head.operand(launch.in[2], s.v);
  const Matrix<const T> dout = head.operand(launch.in[4], s.dout);
  head.load(launch.in[3], s.probs, own_format<T>);
  head.product(false, true, w.queries, w.keys, w.value_width, dout, v, {s.dscores, w.keys});
  if (w.dropout) {
    head.rows.dropout_factors(stream, head.item() * w.scores(), s.factor, w.scores());
    head.rows.multiply(s.dscores, s.factor, w.scores());
  }
  head.rows.softmax_backward(s.probs, s.dscores, w.queries, w.keys, static_cast<T>(w.params->scale));
  const Format stored = is_16bit(launch.in[0].format) ? launch.in[0].format : own_format<T>;
  if (stored != own_format<T>) head.rows.round(s.dscores, w.scores(), stored);
  head.round_for_multiplier(s.dscores, stored);
  head.make_operand(s.probs, s.factor);
  head.product_into(false, w.keys, {s.dscores, w.keys}, k, launch.out[0], 0, s.sums);
  if (w.sharing() == 1) {
    head.product_into(true, w.queries, {s.dscores, w.keys}, q, launch.out[1], 1, s.sums);
    head.product_into(true, w.queries, {s.probs, w.keys}, dout, launch.out[2], 2, s.sums);
    return;
  }
  const bool first = head.h % w.sharing() == 0;
  head.product(true, false, w.keys, w.width, w.queries, {s.dscores, w.keys}, q, {s.sums, w.width});
  gather(s.dk, s.sums, w.keys * w.width, first);
  head.product(true, false, w.keys, w.value_width, w.queries, {s.probs, w.keys}, dout, {s.sums, w.value_width});
  gather(s.dv, s.sums, w.keys * w.value_width, first);
}

/// The heads of q that share a head of k and v, in ascending order; their gradients are summed before they are rounded.
template <class T>
void backward_group(Head<T>& head, const Launch& launch, const DropoutStream<T>& stream, const BackwardScratch<T>& s) {
  const Work<T>& w = head.work;
  const std::int64_t begin = head.h * w.sharing();
  for (head.h = begin; head.h < begin + w.sharing(); ++head.h) backward_head(head, launch, stream, s);
  head.h = begin;
  if (w.sharing() == 1) return;
  head.store({s.dk, w.width}, launch.out[1], 1);
  head.store({s.dv, w.value_width}, launch.out[2], 2);
}

/// Runs body(head, scratch) for every item, head.h being the item's number in its batch.
template <class T, InstructionSet set, class Body>
void for_each_head(const Launch& launch, const Work<T>& w, const Body& body) {
  if (w.items == 0 || w.scores() == 0) return;
  auto* base = static_cast<unsigned char*>(launch.workspace);
  const std::int64_t in_batch = w.items / w.batch;
  for_each_item(launch, w.threads, w.items, reinterpret_cast<RoundingCounts*>(base),
                [&](int thread, std::int64_t item, RoundingTally* const* tally) {
                  Scratch<T> scratch{base + w.counts_bytes + w.thread_bytes * static_cast<std::size_t>(thread)};
                  Head<T> head{w, product_lines<T>(set), attention_rows<T>(set), set};
                  head.tally = tally;
                  head.b = item / in_batch;
                  head.h = item % in_batch;
                  body(head, scratch);
                });
}

template <class T>
Work<T> forward_work(const Launch& launch, InstructionSet set) {
  constexpr const char* operation = "attention";
  if (launch.in_count < 3 || launch.in_count > 4 || launch.out_count < 1 || launch.out_count > 2) {
    refuse(launch, operation, "takes q, k, v, visible (optional) and gives o, probs (optional)");
  }
  Work<T> w = describe<T>(launch, operation, launch.out[0], launch.out_count > 1 ? &launch.out[1] : nullptr, false);
  if (launch.in_count > 3) {
    const Tensor& visible = launch.in[3];
    if (visible.format != Format::i32 || !visible.contiguous() || visible.shape != Shape{w.batch, w.keys})
      refuse(launch, operation, "takes visible keys as contiguous i32 [B, Tk]");
    w.visible = static_cast<const std::int32_t*>(visible.data);
  }
  Scratch<T> measure;
  forward_scratch(w, launch, set, measure);
  w.thread_bytes = measure.used;
  return w;
}

template <class T>
Work<T> backward_work(const Launch& launch, InstructionSet set) {
  constexpr const char* operation = "attention_backward";
  if (launch.in_count != 5 || launch.out_count != 3)
    refuse(launch, operation, "takes q, k, v, probs, do and gives dq, dk, dv");
  Work<T> w = describe<T>(launch, operation, launch.in[4], &launch.in[3], true);
  for (int i = 0; i < 3; ++i) {
    if (launch.out[i].shape != launch.in[i].shape) refuse(launch, operation, "dq, dk, dv have the shapes of q, k, v");
  }
  Scratch<T> measure;
  backward_scratch(w, launch, set, measure);
  w.thread_bytes = measure.used;
  return w;
}

template <class T>
DropoutStream<T> stream_of(const Launch& launch, const Work<T>& w) {
  return w.dropout ? dropout_stream<T>(w.params->dropout, *launch.state) : DropoutStream<T>{};
}

template <class T, InstructionSet set>
void run_attention(const Launch& launch) {
  const Work<T> w = forward_work<T>(launch, set);
  const DropoutStream<T> stream = stream_of(launch, w);
  for_each_head<T, set>(launch, w, [&](Head<T>& head, Scratch<T>& scratch) {
    forward_head(head, launch, stream, forward_scratch(w, launch, set, scratch));
  });
}

template <class T, InstructionSet set>
void run_attention_backward(const Launch& launch) {
  const Work<T> w = backward_work<T>(launch, set);
  const DropoutStream<T> stream = stream_of(launch, w);
  for_each_head<T, set>(launch, w, [&](Head<T>& head, Scratch<T>& scratch) {
    backward_group(head, launch, stream, backward_scratch(w, launch, set, scratch));
  });
}

template <class T, InstructionSet set>
std::size_t forward_bytes(const Launch& launch) {
  return forward_work<T>(launch, set).bytes();
}
template <class T, InstructionSet set>
std::size_t backward_bytes(const Launch& launch) {
  return backward_work<T>(launch, set).bytes();
}

}  // namespace

namespace cpu {
template <class T, InstructionSet set>
Kernel attention_kernel() {
  return {run_attention<T, set>, forward_bytes<T, set>};
}
template <class T, InstructionSet set>
Kernel attention_backward_kernel() {
  return {run_attention_backward<T, set>, backward_bytes<T, set>};
}
#define ULPSCOPE_INSTANTIATE(T, set)                          \
  template Kernel attention_kernel<T, InstructionSet::set>(); \
  template Kernel attention_backward_kernel<T, InstructionSet::set>();
ULPSCOPE_INSTANTIATE(float, portable)
ULPSCOPE_INSTANTIATE(float, avx2)
ULPSCOPE_INSTANTIATE(float, avx512)
ULPSCOPE_INSTANTIATE(double, portable)
ULPSCOPE_INSTANTIATE(double, avx2)
ULPSCOPE_INSTANTIATE(double, avx512)
#undef ULPSCOPE_INSTANTIATE
}  // namespace cpu

}  // namespace ulpscope
