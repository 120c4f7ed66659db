#include "tests/bench/onednn.h"

#include <fmt/format.h>
#include <omp.h>
#include <oneapi/dnnl/dnnl.h>

#include <algorithm>
#include <cmath>

#include "kernels/error.h"

namespace ulpscope::bench {

std::string onednn_version() {
  const dnnl_version_t* v = dnnl_version();
  return fmt::format("oneDNN {}.{}.{}", v->major, v->minor, v->patch);
}

void onednn_multiply(std::int64_t m, std::int64_t n, std::int64_t k, const MatrixView& a, const MatrixView& b,
                     const MatrixView& c) {
  const bool trans_a = a.column_stride != 1, trans_b = b.column_stride != 1;
  const dnnl_status_t status = dnnl_sgemm(trans_a ? 'T' : 'N', trans_b ? 'T' : 'N', m, n, k, 1.0f, a.data,
                                          trans_a ? a.column_stride : a.row_stride, b.data,
                                          trans_b ? b.column_stride : b.row_stride, 0.0f, c.data, c.row_stride);
  if (status != dnnl_success)
    throw Error(fmt::format("bench: dnnl_sgemm {}x{}x{} failed with {}", m, n, k, static_cast<int>(status)));
}

BareProducts::BareProducts(Device& device, const engine::StepPlan& plan)
    : persistent_(device, static_cast<std::size_t>(plan.memory.persistent_bytes)),
      arena_(device, static_cast<std::size_t>(plan.memory.arena_bytes)) {
  const auto address = [&](const StepOperand& operand) -> float* {
    if (!operand.value) return nullptr;
    if (plan.graph.value(operand.value).format != Format::fp32)
      throw Error("bench: the yardstick multiplies fp32 steps only");
    const engine::Placement& p = plan.memory.values[static_cast<std::size_t>(operand.value.index)];
    auto* base = static_cast<std::byte*>(p.persistent ? persistent_.data() : arena_.data());
    return reinterpret_cast<float*>(base + p.offset) + operand.offset;
  };
  std::int64_t largest = 0, shortest = 0;
  for (const StepProducts& products : products_of(plan)) {
    std::vector<Item> items;
    for (const StepProduct& p : products) {
      items.push_back({p, address(p.a), address(p.b), address(p.c)});
      largest = std::max(largest, p.shape.m * std::max(p.shape.n, p.shape.k));
      if (shortest == 0 || (p.shape.batch == 1 && p.shape.k < shortest)) shortest = p.shape.k;
    }
    groups_.push_back(std::move(items));
  }
  // A sum of k products of numbers with deviation d has deviation sqrt(k) d^2: d = 1 / sqrt(k) stays as it is.
  scale_ = 1.0f / std::sqrt(static_cast<float>(shortest));
  const bool any_head =
      std::any_of(groups_.begin(), groups_.end(), [](const auto& g) { return g.front().product.shape.batch > 1; });
  for (int t = 0; any_head && t < device.description().threads; ++t)
    scratch_.emplace_back(static_cast<std::size_t>(largest));
  refill();
}

void BareProducts::refill() {
  const auto fill = [&](const Buffer& buffer, std::uint32_t start) {
    auto* numbers = static_cast<float*>(buffer.data());
    const auto count = static_cast<std::int64_t>(buffer.bytes() / sizeof(float));
    const float step = 2.0f * std::sqrt(3.0f) * scale_ / 0x1p24f;  // uniform with deviation scale_
#pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < count; ++i) {
      std::uint32_t x = (static_cast<std::uint32_t>(i) + start) * 2654435761u;
      x = (x ^ (x >> 15)) * 2246822519u;
      numbers[i] = (static_cast<float>((x ^ (x >> 13)) >> 8) - 0x1p23f) * step;
    }
  };
  fill(persistent_, 1);
  fill(arena_, 77777);
  for (auto& list : scratch_) std::fill(list.begin(), list.end(), scale_);
}

void BareProducts::run_head(const std::vector<Item>& items, std::int64_t i, std::int64_t j, float* scratch) const {
  for (const Item& item : items) {
    const auto view = [&](float* data, const StepOperand& operand) {
      const std::int64_t at = i * operand.batch_stride[0] + j * operand.batch_stride[1];
      return MatrixView{data == nullptr ? scratch : data + at, operand.row_stride, operand.column_stride};
    };
    const StepProduct& p = item.product;
    onednn_multiply(p.shape.m, p.shape.n, p.shape.k, view(item.a, p.a), view(item.b, p.b), view(item.c, p.c));
  }
}

void BareProducts::run() {
  for (const std::vector<Item>& items : groups_) {
    const auto batch = items.front().product.batch;
    const std::int64_t heads = batch[0] * batch[1];
    if (heads == 1) {
      run_head(items, 0, 0, nullptr);
      continue;
    }
#pragma omp parallel for schedule(dynamic, 1)
    for (std::int64_t head = 0; head < heads; ++head)
      run_head(items, head / batch[1], head % batch[1],
               scratch_[static_cast<std::size_t>(omp_get_thread_num())].data());
  }
}

}  // namespace ulpscope::bench
