// Ticks of a chart's axis, written as the window writes numbers: "12 ms", "64 MiB", "2^16".
#pragma once

#include <qcustomplot.h>

#include "reports/analysis/compare.h"

namespace ulpscope::gui {

QSharedPointer<QCPAxisTicker> makeTicker(reports::FigureStyle style);
/// Powers of two, and as many of them as there is room for.
QSharedPointer<QCPAxisTicker> makeLog2Ticker();
/// Powers of ten, and as many of them as there is room for.
QSharedPointer<QCPAxisTicker> makeLog10Ticker();

}  // namespace ulpscope::gui
