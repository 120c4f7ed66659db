#include "reports/analysis/scale_floor.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <type_traits>

#include "kernels/scaling/loss_scaler.h"

namespace ulpscope::reports {
namespace {

/// Of which a scale is asked how far it falls: more than the slowest backoff needs.
constexpr int most_overflows = 100000;

}  // namespace

std::optional<float> floor_above(const scaling::Policy& policy, float scale) {
  if (!scaling::is_dynamic(policy)) return std::nullopt;
  // The rule itself is asked, hysteresis and all.
  scaling::ScalerState state = scaling::initial_state(policy);
  state.scale = std::max(state.scale, scale * 2.0f);
  for (int i = 0; i < most_overflows && state.scale > scale; ++i) {
    const scaling::Transition t = scaling::next(policy, state, true);
    const bool stays = t.event == scaling::ScaleEvent::backed_off && t.state.scale == state.scale;
    if (stays || t.event == scaling::ScaleEvent::gave_up) return state.scale;
    state = t.state;
  }
  return state.scale > scale ? std::optional(state.scale) : std::nullopt;
}

std::optional<LoweredFloor> lower_floor(const scaling::Policy& policy, float scale) {
  if (!floor_above(policy, scale)) return std::nullopt;
  LoweredFloor lowered{.policy = policy};
  const bool ends_there = std::holds_alternative<scaling::FairseqScaler>(policy);  // a scale that comes to its floor ends the training
  const auto lower = [&](const std::string_view key, auto& number) {
    if constexpr (std::is_same_v<std::remove_reference_t<decltype(number)>, float>) {
      if (key != "floor" && key != "threshold") return;
      const float enough = key == "floor" && ends_there ? scale / 2.0f : scale;
      if (number <= enough) return;
      number = enough;
      lowered.floor = enough;
      lowered.keys += fmt::format("{}train.scaler.{}={}", lowered.keys.empty() ? "" : ", ", key, enough);
    }
  };
  std::visit([&](auto& p) { p.fields(lower); }, lowered.policy);
  return floor_above(lowered.policy, scale) ? std::nullopt : std::optional(lowered);
}

}  // namespace ulpscope::reports
