#include "gui/report/report_pdf.h"

#include <QAbstractTextDocumentLayout>
#include <QBuffer>
#include <QCoreApplication>
#include <QPageSize>
#include <QPainter>
#include <QPdfWriter>
#include <QSaveFile>
#include <QTextBlock>
#include <QTextCursor>
#include <QTextDocument>
#include <QTextObjectInterface>
#include <QTextTable>
#include <algorithm>
#include <cmath>
#include <utility>

#include "gui/models/text.h"

namespace ulpscope::gui {
namespace {

constexpr int dotsPerInch = 300, chartDotsPerInch = 96;
constexpr double scale = static_cast<double>(dotsPerInch) / chartDotsPerInch;
constexpr double marginMm = 15.0, footMm = 8.0, mmPerInch = 25.4;
constexpr int chartObject = QTextFormat::UserObject + 1, chartName = QTextFormat::UserProperty + 1;

constexpr auto style =
    "body { font-family: 'Noto Sans', 'DejaVu Sans', sans-serif; font-size: 8.5pt; color: #1b1f24; }"
    "h1 { font-size: 17pt; margin-bottom: 2pt; } h2 { font-size: 13pt; margin-top: 14pt; margin-bottom: 4pt; color: #1d4ed8; }"
    "h3 { font-size: 10pt; margin-top: 8pt; margin-bottom: 2pt; } h4 { font-size: 8.5pt; margin-top: 6pt; margin-bottom: 2pt; }"
    ".answer { font-size: 11pt; font-weight: bold; } .quiet { color: #5b636d; } .caption { font-weight: bold; margin-top: 6pt; margin-bottom: 2pt; }"
    ".legend { font-size: 7.5pt; margin-top: 0; } .after { font-size: 3pt; margin: 0; } .caveats { color: #9a4a00; }"
    "small { color: #5b636d; } td, th { font-size: 7.5pt; border-width: 1px; border-style: solid; border-color: #d4d8dd; } pre { font-size: 7pt; }";

/// A chart within the text: lines and letters, no picture of dots.
class ChartObject final : public QObject, public QTextObjectInterface {
  Q_OBJECT
  Q_INTERFACES(QTextObjectInterface)

 public:
  explicit ChartObject(const std::map<QString, ReportChart>& charts) : m_charts(charts) {}
  QSizeF intrinsicSize(QTextDocument*, int, const QTextFormat& format) override { return QSizeF(of(format).size) * scale; }
  void drawObject(QPainter* painter, const QRectF& rect, QTextDocument*, int, const QTextFormat& format) override {
    painter->save();
    painter->translate(rect.topLeft());
    QPicture picture = of(format).picture;
    picture.play(painter);  // which scales from its dots per inch to those of the page
    painter->restore();
  }

