#include "gui/models/overflows_model.h"

#include <algorithm>

#include "gui/models/run_colours.h"
#include "gui/models/text.h"

namespace ulpscope::gui {
namespace {

using reports::FigureStyle;

QString known(const std::string& text) { return text.empty() ? unknownText() : plain(text); }

QVariant alignment(bool right) { return QVariant::fromValue((right ? Qt::AlignTrailing : Qt::AlignLeading) | Qt::AlignVCenter); }

bool isNumber(int column) {
  return column == OverflowsModel::StepColumn || column == OverflowsModel::NotFiniteColumn || column == OverflowsModel::GreatestColumn || column == OverflowsModel::ScaleColumn;
}

}  // namespace

OverflowsModel::OverflowsModel(QObject* parent) : QAbstractTableModel(parent) {}

void OverflowsModel::setData(std::shared_ptr<const OverflowsData> data) {
  beginResetModel();
  m_data = std::move(data);
  endResetModel();
}

int OverflowsModel::rowOf(reports::RunId run, std::int64_t step) const {
  for (int row = 0; row < rowCount(); ++row) {
    if (event(row).step == step && this->run(row).run.id == run) return row;
  }
  return -1;
}

QStringList OverflowsModel::choices(Role role) const {
  QStringList all;
  for (int row = 0; row < rowCount(); ++row) {
    const QString text = index(row, 0).data(role).toString();
    if (!all.contains(text)) all << text;
  }
  return all;
}

int OverflowsModel::rowCount(const QModelIndex& parent) const { return parent.isValid() || !m_data ? 0 : static_cast<int>(m_data->section.events.size()); }
int OverflowsModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : ColumnCount; }

QString OverflowsModel::kind(const reports::OverflowEvent& event) const {
  if (!event.cause) return unknownText();
  return words(name(m_data->section.causes[*event.cause].cause.kind));
}

QString OverflowsModel::display(int row, int column) const {
  const reports::OverflowEvent& of = event(row);
  switch (column) {
    case StepColumn: return QString::number(personStep(of.step));
    case RunColumn: return plain(run(row).label);
    case NodeColumn: return known(of.node);
    case OperationColumn: return known(of.operation);
    case PhaseColumn: return of.phase.empty() ? unknownText() : figureLabel(of.phase.c_str());
    case TensorColumn: return known(of.tensor);
    case FormatColumn: return known(of.format);
    case NotFiniteColumn: return countText(of.not_finite);
    case GreatestColumn: return valueText(of.greatest_magnitude, FigureStyle::loss);
    case ScaleColumn: return of.loss_scale || run(row).run.loss_scaling != "none" ? valueText(of.loss_scale, FigureStyle::scale) : tr("none");
    case FateColumn: return of.skipped ? tr("skipped") : tr("applied");
    case KindColumn: return kind(of);
    default: return {};
  }
}

QString OverflowsModel::toolTip(int row, int column) const {
  const reports::OverflowEvent& of = event(row);
  const QString counted = word(reports::Provenance::counted);
  switch (column) {
    case StepColumn:
    case FateColumn: return tr("A gradient of step %1 was not finite; the step was %2 [%3]").arg(personStep(of.step)).arg(display(row, FateColumn), counted);
    case RunColumn: return display(row, column);
    case ScaleColumn: return tr("loss scale in force in the step [%1]").arg(counted);
    case KindColumn: return of.cause ? words(meaning(m_data->section.causes[*of.cause].cause.kind)) : tr("No cause was found for this operation.");
    default: break;
  }
  if (!of.observed) return tr("Nothing was observed in this step: where it began is unknown.");
  if (column == NotFiniteColumn) return tr("elements that are not finite once they are stored [%1]").arg(counted);
  if (column == GreatestColumn) return tr("greatest magnitude of the finite elements, before rounding [%1]").arg(counted);
  if (of.node.empty()) return tr("In this step no operation was seen that made such a value of finite ones.");
  return tr("%1\nthe first operation that made a value that is not finite of finite ones [%2]").arg(display(row, column), word(reports::Provenance::inferred));
}

QVariant OverflowsModel::sortKey(int row, int column) const {
  const reports::OverflowEvent& of = event(row);
  const auto number = [](const auto& value) { return value ? QVariant(static_cast<double>(*value)) : QVariant(); };
  switch (column) {
    case StepColumn: return static_cast<double>(of.step);
    case NotFiniteColumn: return number(of.not_finite);
    case GreatestColumn: return number(of.greatest_magnitude);
    case ScaleColumn: return number(of.loss_scale);
    case NodeColumn:
    case OperationColumn:
    case PhaseColumn:
    case TensorColumn:
    case FormatColumn: return of.node.empty() ? QVariant() : QVariant(display(row, column));
    case KindColumn: return of.cause ? QVariant(display(row, column)) : QVariant();
    default: return display(row, column);
  }
}

QVariant OverflowsModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const int row = index.row();
  switch (role) {
    case Qt::DisplayRole: return display(row, index.column());
    case Qt::ToolTipRole: return toolTip(row, index.column());
    case Qt::DecorationRole: return index.column() == RunColumn ? QVariant(runColour(run(row).mode, run(row).run.seed)) : QVariant();
    case Qt::TextAlignmentRole: return alignment(isNumber(index.column()));
    case SortRole: return sortKey(row, index.column());
    case KindRole: return kind(event(row));
    case ModeRole: return plain(run(row).mode_label);
    case LayerRole: return known(m_data->layers[static_cast<std::size_t>(row)]);
    case RunIdRole: return static_cast<qlonglong>(run(row).run.id);
    default: return {};
  }
}

