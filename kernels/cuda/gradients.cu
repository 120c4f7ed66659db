// Gradients before the update: removing the loss scale with the finite check, and the global norm; alone, and both in one pass.
// What they find goes to the step's state on the device: nobody waits for it. Tensors that nobody counts and that lie in one piece go
// through lists (gradient_list.h), many in a launch; the others one by one.
#include "kernels/cuda/gradient_list.h"
#include "kernels/cuda/lost_updates.h"
#include "kernels/cuda/narrow_sums.h"
#include "kernels/cuda/reduce.h"
#include "kernels/cuda/register.h"
#include "kernels/ops/params.h"
#include "kernels/ops/reductions.h"
#include "kernels/ops/unscale.h"

namespace ulpscope::cuda {
namespace {

/// One gradient. If storing the unscaled one changes nothing it is only looked at: S is 1, in place, nobody counts.
template <class T>
struct Unscaled {
  DeviceView g;
  Result out;
  T limit;
  bool in_place;
  StepState* state;

  ULPSCOPE_DEVICE_MEMBER UnscaleBody<T> body() const { return {static_cast<T>(state->inverse_scale), limit}; }
  ULPSCOPE_DEVICE_MEMBER bool only_checks(const UnscaleBody<T>& body) const { return in_place && body.inverse_scale == T(1); }
};

/// Both flat, in formats of runs.
ULPSCOPE_KERNEL void unscale_run_kernel(Unscaled<float> u) {
  const UnscaleBody<float> body = u.body();
  const bool writes = !u.only_checks(body);
  bool bad = false;
  for (std::int64_t begin = global_thread() * run_length; begin < u.g.elements; begin += global_threads() * run_length) {
    const std::int64_t left = u.g.elements - begin;
    const int n = left < run_length ? static_cast<int>(left) : run_length;
    float x[run_length] = {};
    load_run(u.g, begin, n, x);
    ULPSCOPE_UNROLL
    for (int j = 0; j < run_length; ++j) {
      x[j] = body(x[j]);
      bad = bad || !body.finite(x[j]);
    }
    if (writes) write_run(u.out, begin, n, x);
  }
  if (bad) u.state->finite = 0;
}

template <class T>
ULPSCOPE_KERNEL void unscale_kernel(Unscaled<T> u) {
  const UnscaleBody<T> body = u.body();
  const bool writes = !u.only_checks(body);
  bool bad = false;
  for (std::int64_t i = global_thread(); i < u.g.elements; i += global_threads()) {
    const T x = body(read_element<T>(u.g, i));
    bad = bad || !body.finite(x);
    if (writes) put_element(u.out, i, x);
  }
  if (bad) u.state->finite = 0;
}

/// Chunk by chunk, with the sums of the squares of what is stored.
template <class T>
ULPSCOPE_KERNEL void unscale_square_kernel(Unscaled<T> u, T* partial) {
  ULPSCOPE_SHARED T scratch[team_threads];
  const BlockTeam<team_threads> team{scratch};
  const UnscaleBody<T> body = u.body();
  const bool writes = !u.only_checks(body), exact = u.out.view.format == (sizeof(T) == sizeof(float) ? Format::fp32 : Format::fp64);
  bool bad = false;
  for (std::int64_t c = block_index(); c < math::tree_chunks(u.g.elements); c += grid_blocks()) {
    const std::int64_t begin = c * math::tree_chunk;
    const T sum = team.template sum<T>(math::tree_chunk_length(u.g.elements, c), [&](std::int64_t i) {
      const T x = body(read_element<T>(u.g, begin + i));
      bad = bad || !body.finite(x);
      if (writes) put_element(u.out, begin + i, x);
      return SquareTerm<T>{}(exact ? x : rounded_to_storage(u.out.view.format, x));
    });
    if (thread_index() == 0) partial[c] = sum;
  }
  if (bad) u.state->finite = 0;
}

/// Output o of a launch, with input i, alone: there may be more than a kernel could be handed, or an Observation.
Launch alone(const Launch& launch, int i, int o) {
  Launch one = launch;
  one.in = launch.in + i;
  one.out = launch.out + o;
  one.in_count = one.out_count = 1;
  one.counts = launch.counts == nullptr ? nullptr : launch.counts + o;
  return one;
}

template <class T>
Unscaled<T> unscaled(const char* operation, const Launch& one, Observation<T>& observation) {
  expect_operands(operation, one, 1, 1);
  const bool observed = one.counts != nullptr && one.counts[0] != nullptr;
  const View g = broadcast_view(operation, one.in[0], one.out[0].shape), out = view_of(one.out[0]);
  const Format own = sizeof(T) == sizeof(float) ? Format::fp32 : Format::fp64;
  return {DeviceView(g), observation.result(0, out), static_cast<T>(info(out.format).overflow_threshold),
          g.data == out.data && out.flat && out.format == own && !observed, one.state};
}

/// Whether it is one for the lists.
bool listed(const char* operation, const Launch& one) {
  expect_operands(operation, one, 1, 1);
  if (one.counts != nullptr && one.counts[0] != nullptr) return false;
  return can_be_listed(broadcast_view(operation, one.in[0], one.out[0].shape)) && can_be_listed(view_of(one.out[0]));
}
template <class T>
void add_to_lists(const char* operation, const Launch& l, GradientLists<T>& lists) {
  for (int i = 0; i < l.in_count; ++i) {
    const Launch one = alone(l, i, i);
    if (!listed(operation, one)) continue;
    const View g = broadcast_view(operation, one.in[0], one.out[0].shape), out = view_of(one.out[0]);
    lists.add(i, g, &out);
  }
  lists.flush();
}

template <class T>
void run_unscale(const Launch& l) {
  expect_operands("unscale_check", l, l.in_count, l.in_count);
  GradientLists<T> lists(l, true, nullptr, nullptr);
  add_to_lists("unscale_check", l, lists);
  for (int i = 0; i < l.in_count; ++i) {
    const Launch one = alone(l, i, i);
    if (listed("unscale_check", one)) continue;
    Observation<T> observation(one);
    const Unscaled<T> u = unscaled<T>("unscale_check", one, observation);
    const std::int64_t n = u.g.elements;
    bool runs = false;
    if constexpr (sizeof(T) == sizeof(float)) {
      runs = u.g.runs && u.out.view.runs;
      if (runs) launch(unscale_run_kernel, blocks_of_threads((n + run_length - 1) / run_length), team_threads, l.stream, u);
    }
    if (!runs) launch(unscale_kernel<T>, blocks_of_threads(n), team_threads, l.stream, u);
    observation.count(0, count_tiles(n));
  }
}

template <class T>
struct StoreNorm {
  T* to;
  ULPSCOPE_DEVICE_MEMBER void operator()(T sum, std::int64_t) const { *to = math::sqrt(sum); }
};

/// From the tensors' norms to what the optimizers read. squares: the sum of their squares, if it is known. One block.
template <class T>
ULPSCOPE_KERNEL void finish_norm_kernel(const T* norms, int tensors, const T* squares, T max_norm, StepState* state, Result y) {
  ULPSCOPE_SHARED T scratch[team_threads];
  const T sum = BlockTeam<team_threads>{scratch}.template sum<T>(tensors, [=](std::int64_t i) { return norms[i] * norms[i]; });
  if (thread_index() != 0 || block_index() != 0) return;
  const T norm = math::sqrt(squares == nullptr ? sum : *squares);
  state->gradient_norm = static_cast<float>(norm);
  state->clip_coefficient = static_cast<float>(clip_coefficient(norm, max_norm));
  write_element(y, 0, norm);
}

// Workspace: what sums lose, the tensors' norms and the sum of their squares, the chunks' sums of all tensors.
std::int64_t norm_room(const Launch& l) { return (l.in_count + 1 + 31) / 32 * 32; }
template <class T>
std::size_t norm_workspace(const Launch& l) {
  std::int64_t chunks = 0;
  for (int i = 0; i < l.in_count; ++i) {
    chunks += chunk_room(l.in[i].elements());
  }
  return narrow_workspace + static_cast<std::size_t>(norm_room(l) + chunks) * sizeof(T);
}
template <class T>
T* norms_of(const Launch& l) {
  return reinterpret_cast<T*>(static_cast<unsigned char*>(l.workspace) + narrow_workspace);
}

template <class T>
void finish_norm(const Launch& l, int output, const T* squares) {
  const Launch one = alone(l, 0, output);
  Observation<T> observation(one);
  const T max_norm = static_cast<T>(static_cast<const ClipParams*>(l.params)->max_norm);
  launch_team(finish_norm_kernel<T>, 1, team_threads, 0, l.stream, norms_of<T>(l), l.in_count, squares, max_norm, l.state,
              observation.result(0, scalar_view("global_norm", l.out[output])));
  observation.count(0, count_rows(1, 1));
}

/// The norms of the tensors, and the sum of their squares, in the format and order asked for.
void run_narrow_norm(const Launch& l) {
  float* norms = norms_of<float>(l);
  float* squares = norms + l.in_count;
  DeviceInner* inner = begin_inner(l, l.workspace);
  NarrowSums sums;
  sums.term = NarrowTerm::square;
  sums.result = NarrowResult::root;
  for (int i = 0; i < l.in_count; ++i) {
    sums.a = DeviceView(view_of(l.in[i]));
    sums.length = sums.a.elements;
    sums.to = norms + i;
    launch_narrow_sums(l, sums, inner);
  }
  sums.a = DeviceView(view_of(Tensor(norms, Format::fp32, Shape{l.in_count})));
  sums.length = l.in_count;
  sums.result = NarrowResult::sum;
  sums.to = squares;
  launch_narrow_sums(l, sums, inner);
  finish_norm<float>(l, 0, squares);
  finish_inner(l, inner);
}

template <class T>
void run_global_norm(const Launch& l) {
  const char* operation = "global_norm";
  expect_operands(operation, l, l.in_count, 1);
  expect_workspace(operation, l);
  if (is_narrow<T>(l)) return run_narrow_norm(l);
  T* norms = norms_of<T>(l);
  GradientLists<T> lists(l, false, norms, norms + norm_room(l));
  for (int i = 0; i < l.in_count; ++i) {
    const DeviceView view(view_of(l.in[i]));
    if (can_be_listed(view)) lists.add(i, view, nullptr);
  }
  lists.flush();
  for (int i = 0; i < l.in_count; ++i) {
    const DeviceView view(view_of(l.in[i]));
    if (can_be_listed(view)) continue;
    reduce<T, SquareTerm<T>, 1>(l, &view, norms + norm_room(l), StoreNorm<T>{norms + i});
  }
  finish_norm<T>(l, 0, nullptr);
}

template <class T>
void run_unscale_norm(const Launch& l) {
  const char* operation = "unscale_norm";
  expect_operands(operation, l, l.in_count, l.in_count + 1);
  expect_workspace(operation, l);
  T* norms = norms_of<T>(l);
  T* partial = norms + norm_room(l);
  GradientLists<T> lists(l, true, norms, partial);
  add_to_lists(operation, l, lists);
  for (int i = 0; i < l.in_count; ++i) {
    const Launch one = alone(l, i, i);
    if (listed(operation, one)) continue;
    Observation<T> observation(one);
    const Unscaled<T> u = unscaled<T>(operation, one, observation);
    const std::int64_t n = u.g.elements, chunks = math::tree_chunks(n);
    launch_team(unscale_square_kernel<T>, blocks_for(chunks), team_threads, 0, l.stream, u, partial);
    launch_team(fold_kernel<T, StoreNorm<T>>, 1, team_threads, 0, l.stream, partial, chunks, n, StoreNorm<T>{norms + i});
    observation.count(0, count_rows(chunks, math::tree_chunk));
  }
  finish_norm<T>(l, l.in_count, nullptr);
}

template <class T>
void add_gradients(KernelTable& table, Format compute) {
  table.add("unscale_check", compute, Kernel{run_unscale<T>});
  table.add("global_norm", compute, Kernel{run_global_norm<T>, norm_workspace<T>});
  table.add("unscale_norm", compute, Kernel{run_unscale_norm<T>, norm_workspace<T>});
}

}  // namespace

void register_gradients(KernelTable& table) {
  add_gradients<float>(table, Format::fp32);
  add_gradients<double>(table, Format::fp64);
}

}  // namespace ulpscope::cuda