 private:
  const ReportChart& of(const QTextFormat& format) const { return m_charts.at(format.stringProperty(chartName)); }
  const std::map<QString, ReportChart>& m_charts;
};

/// Images named after charts become the charts.
void placeCharts(QTextDocument& document) {
  std::vector<std::pair<int, QString>> places;
  for (QTextBlock block = document.begin(); block.isValid(); block = block.next()) {
    for (auto fragment = block.begin(); !fragment.atEnd(); ++fragment) {
      const QTextImageFormat image = fragment.fragment().charFormat().toImageFormat();
      for (int i = 0; image.isValid() && i < fragment.fragment().length(); ++i) places.emplace_back(fragment.fragment().position() + i, image.name().section(QLatin1Char(':'), 1));
    }
  }
  for (auto place = places.rbegin(); place != places.rend(); ++place) {
    QTextCursor cursor(&document);
    cursor.setPosition(place->first);
    cursor.setPosition(place->first + 1, QTextCursor::KeepAnchor);
    QTextCharFormat format;
    format.setObjectType(chartObject);
    format.setProperty(chartName, place->second);
    cursor.insertText(QString(QChar::ObjectReplacementCharacter), format);
  }
}

/// From the beginning: what Qt lays out anew of a part leaves marks behind that hide text.
void layOutAnew(QTextDocument& document, const QSizeF& page) {
  document.setPageSize({});
  document.setPageSize(page);
}

/// What a heading is of, if that is not on the same page; of a chart with words before it, and a heading below this one, the chart.
bool standsAlone(const QTextDocument& document, const QTextBlock& heading, double height) {
  constexpr int wordsBefore = 6;
  const int level = heading.blockFormat().headingLevel();
  const auto endsIt = [level](const QTextBlock& block) { return block.blockFormat().headingLevel() > 0 && block.blockFormat().headingLevel() <= level; };
  QTextBlock content = heading.next();
  while (content.isValid() && (content.blockFormat().headingLevel() > 0 || content.text().trimmed().isEmpty())) content = content.next();
  QTextBlock chart = content;
  for (int i = 0; i < wordsBefore && chart.isValid() && !endsIt(chart); ++i, chart = chart.next()) {
    if (!chart.text().contains(QChar::ObjectReplacementCharacter)) continue;
    content = chart;
    break;
  }
  if (!content.isValid()) return false;
  if (QTextCursor(content).currentTable() == nullptr && content.next().isValid() && QTextCursor(content.next()).currentTable() != nullptr) content = content.next();  // behind its caption
  // Of a table its first row below the headings of its columns, which are drawn again wherever a page begins.
  if (const QTextTable* const table = QTextCursor(content).currentTable(); table != nullptr && table->rows() > 0)
    content = table->cellAt(std::min(table->rows() - 1, table->format().headerRowCount()), 0).lastCursorPosition().block();
  const auto* const layout = document.documentLayout();
  const double top = layout->blockBoundingRect(heading).top(), end = layout->blockBoundingRect(content).bottom();
  return std::floor(top / height) != std::floor((end - 1.0) / height) && end - top < height;
}

/// A heading stays with what it is of.
void keepHeadings(QTextDocument& document, const QSizeF& page) {
  constexpr int most = 60;
  int moved = 0;
  layOutAnew(document, page);
  for (QTextBlock block = document.begin(); block.isValid() && moved < most; block = block.next()) {
    const bool follows = block.previous().isValid() && block.previous().blockFormat().headingLevel() > 0;
    QTextBlockFormat format = block.blockFormat();
    if (format.headingLevel() == 0 || block.text().isEmpty() || follows || format.pageBreakPolicy() != QTextFormat::PageBreak_Auto || !standsAlone(document, block, page.height())) continue;
    format.setPageBreakPolicy(QTextFormat::PageBreak_AlwaysBefore);
    QTextCursor(block).setBlockFormat(format);
    layOutAnew(document, page);
    ++moved;
  }
}

void drawPages(QTextDocument& document, QPdfWriter& writer, const QString& title) {
  const QRectF page(0, 0, writer.width(), writer.height());
  const double foot = footMm / mmPerInch * dotsPerInch;
  const QSizeF body(page.width(), page.height() - foot);
  keepHeadings(document, body);
  const int pages = document.pageCount();
  QPainter painter(&writer);
  QFont small(document.defaultFont());
  small.setPointSizeF(7.0);
  for (int i = 0; i < pages; ++i) {
    if (i > 0) writer.newPage();
    painter.save();
    painter.setClipRect(QRectF(QPointF(0, 0), body));
    painter.translate(0, -i * body.height());
    QAbstractTextDocumentLayout::PaintContext context;
    context.palette.setColor(QPalette::Text, QColor(0x1b, 0x1f, 0x24));
    context.clip = QRectF(QPointF(0, i * body.height()), body);
    document.documentLayout()->draw(&painter, context);
    painter.restore();
    painter.setFont(small);
    painter.setPen(QColor(0x5b, 0x63, 0x6d));
    const QRectF line(0, page.height() - 0.6 * foot, page.width(), 0.6 * foot);
    const QString number = QStringLiteral("page %1 of %2").arg(i + 1).arg(pages);
    const QFontMetricsF metrics(small, &writer);
    const double room = line.width() - metrics.horizontalAdvance(number) - 0.3 * dotsPerInch;
    painter.drawText(line, Qt::AlignLeft | Qt::AlignVCenter, metrics.elidedText(QStringLiteral("ulpscope report: %1").arg(title), Qt::ElideRight, room));
    painter.drawText(line, Qt::AlignRight | Qt::AlignVCenter, number);
  }
}

}  // namespace

QString writeReportPdf(const ReportText& text, const std::map<QString, ReportChart>& charts, const QString& fileName) {
  QBuffer bytes;
  bytes.open(QIODevice::WriteOnly);
  {
    QPdfWriter writer(&bytes);
    writer.setResolution(dotsPerInch);
    writer.setPageSize(QPageSize(QPageSize::A4));
    writer.setPageMargins(QMarginsF(marginMm, marginMm, marginMm, marginMm), QPageLayout::Millimeter);
    writer.setTitle(plain(text.report->title));
    writer.setCreator(QStringLiteral("ulpscope-gui"));
    ChartObject object(charts);
    QTextDocument document;
    document.setUndoRedoEnabled(false);
    document.documentLayout()->setPaintDevice(&writer);
    document.documentLayout()->registerHandler(chartObject, &object);
    document.setDocumentMargin(0);
    QFont font(QStringLiteral("Noto Sans"));
    font.setPointSizeF(8.5);
    document.setDefaultFont(font);
    QTextOption option;
    option.setWrapMode(QTextOption::WrapAtWordBoundaryOrAnywhere);
    document.setDefaultTextOption(option);
    document.setDefaultStyleSheet(QString::fromUtf8(style));
    document.setHtml(documentHtml(text, charts));
    placeCharts(document);
    drawPages(document, writer, plain(text.report->title));
  }
  QSaveFile file(fileName);
  if (file.open(QIODevice::WriteOnly) && file.write(bytes.data()) == bytes.size() && file.commit()) return {};
  return QCoreApplication::translate("report", "%1 could not be written: %2").arg(fileName, file.errorString());
}

}  // namespace ulpscope::gui

#include "report_pdf.moc"