QVariant OverflowsModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  if (role == Qt::TextAlignmentRole) return alignment(isNumber(section));
  if (role != Qt::DisplayRole) return {};
  switch (section) {
    case StepColumn: return tr("Step");
    case RunColumn: return tr("Run");
    case NodeColumn: return tr("Began in");
    case OperationColumn: return tr("Operation");
    case PhaseColumn: return tr("Phase");
    case TensorColumn: return tr("Tensor");
    case FormatColumn: return tr("Format");
    case NotFiniteColumn: return tr("Not finite");
    case GreatestColumn: return tr("Greatest");
    case ScaleColumn: return tr("Loss scale");
    case FateColumn: return tr("Step was");
    case KindColumn: return tr("Kind");
    default: return {};
  }
}

OverflowsProxy::OverflowsProxy(QObject* parent) : QSortFilterProxyModel(parent) { setSortRole(OverflowsModel::SortRole); }

void OverflowsProxy::setFilter(OverflowFilter filter) {
  if (filter == m_filter) return;
  m_filter = std::move(filter);
  invalidateFilter();
}

bool OverflowsProxy::filterAcceptsRow(int row, const QModelIndex& parent) const {
  const auto* const model = static_cast<const OverflowsModel*>(sourceModel());
  const QModelIndex at = model->index(row, 0, parent);
  const auto fits = [&](const QString& wanted, int role) { return wanted.isEmpty() || at.data(role).toString() == wanted; };
  if (!fits(m_filter.kind, OverflowsModel::KindRole) || !fits(m_filter.mode, OverflowsModel::ModeRole) || !fits(m_filter.layer, OverflowsModel::LayerRole)) return false;
  if (m_filter.hidden.contains(at.data(OverflowsModel::RunIdRole).toLongLong())) return false;
  const reports::OverflowEvent& event = model->event(row);
  if (m_filter.steps && (event.step < m_filter.steps->first || event.step >= m_filter.steps->second)) return false;
  const QString names = plain(event.node) + QLatin1Char(' ') + plain(event.tensor);
  const QStringList words = m_filter.words.split(QLatin1Char(' '), Qt::SkipEmptyParts);
  return std::all_of(words.begin(), words.end(), [&](const QString& word) { return names.contains(word, Qt::CaseInsensitive); });
}

bool OverflowsProxy::lessThan(const QModelIndex& left, const QModelIndex& right) const {
  const QVariant a = left.data(sortRole());
  const QVariant b = right.data(sortRole());
  // The view turns the order round for descending: unknown stays last.
  if (a.isValid() != b.isValid()) return (sortOrder() == Qt::AscendingOrder) == a.isValid();
  if (a.typeId() == QMetaType::Double && b.typeId() == QMetaType::Double) return a.toDouble() < b.toDouble();
  return QString::compare(a.toString(), b.toString(), Qt::CaseInsensitive) < 0;
}

OperandsModel::OperandsModel(QObject* parent) : QAbstractTableModel(parent) {}

void OperandsModel::setNeighbourhood(Neighbourhood around) {
  beginResetModel();
  m_around = std::move(around);
  endResetModel();
}

int OperandsModel::rowCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : static_cast<int>(m_around.operands.size()); }
int OperandsModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : ColumnCount; }

QVariant OperandsModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const Operand& of = m_around.operands[static_cast<std::size_t>(index.row())];
  if (role == Qt::TextAlignmentRole) return alignment(index.column() >= NotFiniteColumn);
  if (role == Qt::ToolTipRole && index.column() >= NotFiniteColumn)
    return of.observed ? tr("of %1 elements, in this step [%2]").arg(countText(of.elements), word(reports::Provenance::counted)) : tr("not observed in this step");
  if (role != Qt::DisplayRole && role != Qt::ToolTipRole) return {};
  switch (index.column()) {
    case DirectionColumn: return of.input ? tr("reads") : tr("makes");
    case TensorColumn: return of.tensor.empty() ? unknownText() : of.role.empty() ? plain(of.tensor) : QStringLiteral("%1 (%2)").arg(plain(of.tensor), words(of.role));
    case FormatColumn: return known(of.format);
    case ShapeColumn: {
      QStringList sizes;
      for (const std::int64_t size : of.shape) sizes << QString::number(size);
      return sizes.isEmpty() ? tr("scalar") : sizes.join(QStringLiteral(" × "));
    }
    case OthersColumn: {
      QStringList names;
      for (const std::string& node : of.others) names << plain(node);
      if (!names.isEmpty()) return names.join(QStringLiteral(", "));
      return of.input ? tr("no operation: an input or a weight") : tr("nothing");
    }
    case NotFiniteColumn: return countText(of.notFinite);
    case GreatestColumn: return valueText(of.greatestMagnitude, FigureStyle::loss);
    default: return {};
  }
}

QVariant OperandsModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  if (role == Qt::TextAlignmentRole) return alignment(section >= NotFiniteColumn);
  if (role != Qt::DisplayRole) return {};
  switch (section) {
    case DirectionColumn: return QString();
    case TensorColumn: return tr("Tensor");
    case FormatColumn: return tr("Format");
    case ShapeColumn: return tr("Shape");
    case OthersColumn: return tr("Made by, read by");
    case NotFiniteColumn: return tr("Not finite");
    case GreatestColumn: return tr("Greatest");
    default: return {};
  }
}

}  // namespace ulpscope::gui
