#include "gui/models/run_colours.h"

#include <array>
#include <cstddef>
#include <utility>

namespace ulpscope::gui {

QColor runColour(std::string_view mode) {
  using Entry = std::pair<std::string_view, QRgb>;
  static constexpr std::array<Entry, 8> known{{{"fp32", 0xff7f8794},       // grey: the reference
                                               {"tf32", 0xff56b4e9},       // sky blue
                                               {"fp16", 0xffd55e00},       // vermilion
                                               {"bf16", 0xff0f8fd0},       // blue
                                               {"fp16+tf32", 0xffe69f00},  // orange
                                               {"bf16+tf32", 0xff009e73},  // green
                                               {"fp16_pure", 0xffcc79a7},  // purple
                                               {"bf16_pure", 0xffb3a100}}};  // dark yellow
  const std::string_view plain_mode = mode.substr(0, mode.find('@'));
  for (const auto& [name, colour] : known) {
    if (name == plain_mode) return QColor::fromRgb(colour);
  }
  std::size_t sum = 0;
  for (const char c : mode) sum = sum * 31 + static_cast<unsigned char>(c);
  return QColor::fromHsv(static_cast<int>(sum % 360), 150, 190);
}

QColor runColour(std::string_view mode, std::int64_t seed) {
  constexpr std::array<int, 4> shades{100, 118, 86, 136};  // percent: lighter and darker in turn
  return runColour(mode).lighter(shades[static_cast<std::size_t>(seed < 0 ? -seed : seed) % shades.size()]);
}

}  // namespace ulpscope::gui
