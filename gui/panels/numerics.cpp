// Numerics: how far every layer is from the edges of its format, step by step; a click opens a tensor's histogram over exponents, with
// the ranges of the formats drawn above it.
#include <QComboBox>
#include <QCoreApplication>
#include <QLabel>
#include <QSplitter>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>
#include <limits>

#include "gui/charts/heat_map.h"
#include "gui/models/numerics_quantity.h"
#include "gui/models/run_colours.h"
#include "gui/models/sections.h"
#include "gui/models/text.h"
#include "gui/panels/panels.h"
#include "reports/export/numbers.h"

namespace ulpscope::gui {
namespace {

using reports::FigureStyle;
using reports::NumericsMap;
using reports::TensorHistogram;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

class NumericsPanel final : public Panel {
  Q_DECLARE_TR_FUNCTIONS(NumericsPanel)

 public:
  NumericsPanel(const PanelContext& context, QWidget* parent) : Panel(context, parent) {
    auto* const column = new QVBoxLayout(this);
    column->setContentsMargins(8, 6, 8, 8);
    column->addLayout(makeControls());
    auto* const split = new QSplitter(Qt::Vertical, this);
    split->setChildrenCollapsible(false);
    split->addWidget(m_heat = new HeatMap(split));
    m_heat->setName(QStringLiteral("numerics"));
    m_heat->setAccessibleName(tr("Layers and steps"));
    split->addWidget(makeHistogram(split));
    split->setSizes({1000, 900});
    column->addWidget(split, 1);
    for (Chart* chart : {static_cast<Chart*>(m_heat), m_histogram}) connect(chart, &Chart::failed, this, &Panel::failed);
    connect(m_heat, &HeatMap::cellClicked, this, [this](int row, int cell) { choose(row, cell); });
  }

 protected:
  void readDropped() override { m_reading.forget(); }
  void refresh() override {
    const SnapshotPointer now = snapshot();
    if (!now || !now->comparison) {
      take(nullptr);
      m_reading.forget();
    } else if (m_reading.due(*now)) {
      if (m_path != now->path) take(nullptr);
      m_path = now->path;
      readMore([comparison = now->comparison](const reports::RunFileReader& file) { return readNumerics(file, comparison); },
               [this](NumericsData section) {
                 m_reading.arrived();
                 take(std::make_shared<const NumericsData>(std::move(section)));
               });
    }
    draw();
  }

 private:
  QLayout* makeControls() {
    auto* const row = new QHBoxLayout;
    row->addWidget(new QLabel(tr("Mode"), this));
    row->addWidget(m_mode = new QComboBox(this));
    m_mode->setAccessibleName(tr("Mode"));
    m_mode->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    row->addWidget(new QLabel(tr("Show"), this));
    row->addWidget(m_quantity = new QComboBox(this));
    m_quantity->setAccessibleName(tr("What the map shows"));
    for (const NumericsQuantity& quantity : numericsQuantities()) {
      m_quantity->addItem(labelOf(quantity));
      m_quantity->setItemData(m_quantity->count() - 1, meaningOf(quantity), Qt::ToolTipRole);
    }
    row->addWidget(m_about = new QLabel(this), 1);
    m_about->setTextFormat(Qt::PlainText);
    m_about->setWordWrap(true);
    connect(m_mode, &QComboBox::currentIndexChanged, this, [this] {
      m_histograms.clear();
      openFirst();
      draw();
    });
    connect(m_quantity, &QComboBox::currentIndexChanged, this, [this] { draw(); });
    return row;
  }

  QWidget* makeHistogram(QWidget* parent) {
    auto* const part = m_below = new QWidget(parent);
    auto* const column = new QVBoxLayout(part);
    column->setContentsMargins(0, 4, 0, 0);
    auto* const row = new QHBoxLayout;
    row->addWidget(new QLabel(tr("Tensor"), part));
    row->addWidget(m_tensor = new QComboBox(part));
    m_tensor->setAccessibleName(tr("Tensor whose histogram is shown"));
    m_tensor->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    m_tensor->setMinimumContentsLength(26);
    row->addWidget(m_which = new QLabel(part), 1);
    m_which->setTextFormat(Qt::PlainText);
    column->addLayout(row);
    column->addWidget(m_text = new QLabel(part));
    m_text->setTextFormat(Qt::PlainText);
    m_text->setWordWrap(true);
    m_text->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    column->addWidget(m_histogram = new Chart(part), 1);
    m_histogram->setName(QStringLiteral("exponents"));
    m_histogram->setAccessibleName(tr("Histogram over exponents"));
    connect(m_tensor, &QComboBox::currentIndexChanged, this, [this] { drawHistogram(); });
    return part;
  }

