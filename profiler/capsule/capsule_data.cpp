#include "profiler/capsule/capsule_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/data/draw.h"
#include "kernels/error.h"

namespace ulpscope::profiler {
namespace {

using engine::NamedTensor;

class CapsuleData final : public engine::Dataset {
 public:
  explicit CapsuleData(const Capsule& capsule) : batches_(capsule.batches), step_(capsule.state.iteration) {}

  std::string describe() const override { return fmt::format("the batch of step {}, from a capsule", step_ + 1); }
  std::uint64_t fingerprint() const override {
    engine::Fnv1a sum;
    for (const auto& batch : batches_)
      for (const NamedTensor& input : batch) sum.bytes(input.data);
    return sum.value();
  }
  void training_batch(const engine::BatchKey& key, std::span<const Tensor> inputs) const override {
    const auto m = std::min(static_cast<std::size_t>(key.micro_batch), batches_.size() - 1);
    for (std::size_t i = 0; i < inputs.size(); ++i)
      std::memcpy(inputs[i].data, batches_[m][i].data.data(), batches_[m][i].data.size());
  }
  std::int64_t held_out_batches(std::int64_t) const override { return 0; }
  void held_out_batch(std::int64_t, std::span<const Tensor>) const override {}

 private:
  const std::vector<std::vector<NamedTensor>>& batches_;
  std::int64_t step_;
};

}  // namespace

std::unique_ptr<engine::Dataset> capsule_data(const Capsule& capsule, const engine::Model& model,
                                              const std::string& path) {
  for (const std::vector<NamedTensor>& batch : capsule.batches) {
    if (batch.size() != model.inputs.size())
      throw UsageError(fmt::format("{}: the capsule is damaged: its batch has {} inputs, the model {}", path,
                                   batch.size(), model.inputs.size()));
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const engine::Value& value = model.graph.value(model.inputs[i]);
      const auto bytes = static_cast<std::size_t>(value.shape.elements() * storage_bytes(value.format));
      if (batch[i].dtype != engine::dtype(value.format) || batch[i].data.size() != bytes)
        throw UsageError(fmt::format("{}: the capsule is damaged: its input '{}' does not fit the model's {} {}", path,
                                     batch[i].name, engine::dtype(value.format), to_string(value.shape)));
    }
  }
  return std::make_unique<CapsuleData>(capsule);
}

std::vector<std::vector<NamedTensor>> batches_of_step(const engine::Dataset& dataset, const engine::StepPlan& plan,
                                                      std::uint64_t seed, std::int64_t iteration) {
  std::vector<std::vector<NamedTensor>> batches;
  for (std::int64_t m = 0; m < plan.micro_batches; ++m) {
    std::vector<NamedTensor>& batch = batches.emplace_back();
    std::vector<Tensor> tensors;
    for (std::size_t i = 0; i < plan.inputs.size(); ++i) {
      const engine::Value& value = plan.graph.value(plan.inputs[i]);
      const auto dims = std::span(value.shape.dim).first(static_cast<std::size_t>(value.shape.rank));
      // Numbered: their order is that of the model, whatever they are called.
      batch.push_back(
          {fmt::format("{}.{}", i, value.name),
           engine::dtype(value.format),
           {dims.begin(), dims.end()},
           std::vector<std::byte>(static_cast<std::size_t>(value.shape.elements() * storage_bytes(value.format)))});
    }
    for (std::size_t i = 0; i < plan.inputs.size(); ++i)
      tensors.emplace_back(batch[i].data.data(), plan.graph.value(plan.inputs[i]).format,
                           plan.graph.value(plan.inputs[i]).shape);
    dataset.training_batch({seed, iteration, static_cast<std::int32_t>(m)}, tensors);
  }
  return batches;
}

}  // namespace ulpscope::profiler
