#include "gui/models/machines_model.h"

#include <QFont>
#include <algorithm>
#include <exception>
#include <list>

#include "gui/models/follower.h"
#include "gui/models/text.h"
#include "reports/analysis/compare.h"
#include "reports/analysis/diagnosis/words.h"
#include "reports/export/numbers.h"

namespace ulpscope::gui {
namespace {

using reports::MachineFigures;
using reports::MachineStyle;
using reports::Provenance;

bool notOfHardware(Provenance provenance) { return provenance == Provenance::emulated || provenance == Provenance::projected; }

}  // namespace

MachinesData readMachines(const reports::RunFileReader& first, const std::vector<std::string>& others) {
  MachinesData data;
  std::list<reports::RunFileReader> opened;
  std::vector<const reports::RunFileReader*> readers{&first};
  const auto blame = [&](const std::string& path, const std::exception& error) { data.unread << namingFile(plain(error.what()), plain(path)); };
  for (const std::string& path : others) {
    try {
      opened.emplace_back(path);
      if (opened.back().runs().empty()) data.unread << MachinesModel::tr("%1 holds no run").arg(plain(path));
      else readers.push_back(&opened.back());
    } catch (const std::exception& error) {
      blame(path, error);
    }
  }
  if (first.runs().empty()) return data;
  const auto compared = [&] {
    if (readers.size() > 1) data.machines = reports::compare(readers).machines;
  };
  try {
    compared();
  } catch (const std::exception&) {
    // One of the files opened but cannot be read through. Each of them alone says which; the current one's fault is the caller's.
    (void)reports::compare({&first});
    std::erase_if(readers, [&](const reports::RunFileReader* reader) {
      if (reader == &first) return false;
      try {
        (void)reports::compare({reader});
        return false;
      } catch (const std::exception& error) {
        blame(reader->path(), error);
        return true;
      }
    });
    try {
      compared();
    } catch (const std::exception& error) {  // only together
      data.unread << plain(error.what());
    }
  }
  return data;
}

QString machineFigureText(const reports::Figure& figure, MachineStyle style) {
  if (!figure.value) return unknownText();
  const double value = *figure.value;
  switch (style) {
    case MachineStyle::seconds: return isolated(plain(reports::seconds_text(value)));
    case MachineStyle::ratio: return isolated(QStringLiteral("%1 ×").arg(QString::number(value, 'g', 3)));
    case MachineStyle::rate:
    case MachineStyle::amount: return isolated(plain(reports::number_text(value, 4)));
    case MachineStyle::share: return isolated(plain(reports::percent(value)));
    case MachineStyle::bytes: return isolated(plain(reports::bytes_text(value)));
    case MachineStyle::difference: return isolated(plain(reports::difference_text(value)));
  }
  return {};
}

QString machineTitle(const reports::Machine& machine) { return QStringLiteral("%1: %2").arg(plain(machine.tag), plain(machine.device)); }

QStringList machineNotes(const MachinesData& data) {
  QStringList lines = data.unread;
  if (!data.machines) return lines;
  const reports::MachineComparison& all = *data.machines;
  const std::string first = all.machines.empty() ? "" : all.machines.front().tag;
  for (const reports::MachineRefusal& refusal : all.refused) lines << sentence(reports::text(refusal, first));
  for (const std::string& warning : all.warnings) lines << sentence(warning);
  for (const reports::MachineMode& mode : all.modes) {
    for (const std::string& note : mode.notes) lines << isolated(QStringLiteral("%1: %2").arg(plain(mode.mode), plain(note)));
  }
  return lines;
}

MachinesModel::MachinesModel(QObject* parent) : QAbstractTableModel(parent) {}

void MachinesModel::setData(std::shared_ptr<const MachinesData> data) {
  constexpr std::size_t mostNodes = 12;  // of a mode: they come by their greatest share of a step
  beginResetModel();
  m_data = std::move(data);
  m_rows.clear();
  if (m_data && m_data->machines) {
    for (const reports::MachineMode& mode : m_data->machines->modes) {
      m_rows.push_back({.mode = &mode});
      for (const reports::MachineFigureInfo& info : reports::machine_figures()) {
        if (std::any_of(mode.at.begin(), mode.at.end(), [&](const MachineFigures& at) { return info.get(at).known(); })) m_rows.push_back({.mode = &mode, .figure = &info});
      }
      if (std::any_of(mode.at.begin(), mode.at.end(), [](const MachineFigures& at) { return !at.no_ratio.empty(); })) m_rows.push_back({.mode = &mode, .noRatio = true});
      for (std::size_t i = 0; i < std::min(mostNodes, mode.nodes.size()); ++i) m_rows.push_back({.mode = &mode, .node = &mode.nodes[i]});
    }
  }
  endResetModel();
}

int MachinesModel::rowCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : static_cast<int>(m_rows.size()); }
int MachinesModel::columnCount(const QModelIndex& parent) const { return parent.isValid() || !m_data || !m_data->machines ? 0 : 1 + static_cast<int>(m_data->machines->machines.size()); }

