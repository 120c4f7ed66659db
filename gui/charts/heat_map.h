// Cells of rows and columns, coloured by how grave they are. One picture, however many cells there are.
//
// With the keyboard: the arrows lead from cell to cell and say what each one is, Enter or Space is a click on it, Home and End lead to the
// first and the last column; with Ctrl they move the view as in any chart.
#pragma once

#include <QPointer>
#include <functional>
#include <optional>

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
  void focusInEvent(QFocusEvent* event) override;
  void focusOutEvent(QFocusEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;

 private:
  void drawCells();
  void drawFrames();
  void goTo(int row, int column);
  void paintColours();
  std::optional<std::pair<int, int>> cellAt(const QPointF& at) const;

  QString m_columnLabel;
  HeatMapContent m_cells;
  QCPColorMap* m_map;
  QPointF m_down;
  int m_row = -1, m_column = -1;              // selected
  std::optional<std::pair<int, int>> m_at;    // where the keyboard is
  QPointer<QCPItemRect> m_selected, m_cursor;
};

}  // namespace ulpscope::gui
