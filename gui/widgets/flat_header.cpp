#include "gui/widgets/flat_header.h"

#include <QPainter>
#include <QStyleOption>

namespace ulpscope::gui {
namespace {
constexpr int margin = 6;
constexpr int arrow = 12;
}  // namespace

FlatHeader::FlatHeader(Qt::Orientation orientation, QWidget* parent) : QHeaderView(orientation, parent) {
  setSectionsClickable(true);
  setHighlightSections(false);
  setDefaultAlignment(Qt::AlignLeading | Qt::AlignVCenter);
}

QSize FlatHeader::sectionSizeFromContents(int section) const {
  return QHeaderView::sectionSizeFromContents(section) + QSize(2 * margin, orientation() == Qt::Horizontal ? 6 : 0);
}

void FlatHeader::paintSection(QPainter* painter, const QRect& rect, int section) const {
  if (model() == nullptr || !rect.isValid()) return;
  painter->save();
  painter->fillRect(rect, palette().color(QPalette::Base));
  const QVariant face = model()->headerData(section, orientation(), Qt::FontRole);
  if (face.canConvert<QFont>()) painter->setFont(face.value<QFont>());
  painter->setPen(palette().color(isEnabled() ? QPalette::Active : QPalette::Disabled, QPalette::Text));
  QRect inner = rect.adjusted(margin, 0, -margin, 0);
  if (orientation() == Qt::Horizontal && isSortIndicatorShown() && sortIndicatorSection() == section) {
    QStyleOption option;
    option.initFrom(this);
    const bool ltr = layoutDirection() == Qt::LeftToRight;
    option.rect = QRect(ltr ? inner.right() - arrow + 1 : inner.left(), inner.center().y() - arrow / 2, arrow, arrow);
    style()->drawPrimitive(sortIndicatorOrder() == Qt::AscendingOrder ? QStyle::PE_IndicatorArrowUp : QStyle::PE_IndicatorArrowDown, &option, painter, this);
    inner.adjust(ltr ? 0 : arrow + 2, 0, ltr ? -arrow - 2 : 0, 0);
  }
  const QVariant told = model()->headerData(section, orientation(), Qt::TextAlignmentRole);
  const Qt::Alignment alignment = QStyle::visualAlignment(layoutDirection(), told.isValid() ? Qt::Alignment(told.toInt()) : defaultAlignment());
  const QString text = model()->headerData(section, orientation()).toString();
  painter->drawText(inner, static_cast<int>(alignment), painter->fontMetrics().elidedText(text, Qt::ElideRight, inner.width()));
  painter->setPen(palette().color(QPalette::Mid));
  if (orientation() == Qt::Horizontal) painter->drawLine(rect.bottomLeft(), rect.bottomRight());
  painter->restore();
}

void FlatHeader::paintEvent(QPaintEvent* event) {
  QHeaderView::paintEvent(event);
  // What lies behind the last section.
  const int used = length() - offset();
  QRect rest = viewport()->rect();
  if (orientation() == Qt::Vertical) rest.setTop(used);
  else if (layoutDirection() == Qt::LeftToRight) rest.setLeft(used);
  else rest.setRight(rest.right() - used);
  if (rest.width() <= 0 || rest.height() <= 0) return;
  QPainter painter(viewport());
  painter.fillRect(rest, palette().color(QPalette::Base));
  if (orientation() == Qt::Vertical) return;
  painter.setPen(palette().color(QPalette::Mid));
  painter.drawLine(rest.bottomLeft(), rest.bottomRight());
}

}  // namespace ulpscope::gui
