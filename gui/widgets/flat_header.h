// A header of a table without raised buttons: the numbers are what is looked at. Takes its colours from the palette.
#pragma once

#include <QHeaderView>

namespace ulpscope::gui {

class FlatHeader final : public QHeaderView {
  Q_OBJECT

 public:
  FlatHeader(Qt::Orientation orientation, QWidget* parent = nullptr);

 protected:
  void paintSection(QPainter* painter, const QRect& rect, int section) const override;
  QSize sectionSizeFromContents(int section) const override;
  void paintEvent(QPaintEvent* event) override;
};

}  // namespace ulpscope::gui
