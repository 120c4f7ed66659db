// Light and dark: as the desktop says, or as the user does.
#pragma once

#include <QPalette>

class QTextDocument;

namespace ulpscope::gui {

enum class Theme { System, Light, Dark };

/// What the desktop asks for (org.freedesktop.appearance), else what its palette is.
bool systemIsDark();
QPalette makePalette(bool dark);
/// Style and palette of the whole program.
void applyTheme(Theme theme);

/// Its paragraphs read as the window does, whatever letter they begin with.
void readAsWindow(QTextDocument& document);

}  // namespace ulpscope::gui