const reports::Figure* MachinesModel::figureOf(const Row& row, std::size_t machine) const {
  if (row.figure != nullptr) return &row.figure->get(row.mode->at[machine]);
  return row.node != nullptr ? &row.node->at[machine].seconds : nullptr;
}

QString MachinesModel::label(const Row& row) const {
  if (row.figure != nullptr) {
    const bool withUnit = row.figure->style == MachineStyle::rate || row.figure->style == MachineStyle::amount;  // other values bring theirs
    if (row.figure->style == MachineStyle::ratio) return QStringLiteral("    ") + words(row.figure->label);  // of the figure above it
    return withUnit && *row.figure->unit != '\0' ? QStringLiteral("%1 [%2]").arg(words(row.figure->label), isolated(plain(row.figure->unit))) : words(row.figure->label);
  }
  if (row.node != nullptr) return QStringLiteral("%1, %2").arg(plain(row.node->name), figureLabel(row.node->phase.c_str()));
  return row.noRatio ? tr("why there is no ratio") : plain(row.mode->mode);
}

QString MachinesModel::cell(const Row& row, std::size_t machine) const {
  const MachineFigures& at = row.mode->at[machine];
  if (!at.there) return QStringLiteral("–");
  if (row.noRatio) return sentence(at.no_ratio);
  if (row.figure == nullptr && row.node == nullptr) return plain(at.runs);
  const reports::Figure& figure = *figureOf(row, machine);
  if (machine == 0 && !figure.known() && row.figure != nullptr && row.figure->style == MachineStyle::difference) return word(reports::Verdict::reference);
  QString text = machineFigureText(figure, row.figure != nullptr ? row.figure->style : MachineStyle::seconds);
  if (row.node != nullptr && machine > 0 && row.node->at[machine].ratio.value) text += QStringLiteral(" (%1)").arg(machineFigureText(row.node->at[machine].ratio, MachineStyle::ratio));
  return notOfHardware(figure.provenance) ? tr("%1 (%2)", "a value and what it is").arg(text, word(figure.provenance)) : text;
}

QString MachinesModel::toolTip(const Row& row, std::size_t machine) const {
  const MachineFigures& at = row.mode->at[machine];
  if (!at.there) return tr("The machine has no runs of %1.").arg(plain(row.mode->mode));
  const reports::Figure* const figure = figureOf(row, machine);
  if (figure == nullptr) return cell(row, machine);
  QStringList lines{tr("%1: %2 [%3]").arg(label(row), cell(row, machine), word(figure->provenance))};
  const MachineStyle style = row.figure != nullptr ? row.figure->style : MachineStyle::seconds;
  if (figure->low && figure->high) lines << tr("from %1 to %2").arg(machineFigureText({.value = figure->low}, style), machineFigureText({.value = figure->high}, style));
  if (row.figure != nullptr) lines << words(row.figure->meaning);
  if (!figure->value && !at.no_ratio.empty()) lines << sentence(at.no_ratio);
  return lines.join(QLatin1Char('\n'));
}

QVariant MachinesModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const Row& row = m_rows[static_cast<std::size_t>(index.row())];
  const bool section = row.figure == nullptr && row.node == nullptr && !row.noRatio;
  const auto machine = static_cast<std::size_t>(std::max(0, index.column() - 1));
  switch (role) {
    case Qt::DisplayRole: return index.column() == 0 ? label(row) : cell(row, machine);
    case Qt::ToolTipRole: return index.column() > 0 ? QVariant(toolTip(row, machine)) : row.figure != nullptr ? QVariant(words(row.figure->meaning)) : QVariant(label(row));
    case Qt::TextAlignmentRole: return QVariant::fromValue((index.column() > 0 ? Qt::AlignTrailing : Qt::AlignLeading) | Qt::AlignVCenter);
    case Qt::FontRole: {
      QFont font;
      font.setBold(section);
      const reports::Figure* const figure = index.column() > 0 ? figureOf(row, machine) : nullptr;
      font.setItalic(figure != nullptr && notOfHardware(figure->provenance));
      return font;
    }
    case SectionRole: return section;
    default: return {};
  }
}

QVariant MachinesModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= columnCount()) return {};
  if (role == Qt::TextAlignmentRole) return QVariant::fromValue((section > 0 ? Qt::AlignTrailing : Qt::AlignLeading) | Qt::AlignVCenter);
  if (section == 0) return role == Qt::DisplayRole ? QVariant(tr("By mode")) : QVariant();
  const reports::Machine& machine = m_data->machines->machines[static_cast<std::size_t>(section - 1)];
  if (role == Qt::DisplayRole) return machineTitle(machine);
  if (role != Qt::ToolTipRole) return {};
  QStringList files{machineTitle(machine)};
  for (const std::string& file : machine.files) files << plain(file);
  return files.join(QLatin1Char('\n'));
}

}  // namespace ulpscope::gui
