#include "engine/train/trainer_state.h"

#include <fmt/format.h>

#include <charconv>
#include <type_traits>

#include "kernels/error.h"

namespace ulpscope::engine {
namespace {

constexpr const char* kind_key = "ulpscope";
constexpr const char* kind = "checkpoint 1";

/// The one list of numbers, for both directions.
template <class State, class Visit>
void visit_numbers(State& state, Visit&& visit) {
  visit("iteration", state.iteration);
  visit("applied", state.applied);
  visit("scaler.scale", state.scaler.scale);
  visit("scaler.growth_tracker", state.scaler.growth_tracker);
  visit("scaler.hysteresis", state.scaler.hysteresis);
  visit("scaler.step", state.scaler.step);
  visit("scaler.last_overflow", state.scaler.last_overflow);
  visit("scaler.last_rescale", state.scaler.last_rescale);
  visit("scaler.overflows", state.scaler.overflows);
}

template <class T>
bool parse(const std::string& text, T& value) {
  const char* const end = text.data() + text.size();
  std::from_chars_result result{};
  if constexpr (std::is_floating_point_v<T>) result = std::from_chars(text.data(), end, value, std::chars_format::hex);
  else result = std::from_chars(text.data(), end, value);
  return result.ec == std::errc() && result.ptr == end;
}

template <class T>
std::string print(T value) {
  char buffer[64];
  std::to_chars_result result{};
  if constexpr (std::is_floating_point_v<T>) result = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::hex);
  else result = std::to_chars(buffer, buffer + sizeof buffer, value);
  return {buffer, result.ptr};
}

}  // namespace

TensorFile to_file(const TrainerState& state) {
  TensorFile file;
  file.metadata[kind_key] = kind;
  visit_numbers(state, [&](const char* key, const auto& value) { file.metadata[key] = print(value); });
  file.tensors = state.tensors;
  return file;
}

TrainerState from_file(TensorFile file, const std::string& path) {
  const auto said = file.metadata.find(kind_key);
  if (said == file.metadata.end()) throw UsageError(fmt::format("{}: it is not a checkpoint of ulpscope", path));
  if (said->second != kind)
    throw UsageError(fmt::format("{}: it is a '{}', and this program reads '{}'", path, said->second, kind));
  TrainerState state;
  visit_numbers(state, [&](const char* key, auto& value) {
    const auto found = file.metadata.find(key);
    if (found == file.metadata.end() || !parse(found->second, value))
      throw UsageError(fmt::format("{}: the checkpoint is damaged: its {} is missing or no number", path, key));
  });
  if (state.iteration < 0 || state.applied < 0 || state.applied > state.iteration)
    throw UsageError(fmt::format("{}: the checkpoint is damaged: {} of {} steps applied", path, state.applied, state.iteration));
  state.tensors = std::move(file.tensors);
  return state;
}

}  // namespace ulpscope::engine
