// The calls of a plan by plain loops, as cuBLASLt's documentation says: matrices column by column, leading dimensions, strides of
// batches, types that go together. For tests, beside emulated_grid.cpp.
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/cuda/grid.h"
#include "kernels/cuda/lt_product.h"
#include "kernels/cuda/view.h"
#include "kernels/error.h"
#include "kernels/formats/tf32.h"

namespace ulpscope::cuda {
namespace {

constexpr std::size_t workspace_bytes = 4096;   ///< little, so that tests may have many; all of it is spoilt

Choices<int>& choices() {
  static Choices<int> all;
  return all;
}

[[noreturn]] void refuse(const LtCall& call, const char* why) { throw Error(std::string("emulated cuBLASLt: ") + why + ": " + to_string(call)); }

bool supported(const LtCall& call) {
  const Format ab = call.a.format, d = call.d.format;
  if (call.b.format != ab) return false;
  switch (call.compute) {
    case LtCompute::fp64:
      return ab == Format::fp64 && d == Format::fp64 && !call.bias;
    case LtCompute::fast_tf32:
    case LtCompute::fp32_pedantic:
      return ab == Format::fp32 && d == Format::fp32;
    case LtCompute::fp32:
      return is_16bit(ab) && (d == ab || d == Format::fp32);
  }
  return false;
}

void check(const LtCall& call, const LtPointers& at, const void* workspace) {
  if (!has_algorithm(call)) refuse(call, "no algorithm");
  if (!supported(call)) refuse(call, "types that do not go together");
  for (const LtLayout* l : {&call.a, &call.b, &call.d})
    if (l->rows < 1 || l->columns < 1 || l->leading < l->rows) refuse(call, "a leading dimension shorter than a column, or an empty matrix");
  const std::int64_t depth = call.transpose_b ? call.b.columns : call.b.rows;
  if (depth != call.depth() || call.d.rows != (call.transpose_a ? call.a.columns : call.a.rows) ||
      call.d.columns != (call.transpose_b ? call.b.rows : call.b.columns))
    refuse(call, "shapes that do not fit");
  if (call.batch < 1 || (call.batch > 1 && call.d.batch_stride < 1)) refuse(call, "results of a batch in the same place");
  if (call.bias && (at.bias == nullptr || alignment_of(at.bias) < 16)) refuse(call, "a bias that is not aligned");
  if (alignment_of(workspace) < 256) refuse(call, "a workspace that is not aligned");
  for (const auto& [data, layout] : {std::pair{at.a, &call.a}, std::pair{at.b, &call.b}, std::pair{static_cast<const void*>(at.d), &call.d}})
    if (data == nullptr || alignment_of(data) < static_cast<std::uint32_t>(storage_bytes(layout->format))) refuse(call, "a matrix that is not aligned");
}

/// op(matrix) as [depth][lines]: element (line, k) of A, (k, line) of B.
template <class T>
std::vector<T> lines_of(const void* data, const LtLayout& l, std::int64_t batch, bool lines_are_rows, LtCompute compute) {
  const std::int64_t lines = lines_are_rows ? l.rows : l.columns, depth = lines_are_rows ? l.columns : l.rows;
  std::vector<T> values(static_cast<std::size_t>(lines * depth));
  T* to = values.data();
  for (std::int64_t k = 0; k < depth; ++k)
    for (std::int64_t line = 0; line < lines; ++line, ++to) {
      const std::int64_t row = lines_are_rows ? line : k, column = lines_are_rows ? k : line;
      *to = load_at<T>(l.format, data, batch * l.batch_stride + column * l.leading + row);
      if (compute == LtCompute::fast_tf32) *to = static_cast<T>(tf32_round(static_cast<float>(*to)));
    }
  return values;
}

template <class T>
void multiply(const LtCall& call, const LtPointers& at) {
  const std::int64_t m = call.d.rows, n = call.d.columns, depth = call.depth();
  std::vector<T> sums(static_cast<std::size_t>(m));
  for (std::int64_t batch = 0; batch < call.batch; ++batch) {
    const std::vector<T> a = lines_of<T>(at.a, call.a, batch, !call.transpose_a, call.compute);
    const std::vector<T> b = lines_of<T>(at.b, call.b, batch, call.transpose_b, call.compute);
    for (std::int64_t column = 0; column < n; ++column) {
      std::fill(sums.begin(), sums.end(), T(0));
      for (std::int64_t k = 0; k < depth; ++k) {
        const T factor = b[static_cast<std::size_t>(k * n + column)];
        const T* line = a.data() + k * m;
        for (std::int64_t row = 0; row < m; ++row) sums[static_cast<std::size_t>(row)] += line[row] * factor;
      }
      for (std::int64_t row = 0; row < m; ++row) {
        T value = sums[static_cast<std::size_t>(row)];
        if (call.bias) value += load_at<T>(call.d.format, at.bias, row);
        store_at(call.d.format, at.d, batch * call.d.batch_stride + column * call.d.leading + row, value);
      }
    }
  }
}

}  // namespace

bool (*emulated_library_lacks)(const LtCall& call) = nullptr;

bool has_algorithm(const LtCall& call) { return emulated_library_lacks == nullptr || !emulated_library_lacks(call); }

std::size_t library_workspace_bytes() { return workspace_bytes; }

std::int64_t most_scratch_bytes() { return std::int64_t{32} << 10; }

void run_call(const LtCall& call, const LtPointers& at, void* workspace, void*) {
  check(call, at, workspace);
  choices().of(key_of(call, at), [](ProductChoice& choice) { return choice.algorithm = 0; });
  emulate([call, at, workspace] {
    const EmulatedAccess access;
    std::memset(workspace, 0xff, workspace_bytes);
    if (call.compute == LtCompute::fp64) return multiply<double>(call, at);
    multiply<float>(call, at);
  });
}

std::string product_library() { return "emulated cuBLASLt"; }

std::vector<ProductChoice> product_choices() { return choices().list(); }

}  // namespace ulpscope::cuda
