// A timeline: rows of spans under a ruler, painted column by column, however many spans there are.
//
// Zoom with the wheel, pan by dragging, take a range with Shift and the mouse; every change of the view can be undone (Ctrl+Z). Keys: arrows
// left and right pan, up and down choose a row, comma and full stop go from span to span, Return shows the chosen one, Home everything,
// Escape lets go of range and span. Its picture and its data can be copied and saved.
//
// Where several spans begin within a column of pixels, the column is as dense as they fill it, in the colour of the longest.
#pragma once

#include <QAbstractScrollArea>
#include <QMouseEvent>
#include <optional>
#include <utility>
#include <vector>

#include "gui/charts/save_picture.h"
#include "gui/models/timeline_search.h"

namespace ulpscope::gui {

/// The colour of a kind of work, readable on light and on dark ground.
QColor categoryColour(reports::TimeCategory category);

class TimelineChart final : public QAbstractScrollArea {
  Q_OBJECT

 public:
  using Place = std::pair<std::size_t, std::size_t>;  ///< row, span
  struct View {
    double from = 0, to = 0;  ///< ns
  };

  explicit TimelineChart(QWidget* parent = nullptr);
  void setName(const QString& name) { m_name = name; }
  /// `keep`: it is the same timeline, grown: what is chosen stays, and the view, if somebody zoomed.
  void setTimeline(TimelinePointer timeline, bool keep);
  const TimelinePointer& timeline() const { return m_timeline; }
  /// What "everything" is: all of it, or from … to.
  void setExtent(std::optional<View> extent);

  View view() const { return m_view; }
  void showView(const View& view);
  bool zoomed() const { return !m_history.empty(); }
  void showAll();
  void undoZoom();

  void setSearch(TimelineSearch search);
  const TimelineSearch& search() const { return m_search; }
  /// Frames the spans of this node; -1: none.
  void setNode(std::int32_t node);
  /// Shades this step; -1: none.
  void setStep(int step);

  int row() const { return m_row; }  ///< that sums and keys are about; -1: none
  void setRow(int row);
  const std::optional<Place>& selected() const { return m_selected; }
  void select(std::optional<Place> place);
  /// Selects it, and moves the view so that it can be seen.
  void reveal(const Place& place);
  const std::optional<View>& range() const { return m_range; }
  void setRange(std::optional<View> range);

  /// Of a point of the viewport: the span there; of several the longest. `more`: how many others begin within the same pixel.
  std::optional<Place> spanAt(const QPointF& at, std::int64_t* more = nullptr) const;
  /// Everything, into a rectangle of this size.
  void paint(QPainter& painter, const QSize& size, double pixelRatio) const;
  /// The spans in view, one in a line; of very many, sums by column.
  QString csv() const;
  bool save(const QString& fileName, QString* reason) const;
  void copyImage() const;
  void copyData() const;

 signals:
  void viewChanged();
  void selectionChanged();  ///< span, by a person
  void rowChanged();
  void rangeChanged();
  void searchWanted();
  void failed(const QString& message);

 protected:
  bool event(QEvent* event) override;
  bool viewportEvent(QEvent* event) override;
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void contextMenuEvent(QContextMenuEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  struct Geometry {
    double left = 0, width = 0;  // of what lies under the ruler
    double rulerHeight = 0, rowHeight = 0;
    double scroll = 0;
  };
  Geometry geometry(const QSize& size, bool scrolled) const;
  void paintRuler(QPainter& painter, const Geometry& g, const QSize& size) const;
  void paintRow(QPainter& painter, const Geometry& g, std::size_t row, double top, double pixelRatio) const;
  void paintHeads(QPainter& painter, const Geometry& g, const QSize& size) const;
  void paintMarks(QPainter& painter, const Geometry& g, const QSize& size) const;
  void paintSpan(QPainter& painter, const Geometry& g, std::size_t row, std::size_t span, double top, double pixelRatio) const;
  QColor spanColour(std::size_t row, std::size_t span) const;
  View everything() const;
  View limited(View view) const;
  void move(View view, bool remember);
  void rememberView(const View& view);  ///< to be had again with undoZoom()
  void fitScroll();
  double timeAt(double x) const;
  int rowAt(double y) const;
  void step(int by);
  void showSelected();
  void askWhereAndSave();
  Picture picture() const;

  QString m_name;
  TimelinePointer m_timeline;
  TimelineSearch m_search;
  std::optional<View> m_extent;
  View m_view;
  std::vector<View> m_history;
  int m_row = -1;
  std::optional<Place> m_selected;
  std::optional<View> m_range;
  std::int32_t m_node = -1;
  int m_step = -1;
  double m_headWidth = 0;

  // while a button is held
  enum class Drag { None, Pan, Range };
  Drag m_drag = Drag::None;
  bool m_moved = false;
  QPointF m_pressed;
  View m_before;
};

}  // namespace ulpscope::gui
