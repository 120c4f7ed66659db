#include "reports/export/write_window.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "reports/analysis/diagnosis/words.h"
#include "reports/export/layout.h"
#include "reports/export/numbers.h"

namespace ulpscope::reports {
namespace {

using json = nlohmann::ordered_json;

constexpr std::size_t most_layers = 12;

std::string bound(const Number& scale, bool blind, const char* sign) {
  if (!scale) return blind ? "unknown" : "any";
  if (!std::isfinite(*scale) || *scale <= 0.0) return "none";
  return blind ? fmt::format("{} {}", sign, scale_power(*scale)) : scale_power(*scale);
}
std::string lowest_text(const LayerWindow& w) { return bound(w.lowest, w.blind, ">="); }
std::string highest_text(const LayerWindow& w) { return bound(w.highest, w.blind, "<="); }

std::string range(const LayerWindow& w) {
  if (!w.lowest && !w.highest) return "every scale does";
  if (!w.lowest) return fmt::format("every scale up to {}", highest_text(w));
  if (!w.highest) return fmt::format("every scale from {} on", lowest_text(w));
  return fmt::format("from {} to {}", lowest_text(w), highest_text(w));
}

bool inside(const LayerWindow& w, double scale) { return (!w.lowest || scale >= *w.lowest) && (!w.highest || scale <= *w.highest); }

std::string share_text(const Number& share) { return share ? fmt::format("{:.3g} %", 100.0 * *share) : "-"; }

/// Where more than one step was looked at, which of them decides.
std::string in_step(const LossScaleWindow& w, const std::optional<std::int64_t>& step) { return step && w.steps.size() > 1 ? fmt::format(" in step {}", shown(*step)) : ""; }

std::string verdict(const LossScaleWindow& w) {
  const std::string bound = percent(w.share);
  if (w.exists() && w.model.blind) {
    std::string text = fmt::format("which scales suit the whole model is not known: {} was finite in no observed step. Of what is known lowest is {}, highest {}",
                                   w.model.blind_tensor, lowest_text(w.model), highest_text(w.model));
    if (w.scale) text += fmt::format("; {} was in force", scale_power(*w.scale));
    return text;
  }
  if (w.exists()) {
    std::string text = fmt::format("one scale suits the whole model: {}", range(w.model));
    if (w.scale) text += fmt::format("; {} was in force, which is {}", scale_power(*w.scale), inside(w.model, *w.scale) ? "inside" : "outside");
    return text;
  }
  std::string text = w.lowest_layer == w.highest_layer ? fmt::format("no single scale: {} alone", w.lowest_layer) : fmt::format("no single scale: {}", w.lowest_layer);
  text += std::isfinite(*w.model.lowest) ? fmt::format(" needs {} to keep what is lost under {}{} ({})", scale_power(*w.model.lowest), bound, in_step(w, w.model.lowest_step), w.model.lowest_tensor)
                                         : fmt::format(" loses more than {} at every scale{} ({})", bound, in_step(w, w.model.lowest_step), w.model.lowest_tensor);
  text += fmt::format(", {} overflows above {}{} ({})", w.lowest_layer == w.highest_layer ? "and" : w.highest_layer, *w.model.highest > 0.0 ? scale_power(*w.model.highest) : "any scale", in_step(w, w.model.highest_step), w.model.highest_tensor);
  if (w.latest.open() && w.steps.size() > 1) {
    text += fmt::format(". In step {} alone, the latest, one does: {}", shown(w.steps.back()), range(w.latest));
    if (w.scale) text += fmt::format(", and {} was in force", scale_power(*w.scale));
    return text;
  }
  return text + ": keep one of them in fp32, or use bf16";
}

json number(const Number& value) {
  if (!value) return nullptr;
  if (!std::isfinite(*value)) return exact(value, FigureStyle::loss);
  return *value;
}

json optional(const std::optional<std::int64_t>& value) { return value ? json(*value) : json(nullptr); }

json layer_json(const LayerWindow& w) {
  return {{"layer", w.layer.empty() ? json(nullptr) : json(w.layer)},
          {"lowest", number(w.lowest)},
          {"highest", number(w.highest)},
          {"lowest_tensor", w.lowest_tensor},
          {"highest_tensor", w.highest_tensor},
          {"lowest_step", optional(w.lowest_step)},
          {"highest_step", optional(w.highest_step)},
          {"flushed_share", number(w.flushed)},
          {"flushed_share_most", number(w.flushed_most)},
          {"flushed_share_most_step", optional(w.flushed_most_step)},
          {"bounds_only", w.blind},
          {"open", w.open()}};
}

}  // namespace

void write_window(const LossScaleWindow& w, std::ostream& out) {
  const std::string steps = w.steps.size() == 1 ? fmt::format("step {}", shown(w.steps.front())) : fmt::format("{} steps", w.steps.size());
  out << '\n' << wrap(fmt::format("loss-scale window: scales at which a layer loses at most {} of its gradients below the range, and none overflows, in {} [{}]", percent(w.share), steps, name(w.provenance)), "  ");
  out << wrap(printable(verdict(w)), "  ");
  if (w.scale)
    out << wrap(fmt::format("lost: at {}{}", scale_power(*w.scale),
                            w.steps.size() > 1 ? fmt::format(", the scale of the latest (step {}): in it, and in the worst of the {} (which is in brackets)", shown(w.steps.back()), w.steps.size()) : ""),
                "  ");
  out << "  " << pad_right("layer", 28) << pad_left("lowest", 10) << pad_left("highest", 10) << pad_left("lost now", 11) << pad_left("at most", 17) << '\n';
  for (std::size_t i = 0; i < w.layers.size() && i < most_layers; ++i) {
    const LayerWindow& layer = w.layers[i];
    std::string most = share_text(layer.flushed_most);
    if (layer.flushed_most.value_or(0.0) > 0.0 && w.steps.size() > 1) most += fmt::format(" ({})", shown(*layer.flushed_most_step));
    out << "  " << pad_right(shorten(printable(layer.layer), 27), 28) << pad_left(lowest_text(layer), 10) << pad_left(highest_text(layer), 10)
        << pad_left(share_text(layer.flushed), 11) << pad_left(most, 17) << '\n';
  }
  if (w.layers.size() > most_layers) out << fmt::format("  {} more with wider windows: --json\n", w.layers.size() - most_layers);
}

std::pair<std::string, std::string> bounds_text(const LayerWindow& w) {
  const auto text = [&](const Number& scale, const char* side) {
    if (!scale) return std::string(w.blind ? "unknown" : "any");
    return fmt::format("{}{}", w.blind ? side : "", scale_text(*scale));
  };
  return {text(w.lowest, "at least "), text(w.highest, "at most ")};
}

json window_json(const LossScaleWindow& w) {
  json layers = json::array();
  for (const LayerWindow& layer : w.layers) layers.push_back(layer_json(layer));
  json document = layer_json(w.model);
  document.erase("layer");
  document["exists"] = w.exists();
  document["share_allowed"] = w.share;
  document["lowest_layer"] = w.lowest_layer;
  document["highest_layer"] = w.highest_layer;
  document["scale"] = number(w.scale);
  document["latest"] = layer_json(w.latest);
  document["latest"].erase("layer");
  document["steps"] = w.steps;
  document["text"] = verdict(w);
  document["provenance"] = name(w.provenance);
  document["layers"] = std::move(layers);
  return document;
}

}  // namespace ulpscope::reports
