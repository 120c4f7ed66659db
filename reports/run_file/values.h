// The small types that records are made of: ids, unknown numbers, and the words for where a number comes from.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace ulpscope::reports {

/// Ids are given by whoever records; they are unique within one run file (nodes, tensors: within one plan).
enum class RunId : std::int64_t {};
enum class MachineId : std::int64_t {};
/// A plan is recorded once and shared by the runs that use it (the seeds of one mode).
enum class PlanId : std::int64_t {};
enum class NodeId : std::int64_t {};
enum class TensorId : std::int64_t {};
enum class MendId : std::int64_t {};

/// A number that may be unknown (nothing, NULL in the file; never 0) and may be NaN or infinite, which is not unknown.
using Number = std::optional<double>;
/// A count that may be unknown.
using Count = std::optional<std::int64_t>;

/// Where a number comes from. Every number that is shown carries one.
enum class Provenance : std::uint8_t {
  measured,    ///< read from a clock or a sensor of the device that did the work
  counted,     ///< counted exactly while it happened: steps, overflows, bytes
  computed,    ///< the result of arithmetic: a loss, a FLOP count from shapes, a mean
  recomputed,  ///< from a second calculation beside the run's own
  inferred,    ///< concluded from other evidence
  emulated,    ///< a time taken where the format is carried out in software: says nothing about hardware speed
  projected,   ///< calculated for a device that is not here
  unknown,
};
inline constexpr int provenance_count = 8;

enum class RunStatus : std::uint8_t { running, finished, interrupted, failed };
enum class Phase : std::uint8_t { forward, backward, update };
enum class TensorRole : std::uint8_t {
  input,
  activation,
  weight,
  master_weight,
  gradient,
  optimizer_state,
  buffer,
  internal
};
enum class MemoryKind : std::uint8_t {
  sample,     ///< bytes in use at one moment
  peak,       ///< the moment of the run's (or the step's) greatest total
  predicted,  ///< the memory plan's peak, computed before the first step
};
/// Every byte of device memory belongs to exactly one category.
enum class MemoryCategory : std::uint8_t {
  weights,
  master_weights,
  gradients,
  optimizer_state,
  activations,
  casts,
  workspace,
  inputs,  ///< the batch, constants, the step's scalars
  gaps,    ///< bytes of the arena that no live value covers: alignment and placement
  observation,
  buffers  ///< running statistics, and their values at the last commit
};
inline constexpr int memory_category_count = 11;
enum class MendStatus : std::uint8_t { verified, refuted, not_tried };

/// The word for a value, as it stands in the file and is printed: "measured", "master_weight" …
std::string_view name(Provenance value);
std::string_view name(RunStatus value);
std::string_view name(Phase value);
std::string_view name(TensorRole value);
std::string_view name(MemoryKind value);
std::string_view name(MemoryCategory value);
std::string_view name(MendStatus value);

/// The value of a word. `parse<Provenance>("measured")`; nothing if the word is not known.
template <class Enum>
std::optional<Enum> parse(std::string_view word);
template <>
std::optional<Provenance> parse<Provenance>(std::string_view);
template <>
std::optional<RunStatus> parse<RunStatus>(std::string_view);
template <>
std::optional<Phase> parse<Phase>(std::string_view);
template <>
std::optional<TensorRole> parse<TensorRole>(std::string_view);
template <>
std::optional<MemoryKind> parse<MemoryKind>(std::string_view);
template <>
std::optional<MemoryCategory> parse<MemoryCategory>(std::string_view);
template <>
std::optional<MendStatus> parse<MendStatus>(std::string_view);

/// How far the values of a tensor reach, before they are rounded into its format.
struct TensorRange {
  TensorId tensor{};
  float greatest_magnitude = 0.0f;  ///< of the finite elements
  bool not_finite = false;          ///< some are NaN or infinite
  bool overflowed = false;          ///< some are finite, and not after the rounding
  friend bool operator==(const TensorRange&, const TensorRange&) = default;
};

/// A list of them that is not changed any more. Handing it on copies nothing and allocates nothing.
class TensorRanges {
 public:
  TensorRanges() = default;
  TensorRanges(std::vector<TensorRange> list) : list_(std::make_shared<const std::vector<TensorRange>>(std::move(list))) {}
  /// Of somebody who keeps a hand on it, to use it again when nobody else does.
  explicit TensorRanges(std::shared_ptr<const std::vector<TensorRange>> list) : list_(std::move(list)) {}

  std::size_t size() const { return list_ ? list_->size() : 0; }
  const TensorRange* begin() const { return list_ ? list_->data() : nullptr; }
  const TensorRange* end() const { return begin() + size(); }

 private:
  std::shared_ptr<const std::vector<TensorRange>> list_;
};

/// Counts of finite, non-zero elements by binary exponent: counts[i] elements have 2^(first + i) <= |x| < 2^(first + i
/// + 1).
struct ExponentHistogram {
  int first = 0;
  std::vector<std::uint64_t> counts{};
  friend bool operator==(const ExponentHistogram&, const ExponentHistogram&) = default;
};

}  // namespace ulpscope::reports
