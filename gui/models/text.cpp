#include "gui/models/text.h"

#include <QCoreApplication>
#include <QGuiApplication>
#include <QStringList>
#include <algorithm>

#include "reports/export/layout.h"
#include "reports/export/numbers.h"

namespace ulpscope::gui {
namespace {

QString line(const QString& label, const QString& value) { return QStringLiteral("%1: %2").arg(label, value); }

}  // namespace

QString isolated(const QString& text) {
  if (QGuiApplication::layoutDirection() != Qt::RightToLeft || text.isEmpty()) return text;
  return QChar(0x2066) + text + QChar(0x2069);  // left-to-right isolate … pop
}

QString sentence(std::string_view text) { return isolated(plain(text)); }

QString paragraphs(const QString& text) {
  if (QGuiApplication::layoutDirection() != Qt::RightToLeft) return text;
  const QChar mark(0x200f);  // right-to-left mark: the first letter that decides
  return mark + QString(text).replace(QLatin1Char('\n'), QLatin1Char('\n') + QString(mark));
}

QString withoutMarks(QString text) {
  text.removeIf([](QChar c) { return (c >= QChar(0x2066) && c <= QChar(0x2069)) || c == QChar(0x200e) || c == QChar(0x200f); });
  return text;
}

QString words(std::string_view text) {
  std::string spaced(text);
  std::replace(spaced.begin(), spaced.end(), '_', ' ');
  return QCoreApplication::translate("words", reports::printable(spaced).c_str());
}

QString plain(std::string_view text) {
  const std::string clean = reports::printable(text);
  return QString::fromUtf8(clean.data(), static_cast<qsizetype>(clean.size()));
}

QString word(reports::Provenance provenance) { return words(name(provenance)); }
QString word(reports::RunStatus status) { return words(name(status)); }
QString word(reports::Verdict verdict) { return words(name(verdict)); }
QString figureLabel(const char* label) { return words(label); }
QString unknownText() { return words("unknown"); }

QString figureText(const reports::Figure& figure, reports::FigureStyle style) {
  constexpr std::size_t as_long_as_it_is = 60;
  if (!figure.known()) return unknownText();
  return isolated(plain(reports::cell_text(figure, style, as_long_as_it_is)));
}

QString valueText(const reports::Number& value, reports::FigureStyle style) {
  return figureText(reports::Figure{.value = value}, style);
}

QString countText(const reports::Count& value) {
  return value ? QString::number(*value) : unknownText();
}

QString figureToolTip(const reports::Figure& figure, const reports::FigureInfo& info) {
  QString value = figureText(figure, info.style);
  if (*info.unit != '\0' && figure.known()) value += QStringLiteral(" [%1]").arg(plain(info.unit));
  QStringList lines{line(figureLabel(info.label), value)};
  if (figure.spread) lines << line(QStringLiteral("±"), valueText(figure.spread, info.style));
  if (const std::string range = reports::range_text(figure, info.style); !range.empty())
    lines << line(QCoreApplication::translate("text", "range"), isolated(plain(range)));
  if (figure.samples) lines << line(QCoreApplication::translate("text", "samples"), countText(figure.samples));
  lines << line(QCoreApplication::translate("text", "it is"), word(figure.provenance));
  if (*info.meaning != '\0') lines << words(info.meaning);
  return lines.join(QLatin1Char('\n'));
}

std::int64_t personStep(std::int64_t iteration) { return iteration + 1; }

}  // namespace ulpscope::gui
