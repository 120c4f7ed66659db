#include "gui/models/numerics_quantity.h"

#include <QCoreApplication>
#include <QStringList>
#include <algorithm>
#include <cmath>

#include "gui/models/text.h"
#include "reports/analysis/diagnosis/words.h"
#include "reports/export/numbers.h"

namespace ulpscope::gui {
namespace {

using reports::NumericsCell;
using reports::Provenance;

QString translated(const char* text) { return QCoreApplication::translate("numerics", text); }
QString shareText(const reports::Number& share) { return share ? isolated(plain(reports::percent(*share))) : unknownText(); }

QString factText(const char* label, const QString& value, Provenance provenance) { return QStringLiteral("%1: %2 [%3]").arg(translated(label), value, word(provenance)); }

}  // namespace

const std::vector<NumericsQuantity>& numericsQuantities() {
  static const std::vector<NumericsQuantity> all{
      {"head-room", QT_TRANSLATE_NOOP("numerics", "Head-room"), QT_TRANSLATE_NOOP("numerics", "bits between the greatest magnitude of a result and its format's limit; below 0: beyond it"),
       &NumericsCell::head_room, true, Provenance::computed},
      {"flushed", QT_TRANSLATE_NOOP("numerics", "Flushed share"), QT_TRANSLATE_NOOP("numerics", "share of the non-zero elements of the gradients that became zero"), &NumericsCell::flushed, false,
       Provenance::counted},
      {"error", QT_TRANSLATE_NOOP("numerics", "Error"), QT_TRANSLATE_NOOP("numerics", "relative RMS difference of a tensor from the fp32 shadow step"), &NumericsCell::error, false,
       Provenance::recomputed},
      {"rounding", QT_TRANSLATE_NOOP("numerics", "Rounding"), QT_TRANSLATE_NOOP("numerics", "RMS of what rounding changed in a result ÷ its RMS"), &NumericsCell::rounding, false, Provenance::computed},
      {"lost", QT_TRANSLATE_NOOP("numerics", "Lost updates"), QT_TRANSLATE_NOOP("numerics", "share of the weights whose update was rounded away"), &NumericsCell::lost, false, Provenance::counted},
  };
  return all;
}

QString labelOf(const NumericsQuantity& quantity) { return translated(quantity.label); }
QString meaningOf(const NumericsQuantity& quantity) { return translated(quantity.meaning); }

std::optional<double> gravity(const NumericsQuantity& quantity, const NumericsCell& cell) {
  constexpr double roomy = 16.0;     // bits
  constexpr double decades = 5.0;    // below a share of 1
  const reports::Number& value = cell.*quantity.value;
  if (!value || std::isnan(*value)) return std::nullopt;
  if (quantity.bits) return std::clamp(1.0 - *value / roomy, 0.0, 1.0);
  return *value <= 0.0 ? 0.0 : std::clamp(1.0 + std::log10(*value) / decades, 0.0, 1.0);
}

QString bitsText(const reports::Number& bits) {
  return bits ? QCoreApplication::translate("numerics", "%1 bits").arg(plain(reports::number_text(*bits, 3))) : unknownText();
}

QString numericsText(const NumericsQuantity& quantity, const NumericsCell& cell) {
  const reports::Number& value = cell.*quantity.value;
  return quantity.bits ? bitsText(value) : shareText(value);
}

QString columnText(const reports::NumericsColumn& column) {
  if (column.first == column.last) return QCoreApplication::translate("numerics", "step %1").arg(personStep(column.first));
  return QCoreApplication::translate("numerics", "steps %1 … %2").arg(personStep(column.first)).arg(personStep(column.last));
}

QString cellToolTip(const reports::NumericsMap& map, std::size_t layer, std::size_t column) {
  const NumericsCell& cell = map.cells[layer][column];
  QStringList lines{QStringLiteral("%1, %2").arg(plain(map.layers[layer]), columnText(map.columns[column]))};
  if (cell.not_finite) lines << QCoreApplication::translate("numerics", "values that are not finite once they are stored [%1]").arg(word(Provenance::counted));
  for (const NumericsQuantity& quantity : numericsQuantities()) {
    const bool known = (cell.*quantity.value).has_value();
    lines << factText(quantity.label, numericsText(quantity, cell), known ? quantity.provenance : Provenance::unknown);
  }
  return lines.join(QLatin1Char('\n'));
}

QString histogramText(const reports::TensorHistogram& of) {
  const reports::TensorStatsRecord& stats = of.stats;
  QStringList what{words(of.role), plain(of.format)};
  if (!of.operation.empty()) what << QCoreApplication::translate("numerics", "made by %1").arg(plain(of.operation));
  if (!of.phase.empty()) what << figureLabel(of.phase.c_str());
  const auto share = [&](const reports::Count& count) {
    return count && stats.elements > 0 ? shareText(static_cast<double>(*count) / static_cast<double>(stats.elements)) : unknownText();
  };
  const reports::Count odd = stats.nan && stats.positive_infinite && stats.negative_infinite ? reports::Count(*stats.nan + *stats.positive_infinite + *stats.negative_infinite) : std::nullopt;
  return QCoreApplication::translate("numerics", "%1 (%2), step %3: greatest magnitude %4, head-room %5, zero %6, flushed to zero %7, overflowed %8, not finite %9 of %10 elements [%11]")
      .arg(plain(of.tensor), what.join(QStringLiteral(", ")))
      .arg(personStep(stats.step))
      .arg(valueText(stats.greatest_magnitude, reports::FigureStyle::loss), bitsText(of.head_room), share(stats.zero), share(stats.flushed), countText(stats.overflowed), countText(odd))
      .arg(stats.elements)
      .arg(word(stats.provenance));
}

}  // namespace ulpscope::gui
