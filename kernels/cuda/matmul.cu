// The matrix product: what the plan (lt_plan.h) says, around the library's calls.
#include "kernels/cuda/lt_product.h"
#include "kernels/cuda/multiply.h"
#include "kernels/cuda/read.h"
#include "kernels/cuda/register.h"

namespace ulpscope::cuda {
namespace {

template <class T>
ULPSCOPE_KERNEL void finish_kernel(const T* sums, const T* bias, std::int64_t inner, std::int64_t columns, Result out) {
  for (std::int64_t i = global_thread(); i < out.view.elements; i += global_threads()) {
    T value = sums[i];
    if (bias != nullptr) value += bias[divided(divided(i, inner).quotient, columns).rest];
    write_element(out, i, value);
  }
}

/// Runs of eight that share a bias, or whose biases lie side by side.
ULPSCOPE_KERNEL void finish_run_kernel(const float* sums, const float* bias, std::int64_t inner, std::int64_t columns, Result out) {
  const std::int64_t elements = out.view.elements;
  for (std::int64_t begin = global_thread() * run_length; begin < elements; begin += global_threads() * run_length) {
    const int n = elements - begin < run_length ? static_cast<int>(elements - begin) : run_length;
    float x[run_length];
    if (n == run_length) {
      wide::widen<Format::fp32>(sums, begin, x);
    } else {
      ULPSCOPE_UNROLL
      for (int j = 0; j < run_length; ++j) x[j] = j < n ? sums[begin + j] : 0.0f;
    }
    if (bias != nullptr) {
      const std::int64_t at = divided(divided(begin, inner).quotient, columns).rest;
      const int step = inner == 1 ? 1 : 0;
      ULPSCOPE_UNROLL
      for (int j = 0; j < run_length; ++j)
        if (j < n) x[j] += bias[at + j * step];
    }
    write_run(out, begin, n, x);
  }
}

bool whole_runs(const float* sums, bool biased, std::int64_t inner, std::int64_t columns, const Result& out) {
  if (!out.view.runs || reinterpret_cast<std::uintptr_t>(sums) % 16 != 0) return false;
  return !biased || inner % run_length == 0 || (inner == 1 && columns % run_length == 0);
}

Launch launch_of(const Product& p, Tensor (&in)[3]) {
  in[0] = p.a;
  in[1] = p.b;
  if (p.bias != nullptr) in[2] = *p.bias;
  Launch l;
  l.in = in;
  l.in_count = p.bias != nullptr ? 3 : 2;
  l.out = &p.c;
  l.out_count = 1;
  l.params = &p.params;
  return l;
}

/// As much as the library has an algorithm for is left to it: not every generation has one with a bias, or for bf16. Where it has none at
/// all the first plan's call fails, and says so.
template <class T>
ProductPlan plan_of(const Product& p, void* workspace) {
  Tensor in[3];
  Launch l = launch_of(p, in);
  l.workspace = workspace;
  const auto planned = [&](const LtLeft& left) { return plan_product(l, own_format<T>, library_workspace_bytes(), left); };
  const auto can = [](const ProductPlan& plan) { return plan.calls == 0 || has_algorithm(plan.call); };
  const ProductPlan wanted = planned({});
  if (can(wanted)) return wanted;
  for (const LtLeft left : {LtLeft{.bias = false, .narrow = true}, LtLeft{.bias = true, .narrow = false}, LtLeft{.bias = false, .narrow = false}})
    if (const ProductPlan less = planned(left); can(less)) return less;
  return wanted;
}

/// The same product with a dense result in T.
template <class T>
Product observed(const Product& p, void* before) {
  Product second = p;
  second.c = Tensor(before, own_format<T>, p.c.shape);
  return second;
}

template <class T>
void execute(const ProductPlan& plan, const Tensor& c, void* before, void* stream) {
  for (int i = 0; i < plan.copy_count; ++i) copy_tensor<T>(plan.copies[i].from, plan.copies[i].to, stream);
  if (plan.empty_sum) fill_memory(plan.sums, 0, static_cast<std::size_t>(plan.elements) * sizeof(T), stream);
  for (std::int64_t i = 0; i < plan.calls; ++i) {
    const LtCall& call = plan.call;
    LtPointers at = plan.pointers;
    at.a = advanced(const_cast<void*>(at.a), call.a.format, i * plan.a_step);
    at.b = advanced(const_cast<void*>(at.b), call.b.format, i * plan.b_step);
    at.d = advanced(at.d, call.d.format, i * plan.d_step);
    run_call(call, at, plan.library_workspace, stream);
  }
  if (!plan.finishes) return;
  Result out;
  out.view = DeviceView(view_of(c));
  out.before = before;
  finish<T>(static_cast<const T*>(plan.sums), static_cast<const T*>(plan.bias_after ? plan.bias : nullptr), 1, plan.columns, out, stream);
}

Product product_of(const Launch& l) {
  Product p;
  if (l.in_count < 2 || l.in_count > 3 || l.out_count != 1) {
    plan_product(l, Format::fp32, 0);   // throws, in the words of every device
    return p;
  }
  p.a = l.in[0];
  p.b = l.in[1];
  if (l.in_count == 3) p.bias = &l.in[2];
  p.c = l.out[0];
  p.params = *static_cast<const MatmulParams*>(l.params);
  return p;
}

template <class T>
void run_matmul(const Launch& l) {
  if (l.epilogue != nullptr) fail("matmul", "no epilogue takes the results of a product on a GPU");
  const Product p = product_of(l);
  plan_of<T>(p, l.workspace);   // views that do not fit are refused before anything is looked at
  Observation<T> observation(l);
  const Result c = observation.result(0, view_of(p.c));
  multiply<T>(p, c.before, l.workspace, l.stream);
  observation.count(0, count_tiles(p.c.elements()));
}

template <class T>
std::size_t matmul_bytes(const Launch& l) {
  return multiply_bytes<T>(product_of(l));
}

}  // namespace

template <class T>
void finish(const T* sums, const T* bias, std::int64_t inner, std::int64_t columns, const Result& out, void* stream) {
  const std::int64_t elements = out.view.elements;
  if constexpr (std::is_same_v<T, float>) {
    if (whole_runs(sums, bias != nullptr, inner, columns, out)) {
      const std::int64_t runs = (elements + run_length - 1) / run_length;
      launch(finish_run_kernel, blocks_of_threads(runs), team_threads, stream, sums, bias, inner, columns, out);
      return;
    }
  }
  launch(finish_kernel<T>, blocks_of_threads(elements), team_threads, stream, sums, bias, inner, columns, out);
}

template <class T>
void copy_tensor(const Tensor& from, const Tensor& to, void* stream) {
  static const KernelTable table = [] {
    KernelTable made;
    register_copy(made);
    return made;
  }();
  Launch l;
  l.in = &from;
  l.in_count = 1;
  l.out = &to;
  l.out_count = 1;
  l.stream = stream;
  table.find("copy", own_format<T>).run(l);
}

template <class T>
std::size_t multiply_bytes(const Product& p) {
  const ProductPlan plan = plan_of<T>(p, nullptr);
  if (plan.finishes || p.c.format == own_format<T>) return plan.bytes;
  return std::max(plan.bytes, plan_of<T>(observed<T>(p, nullptr), nullptr).bytes);
}

template <class T>
void multiply(const Product& p, void* before, void* workspace, void* stream) {
  const ProductPlan plan = plan_of<T>(p, workspace);
  if (plan.elements == 0) return;
  execute<T>(plan, p.c, before, stream);
  if (before == nullptr || plan.finishes) return;
  if (p.c.format == own_format<T>) {
    copy_tensor<T>(p.c, Tensor(before, own_format<T>, p.c.shape), stream);
    return;
  }
  const Product second = observed<T>(p, before);
  execute<T>(plan_of<T>(second, workspace), second.c, nullptr, stream);
}

#define ULPSCOPE_INSTANTIATE(T)                                                                           \
  template std::size_t multiply_bytes<T>(const Product&);                                                 \
  template void multiply<T>(const Product&, void*, void*, void*);                                         \
  template void copy_tensor<T>(const Tensor&, const Tensor&, void*);                                      \
  template void finish<T>(const T*, const T*, std::int64_t, std::int64_t, const Result&, void*);
ULPSCOPE_INSTANTIATE(float)
ULPSCOPE_INSTANTIATE(double)
#undef ULPSCOPE_INSTANTIATE

void register_products(KernelTable& table) {
  table.add("matmul", Format::fp32, Kernel{run_matmul<float>, matmul_bytes<float>});
  table.add("matmul", Format::fp64, Kernel{run_matmul<double>, matmul_bytes<double>});
  register_convolutions(table);
  register_attention(table);
}

}  // namespace ulpscope::cuda
