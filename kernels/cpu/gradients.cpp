// Gradients before the update: removing the loss scale with the finite check, and the global norm; alone, and both in one
// pass.
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/reduce.h"
#include "kernels/cpu/register_isa.h"
#include "kernels/ops/narrow_sum.h"
#include "kernels/ops/params.h"
#include "kernels/ops/unscale.h"

namespace ulpscope::cpu::ULPSCOPE_ISA {
namespace {

template <class T>
struct Unscale {
  UnscaleBody<T> body;
  std::int32_t* finite;
};

template <class T>
void unscale_tile(const void* pointer, const RunArgs<T>& args) {
  const Unscale<T>& u = *static_cast<const Unscale<T>*>(pointer);
  const UnscaleBody<T> body = u.body;
  const T* g = args.in[0];
  T* out = args.out[0];
  std::int32_t bad = 0;
  ULPSCOPE_INDEPENDENT_ITERATIONS
  for (int i = 0; i < args.n; ++i) {
    const T unscaled = body(g[i]);
    out[i] = unscaled;
    bad += body.finite(unscaled) ? 0 : 1;
  }
  if (bad != 0) __atomic_store_n(u.finite, 0, __ATOMIC_RELAXED);
}

/// The same where unscaling changes nothing: S is 1, in place.
template <class T>
void check_tile(const void* pointer, const RunArgs<T>& args) {
  const Unscale<T>& u = *static_cast<const Unscale<T>*>(pointer);
  const UnscaleBody<T> body = u.body;
  const T* g = args.in[0];
  std::int32_t bad = 0;
  for (std::int64_t i = 0; i < args.n; ++i) bad += body.finite(g[i]) ? 0 : 1;
  if (bad != 0) __atomic_store_n(u.finite, 0, __ATOMIC_RELAXED);
}

/// Gradient i of a launch, alone.
inline Launch gradient(const Launch& launch, int i) {
  Launch one = launch;
  one.in = launch.in + i;
  one.out = launch.out + i;
  one.in_count = one.out_count = 1;
  one.counts = launch.counts == nullptr ? nullptr : launch.counts + i;
  return one;
}

template <class T>
Unscale<T> unscaling(const Launch& one) {
  const T limit = static_cast<T>(info(one.out[0].format).overflow_threshold);
  return {{static_cast<T>(one.state->inverse_scale), limit}, &one.state->finite};
}

/// Whether storing the unscaled gradient would change nothing and nobody counts it.
template <class T>
bool only_checks(const Launch& one, const Operands& operands) {
  return one.state->inverse_scale == 1.0f && one.in[0].data == one.out[0].data && direct<T>(operands.write[0]) && observed(one) == Looked::at_nothing;
}

template <class T>
RunBody<T> unscale_body(const Launch& one, const Operands& operands) {
  return only_checks<T>(one, operands) ? check_tile<T> : unscale_tile<T>;
}

template <class T>
void run_unscale(const Launch& launch) {
  expect_operands("unscale_check", launch, launch.in_count, launch.in_count);
  for (int i = 0; i < launch.in_count; ++i) {
    const Launch one = gradient(launch, i);
    const Operands operands = operands_of("unscale_check", one, 1);
    const Unscale<T> unscale = unscaling<T>(one);
    run_tiles<T>(one, operands, 1, unscale_body<T>(one, operands), &unscale);
  }
}

// Workspace: the tensors' norms, then what the largest tensor needs.
template <class T>
std::size_t norm_workspace(const Launch& launch) {
  std::int64_t chunks = 0;
  for (int i = 0; i < launch.in_count; ++i) {
    const std::int64_t own = chunks_of(launch.in[i]);
    chunks = own > chunks ? own : chunks;
  }
  return padded(launch.in_count) * sizeof(T) + reduction_workspace(launch, chunks, 1, sizeof(T));
}

/// From the tensors' norms to what the optimizers read.
template <class T, class Team>
void finish_norm(const Launch& launch, const T* norms, const Team& team, int output) {
  const T norm = math::sqrt(team.template sum<T>(launch.in_count, [=](std::int64_t i) { return norms[i] * norms[i]; }));
  const T max_norm = static_cast<T>(static_cast<const ClipParams*>(launch.params)->max_norm);
  launch.state->gradient_norm = static_cast<float>(norm);
  launch.state->clip_coefficient = static_cast<float>(clip_coefficient(norm, max_norm));
  write_observed(launch, output, scalar_view("global_norm", launch.out[output]), norm);
}

/// The norms of the tensors, and the sum of their squares, in the format and order asked for.
template <class T>
void run_narrow_norm(const Launch& launch, T* norms) {
  for (int i = 0; i < launch.in_count; ++i) {
    const View view = view_of(launch.in[i]);
    const float sum = narrow_sum(launch.arithmetic, view.elements, [&view](std::int64_t e) {
      const float g = read_element<float>(view, e);
      return g * g;
    }, launch.inner);
    norms[i] = static_cast<T>(rounded_to(launch.arithmetic.accumulate, math::sqrt(sum)));
  }
  finish_norm(launch, norms, NarrowTeam(launch.arithmetic, launch.inner), 0);
}

template <class T>
void run_global_norm(const Launch& launch) {
  const char* operation = "global_norm";
  expect_operands(operation, launch, launch.in_count, 1);
  expect_workspace(operation, launch);
  T* norms = static_cast<T*>(launch.workspace);
  if (format_of<T>() == Format::fp32 && !launch.arithmetic.standard()) return run_narrow_norm(launch, norms);
  for (int i = 0; i < launch.in_count; ++i) {
    const View view = view_of(launch.in[i]);
    norms[i] = math::sqrt(reduce<T, SquareTerm<T>, 1>(launch, &view, norms + padded(launch.in_count)));
  }
  finish_norm(launch, norms, SerialTeam{}, 0);
}

/// Both in one pass: the squares of a chunk are summed while it is in the cache.
template <class T>
T unscale_and_square(const Launch& one, T* workspace) {
  const Operands operands = operands_of("unscale_norm", one, 1);
  const Unscale<T> unscale = unscaling<T>(one);
  const RunBody<T> body = unscale_body<T>(one, operands);
  const View& out = operands.write[0];
  constexpr std::int64_t tiles = math::tree_chunk / tile_length;
  static_assert(math::tree_chunk % tile_length == 0);
  const std::int64_t chunks = math::tree_chunks(out.elements);
  T* scratch = workspace + padded(chunks);
  run_units(one, chunks, out.elements * 2, [&](int thread, std::int64_t first, std::int64_t last, RoundingTally* const* tally) {
    T* own = scratch + static_cast<std::int64_t>(thread) * math::tree_chunk;
    for (std::int64_t c = first; c < last; ++c) {
      const std::int64_t length = math::tree_chunk_length(out.elements, c);
      run_tile_range<T>(operands, c * tiles, c * tiles + (length + tile_length - 1) / tile_length, body, &unscale, tally);
      workspace[c] = chunk_sum<T, SquareTerm<T>, 1>(read_run(out, c * math::tree_chunk, length, own), nullptr, length);
    }
  });
  return math::tree_fold_sum<T>(chunks, workspace);
}

template <class T>
void run_unscale_norm(const Launch& launch) {
  const char* operation = "unscale_norm";
  expect_operands(operation, launch, launch.in_count, launch.in_count + 1);
  expect_workspace(operation, launch);
  T* norms = static_cast<T*>(launch.workspace);
  for (int i = 0; i < launch.in_count; ++i)
    norms[i] = math::sqrt(unscale_and_square(gradient(launch, i), norms + padded(launch.in_count)));
  finish_norm(launch, norms, SerialTeam{}, launch.in_count);
}

template <class T>
void add_gradients(KernelTable& table) {
  add_kernel(table, "unscale_check", format_of<T>(), run_unscale<T>);
  add_kernel(table, "global_norm", format_of<T>(), run_global_norm<T>, norm_workspace<T>);
  add_kernel(table, "unscale_norm", format_of<T>(), run_unscale_norm<T>, norm_workspace<T>);
}

}  // namespace

void register_gradients(KernelTable& table) {
  add_gradients<float>(table);
  add_gradients<double>(table);
}

}  // namespace ulpscope::cpu::ULPSCOPE_ISA
