#include "reports/run_file/values.h"

#include <array>
#include <cstddef>

namespace ulpscope::reports {
namespace {

// In the order of the enumerators.
constexpr std::array<std::string_view, provenance_count> provenance_names{
    "measured", "counted", "computed", "recomputed", "inferred", "emulated", "projected", "unknown"};
constexpr std::array<std::string_view, 4> status_names{"running", "finished", "interrupted", "failed"};
constexpr std::array<std::string_view, 3> phase_names{"forward", "backward", "update"};
constexpr std::array<std::string_view, 8> role_names{"input",    "activation",      "weight", "master_weight",
                                                     "gradient", "optimizer_state", "buffer", "internal"};
constexpr std::array<std::string_view, 3> memory_kind_names{"sample", "peak", "predicted"};
constexpr std::array<std::string_view, memory_category_count> category_names{
    "weights",   "master_weights", "gradients", "optimizer_state", "activations", "casts",
    "workspace", "inputs",         "gaps",      "observation",     "buffers"};
constexpr std::array<std::string_view, 3> mend_names{"verified", "refuted", "not_tried"};

template <class Enum, std::size_t N>
std::string_view word(Enum value, const std::array<std::string_view, N>& names) {
  return names[static_cast<std::size_t>(value)];
}

template <class Enum, std::size_t N>
std::optional<Enum> find(std::string_view text, const std::array<std::string_view, N>& names) {
  for (std::size_t i = 0; i < N; ++i)
    if (names[i] == text) return static_cast<Enum>(i);
  return std::nullopt;
}

}  // namespace

std::string_view name(Provenance value) { return word(value, provenance_names); }
std::string_view name(RunStatus value) { return word(value, status_names); }
std::string_view name(Phase value) { return word(value, phase_names); }
std::string_view name(TensorRole value) { return word(value, role_names); }
std::string_view name(MemoryKind value) { return word(value, memory_kind_names); }
std::string_view name(MemoryCategory value) { return word(value, category_names); }
std::string_view name(MendStatus value) { return word(value, mend_names); }

template <>
std::optional<Provenance> parse<Provenance>(std::string_view text) {
  return find<Provenance>(text, provenance_names);
}
template <>
std::optional<RunStatus> parse<RunStatus>(std::string_view text) {
  return find<RunStatus>(text, status_names);
}
template <>
std::optional<Phase> parse<Phase>(std::string_view text) {
  return find<Phase>(text, phase_names);
}
template <>
std::optional<TensorRole> parse<TensorRole>(std::string_view text) {
  return find<TensorRole>(text, role_names);
}
template <>
std::optional<MemoryKind> parse<MemoryKind>(std::string_view text) {
  return find<MemoryKind>(text, memory_kind_names);
}
template <>
std::optional<MemoryCategory> parse<MemoryCategory>(std::string_view text) {
  return find<MemoryCategory>(text, category_names);
}
template <>
std::optional<MendStatus> parse<MendStatus>(std::string_view text) {
  return find<MendStatus>(text, mend_names);
}

}  // namespace ulpscope::reports
