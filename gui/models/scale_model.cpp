#include "gui/models/scale_model.h"

#include <QStringList>
#include <cmath>

#include "gui/models/run_colours.h"
#include "gui/models/text.h"

namespace ulpscope::gui {
namespace {

using reports::FigureStyle;

QString scaleText(const reports::Number& scale) { return valueText(scale, FigureStyle::scale); }
QString stepText(const std::optional<std::int64_t>& step) { return step ? QString::number(personStep(*step)) : unknownText(); }

QString rangeText(const reports::LayerWindow& window) {
  if (!window.open() || (window.lowest && std::isinf(*window.lowest))) return ScaleModel::tr("no scale suits");
  if (window.blind)   // bounds of what is known
    return QStringLiteral("%1 … %2").arg(window.lowest ? QStringLiteral("≥ %1").arg(scaleText(window.lowest)) : unknownText(),
                                         window.highest ? QStringLiteral("≤ %1").arg(scaleText(window.highest)) : unknownText());
  if (window.lowest && window.highest) return QStringLiteral("%1 … %2").arg(scaleText(window.lowest), scaleText(window.highest));
  if (window.highest) return ScaleModel::tr("up to %1").arg(scaleText(window.highest));
  if (window.lowest) return ScaleModel::tr("from %1").arg(scaleText(window.lowest));
  return ScaleModel::tr("every scale");
}

QString layersText(const reports::LossScaleWindow& window) {
  constexpr std::size_t most = 8;
  QStringList lines{ScaleModel::tr("narrowest layers:")};
  for (std::size_t i = 0; i < std::min(most, window.layers.size()); ++i)
    lines << QStringLiteral("%1: %2").arg(plain(window.layers[i].layer), rangeText(window.layers[i]));
  return lines.join(QLatin1Char('\n'));
}

}  // namespace

QString windowText(const std::optional<reports::LossScaleWindow>& window) { return window ? rangeText(window->model) : unknownText(); }

ScaleModel::ScaleModel(QObject* parent) : QAbstractTableModel(parent) {}

void ScaleModel::setData(std::shared_ptr<const ScaleData> data, std::vector<std::size_t> shown) {
  beginResetModel();
  m_data = std::move(data);
  m_shown = std::move(shown);
  endResetModel();
}

int ScaleModel::rowCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : static_cast<int>(m_shown.size()); }
int ScaleModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : ColumnCount; }

QString ScaleModel::display(int row, int column) const {
  const reports::ScaleHistory& of = history(row);
  const std::vector<reports::SeriesPoint>& points = of.scale.points;
  switch (column) {
    case RunColumn: return plain(run(row).label);
    case FirstColumn: return scaleText(points.empty() ? reports::Number() : points.front().value);
    case LastColumn: return scaleText(points.empty() ? reports::Number() : points.back().value);
    case ChangesColumn: return QString::number(of.changes);
    case OverflowsColumn: return QString::number(of.overflows.size());
    case WindowColumn: return windowText(of.window);
    case LowestColumn: return of.window ? plain(of.window->lowest_layer) : unknownText();
    case HighestColumn: return of.window ? plain(of.window->highest_layer) : unknownText();
    default: return {};
  }
}

QString ScaleModel::toolTip(int row, int column) const {
  const reports::ScaleHistory& of = history(row);
  switch (column) {
    case RunColumn: return tr("%1, loss scaling %2").arg(plain(run(row).label), plain(run(row).run.loss_scaling));
    case FirstColumn:
    case LastColumn: return tr("in force in that step [%1]").arg(word(reports::Provenance::counted));
    case ChangesColumn: return tr("events of a scale that changed [%1]").arg(word(reports::Provenance::counted));
    case OverflowsColumn: return tr("steps whose gradients were not finite [%1]").arg(word(reports::Provenance::counted));
    default: break;
  }
  if (!of.window) return tr("There is no scaled gradient of a narrow range, or none was observed.");
  const reports::LossScaleWindow& window = *of.window;
  if (column == LowestColumn) return tr("loses most below the lowest scale: %1, step %2").arg(plain(window.model.lowest_tensor), stepText(window.model.lowest_step));
  if (column == HighestColumn) return tr("overflows first above the highest scale: %1, step %2").arg(plain(window.model.highest_tensor), stepText(window.model.highest_step));
  QStringList lines{tr("scales that suit the gradients of all layers in %n observed step(s) [%1]", nullptr, static_cast<int>(window.steps.size())).arg(word(window.provenance)),
                    tr("in the latest of them alone: %1; in force there: %2").arg(rangeText(window.latest), scaleText(window.scale)), layersText(window)};
  return lines.join(QLatin1Char('\n'));
}

QVariant ScaleModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  switch (role) {
    case Qt::DisplayRole: return display(index.row(), index.column());
    case Qt::ToolTipRole: return toolTip(index.row(), index.column());
    case Qt::DecorationRole: return index.column() == RunColumn ? QVariant(runColour(run(index.row()).mode, run(index.row()).run.seed)) : QVariant();
    case Qt::TextAlignmentRole: {
      const bool right = index.column() >= FirstColumn && index.column() <= OverflowsColumn;
      return QVariant::fromValue((right ? Qt::AlignTrailing : Qt::AlignLeading) | Qt::AlignVCenter);
    }
    default: return {};
  }
}

QVariant ScaleModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  if (role == Qt::TextAlignmentRole) {
    const bool right = section >= FirstColumn && section <= OverflowsColumn;
    return QVariant::fromValue((right ? Qt::AlignTrailing : Qt::AlignLeading) | Qt::AlignVCenter);
  }
  if (role != Qt::DisplayRole) return {};
  switch (section) {
    case RunColumn: return tr("Run");
    case FirstColumn: return tr("First scale");
    case LastColumn: return tr("Last scale");
    case ChangesColumn: return tr("Changes");
    case OverflowsColumn: return tr("Overflows");
    case WindowColumn: return tr("Window");
    case LowestColumn: return tr("Decides below");
    case HighestColumn: return tr("Decides above");
    default: return {};
  }
}

}  // namespace ulpscope::gui