  const NumericsMap* map() const {
    const int index = m_mode->currentIndex();
    return m_section && index >= 0 && index < static_cast<int>(m_section->section.maps.size()) ? &m_section->section.maps[static_cast<std::size_t>(index)] : nullptr;
  }
  const reports::ReportRun& runOf(const NumericsMap& of) const { return m_section->runs[of.run]; }

  void take(std::shared_ptr<const NumericsData> section) {
    if (section == m_section) return;
    m_section = std::move(section);
    m_histograms.clear();
    m_opened.clear();
    const QSignalBlocker quiet(m_mode);
    const QString before = m_mode->currentText();
    m_mode->clear();
    if (m_section) {
      for (const NumericsMap& of : m_section->section.maps) m_mode->addItem(plain(runOf(of).label));
    }
    const int narrow = firstNarrow();
    m_mode->setCurrentIndex(m_mode->findText(before) >= 0 ? m_mode->findText(before) : narrow);
    openFirst();
    draw();
  }

  /// The first mode with something to worry about: fp32 comes first and has none.
  int firstNarrow() const {
    for (std::size_t i = 0; m_section && i < m_section->section.maps.size(); ++i) {
      for (const auto& row : m_section->section.maps[i].cells)
        if (std::any_of(row.begin(), row.end(), [](const reports::NumericsCell& cell) { return cell.head_room.has_value(); })) return static_cast<int>(i);
    }
    return m_section && !m_section->section.maps.empty() ? 0 : -1;
  }

  void draw() {
    const NumericsMap* const of = map();
    m_below->setVisible(of != nullptr);
    const NumericsQuantity& quantity = numericsQuantities()[static_cast<std::size_t>(std::max(0, m_quantity->currentIndex()))];
    if (of == nullptr) {
      m_heat->setCells(tr("step"), {});
      m_about->setText(!snapshot() || !m_section ? QString() : tr("No step was observed: ulpscope run records statistics with observe."));
      m_rows.clear();
      drawHistogram();
      return;
    }
    HeatMapContent content;
    chooseColumns(*of);
    chooseRows(*of, quantity);
    bool known = false;
    for (const std::size_t c : m_columns) content.columns << QString::number(personStep(of->columns[c].first));
    for (const std::size_t r : m_rows) {
      content.rows << plain(of->layers[r]);
      auto& row = content.gravity.emplace_back();
      auto& values = content.values.emplace_back();
      for (const std::size_t c : m_columns) {
        const reports::NumericsCell& cell = of->cells[r][c];
        const std::optional<double> grave = gravity(quantity, cell);
        known = known || grave;
        if (cell.not_finite) content.marks.emplace_back(static_cast<int>(content.rows.size()) - 1, static_cast<int>(row.size()));
        row.push_back(grave.value_or(nan));
        values.push_back(QString::fromStdString(reports::exact(cell.*quantity.value, FigureStyle::loss)));
      }
    }
    content.toolTip = [this, section = m_section, index = m_mode->currentIndex(), rows = m_rows, columns = m_columns](int row, int column) {
      return cellToolTip(section->section.maps[static_cast<std::size_t>(index)], rows[static_cast<std::size_t>(row)], columns[static_cast<std::size_t>(column)]);
    };
    m_heat->setCells(tr("step"), std::move(content));
    selectOpened(*of);
    QString about = known ? meaningOf(quantity) : tr("%1 is unknown: nothing of the kind was counted").arg(labelOf(quantity));
    about += tr(". Red: in trouble; ×: not finite; empty: unknown. Observed steps: %1").arg(of->observed);
    if (of->read < of->observed) about += tr(", read: %1").arg(of->read);
    if (of->more_layers > 0) about += tr("; layers left out, farthest from trouble: %1").arg(of->more_layers);
    m_about->setText(about);
  }

