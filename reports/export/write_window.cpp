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

std::string lowest_text(const LayerWindow& w) { return !w.lowest ? "any" : std::isfinite(*w.lowest) ? scale_amount(*w.lowest) : "none"; }
std::string highest_text(const LayerWindow& w) { return !w.highest ? "any" : *w.highest > 0.0 ? scale_amount(*w.highest) : "none"; }

std::string verdict(const LossScaleWindow& w) {
  const std::string bound = percent(w.share);
  if (w.exists()) {
    const bool inside = w.scale && (!w.model.lowest || *w.scale >= *w.model.lowest) && (!w.model.highest || *w.scale <= *w.model.highest);
    std::string text = fmt::format("one scale suits the whole model: from {} to {}", lowest_text(w.model), highest_text(w.model));
    if (w.scale) text += fmt::format("; {} was in force, which is {}", scale_amount(*w.scale), inside ? "inside" : "outside");
    return text;
  }
  std::string text = w.lowest_layer == w.highest_layer ? fmt::format("no single scale: {} alone", w.lowest_layer) : fmt::format("no single scale: {}", w.lowest_layer);
  text += std::isfinite(*w.model.lowest) ? fmt::format(" needs {} to keep what is lost under {} ({})", scale_amount(*w.model.lowest), bound, w.model.lowest_tensor)
                                         : fmt::format(" loses more than {} at every scale ({})", bound, w.model.lowest_tensor);
  text += fmt::format(", {} overflows above {} ({})", w.lowest_layer == w.highest_layer ? "and" : w.highest_layer, highest_text(w.model), w.model.highest_tensor);
  return text + ": keep one of them in fp32, or use bf16";
}

json number(const Number& value) {
  if (!value) return nullptr;
  if (!std::isfinite(*value)) return exact(value, FigureStyle::loss);
  return *value;
}

json layer_json(const LayerWindow& w) {
  return {{"layer", w.layer.empty() ? json(nullptr) : json(w.layer)},
          {"lowest", number(w.lowest)},
          {"highest", number(w.highest)},
          {"lowest_tensor", w.lowest_tensor},
          {"highest_tensor", w.highest_tensor},
          {"flushed_share", number(w.flushed)},
          {"open", w.open()}};
}

}  // namespace

void write_window(const LossScaleWindow& w, std::ostream& out) {
  const std::string steps = w.steps.size() == 1 ? fmt::format("step {}", shown(w.steps.front())) : fmt::format("{} steps", w.steps.size());
  out << '\n' << wrap(fmt::format("loss-scale window: scales at which a layer loses at most {} of its gradients below the range, and none overflows, in {} [{}]", percent(w.share), steps, name(w.provenance)), "  ");
  out << wrap(printable(verdict(w)), "  ");
  out << "  " << pad_right("layer", 32) << pad_left("lowest", 12) << pad_left("highest", 12) << pad_left("lost now", 14) << '\n';
  for (std::size_t i = 0; i < w.layers.size() && i < most_layers; ++i) {
    const LayerWindow& layer = w.layers[i];
    out << "  " << pad_right(shorten(printable(layer.layer), 31), 32) << pad_left(lowest_text(layer), 12) << pad_left(highest_text(layer), 12)
        << pad_left(layer.flushed ? fmt::format("{:.3g} %", 100.0 * *layer.flushed) : "-", 14) << '\n';
  }
  if (w.layers.size() > most_layers) out << fmt::format("  {} more with wider windows: --json\n", w.layers.size() - most_layers);
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
  document["steps"] = w.steps;
  document["text"] = verdict(w);
  document["provenance"] = name(w.provenance);
  document["layers"] = std::move(layers);
  return document;
}

}  // namespace ulpscope::reports
