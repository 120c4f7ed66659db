// A table whose cells can be copied: Ctrl+C copies what is selected, tab between columns; the menu also copies the whole table.
#pragma once

#include <QTableView>

namespace ulpscope::gui {

class TableView : public QTableView {
  Q_OBJECT

 public:
  explicit TableView(QWidget* parent = nullptr);
  void copySelected();
  void copyAll();
  /// Columns as wide as what they hold, none wider than `most` pixels.
  void fitColumns(int most = 320);
  /// The table is as high as its rows and shows no scroll bar of its own: for tables within a page that scrolls.
  void setAsHighAsRows(bool on);

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  void contextMenuEvent(QContextMenuEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  bool eventFilter(QObject* object, QEvent* event) override;

 private:
  void fitHeight();
  bool m_asHighAsRows = false;
  QObject* m_corner = nullptr;
};

}  // namespace ulpscope::gui
