// Cells of rows and columns, coloured by how grave they are. One picture, however many cells there are.
#pragma once

#include <functional>

#include "gui/charts/chart.h"

namespace ulpscope::gui {

struct HeatMapContent {
  QStringList rows{}, columns{};                 ///< labels; the first row is on top
  std::vector<std::vector<double>> gravity{};    ///< [row][column], 0 … 1; NaN: unknown, left empty
  std::vector<std::vector<QString>> values{};    ///< likewise, for CSV
  std::vector<std::pair<int, int>> marks{};      ///< row, column: a cross
  std::function<QString(int row, int column)> toolTip{};
};

class HeatMap final : public Chart {
  Q_OBJECT

 public:
  explicit HeatMap(QWidget* parent = nullptr);
  void setCells(const QString& columnLabel, HeatMapContent content);
  const HeatMapContent& cells() const { return m_cells; }
  /// A frame around a cell; -1: none.
  void select(int row, int column);
  QString csv() const override;

 signals:
  void cellClicked(int row, int column);

 protected:
  void changeEvent(QEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;

 private:
  void drawCells();
  void paintColours();
  std::optional<std::pair<int, int>> cellAt(const QPointF& at) const;

  QString m_columnLabel;
  HeatMapContent m_cells;
  QCPColorMap* m_map;
  QPointF m_down;
  int m_row = -1, m_column = -1;
};

}  // namespace ulpscope::gui
