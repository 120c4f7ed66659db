#include "gui/models/nodes_model.h"

#include <QCoreApplication>
#include <algorithm>

#include "gui/models/text.h"

namespace ulpscope::gui {
namespace {

QString operands(const std::vector<reports::Signature>& signatures) {
  QStringList texts;
  for (const reports::Signature& signature : signatures) {
    QStringList sizes;
    for (const std::int64_t size : signature.shape) sizes << QString::number(size);
    texts << QStringLiteral("%1 [%2]").arg(plain(signature.format), sizes.join(QStringLiteral(" × ")));
  }
  return texts.join(QStringLiteral(", "));
}

QString coresText(reports::TensorCores cores) {
  switch (cores) {
    case reports::TensorCores::not_a_product: return QStringLiteral("–");
    case reports::TensorCores::none: return NodesModel::tr("none here");
    case reports::TensorCores::yes: return NodesModel::tr("yes");
    case reports::TensorCores::no: return NodesModel::tr("no");
    case reports::TensorCores::unknown: return unknownText();
  }
  return {};
}

QVariant alignment(int column) {
  const bool right = column == NodesModel::PositionColumn || column == NodesModel::FlopsColumn || column == NodesModel::ReadColumn ||
                     column == NodesModel::WrittenColumn || column >= NodesModel::FirstTimeColumn;
  return QVariant::fromValue((right ? Qt::AlignTrailing : Qt::AlignLeading) | Qt::AlignVCenter);
}

QVariant number(const reports::Number& value) { return value ? QVariant(*value) : QVariant(); }
QVariant count(const reports::Count& value) { return value ? QVariant(static_cast<double>(*value)) : QVariant(); }
reports::Number asNumber(const reports::Count& value) { return value ? reports::Number(static_cast<double>(*value)) : std::nullopt; }

}  // namespace

NodesModel::NodesModel(QObject* parent) : QAbstractTableModel(parent) {}

void NodesModel::setTable(NodeTable table) {
  beginResetModel();
  m_table = std::move(table);
  endResetModel();
}

int NodesModel::rowOf(const QString& node) const {
  const std::string name = node.toStdString();
  const auto found = std::find_if(m_table.rows.begin(), m_table.rows.end(), [&](const NodeRow& r) { return r.node.name == name; });
  return found == m_table.rows.end() ? -1 : static_cast<int>(found - m_table.rows.begin());
}

int NodesModel::rowCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : static_cast<int>(m_table.rows.size()); }

int NodesModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : FirstTimeColumn + static_cast<int>(m_table.modes.size());
}

QVariant NodesModel::display(const NodeRow& row, int column) const {
  const reports::NodeRecord& node = row.node;
  switch (column) {
    case PositionColumn: return QString::number(node.position);
    case NameColumn: return plain(node.name);
    case OperationColumn: return plain(node.operation);
    case PhaseColumn: return words(name(node.phase));
    case FormatsColumn: return plain(row.formats);
    case ComputeColumn: return node.compute_format.empty() ? unknownText() : plain(node.compute_format);
    case FlopsColumn: return countText(node.flops);
    case ReadColumn: return valueText(asNumber(node.bytes_read), reports::FigureStyle::bytes);
    case WrittenColumn:
      return node.materialised ? valueText(asNumber(node.bytes_written), reports::FigureStyle::bytes) : tr("not materialised");
    case TensorCoresColumn: return coresText(row.tensorCores);
    case WhyColumn: return sentence(node.format_reason);
    default: break;
  }
  const auto mode = static_cast<std::size_t>(column - FirstTimeColumn);
  if (!row.launched_with[mode].empty()) return tr("in %1").arg(plain(row.launched_with[mode]));
  const reports::Figure& seconds = row.seconds[mode];
  return seconds.known() ? figureText(seconds, reports::FigureStyle::seconds) : unknownText();
}

QVariant NodesModel::sortKey(const NodeRow& row, int column) const {
  switch (column) {
    case PositionColumn: return static_cast<double>(row.node.position);
    case FlopsColumn: return count(row.node.flops);
    case ReadColumn: return count(row.node.bytes_read);
    case WrittenColumn: return count(row.node.bytes_written);
    case PhaseColumn: return static_cast<double>(row.node.phase);
    default: break;
  }
  if (column >= FirstTimeColumn) return number(row.seconds[static_cast<std::size_t>(column - FirstTimeColumn)].value);
  return display(row, column);
}

