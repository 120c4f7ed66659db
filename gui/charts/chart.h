// A chart over steps or time: lines with gaps, bands, marks. Zoom with the wheel (with Ctrl: up and down), pan by dragging, zoom into
// a rectangle with Shift; every change of the view can be undone (Ctrl+Z). Its picture and its data can be copied and saved.
//
// Values that are not finite are never drawn as numbers: a line breaks there, and a ChartGaps says why.
#pragma once

#include <qcustomplot.h>

#include <QColor>
#include <QString>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "reports/analysis/compare.h"

namespace ulpscope::gui {

struct ChartLine {
  QString name{};              ///< "fp16 · seed 1"
  QColor colour{};
  std::vector<double> x{};     ///< ascending
  std::vector<double> y{};     ///< NaN: the line breaks here
  Qt::PenStyle style = Qt::SolidLine;
  double width = 1.6;
  bool dots = false;           ///< a dot at each point: few points, or points that stand for themselves
  bool steps = false;          ///< constant from a point to the next
  QString provenance{};        ///< "computed"
};

/// Low to high around a line.
struct ChartBand {
  QString name{};
  QColor colour{};
  std::vector<double> x{}, low{}, high{};
};

/// Marks at the lower edge: skipped steps, overflows. A click on one gives markClicked().
struct ChartMarks {
  QString name{};
  QColor colour{};
  std::vector<double> x{};
  int row = 0;                     ///< from the lower edge: marks of several runs lie above each other
  std::function<QString(std::size_t)> toolTip{};  ///< of one of them, made when it is looked at; none: its name and place
};

/// Where a line has no finite value. One item of the chart, however many gaps there are.
struct ChartGaps {
  QColor colour{};
  std::vector<std::pair<double, double>> at{};  ///< from first to last, edges included; ascending
  std::function<QString(std::size_t)> toolTip{};  ///< of one of them: "fp16 · seed 1: NaN (steps: 12)"
};

/// A filled rectangle that stands for a number: part of a stack, a column of a histogram.
struct ChartBar {
  QString name{};
  QColor colour{};
  double left = 0, right = 0, low = 0, high = 0;
  QString toolTip{};
  bool hollow = false;  ///< planned, projected: an outline alone
};

struct ChartContent {
  std::vector<ChartBar> bars{};
  std::vector<ChartLine> lines{};
  std::vector<ChartBand> bands{};
  std::vector<ChartMarks> marks{};
  std::vector<ChartGaps> gaps{};  ///< by line
};

struct ChartAxis {
  enum class Scale { Linear, Log2, Log10 };
  QString label{};                                                 ///< with the unit, if the ticks do not show it
  reports::FigureStyle style = reports::FigureStyle::loss;         ///< how values are written
  Scale scale = Scale::Linear;
};

class Chart : public QCustomPlot {
  Q_OBJECT

 public:
  explicit Chart(QWidget* parent = nullptr);
  /// A name for files that are saved: "loss".
  void setName(const QString& name) { m_name = name; }
  void setAxes(const ChartAxis& x, const ChartAxis& y);
  /// Replaces what is shown. The view stays if somebody zoomed into it; else it shows everything.
  void setContent(ChartContent content);
  const ChartContent& content() const { return m_content; }

  /// The view: lowest and greatest x; sets aside what was zoomed.
  void showX(double first, double last);
  bool zoomed() const { return !m_history.empty(); }
  void showAll();
  void undoZoom();

  /// Data of the lines as CSV: line, x, y; numbers read back as the same doubles.
  virtual QString csv() const;
  /// Writes a file; the ending of the name chooses the form: png, pdf, csv (svg where this build can). False and a reason if not.
  bool save(const QString& fileName, QString* reason);
  void copyImage();
  void copyData();

 signals:
  void pointClicked(double x);  ///< of the point of a line that was clicked
  void markClicked(const QString& marks, double x);
  void failed(const QString& message);  ///< a file could not be written

 protected:
  void changeEvent(QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void contextMenuEvent(QContextMenuEvent* event) override;

 protected:
  /// Does it to the axes' ranges, so that it can be undone.
  void change(const std::function<void()>& how);

 private:
  struct View {
    QCPRange x, y;
    friend bool operator==(const View& a, const View& b) { return a.x == b.x && a.y == b.y; }
  };
  struct Hit {
    QString text{};
    double x = 0;
    bool mark = false;
    QString name{};
  };
  View view() const { return {xAxis->range(), yAxis->range()}; }
  void remember(const View& before);
  void applyPalette();
  void draw();
  void drawLonePoints(const ChartLine& line);
  void drawBars();
  void fitTicks();
  void drawNothing();
  void fit();
  Hit hit(const QPointF& at) const;
  Hit hitOfPoints(const QPointF& at) const;
  void askWhereAndSave();
  QString valueText(double value, const ChartAxis& axis) const;
  void scaleView(double factor, Qt::Orientation direction);

  QString m_name;
  ChartAxis m_x, m_y;
  ChartContent m_content;
  QCPAxis* m_marks;            // 0 … 1 from the lower to the upper edge; not shown
  std::vector<View> m_history;  // what was seen before each change
  QPointF m_pressed;
  std::optional<View> m_beforeDrag;
};

}  // namespace ulpscope::gui
