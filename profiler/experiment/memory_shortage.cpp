#include "profiler/experiment/memory_shortage.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <exception>

#include "engine/graph/operator.h"
#include "profiler/experiment/experiment.h"
#include "profiler/experiment/keys.h"
#include "reports/export/layout.h"
#include "reports/export/numbers.h"

namespace ulpscope::profiler {
namespace {

using reports::wrapped;

std::string bytes(std::int64_t count) { return reports::bytes_text(static_cast<double>(count)); }

std::vector<std::string> size_keys(const Experiment& experiment) {
  std::vector<std::string> names;
  for (const Key& key : keys())
    if (key.name.starts_with("model.") && key.type == KeyType::integer && key.get(experiment)) names.push_back(key.name);
  return names;
}

void find_largest_node(const engine::StepPlan& plan, MemoryShortage& shortage) {
  for (const engine::Node& node : plan.graph.nodes()) {
    std::int64_t sum = 0;
    for (const engine::ValueId id : node.outputs) {
      const engine::Value& value = plan.graph.value(id);
      const engine::Placement& place = plan.memory.values[static_cast<std::size_t>(id.index)];
      if (place.stored && value.same_memory_as.index < 0) sum += value.shape.elements() * storage_bytes(value.format);
    }
    if (sum <= shortage.largest_bytes) continue;
    shortage.largest_bytes = sum;
    shortage.largest_node = node.name;
    shortage.largest_operation = node.op->name;
  }
}

/// Greatest batch below the configured one that fits. What a step needs grows with its batch.
void find_batch(Device& device, const Experiment& experiment, const engine::Mode& mode, const PlannedNeed& need, MemoryShortage& shortage) {
  if (std::holds_alternative<engine::GraphConfig>(experiment.model) || shortage.batch <= 1) return;   // a graph's inputs say their own batch
  const auto at = [&](std::int64_t batch) {
    engine::TrainConfig train = experiment.train;
    train.batch = batch;
    return need(engine::plan_step(device, engine::build_model(experiment.model, batch, true), mode, train), train);
  };
  std::int64_t fits = 0, too_many = shortage.batch, fits_bytes = at(1);
  if (fits_bytes > shortage.free_bytes) {
    shortage.fits = 0;
    shortage.fits_bytes = fits_bytes;
    return;
  }
  for (fits = 1; too_many - fits > 1;) {
    const std::int64_t middle = fits + (too_many - fits) / 2, needed = at(middle);
    if (needed <= shortage.free_bytes) {
      fits = middle;
      fits_bytes = needed;
    } else {
      too_many = middle;
    }
  }
  shortage.fits = fits;
  shortage.fits_bytes = fits_bytes;
}

std::string batch_words(const MemoryShortage& s) {
  if (!s.fits) return "";
  if (*s.fits == 0) return fmt::format("not even a batch of 1 fits: by its plan it needs {}", bytes(s.fits_bytes.value_or(0)));
  return fmt::format("a batch of {} would fit: by its plan it needs {}", *s.fits, bytes(s.fits_bytes.value_or(0)));
}

}  // namespace

std::int64_t step_bytes(const engine::StepPlan& plan) { return plan.memory.persistent_bytes + plan.memory.arena_bytes; }

MemoryShortage memory_shortage(Device& device, const Experiment& experiment, const engine::Mode& mode, const engine::StepPlan& plan, std::int64_t free_bytes, const PlannedNeed& need) {
  MemoryShortage shortage;
  shortage.mode = mode.name;
  shortage.needed_bytes = need(plan, experiment.train);
  shortage.free_bytes = free_bytes;
  shortage.by_category = plan.memory.peak_by_category;
  shortage.batch = experiment.train.batch;
  shortage.size_keys = size_keys(experiment);
  find_largest_node(plan, shortage);
  // Where the plan would fit, something else took the memory, and no batch can be computed from it.
  if (shortage.needed_bytes <= free_bytes) return shortage;
  try {
    find_batch(device, experiment, mode, need, shortage);
  } catch (const std::exception&) {   // there is no memory for a plan, either
    shortage.fits = shortage.fits_bytes = std::nullopt;
  }
  return shortage;
}

/// " (activations 2.4 GiB, weights 52 MiB)", the greatest first.
static std::string category_words(const MemoryShortage& s) {
  std::vector<std::pair<std::int64_t, const char*>> list;
  for (const auto& [category, count] : s.by_category)
    if (count > 0) list.emplace_back(count, engine::name(category));
  std::stable_sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string words;
  for (const auto& [count, category] : list) words += fmt::format("{}{} {}", words.empty() ? "" : ", ", category, bytes(count));
  return words.empty() ? "" : fmt::format(" ({})", words);
}

std::string shortage_line(const MemoryShortage& s) {
  const std::string largest = s.largest_node.empty() ? "" : fmt::format("; the largest result is {}'s, {}", s.largest_node, bytes(s.largest_bytes));
  if (s.needed_bytes <= s.free_bytes)   // measured when it was over
    return fmt::format("a step in {} needs {} by its plan{}, and {} are free now: what was beside it (observe.shadow, other programs) took the rest{}", s.mode,
                       bytes(s.needed_bytes), category_words(s), bytes(s.free_bytes), largest);
  std::string batch = batch_words(s);
  if (!batch.empty()) batch = "; " + batch;
  return fmt::format("a step in {}{} needs {} of memory{}, and {} are free: lower train.batch (now {}){}{}{}", s.mode, s.beside, bytes(s.needed_bytes), category_words(s), bytes(s.free_bytes), s.batch,
                     s.size_keys.empty() ? "" : fmt::format(" or the model's size ({})", fmt::join(s.size_keys, ", ")), batch, largest);
}

std::string shortage_text(const MemoryShortage& s) {
  std::string text = wrapped(fmt::format("Memory of a step in {}, computed from the plan", s.mode), "") + '\n';
  std::int64_t sum = 0;
  for (const auto& [category, count] : s.by_category) {
    sum += count;
    if (count > 0) text += fmt::format("  {:<18}{:>12}\n", engine::name(category), bytes(count));
  }
  text += fmt::format("  {:<18}{:>12}\n", "total", bytes(sum));
  if (s.needed_bytes > sum) text += fmt::format("  {:<18}{:>12}\n", "with those beside", bytes(s.needed_bytes));
  text += fmt::format("  {:<18}{:>12}\n", "free", bytes(s.free_bytes));
  if (!s.largest_node.empty())
    text += wrapped(fmt::format("  The largest result is that of {} ({}), {}.", reports::printable(s.largest_node), s.largest_operation, bytes(s.largest_bytes)), "  ") + '\n';
  if (s.fits)
    text += wrapped(fmt::format("  Instead of a batch of {}, {} [computed].", s.batch, batch_words(s)), "  ") + '\n';
  else if (s.needed_bytes <= s.free_bytes)
    text += wrapped("  By its plan it would fit: what was beside it (observe.shadow, other programs), or what lies between pieces of memory, took the rest.", "  ") + '\n';
  return text;
}

}  // namespace ulpscope::profiler
