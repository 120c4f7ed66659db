#include "gui/charts/axis_ticker.h"

#include <algorithm>
#include <cmath>

#include "reports/export/numbers.h"

namespace ulpscope::gui {
namespace {

QString text(const std::string& s) { return QString::fromStdString(s); }

class FigureTicker final : public QCPAxisTicker {
 public:
  explicit FigureTicker(reports::FigureStyle style) : m_style(style) { setTickCount(5); }

 protected:
  QString getTickLabel(double tick, const QLocale&, QChar, int) override {
    if (std::fabs(tick) < 1e-9 * m_step) tick = 0.0;
    switch (m_style) {
      case reports::FigureStyle::seconds: return text(reports::seconds_text(tick));
      case reports::FigureStyle::bytes: return text(reports::bytes_text(tick));
      case reports::FigureStyle::scale: return text(reports::scale_text(tick));
      case reports::FigureStyle::count: return QString::number(tick, 'f', m_step < 1.0 ? 1 : 0);
      default: return QString::number(tick, 'g', 5);
    }
  }
  double getTickStep(const QCPRange& range) override {
    // Bytes step by powers of two, so that their labels are whole; there are no half steps.
    if (m_style == reports::FigureStyle::bytes && range.size() > 0) m_step = std::exp2(std::ceil(std::log2(range.size() / tickCount())));
    else m_step = QCPAxisTicker::getTickStep(range);
    if (m_style == reports::FigureStyle::count) m_step = std::max(1.0, std::round(m_step));
    return m_step;
  }

 private:
  reports::FigureStyle m_style;
  double m_step = 1.0;
};

class PowerTicker final : public QCPAxisTicker {
 public:
  explicit PowerTicker(int base) : m_base(base) {}

 protected:
  double exponent(double value) const { return std::log2(value) / std::log2(static_cast<double>(m_base)); }
  /// Within a power or two there are no two of them to write: then the ticks are those of a plain axis.
  bool narrow(const QCPRange& range) const { return range.lower > 0.0 && exponent(range.upper) - exponent(range.lower) < 1.5; }
  double getTickStep(const QCPRange& range) override {
    if (!(range.lower > 0.0) || !(range.upper > range.lower)) return 1.0;
    m_narrow = narrow(range);
    if (m_narrow) return QCPAxisTicker::getTickStep(range);
    return std::max(1.0, std::ceil((exponent(range.upper) - exponent(range.lower)) / (tickCount() + 1)));
  }
  QVector<double> createTickVector(double step, const QCPRange& range) override {
    QVector<double> ticks;
    if (!(range.lower > 0.0)) return ticks;
    if (m_narrow) return QCPAxisTicker::createTickVector(step, range);
    const double first = std::floor(exponent(range.lower) / step) * step;
    for (double e = first; e <= exponent(range.upper) + step && ticks.size() < 100; e += step) ticks << std::pow(m_base, e);
    return ticks;
  }
  int getSubTickCount(double) override { return 0; }
  QString getTickLabel(double tick, const QLocale&, QChar, int) override {
    if (m_narrow) return QString::number(tick, 'g', 5);
    const int e = static_cast<int>(std::lround(exponent(tick)));
    return m_base == 2 ? QStringLiteral("2^%1").arg(e) : QStringLiteral("1e%1").arg(e);
  }

 private:
  int m_base;
  bool m_narrow = false;
};

}  // namespace

QSharedPointer<QCPAxisTicker> makeTicker(reports::FigureStyle style) { return QSharedPointer<FigureTicker>::create(style); }
QSharedPointer<QCPAxisTicker> makeLog2Ticker() { return QSharedPointer<PowerTicker>::create(2); }
QSharedPointer<QCPAxisTicker> makeLog10Ticker() { return QSharedPointer<PowerTicker>::create(10); }

}  // namespace ulpscope::gui
