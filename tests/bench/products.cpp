// The own fp32 product against oneDNN's, shape by shape.
#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "kernels/error.h"
#include "kernels/ops/params.h"
#include "tests/bench/family.h"
#include "tests/bench/onednn.h"
#include "tests/bench/statistics.h"

namespace ulpscope::bench {
namespace {

constexpr int slices = 5;
constexpr double infinity = std::numeric_limits<double>::infinity();

/// One shape: operands, results of both, and how often to call it so that the clock can tell.
class Contest {
 public:
  Contest(Device& device, const ProductShape& shape, double least_seconds)
      : shape_(shape),
        kernel_(device.kernels().find("matmul", Format::fp32)),
        a_(device, bytes(shape.m * shape.k)),
        b_(device, bytes(shape.k * shape.n)),
        own_(device, bytes(shape.m * shape.n)),
        theirs_(device, bytes(shape.m * shape.n)) {
    fill(a_, 12345);
    fill(b_, 999);
    params_.trans_a = shape.trans_a;
    params_.trans_b = shape.trans_b;
    in_[0] =
        Tensor(a_.data(), Format::fp32, stack(shape.trans_a ? shape.k : shape.m, shape.trans_a ? shape.m : shape.k));
    in_[1] =
        Tensor(b_.data(), Format::fp32, stack(shape.trans_b ? shape.n : shape.k, shape.trans_b ? shape.k : shape.n));
    out_ = Tensor(own_.data(), Format::fp32, stack(shape.m, shape.n));
    launch_.in = in_;
    launch_.in_count = 2;
    launch_.out = &out_;
    launch_.out_count = 1;
    launch_.params = &params_;
    launch_.threads = device.description().threads;
    workspace_ = Buffer(device, kernel_.workspace_bytes != nullptr ? kernel_.workspace_bytes(launch_) : 0);
    launch_.workspace = workspace_.data();
    run_own();
    run_theirs();
    check();
    const double each = std::min(seconds([&] { run_own(); }), seconds([&] { run_theirs(); }));
    calls_ = static_cast<int>(std::clamp(std::ceil(least_seconds / std::max(each, 1e-9)), 1.0, 1e6));
  }
  Contest(const Contest&) = delete;
  Contest& operator=(const Contest&) = delete;

  const ProductShape& shape() const { return shape_; }
  /// Of one call each. Both run in turn for a few slices, and the best slice of each counts: what other processes take
  /// away comes in time slices of milliseconds, and hits one side only if a single slice is measured.
  std::pair<double, double> seconds_of_both(bool own_first) {
    double own = infinity, theirs = infinity;
    for (int i = 0; i < slices; ++i) {
      if (own_first) own = std::min(own, each([&] { run_own(); }));
      theirs = std::min(theirs, each([&] { run_theirs(); }));
      if (!own_first) own = std::min(own, each([&] { run_own(); }));
    }
    return {own, theirs};
  }

 private:
  std::size_t bytes(std::int64_t elements) const {
    return static_cast<std::size_t>(shape_.batch * elements) * sizeof(float);
  }
  Shape stack(std::int64_t rows, std::int64_t columns) const {
    return shape_.batch > 1 ? Shape{shape_.batch, rows, columns} : Shape{rows, columns};
  }

  static void fill(const Buffer& buffer, std::uint32_t state) {
    auto* numbers = static_cast<float*>(buffer.data());
    for (std::size_t i = 0; i < buffer.bytes() / sizeof(float); ++i) {
      state = state * 1664525u + 1013904223u;
      numbers[i] = static_cast<float>(state >> 8) * 0x1p-23f - 1.0f;
    }
  }

  void run_own() { kernel_.run(launch_); }

  void run_theirs() {
    const ProductShape& s = shape_;
    const auto at = [](const Buffer& buffer, std::int64_t index) { return static_cast<float*>(buffer.data()) + index; };
    const auto multiply = [&](std::int64_t i) {
      onednn_multiply(s.m, s.n, s.k, {at(a_, i * s.m * s.k), s.trans_a ? 1 : s.k, s.trans_a ? s.m : 1},
                      {at(b_, i * s.k * s.n), s.trans_b ? 1 : s.n, s.trans_b ? s.k : 1},
                      {at(theirs_, i * s.m * s.n), s.n, 1});
    };
    if (s.batch == 1) return multiply(0);
#pragma omp parallel for schedule(dynamic, 1)
    for (std::int64_t i = 0; i < s.batch; ++i) multiply(i);
  }

  /// Both must have computed the same product; sums of k products of numbers up to 1 differ by roundings of numbers
  /// below k.
  void check() const {
    const auto* own = static_cast<const float*>(own_.data());
    const auto* theirs = static_cast<const float*>(theirs_.data());
    const double tolerance = 32.0 * 0x1p-24 * static_cast<double>(shape_.k);
    for (std::int64_t i = 0; i < shape_.batch * shape_.m * shape_.n; ++i)
      if (!(std::abs(static_cast<double>(own[i]) - static_cast<double>(theirs[i])) <= tolerance))
        throw Error(fmt::format("bench: {}: element {} is {}, oneDNN has {}", to_string(shape_), i, own[i], theirs[i]));
  }

  template <class Work>
  double each(const Work& work) const {
    return seconds([&] {
             for (int i = 0; i < calls_; ++i) work();
           }) /
           calls_;
  }

  ProductShape shape_;
  const Kernel& kernel_;
  Buffer a_, b_, own_, theirs_, workspace_;
  MatmulParams params_;
  Tensor in_[2], out_;
  Launch launch_;
  int calls_ = 1;
};

class Products final : public Family {
 public:
  explicit Products(const Setup& setup) : setup_(setup) {}

  void prepare() override {
    const double least = setup_.options.tiny ? 1e-5 : setup_.options.quick ? 3e-4 : 1e-3;
    const std::vector<ProductShape> step = step_shapes(setup_.plan("fp32"));
    std::vector<ProductShape> shapes = step;
    const std::vector<ProductShape> others = other_shapes();
    for (std::size_t i = 0; i < others.size(); i += setup_.options.quick ? 4 : 1)
      if (std::find(step.begin(), step.end(), others[i]) == step.end()) shapes.push_back(others[i]);
    of_step_ = step.size();
    for (const ProductShape& shape : shapes)
      contests_.push_back(std::make_unique<Contest>(*setup_.device, shape, least));
  }

  void round(int repetition, Samples& samples) override {
    std::vector<double> step, all;
    for (std::size_t i = 0; i < contests_.size(); ++i) {
      Contest& contest = *contests_[i];
      const auto [own, theirs] = contest.seconds_of_both((static_cast<std::size_t>(repetition) + i) % 2 == 0);
      all.push_back(own / theirs);
      if (i < of_step_) step.push_back(own / theirs);
      const std::string name = fmt::format("products/{}{}", i < of_step_ ? "step " : "", to_string(contest.shape()));
      samples[name] = own / theirs;
      samples[name + " GFLOP/s"] = contest.shape().flops() / own * 1e-9;
    }
    samples["products/own"] = geometric_mean(all);
    samples["products/of the step alone"] = geometric_mean(step);
  }

 private:
  const Setup& setup_;
  std::vector<std::unique_ptr<Contest>> contests_;
  std::size_t of_step_ = 0;
};

}  // namespace

std::unique_ptr<Family> make_products(const Setup& setup) { return std::make_unique<Products>(setup); }

}  // namespace ulpscope::bench
