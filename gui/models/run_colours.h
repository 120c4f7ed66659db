// The colour of a mode, the same in every panel. Told apart by people who do not see all colours (Okabe and Ito, "Color Universal
// Design", 2008); readable on light and on dark ground.
#pragma once

#include <QColor>
#include <cstdint>
#include <string_view>

namespace ulpscope::gui {

QColor runColour(std::string_view mode);
/// A shade of it for each seed, so that the seeds of a mode can be told apart.
QColor runColour(std::string_view mode, std::int64_t seed);

}  // namespace ulpscope::gui