  /// Layers that fit the filter and of which something is known.
  void chooseRows(const NumericsMap& of, const NumericsQuantity& quantity) {
    m_rows.clear();
    const QStringList words = selection().nodeFilter().split(QLatin1Char(' '), Qt::SkipEmptyParts);
    for (std::size_t r = 0; r < of.layers.size(); ++r) {
      const bool fits = std::all_of(words.begin(), words.end(), [&](const QString& part) { return plain(of.layers[r]).contains(part, Qt::CaseInsensitive); });
      const auto known = [&](std::size_t c) { return of.cells[r][c].not_finite || (of.cells[r][c].*quantity.value).has_value(); };
      if (fits && std::any_of(m_columns.begin(), m_columns.end(), known)) m_rows.push_back(r);
    }
  }
  void chooseColumns(const NumericsMap& of) {
    m_columns.clear();
    const auto& steps = selection().steps();
    for (std::size_t c = 0; c < of.columns.size(); ++c) {
      if (!steps || (of.columns[c].last >= steps->first && of.columns[c].first < steps->second)) m_columns.push_back(c);
    }
  }

  void selectOpened(const NumericsMap& of) {
    int row = -1, cell = -1;
    for (std::size_t r = 0; r < m_rows.size(); ++r)
      if (of.layers[m_rows[r]] == m_opened) row = static_cast<int>(r);
    for (std::size_t c = 0; c < m_columns.size(); ++c)
      if (of.columns[m_columns[c]].first <= m_first && m_first <= of.columns[m_columns[c]].last) cell = static_cast<int>(c);
    m_heat->select(row, cell);
  }

  /// Of the mode: the tensors nearest to trouble.
  void openFirst() {
    m_opened.clear();
    const NumericsMap* const of = map();
    std::vector<TensorHistogram> worst;
    for (const TensorHistogram& histogram : of != nullptr ? m_section->section.histograms : std::vector<TensorHistogram>{}) {
      if (histogram.run == of->run) worst.push_back(histogram);
    }
    showHistograms(std::move(worst), tr("nearest to the edges of their formats"));
  }

  void choose(int row, int cell) {
    const NumericsMap* const of = map();
    if (of == nullptr || row >= static_cast<int>(m_rows.size()) || cell >= static_cast<int>(m_columns.size())) return;
    const reports::NumericsColumn& steps = of->columns[m_columns[static_cast<std::size_t>(cell)]];
    m_opened = of->layers[m_rows[static_cast<std::size_t>(row)]];
    m_first = steps.first;
    m_heat->select(row, cell);
    selection().setStep(steps.first);
    const std::string layer = m_opened;
    const QString which = QStringLiteral("%1, %2").arg(plain(layer), columnText(steps));
    document()->read(this, [run = runOf(*of).run.id, layer, first = steps.first, last = steps.last](const reports::RunFileReader& file) { return readHistograms(file, run, layer, first, last); },
                     [this, layer, which, section = m_section, first = steps.first](std::vector<TensorHistogram> found) {
                       if (section == m_section && layer == m_opened && first == m_first) showHistograms(std::move(found), which);
                     });
  }

  void showHistograms(std::vector<TensorHistogram> histograms, const QString& which) {
    m_histograms = std::move(histograms);
    m_which->setText(m_histograms.empty() ? QString() : which);
    const QSignalBlocker quiet(m_tensor);
    const QString before = m_tensor->currentText();
    m_tensor->clear();
    for (const TensorHistogram& of : m_histograms) m_tensor->addItem(tr("%1, step %2").arg(plain(of.tensor)).arg(personStep(of.stats.step)));
    m_tensor->setCurrentIndex(m_histograms.empty() ? -1 : std::max(0, m_tensor->findText(before)));
    m_tensor->setEnabled(!m_histograms.empty());
    drawHistogram();
  }

  void drawHistogram() {
    m_histogram->setAxes({.label = tr("binary exponent: values from 2^e to 2^(e + 1)"), .style = FigureStyle::loss}, {.label = tr("elements"), .style = FigureStyle::count, .scale = ChartAxis::Scale::Log10});
    const int index = m_tensor->currentIndex();
    if (index < 0 || index >= static_cast<int>(m_histograms.size())) {
      m_text->setText(map() == nullptr ? QString() : tr("No histogram is on record."));
      return m_histogram->setContent({});
    }
    const TensorHistogram& of = m_histograms[static_cast<std::size_t>(index)];
    m_text->setText(paragraphs(histogramText(of)));
    ChartContent content;
    const reports::ExponentHistogram& counts = *of.stats.histogram;
    const QColor colour = map() != nullptr ? runColour(runOf(*map()).mode) : palette().color(QPalette::Highlight);
    for (std::size_t i = 0; i < counts.counts.size(); ++i) {
      if (counts.counts[i] == 0) continue;
      const double exponent = counts.first + static_cast<double>(i);
      content.bars.push_back({.name = QStringLiteral("2^%1").arg(static_cast<int>(exponent)), .colour = colour, .left = exponent, .right = exponent + 1.0, .low = 0.5, .high = static_cast<double>(counts.counts[i]),
                              .toolTip = tr("from 2^%1 to 2^%2: %3 elements [%4]").arg(exponent).arg(exponent + 1.0).arg(counts.counts[i]).arg(word(of.stats.provenance))});
    }
    const bool empty = content.bars.empty();
    if (!empty) content.lines.push_back(extentOf(of));
    m_histogram->setContent(std::move(content));
    if (!empty) drawFormats(of);
  }

