// Softmax, its gradient, and the causal mask.
#include "kernels/cuda/rows.h"

#include "kernels/ops/causal_mask.h"
#include "kernels/ops/params.h"
#include "kernels/ops/softmax.h"

namespace ulpscope::cuda {
namespace {

template <class T>
struct SoftmaxRow {
  static constexpr const char* operation = "softmax";
  static constexpr int reads = 1, vectors = 0;
  static constexpr bool writes = true, once = false;

  static SoftmaxRow make(const Launch&) { return {}; }
  template <class Team>
  ULPSCOPE_DEVICE_MEMBER void operator()(const Team& team, const RowArgs<T>& a) const {
    softmax_row(team, a.in[0], a.out, a.n);
  }
};

template <class T>
struct SoftmaxBackwardRow {
  static constexpr const char* operation = "softmax_backward";
  static constexpr int reads = 2, vectors = 0;
  static constexpr bool writes = true, once = false;

  static SoftmaxBackwardRow make(const Launch&) { return {}; }
  template <class Team>
  ULPSCOPE_DEVICE_MEMBER void operator()(const Team& team, const RowArgs<T>& a) const {
    softmax_backward_row(team, a.in[0], a.in[1], a.out, a.n);
  }
};

template <class T>
struct CausalMaskRow {
  static constexpr const char* operation = "causal_mask";
  static constexpr int reads = 1, vectors = 0;
  static constexpr bool writes = true, once = true;
  std::int64_t queries;
  T value;

  static CausalMaskRow make(const Launch& launch) {
    const Shape& shape = launch.out[0].shape;
    if (shape.rank < 2) fail(operation, "scores must have at least the dimensions [Tq, Tk]");
    return {shape.dim[static_cast<unsigned>(shape.rank - 2)],
            static_cast<T>(static_cast<const CausalMaskParams*>(launch.params)->value)};
  }
  template <class Team>
  ULPSCOPE_DEVICE_MEMBER void operator()(const Team& team, const RowArgs<T>& a) const {
    causal_mask_row(team, a.in[0], a.out, a.row % queries, queries, a.n, value);
  }
};

/// The inputs in their order are the rows that are read.
template <class T, class Body>
RowLaunch<T, Body> rows_of(const Launch& l) {
  return {Body::operation, l, l.out[0].shape, {0, 1}, {}};
}

template <class T, template <class> class Body>
std::size_t workspace(const Launch& l) {
  return rows_of<T, Body<T>>(l).workspace_bytes();
}

template <class T, template <class> class Body>
void run(const Launch& l) {
  expect_operands(Body<T>::operation, l, Body<T>::reads, 1);
  auto rows = rows_of<T, Body<T>>(l);
  const Body<T> body = Body<T>::make(l);
  Observation<T> observation(l);
  rows.run(body, observation.result(0, view_of(l.out[0])), l.workspace);
  observation.count(0, count_rows(rows.operands.rows, rows.operands.length));
}

template <template <class> class Body>
void add_rows(KernelTable& table) {
  table.add(Body<float>::operation, Format::fp32, Kernel{run<float, Body>, workspace<float, Body>});
  table.add(Body<double>::operation, Format::fp64, Kernel{run<double, Body>, workspace<double, Body>});
}

}  // namespace

void register_rows(KernelTable& table) {
  add_rows<SoftmaxRow>(table);
  add_rows<SoftmaxBackwardRow>(table);
  add_rows<CausalMaskRow>(table);
}

}  // namespace ulpscope::cuda
