// What the tests of the viewer share: an application without a display, run files made up by the test, pictures of widgets.
#pragma once

#include <gtest/gtest.h>

#include <QAbstractItemModelTester>
#include <QApplication>
#include <QElapsedTimer>
#include <QSettings>
#include <QTest>
#include <QWidget>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "tests/reports/made_up_runs.h"
#include "tests/reports/scratch.h"

namespace ulpscope::gui {

/// Lets the window work until it is so, at most half a minute. True if it became so.
inline bool until(const std::function<bool()>& so, int ms = 30000) { return QTest::qWaitFor(so, ms); }

/// A picture of a widget in the build folder, to be looked at.
void keepPicture(QWidget& widget, const QString& name);

/// A folder of its own, and settings that begin empty.
class GuiTest : public reports::Scratch {
 protected:
  GuiTest() { QSettings().clear(); }
  QString path(const std::string& name) const { return QString::fromStdString(in(name)); }

  /// Four modes, three seeds, two nodes, times, memory.
  void writeHealthy(const std::string& name) const;
  /// One mode whose loss is NaN in every step.
  void writeAllNaN(const std::string& name) const;
  /// One mode, `steps` steps.
  void writeOneMode(const std::string& name, std::int64_t steps) const;
  /// fp16 with overflows and skipped steps beside fp32.
  void writeOverflowing(const std::string& name) const;
};

/// A plan of two products and a softmax, with times.
void pushPlan(reports::RunFileWriter& writer, reports::PlanId plan, const std::string& format);

}  // namespace ulpscope::gui