  /// Not seen: the range of its own format, or of fp16 if that is wide, is always within the view.
  ChartLine extentOf(const TensorHistogram& of) const {
    double low = -26.0, high = 17.0;
    for (const reports::FormatSpan& span : m_section->section.formats) {
      if (of.format != span.name || span.greatest > 40) continue;
      low = span.least_subnormal - 2.0;
      high = span.greatest + 2.0;
    }
    return {.x = {low, high}, .y = {nan, nan}, .style = Qt::NoPen};
  }

  /// A strip for each format at the upper edge: where it is normal, and paler where it is subnormal.
  void drawFormats(const TensorHistogram& of) {
    constexpr double strip = 0.062;  // of the height
    if (!m_histogram->zoomed()) {
      QCPAxis* const y = m_histogram->yAxis;
      constexpr double least = 30.0;  // few elements: no ticks between whole ones
      y->setRange(y->range().lower, std::max(least, y->range().upper * std::pow(y->range().upper / y->range().lower, 0.55)));
    }
    const auto rectangle = [&](double left, double right, int row, const QColor& colour) {
      auto* const rect = new QCPItemRect(m_histogram);
      rect->setPen(Qt::NoPen);
      rect->setBrush(colour);
      for (QCPItemPosition* corner : {rect->topLeft, rect->bottomRight}) {
        corner->setTypeY(QCPItemPosition::ptAxisRectRatio);
        corner->setAxisRect(m_histogram->axisRect());
      }
      rect->topLeft->setCoords(left, strip * row + 0.012);
      rect->bottomRight->setCoords(right, strip * (row + 1));
    };
    int row = 0;
    for (const reports::FormatSpan& span : m_section->section.formats) {
      const bool own = of.format == span.name;
      QColor ground = palette().color(QPalette::Text);
      ground.setAlpha(own ? 110 : 46);
      rectangle(span.least_normal, span.greatest + 1.0, row, ground);
      ground.setAlpha(own ? 55 : 20);
      rectangle(span.least_subnormal, span.least_normal, row, ground);
      auto* const name = new QCPItemText(m_histogram);
      name->position->setTypeX(QCPItemPosition::ptAxisRectRatio);
      name->position->setTypeY(QCPItemPosition::ptAxisRectRatio);
      name->position->setAxisRect(m_histogram->axisRect());
      name->position->setCoords(0.006, strip * row + 0.5 * strip + 0.006);
      name->setPositionAlignment(Qt::AlignLeft | Qt::AlignVCenter);
      name->setText(QLatin1String(span.name));
      name->setColor(palette().color(QPalette::Text));
      QFont small = font();
      small.setPointSizeF(0.82 * small.pointSizeF());
      small.setBold(own);
      name->setFont(small);
      ++row;
    }
    m_histogram->replot(QCustomPlot::rpQueuedReplot);
  }

  HeatMap* m_heat = nullptr;
  Chart* m_histogram = nullptr;
  QWidget* m_below = nullptr;
  QComboBox* m_mode = nullptr;
  QComboBox* m_quantity = nullptr;
  QComboBox* m_tensor = nullptr;
  QLabel* m_about = nullptr;
  QLabel* m_which = nullptr;
  QLabel* m_text = nullptr;
  Reading m_reading;
  QString m_path;
  std::shared_ptr<const NumericsData> m_section;
  std::vector<std::size_t> m_rows, m_columns;  // of the map that are shown
  std::vector<TensorHistogram> m_histograms;
  std::string m_opened;        // layer of the cell that was clicked
  std::int64_t m_first = -1;   // and its first step
};

}  // namespace

Panel* makeNumericsPanel(const PanelContext& context, QWidget* parent) { return new NumericsPanel(context, parent); }

}  // namespace ulpscope::gui