QVariant NodesModel::toolTip(const NodeRow& row, int column) const {
  switch (column) {
    case FormatsColumn: return tr("reads %1\nwrites %2").arg(operands(row.node.inputs), operands(row.node.outputs));
    case ComputeColumn:
    case WhyColumn: return plain(row.node.format_reason);
    case FlopsColumn: return tr("%1 FLOP of one call, from the shapes [%2]").arg(countText(row.node.flops), word(reports::Provenance::computed));
    case ReadColumn:
    case WrittenColumn: return tr("bytes of one call, from the shapes [%1]").arg(word(reports::Provenance::computed));
    case TensorCoresColumn: return sentence(row.tensorCoresWhy);
    case NameColumn: return row.node.attributes_json.empty() ? plain(row.node.name) : plain(row.node.name + "\n" + row.node.attributes_json);
    default: break;
  }
  if (column < FirstTimeColumn) return display(row, column);
  const auto mode = static_cast<std::size_t>(column - FirstTimeColumn);
  if (!row.launched_with[mode].empty()) return tr("launched together with %1, whose time holds this one's").arg(plain(row.launched_with[mode]));
  return tr("%1 in a step [%2]").arg(display(row, column).toString(), word(row.seconds[mode].provenance));
}

QVariant NodesModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const NodeRow& of = row(index.row());
  switch (role) {
    case Qt::DisplayRole: return display(of, index.column());
    case Qt::ToolTipRole: return toolTip(of, index.column());
    case SortRole: return sortKey(of, index.column());
    case Qt::TextAlignmentRole: return alignment(index.column());
    default: return {};
  }
}

QVariant NodesModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation == Qt::Horizontal && role == Qt::TextAlignmentRole) return alignment(section);
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
  switch (section) {
    case PositionColumn: return tr("#");
    case NameColumn: return tr("Node");
    case OperationColumn: return tr("Operation");
    case PhaseColumn: return tr("Phase");
    case FormatsColumn: return tr("Formats");
    case ComputeColumn: return tr("Computed in");
    case FlopsColumn: return tr("FLOP");
    case ReadColumn: return tr("Read");
    case WrittenColumn: return tr("Written");
    case TensorCoresColumn: return tr("Tensor cores");
    case WhyColumn: return tr("Why this format");
    default: break;
  }
  if (section >= columnCount()) return {};
  return tr("Time in %1").arg(plain(m_table.modes[static_cast<std::size_t>(section - FirstTimeColumn)]));
}

NodesProxy::NodesProxy(QObject* parent) : QSortFilterProxyModel(parent) { setSortRole(NodesModel::SortRole); }

void NodesProxy::setFilter(const QString& words) {
  m_words = words.split(QLatin1Char(' '), Qt::SkipEmptyParts);
  invalidateFilter();
}

bool NodesProxy::filterAcceptsRow(int row, const QModelIndex& parent) const {
  const auto has = [&](const QString& text) {
    for (const int column : {NodesModel::NameColumn, NodesModel::OperationColumn, NodesModel::PhaseColumn, NodesModel::FormatsColumn, NodesModel::ComputeColumn}) {
      if (sourceModel()->index(row, column, parent).data().toString().contains(text, Qt::CaseInsensitive)) return true;
    }
    return false;
  };
  return std::all_of(m_words.begin(), m_words.end(), has);
}

bool NodesProxy::lessThan(const QModelIndex& left, const QModelIndex& right) const {
  const QVariant a = left.data(sortRole());
  const QVariant b = right.data(sortRole());
  // The view turns the order round for descending: unknown stays last.
  if (a.isValid() != b.isValid()) return (sortOrder() == Qt::AscendingOrder) == a.isValid();
  if (a.typeId() == QMetaType::Double && b.typeId() == QMetaType::Double) return a.toDouble() < b.toDouble();
  return QString::compare(a.toString(), b.toString(), Qt::CaseInsensitive) < 0;
}

}  // namespace ulpscope::gui
