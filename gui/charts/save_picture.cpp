#include "gui/charts/save_picture.h"

#include <QBuffer>
#include <QCoreApplication>
#include <QFileInfo>
#include <QImage>
#include <QPageSize>
#include <QPdfWriter>
#include <QSaveFile>
#ifdef ULPSCOPE_HAVE_SVG
#include <QSvgGenerator>
#endif

#include "gui/models/text.h"
#include "reports/export/fields.h"

namespace ulpscope::gui {
namespace {

struct SavedPicture {
  Q_DECLARE_TR_FUNCTIONS(SavedPicture)
};

/// Of forms that know inches: letters and lines have the sizes that they have in a window.
constexpr int dotsPerInch = 96;

void drawPng(const Picture& picture, QBuffer& out) {
  constexpr int twice = 2;
  QImage image(picture.size * twice, QImage::Format_ARGB32_Premultiplied);
  image.setDevicePixelRatio(twice);
  image.fill(Qt::transparent);
  picture.paint(image);
  image.save(&out, "PNG");
}

void drawPdf(const Picture& picture, QBuffer& out) {
  constexpr double pointsPerInch = 72.0;
  QPdfWriter writer(&out);
  writer.setCreator(QStringLiteral("ulpscope-gui"));
  writer.setResolution(dotsPerInch);
  writer.setPageSize(QPageSize(QSizeF(picture.size) * pointsPerInch / dotsPerInch, QPageSize::Point, {}, QPageSize::ExactMatch));
  writer.setPageMargins(QMarginsF(0, 0, 0, 0));
  picture.paint(writer);
}

#ifdef ULPSCOPE_HAVE_SVG
void drawSvg(const Picture& picture, QBuffer& out) {
  QSvgGenerator svg;
  svg.setOutputDevice(&out);
  svg.setResolution(dotsPerInch);
  svg.setSize(picture.size);
  svg.setViewBox(QRect(QPoint(0, 0), picture.size));
  picture.paint(svg);
}
#endif

}  // namespace

bool canWriteSvg() {
#ifdef ULPSCOPE_HAVE_SVG
  return true;
#else
  return false;
#endif
}

QString csvField(const QString& text) { return QString::fromStdString(reports::csv_quoted(withoutMarks(text).toStdString())); }

bool savePicture(const Picture& picture, const QString& fileName, QString* reason) {
  const auto refuse = [&](const QString& why) {
    if (reason != nullptr) *reason = why;
    return false;
  };
  const QString form = QFileInfo(fileName).suffix().toLower();
  QBuffer bytes;
  bytes.open(QIODevice::WriteOnly);
  if (form == QLatin1String("png")) drawPng(picture, bytes);
  else if (form == QLatin1String("pdf")) drawPdf(picture, bytes);
  else if (form == QLatin1String("csv")) bytes.write(withoutMarks(picture.csv()).toUtf8());
#ifdef ULPSCOPE_HAVE_SVG
  else if (form == QLatin1String("svg")) drawSvg(picture, bytes);
#endif
  else return refuse(canWriteSvg() ? SavedPicture::tr("%1: a chart is saved as .png, .svg, .pdf or .csv").arg(fileName) : SavedPicture::tr("%1: a chart is saved as .png, .pdf or .csv").arg(fileName));
  QSaveFile file(fileName);
  if (file.open(QIODevice::WriteOnly) && file.write(bytes.data()) == bytes.size() && file.commit()) return true;
  return refuse(QStringLiteral("%1: %2").arg(SavedPicture::tr("%1 could not be written").arg(fileName), file.errorString()));
}

QString pictureForms() {
  QString forms = SavedPicture::tr("Picture (*.png)");
  if (canWriteSvg()) forms += QStringLiteral(";;") + SavedPicture::tr("Drawing (*.svg)");
  return forms + QStringLiteral(";;") + SavedPicture::tr("Document (*.pdf)") + QStringLiteral(";;") + SavedPicture::tr("Data (*.csv)");
}

}  // namespace ulpscope::gui
