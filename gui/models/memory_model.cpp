#include "gui/models/memory_model.h"

#include <QFont>
#include <algorithm>
#include <array>

#include "gui/models/run_colours.h"
#include "gui/models/text.h"

namespace ulpscope::gui {
namespace {

using reports::FigureStyle;
using reports::MemoryCategory;

reports::Number asNumber(const reports::Count& count) { return count ? reports::Number(static_cast<double>(*count)) : std::nullopt; }
reports::Count bytesOf(const std::optional<reports::MemoryRecord>& row, MemoryCategory category) { return row ? row->bytes[static_cast<std::size_t>(category)] : std::nullopt; }

}  // namespace

QString categoryText(MemoryCategory category) {
  return words(name(category));
}

QColor categoryColour(MemoryCategory category) {
  // By MemoryCategory. What belongs together has neighbouring hues, the largest ones the ones that differ most (Okabe and Ito, 2008).
  static constexpr std::array<QRgb, reports::memory_category_count> colours{0xff0072b2, 0xff56b4e9, 0xffe69f00, 0xff009e73, 0xffd55e00, 0xffcc79a7,
                                                                            0xff8a6d3b, 0xff9aa0a6, 0xffc8ccd0, 0xff6a4c93, 0xfff0e442};
  return QColor::fromRgb(colours[static_cast<std::size_t>(category)]);
}

const std::vector<MemoryCategory>& stackedCategories() {
  static const std::vector<MemoryCategory> order{MemoryCategory::master_weights, MemoryCategory::weights, MemoryCategory::optimizer_state, MemoryCategory::buffers,
                                                 MemoryCategory::gradients, MemoryCategory::activations, MemoryCategory::casts, MemoryCategory::workspace,
                                                 MemoryCategory::inputs, MemoryCategory::gaps, MemoryCategory::observation};
  return order;
}

MemoryModel::MemoryModel(QObject* parent) : QAbstractTableModel(parent) {}

void MemoryModel::setData(std::shared_ptr<const MemoryData> data, std::vector<std::size_t> shown) {
  beginResetModel();
  m_data = std::move(data);
  m_shown = std::move(shown);
  m_lines.clear();
  if (!m_shown.empty()) {
    const auto any = [&](auto&& has) { return std::any_of(m_shown.begin(), m_shown.end(), [&](std::size_t i) { return has(m_data->section.modes[i]); }); };
    for (const MemoryCategory category : stackedCategories()) {
      if (any([&](const reports::ModeMemory& of) { return bytesOf(of.peak, category).value_or(0) > 0; })) m_lines.push_back({Row::Category, category});
    }
    m_lines.push_back({.row = Row::Peak});
    if (any([](const reports::ModeMemory& of) { return of.predicted.has_value(); })) m_lines.push_back({.row = Row::Predicted});
    if (any([](const reports::ModeMemory& of) { return of.ratio.has_value(); })) m_lines.push_back({.row = Row::Ratio});
  }
  endResetModel();
}

int MemoryModel::rowCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : static_cast<int>(m_lines.size()); }
int MemoryModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : 1 + static_cast<int>(m_shown.size()); }

QString MemoryModel::label(const Line& line) const {
  switch (line.row) {
    case Row::Category: return categoryText(line.category);
    case Row::Peak: return figureLabel("peak");
    case Row::Predicted: return tr("peak, as planned");
    case Row::Ratio: return figureLabel("× fp32's peak");
  }
  return {};
}

QString MemoryModel::display(const Line& line, int column) const {
  if (column == 0) return label(line);
  const reports::ModeMemory& of = mode(column);
  switch (line.row) {
    case Row::Category: return valueText(asNumber(bytesOf(of.peak, line.category)), FigureStyle::bytes);
    case Row::Peak: return valueText(asNumber(of.peak ? of.peak->total_bytes : std::nullopt), FigureStyle::bytes);
    case Row::Predicted: return valueText(asNumber(of.predicted ? of.predicted->total_bytes : std::nullopt), FigureStyle::bytes);
    case Row::Ratio: return m_data->runs[of.run].mode == "fp32" ? word(reports::Verdict::reference) : valueText(of.ratio, FigureStyle::ratio);
  }
  return {};
}

QString MemoryModel::toolTip(const Line& line, int column) const {
  if (column == 0) return label(line);
  const reports::ModeMemory& of = mode(column);
  const auto of_row = [&](const std::optional<reports::MemoryRecord>& row, const reports::Count& bytes) {
    if (!row || !bytes) return unknownText();
    return tr("%1 bytes [%2]").arg(*bytes).arg(word(row->provenance));
  };
  switch (line.row) {
    case Row::Category: return of_row(of.peak, bytesOf(of.peak, line.category));
    case Row::Peak: return of_row(of.peak, of.peak ? of.peak->total_bytes : std::nullopt);
    case Row::Predicted: return tr("of the memory plan, before the first step\n%1").arg(of_row(of.predicted, of.predicted ? of.predicted->total_bytes : std::nullopt));
    case Row::Ratio: return tr("peak ÷ fp32's, both without what was held to observe [%1]").arg(word(reports::Provenance::computed));
  }
  return {};
}

QVariant MemoryModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const Line& line = m_lines[static_cast<std::size_t>(index.row())];
  switch (role) {
    case Qt::DisplayRole: return display(line, index.column());
    case Qt::ToolTipRole: return toolTip(line, index.column());
    case Qt::DecorationRole: return index.column() == 0 && line.row == Row::Category ? QVariant(categoryColour(line.category)) : QVariant();
    case Qt::TextAlignmentRole: return QVariant::fromValue((index.column() > 0 ? Qt::AlignTrailing : Qt::AlignLeading) | Qt::AlignVCenter);
    case Qt::FontRole: {
      QFont font;
      font.setBold(line.row == Row::Peak);
      return font;
    }
    default: return {};
  }
}

QVariant MemoryModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= columnCount()) return {};
  if (role == Qt::TextAlignmentRole) return QVariant::fromValue((section > 0 ? Qt::AlignTrailing : Qt::AlignLeading) | Qt::AlignVCenter);
  if (role == Qt::DisplayRole) return section == 0 ? tr("At the peak") : plain(m_data->runs[mode(section).run].mode_label);
  if (role == Qt::ToolTipRole && section > 0) return tr("of %1, the run of the mode with the greatest peak").arg(plain(m_data->runs[mode(section).run].label));
  return {};
}

}  // namespace ulpscope::gui
