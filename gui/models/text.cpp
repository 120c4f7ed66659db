#include "gui/models/text.h"

#include <QCoreApplication>
#include <QGuiApplication>
#include <QStringList>

#include "reports/export/layout.h"
#include "reports/export/numbers.h"

namespace ulpscope::gui {
namespace {

// Words of the reports that the window shows; lupdate finds them here.
[[maybe_unused]] constexpr const char* translatable[] = {
    QT_TRANSLATE_NOOP("words", "measured"),      QT_TRANSLATE_NOOP("words", "counted"),
    QT_TRANSLATE_NOOP("words", "computed"),      QT_TRANSLATE_NOOP("words", "recomputed"),
    QT_TRANSLATE_NOOP("words", "inferred"),      QT_TRANSLATE_NOOP("words", "emulated"),
    QT_TRANSLATE_NOOP("words", "projected"),     QT_TRANSLATE_NOOP("words", "unknown"),
    QT_TRANSLATE_NOOP("words", "running"),       QT_TRANSLATE_NOOP("words", "finished"),
    QT_TRANSLATE_NOOP("words", "interrupted"),   QT_TRANSLATE_NOOP("words", "failed"),
    QT_TRANSLATE_NOOP("words", "reference"),     QT_TRANSLATE_NOOP("words", "inside"),
    QT_TRANSLATE_NOOP("words", "better"),        QT_TRANSLATE_NOOP("words", "worse"),
    QT_TRANSLATE_NOOP("words", "undecided"),     QT_TRANSLATE_NOOP("words", "loss"),
    QT_TRANSLATE_NOOP("words", "steps"),         QT_TRANSLATE_NOOP("words", "time"),
    QT_TRANSLATE_NOOP("words", "memory"),        QT_TRANSLATE_NOOP("words", "peak by category"),
    QT_TRANSLATE_NOOP("words", "final loss"),    QT_TRANSLATE_NOOP("words", "best loss"),
    QT_TRANSLATE_NOOP("words", "held-out loss"), QT_TRANSLATE_NOOP("words", "distance from fp32"),
    QT_TRANSLATE_NOOP("words", "seeds"),         QT_TRANSLATE_NOOP("words", "steps applied"),
    QT_TRANSLATE_NOOP("words", "steps skipped"), QT_TRANSLATE_NOOP("words", "overflows"),
    QT_TRANSLATE_NOOP("words", "step time"),     QT_TRANSLATE_NOOP("words", "tokens/s"),
    QT_TRANSLATE_NOOP("words", "peak"),          QT_TRANSLATE_NOOP("words", "weights"),
    QT_TRANSLATE_NOOP("words", "master weights"), QT_TRANSLATE_NOOP("words", "gradients"),
    QT_TRANSLATE_NOOP("words", "optimizer state"), QT_TRANSLATE_NOOP("words", "activations"),
    QT_TRANSLATE_NOOP("words", "casts"),         QT_TRANSLATE_NOOP("words", "workspace"),
    QT_TRANSLATE_NOOP("words", "inputs"),        QT_TRANSLATE_NOOP("words", "gaps"),
    QT_TRANSLATE_NOOP("words", "observation"),   QT_TRANSLATE_NOOP("words", "buffers"),
    QT_TRANSLATE_NOOP("words", "loss scale, first"), QT_TRANSLATE_NOOP("words", "loss scale, range"),
    QT_TRANSLATE_NOOP("words", "loss scale, last"), QT_TRANSLATE_NOOP("words", "× fp32's speed"),
    QT_TRANSLATE_NOOP("words", "× fp32's peak"),
    QT_TRANSLATE_NOOP("words", "forward"),       QT_TRANSLATE_NOOP("words", "backward"),
    QT_TRANSLATE_NOOP("words", "update"),
};

QString translated(std::string_view text) {
  return QCoreApplication::translate("words", std::string(text).c_str());
}

/// Numbers keep their order in a window that reads from right to left.
QString isolated(const QString& number) {
  if (QGuiApplication::layoutDirection() != Qt::RightToLeft) return number;
  return QChar(0x2066) + number + QChar(0x2069);  // left-to-right isolate … pop
}

QString line(const QString& label, const QString& value) { return QStringLiteral("%1: %2").arg(label, value); }

}  // namespace

QString plain(std::string_view text) {
  const std::string clean = reports::printable(text);
  return QString::fromUtf8(clean.data(), static_cast<qsizetype>(clean.size()));
}

QString word(reports::Provenance provenance) { return translated(name(provenance)); }
QString word(reports::RunStatus status) { return translated(name(status)); }
QString word(reports::Verdict verdict) { return translated(name(verdict)); }
QString figureLabel(const char* label) { return translated(label); }
QString unknownText() { return translated("unknown"); }

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
  if (*info.meaning != '\0') lines << plain(info.meaning);
  return lines.join(QLatin1Char('\n'));
}

std::int64_t personStep(std::int64_t iteration) { return iteration + 1; }

}  // namespace ulpscope::gui
