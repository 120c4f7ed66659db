#include "gui/models/modes_model.h"

#include <QFont>
#include <algorithm>
#include <string_view>

#include "gui/models/text.h"
#include "reports/export/numbers.h"

namespace ulpscope::gui {

QString modeTitle(const reports::ModeResult& mode) {
  return mode.tag.empty() ? plain(mode.mode) : plain(mode.tag + " " + mode.mode);
}

ModesModel::ModesModel(QObject* parent) : QAbstractTableModel(parent) {}

void ModesModel::setComparison(std::shared_ptr<const reports::Comparison> comparison) {
  const bool same_shape = m_comparison && comparison && m_comparison->modes.size() == comparison->modes.size();
  if (same_shape) {
    const std::vector<Row> before = m_rows;
    m_comparison = std::move(comparison);
    makeRows();
    const auto equal = [](const Row& a, const Row& b) { return a.label == b.label && a.figure == b.figure; };
    if (std::equal(before.begin(), before.end(), m_rows.begin(), m_rows.end(), equal)) {
      if (!m_rows.empty()) emit dataChanged(index(0, 0), index(rowCount() - 1, columnCount() - 1));
      emit headerDataChanged(Qt::Horizontal, 0, columnCount() - 1);
      return;
    }
    const std::vector<Row> now = m_rows;
    m_rows = before;
    beginResetModel();
    m_rows = now;
    endResetModel();
    return;
  }
  beginResetModel();
  m_comparison = std::move(comparison);
  makeRows();
  endResetModel();
}

void ModesModel::makeRows() {
  m_rows.clear();
  if (!m_comparison) return;
  std::vector<std::string_view> sections{"loss", "steps", "time", "memory", "peak by category"};
  for (const reports::FigureInfo& info : reports::comparison_figures()) {
    if (std::find(sections.begin(), sections.end(), info.section) == sections.end()) sections.emplace_back(info.section);
  }
  for (const std::string_view section : sections) addSection(section);
}

void ModesModel::addSection(std::string_view section) {
  bool first = true;
  for (const reports::FigureInfo& info : reports::comparison_figures()) {
    if (section != info.section) continue;
    // What no mode knows, and a category that holds nothing in any of them, is not worth a line; but a section says that it is unknown.
    const bool empty = std::all_of(m_comparison->modes.begin(), m_comparison->modes.end(), [&](const reports::ModeResult& mode) {
      const reports::Figure& figure = info.get(mode);
      return !figure.known() || (std::string_view(info.section) == "peak by category" && figure.value == 0.0);
    });
    if (first) m_rows.push_back({.label = info.section, .section = true});
    first = false;
    if (!empty) m_rows.push_back({.figure = &info, .label = info.label});
    if (std::string_view(info.key) == "distance") m_rows.push_back({.label = QT_TRANSLATE_NOOP("words", "verdict"), .verdict = true});
  }
}

int ModesModel::rowCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : static_cast<int>(m_rows.size()); }

int ModesModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() || !m_comparison ? 0 : static_cast<int>(m_comparison->modes.size());
}

reports::Provenance ModesModel::sectionProvenance(const char* section, const reports::ModeResult& mode) const {
  for (const reports::FigureInfo& info : reports::comparison_figures()) {
    if (std::string_view(info.section) == section && info.get(mode).known()) return info.get(mode).provenance;
  }
  return reports::Provenance::unknown;
}

QString ModesModel::cell(const Row& row, const reports::ModeResult& mode) const {
  if (row.section) return word(sectionProvenance(row.label, mode));
  if (row.verdict) return word(mode.judgement.verdict);
  const reports::Figure& figure = row.figure->get(mode);
  if (!figure.known()) {
    if (row.figure->style == reports::FigureStyle::scale && mode.loss_scaling == "none") return tr("none");
    if (std::string_view(row.figure->key) == "sums_distance" && mode.sums.empty()) return tr("plain");
    if (row.figure->style == reports::FigureStyle::difference && mode.judgement.verdict == reports::Verdict::reference)
      return word(reports::Verdict::reference);
    return unknownText();
  }
  const QString value = figureText(figure, row.figure->style);
  if (figure.provenance == sectionProvenance(row.figure->section, mode)) return value;
  return tr("%1 (%2)", "a value and what it is").arg(value, word(figure.provenance));
}

QVariant ModesModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const Row& row = m_rows[static_cast<std::size_t>(index.row())];
  const reports::ModeResult& mode = m_comparison->modes[static_cast<std::size_t>(index.column())];
  switch (role) {
    case Qt::DisplayRole: return cell(row, mode);
    case Qt::ToolTipRole:
      if (row.verdict) return sentence(mode.judgement.reason);
      return row.figure != nullptr ? QVariant(figureToolTip(row.figure->get(mode), *row.figure)) : QVariant();
    case Qt::TextAlignmentRole: return QVariant::fromValue(Qt::AlignTrailing | Qt::AlignVCenter);
    case Qt::FontRole: {
      QFont font;
      if (row.section) font.setItalic(true);
      if (row.verdict) font.setBold(true);
      return font;
    }
    case SectionRole: return row.section;
    default: return {};
  }
}

QVariant ModesModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation == Qt::Horizontal) {
    if (!m_comparison || section >= columnCount()) return {};
    const reports::ModeResult& mode = m_comparison->modes[static_cast<std::size_t>(section)];
    if (role == Qt::DisplayRole) return modeTitle(mode);
    if (role == Qt::ToolTipRole) return plain(mode.device);
    if (role == Qt::TextAlignmentRole) return QVariant::fromValue(Qt::AlignTrailing | Qt::AlignVCenter);
    return {};
  }
  if (section < 0 || section >= rowCount()) return {};
  const Row& row = m_rows[static_cast<std::size_t>(section)];
  if (role == Qt::DisplayRole) return figureLabel(row.label);
  if (role == Qt::FontRole) {
    QFont font;
    font.setBold(row.section);
    return font;
  }
  if (role == Qt::TextAlignmentRole) return QVariant::fromValue(Qt::AlignLeading | Qt::AlignVCenter);
  return {};
}

}  // namespace ulpscope::gui
