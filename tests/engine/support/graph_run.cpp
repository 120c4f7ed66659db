#include "tests/engine/support/graph_run.h"

#include <algorithm>

#include "engine/graph/initialise.h"
#include "kernels/math/random.h"

namespace ulpscope::engine::testing {
namespace {

std::vector<ValueId> every_value(const Graph& graph) {
  std::vector<ValueId> all;
  for (std::int32_t i = 0; i < graph.value_count(); ++i) all.push_back(ValueId{i});
  return all;
}

}  // namespace

GraphRun::GraphRun(Graph graph, std::uint64_t seed, int threads)
    : graph_(std::move(graph)), device_(make_cpu_device({threads, ""})) {
  plan_ = plan_memory(graph_, device_->kernels(), true, every_value(graph_), threads);
  persistent_ = Buffer(*device_, static_cast<std::size_t>(plan_.persistent_bytes));
  arena_ = Buffer(*device_, static_cast<std::size_t>(std::max<std::int64_t>(plan_.arena_bytes, 64)));
  device_->fill(persistent_.data(), 0, persistent_.bytes());
  state() = StepState{};
  program_ = std::make_unique<Program>(
      *device_, graph_, plan_, arena_.data(), [this](ValueId v) { return address(v); }, &state(), LaunchOptions{seed});
  for (std::int32_t i = 0; i < graph_.value_count(); ++i) {
    const Value& v = graph_.value(ValueId{i});
    if (v.producer || (v.role != Role::parameter && v.role != Role::constant)) continue;
    store(initial_values(v, seed), v.format, address(ValueId{i}));
  }
}

void* GraphRun::address(ValueId v) const {
  const Placement& p = plan_.values[static_cast<std::size_t>(v.index)];
  return static_cast<std::byte*>(p.persistent ? persistent_.data() : arena_.data()) + p.offset;
}

void GraphRun::set(const std::string& name, const std::vector<double>& values) {
  const ValueId id = graph_.find(name);
  const Value& v = graph_.value(id);
  if (static_cast<std::int64_t>(values.size()) != v.shape.elements()) throw std::length_error(name);
  if (v.format == Format::i32) {
    std::copy(values.begin(), values.end(), static_cast<std::int32_t*>(address(id)));
  } else if (v.format == Format::fp64) {
    std::copy(values.begin(), values.end(), static_cast<double*>(address(id)));
  } else {
    store(std::vector<float>(values.begin(), values.end()), v.format, address(id));
  }
}

std::vector<double> GraphRun::get(ValueId id) const {
  const Value& v = graph_.value(id);
  if (v.format == Format::fp64) {
    const auto* from = static_cast<const double*>(address(id));
    return {from, from + v.shape.elements()};
  }
  const std::vector<float> values = load(v.format, address(id), v.shape.elements());
  return {values.begin(), values.end()};
}

void GraphRun::run() {
  for (const Phase phase : {Phase::forward, Phase::backward, Phase::unscale, Phase::update}) program_->run(phase, topics_, {state().iteration, state().micro_batch, 0});
}

void GraphRun::run_observed() {
  const Subscription listener = topics_.tensor.subscribe(
      [this](const TensorEvent& event) { counts_[graph_.value(event.value).name] = *event.counts; });
  program_->observe([](const Node&) { return true; });
  run();
  program_->observe(nullptr);
}

std::vector<double> numbers(std::size_t n, double scale, std::uint64_t seed) {
  std::vector<double> list(n);
  for (std::size_t i = 0; i < n; ++i)
    list[i] = scale * (2.0 * static_cast<double>(math::random_uniform(math::random_key(seed, 7), i, 0, 0)) - 1.0);
  return list;
}

}  // namespace ulpscope::engine::testing
