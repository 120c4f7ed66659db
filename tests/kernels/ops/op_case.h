// One object per operation, many uses: shapes, formats, parameters, an independent reference in long double, a
// tolerance derived from the formats. check() runs a case with every instruction set available here, with several
// thread counts, and with the kernels of GPUs on the emulated grid (and on a GPU where ULPSCOPE_TEST_GPU names one), demands the same bits from all of them, and from those of
// GPUs the same counts, compares with the reference, and then demands that the same comparison rejects results rounded to a
// narrower format: a tolerance that the wrong mode would pass is a failure too.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/launch.h"
#include "kernels/ops/params.h"
#include "kernels/ops/rounding_counts.h"
#include "tests/kernels/ops/execute.h"

namespace ulpscope::test {

/// How a tensor lies in memory. padded: gaps between elements and rows; permuted: the dimensions in reverse order.
enum class Layout { contiguous, padded, permuted };

/// Memory with guards on both sides, and a view of it.
class TestTensor {
 public:
  TestTensor(const Shape& shape, Format format, Layout layout = Layout::contiguous);

  const Tensor& view() const { return view_; }
  std::int64_t elements() const { return view_.elements(); }
  /// Elements in row-major order. set rounds to the tensor's format.
  void set(std::int64_t index, double value);
  double get(std::int64_t index) const;
  std::uint64_t bits(std::int64_t index) const;
  /// False if something was written outside the elements.
  bool guards_intact() const;
  /// The same contents, in memory of its own.
  std::unique_ptr<TestTensor> clone() const;

 private:
  char* address(std::int64_t index) const;
  std::vector<unsigned char> memory_;
  std::vector<unsigned char> is_element_;
  std::size_t start_ = 0;
  bool contiguous_ = true;
  Tensor view_;
};

/// The reference of one element: |computed - value| <= factor * u * scale + rounding to the output's format, u being
/// the unit roundoff of the compute format. scale is |value| unless intermediate results are larger.
struct Expected {
  long double value;
  long double scale;
  Expected(long double v) : value(v), scale(v < 0 ? -v : v) {}
  Expected(long double v, long double s) : value(v), scale(s) {}
};

using Values = std::vector<long double>;

struct OpCase {
  std::string operation;
  std::vector<Shape> in;
  std::vector<Shape> out;
  std::vector<Format> in_format;  ///< empty: set_formats
  std::vector<Format> out_format;
  Format compute = Format::fp32;
  Layout layout = Layout::contiguous;
  /// Value of an element of input k; uniform in [-2, 2] by default.
  std::function<double(int k, std::int64_t index, double uniform)> fill;
  /// Outputs from inputs; for in-place operations the outputs' previous contents follow the inputs.
  std::function<std::vector<std::vector<Expected>>(const std::vector<Values>&)> reference;
  double factor = 1.0;
  std::shared_ptr<void> params;
  StepState state;
  bool updates = false;        ///< the outputs are read, too, and filled as inputs in.size() …
  bool alias_first = false;    ///< output 0 is the memory of input 0
  bool threads = false;        ///< worth running with several threads
  bool rejects_narrow = true;  ///< the check must fail for results rounded to a narrower format

  /// All float operands in one format; fp64 computes in fp64. Inputs that are i32 already stay.
  OpCase& set_formats(Format format);
  template <class P>
  OpCase& set_params(const P& p) {
    params = std::make_shared<P>(p);
    return *this;
  }
};

void check(const OpCase& c);

/// Uniform in [0, 1), the same sequence for the same seed.
class Uniform {
 public:
  explicit Uniform(std::uint64_t seed) : state_(seed * 2654435761u + 1) {}
  double operator()();

 private:
  std::uint64_t state_;
};

/// x rounded to a format by simple arithmetic in long double, independent of kernels/formats.
long double rounded(long double x, Format format);

std::string describe(const OpCase& c);

}  // namespace ulpscope::test
