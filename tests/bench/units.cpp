// Products with the sums of matrix units against the plain product, both through the matmul kernel.
#include <algorithm>
#include <limits>
#include <string>

#include <fmt/format.h>

#include "kernels/ops/params.h"
#include "kernels/tensor_core/units.h"
#include "tests/bench/family.h"

namespace ulpscope::bench {
namespace {

constexpr std::int64_t size = 256;
constexpr int slices = 5;

class Units final : public Family {
 public:
  explicit Units(const Setup& setup) : setup_(setup), kernel_(setup.device->kernels().find("matmul", Format::fp32)) {}

  void prepare() override {
    Device& device = *setup_.device;
    a_ = Buffer(device, size * size * sizeof(float));
    b_ = Buffer(device, size * size * sizeof(float));
    c_ = Buffer(device, size * size * sizeof(float));
    std::uint32_t state = 12345;
    for (const Buffer* buffer : {&a_, &b_}) {
      auto* numbers = static_cast<float*>(buffer->data());
      for (std::int64_t i = 0; i < size * size; ++i) {
        state = state * 1664525u + 1013904223u;
        numbers[i] = static_cast<float>(state >> 8) * 0x1p-23f - 1.0f;
      }
    }
    multiply(Format::fp16, MatrixUnit::v100);
  }

  void round(int, Samples& samples) override {
    const double plain = best(Format::fp32, MatrixUnit::none);
    samples["units/plain s"] = plain;
    double worst = 0.0;
    for (const tensor_core::Unit& unit : tensor_core::units()) {
      const Format format = unit.rule.operands;
      if (&unit != tensor_core::find_unit(unit.generation, format) || storage_bytes(format) == 1) continue;
      const double ratio = best(format, unit.generation) / plain;
      samples[fmt::format("units/{} {}", name(unit.generation), name(format))] = ratio;
      worst = std::max(worst, ratio);
    }
    samples["units/worst"] = worst;
  }

 private:
  /// fp32 memory that is rounded on its way into the product: what is compared is the multiplication.
  void multiply(Format format, MatrixUnit unit) {
    MatmulParams params;
    params.multiply = format;
    const Tensor in[] = {{a_.data(), Format::fp32, Shape{size, size}}, {b_.data(), Format::fp32, Shape{size, size}}};
    const Tensor out[] = {{c_.data(), Format::fp32, Shape{size, size}}};
    Launch launch;
    launch.in = in;
    launch.in_count = 2;
    launch.out = out;
    launch.out_count = 1;
    launch.params = &params;
    launch.arithmetic.unit = unit;
    launch.threads = setup_.device->description().threads;
    const std::size_t bytes = kernel_.workspace_bytes(launch);
    if (bytes > workspace_.bytes()) {
      workspace_.reset();
      workspace_ = Buffer(*setup_.device, bytes);
    }
    launch.workspace = workspace_.data();
    kernel_.run(launch);
  }

  double best(Format format, MatrixUnit unit) {
    double least = std::numeric_limits<double>::infinity();
    for (int i = 0; i < slices; ++i) least = std::min(least, seconds([&] { multiply(format, unit); }));
    return least;
  }

  const Setup& setup_;
  const Kernel& kernel_;
  Buffer a_, b_, c_, workspace_;
};

}  // namespace

std::unique_ptr<Family> make_units(const Setup& setup) { return std::make_unique<Units>(setup); }

}  // namespace ulpscope::bench
