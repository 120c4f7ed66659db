// Writes what a widget paints, or its data, into a file.
#pragma once

#include <QPaintDevice>
#include <QSize>
#include <QString>
#include <functional>

namespace ulpscope::gui {

struct Picture {
  QSize size{};
  std::function<void(QPaintDevice&)> paint{};  ///< with a painter of its own, into a rectangle of that size
  std::function<QString()> csv{};
};

bool canWriteSvg();
/// The ending of the name chooses the form: png (twice the size), pdf, csv (svg where this build can). False and a reason if not; then
/// what was there before still is.
bool savePicture(const Picture& picture, const QString& fileName, QString* reason);
/// A field of a CSV file: without the marks that order it in a window, in quotes where it needs them, and nothing that a spreadsheet would
/// take for a formula (reports/export/fields.h).
QString csvField(const QString& text);
/// Forms for a file dialog.
QString pictureForms();

}  // namespace ulpscope::gui
