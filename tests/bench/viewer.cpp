// The viewer's part of the bench: a run file of 100,000 steps in four modes and 1,000,000 kernels, opened in the real window, without a
// display. Exit code 0: every row is within its bar; 1: one is not.
//
// ulpscope_bench_viewer [--kernels N] [--steps N] [--keep FILE]
#include <fmt/format.h>

#include <QApplication>
#include <QDir>
#include <QDockWidget>
#include <QElapsedTimer>
#include <QImage>
#include <QPainter>
#include <QProcess>
#include <QSettings>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <QTest>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "gui/charts/timeline_chart.h"
#include "gui/main_window.h"
#include "gui/models/timeline_sums.h"
#include "gui/panels/panels.h"
#include "gui/widgets/table_view.h"
#include "tests/gui/traced_run.h"

namespace ulpscope::gui {
namespace {

struct Row {
  std::string what;
  double value = 0.0, bar = 0.0;
  const char* unit = "";
};

double megabytes(const char* key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(key)) return std::stod(line.substr(line.find(':') + 1)) * 1024.0 / 1e6;
  return 0.0;
}

double milliseconds(const QElapsedTimer& timer) { return static_cast<double>(timer.nsecsElapsed()) * 1e-6; }

/// Until nothing is left to do at once: what a person waits for.
double changeTo(MainWindow& window, const char* id) {
  QElapsedTimer timer;
  timer.start();
  window.showPanel(QLatin1String(id));
  for (int i = 0; i < 3; ++i) QApplication::processEvents();
  return milliseconds(timer);
}

void paintFrames(const TimelineChart& shown, std::vector<Row>& rows) {
  TimelineChart chart;
  chart.resize(3840, 1200);
  chart.setTimeline(shown.timeline(), false);
  const TimelineChart::View all = chart.view();
  QImage image(3840, 1200, QImage::Format_RGB32);
  std::vector<double> times;
  constexpr int frames = 120;
  for (int frame = 0; frame < frames; ++frame) {  // from everything down to single kernels, at places all over
    const double width = (all.to - all.from) * std::pow(0.9, frame), from = all.from + (all.to - all.from - width) * ((frame * 37) % 100) / 100.0;
    chart.showView({from, from + width});
    QElapsedTimer timer;
    timer.start();
    QPainter painter(&image);
    chart.paint(painter, image.size(), 1.0);
    painter.end();
    times.push_back(milliseconds(timer));
  }
  std::sort(times.begin(), times.end());
  constexpr double at30 = 1e3 / 30.0;
  rows.push_back({"timeline, a frame of 3840 x 1200, median", times[times.size() / 2], at30, "ms"});
  rows.push_back({"timeline, a frame of 3840 x 1200, slowest", times.back(), at30, "ms"});
  const auto timed = [&rows](const char* what, auto&& body) {
    QElapsedTimer timer;
    timer.start();
    body();
    rows.push_back({what, milliseconds(timer), 100.0, "ms"});
  };
  const Timeline& timeline = *shown.timeline();
  timed("timeline, all of a row summed up by name", [&] { sumsOf(timeline, shown.row(), timeline.begin, timeline.end); });
  timed("timeline, a search", [&] { chart.setSearch(TimelineSearch(shown.timeline(), QStringLiteral("softmax"))); });
  timed("timeline, a frame with what was found", [&] {
    QPainter painter(&image);
    chart.showAll();
    chart.paint(painter, image.size(), 1.0);
  });
}

int measure(const QString& file) {
  std::vector<Row> rows;
  const double empty = megabytes("VmRSS");
  MainWindow window;
  window.resize(1280, 800);
  window.show();
  QApplication::processEvents();
  QElapsedTimer opening;
  opening.start();
  window.open({file});
  window.showPanel(QStringLiteral("overview"));
  const auto* const overview = window.findChild<QDockWidget*>(QStringLiteral("overview"));
  const auto shown = [&] {
    for (const TableView* table : overview->findChildren<TableView*>())
      if (table->model() != nullptr && table->model()->rowCount() > 0) return true;
    return false;
  };
  const bool opened = QTest::qWaitFor(shown, 120000);
  rows.push_back({"open: until the overview shows the modes", milliseconds(opening) * 1e-3, 1.0, "s"});
  for (const char* const round : {"first", "again"}) {
    for (const PanelInfo& info : panels()) {
      const double time = changeTo(window, info.id);
      rows.push_back({fmt::format("change to {}, {}", info.id, round), time, 100.0, "ms"});
      QTest::qWait(300);
    }
    window.showPanel(QStringLiteral("timeline"));
    const auto* const chart = window.findChild<QDockWidget*>(QStringLiteral("timeline"))->findChild<TimelineChart*>();
    if (!QTest::qWaitFor([&] { return chart->timeline() && !chart->timeline()->empty(); }, 120000)) return 1;
    QTest::qWait(500);
  }
  const auto* const chart = window.findChild<QDockWidget*>(QStringLiteral("timeline"))->findChild<TimelineChart*>();
  rows.push_back({"memory, greatest", megabytes("VmHWM"), 500.0, "MB"});
  paintFrames(*chart, rows);
  std::printf("%s\n%lld kernels, empty program %.0f MB\n", qPrintable(file), static_cast<long long>(chart->timeline()->kernels), empty);
  bool good = opened;
  for (const Row& row : rows) {
    const bool within = row.value <= row.bar;
    good = good && within;
    std::printf("%-46s %9.2f %-2s  bar %7.1f  %s\n", row.what.c_str(), row.value, row.unit, row.bar, within ? "within" : "BEYOND");
  }
  return good ? 0 : 1;
}

int run(int argc, char** argv) {
  std::int64_t kernels = 1'000'000, steps = 100'000;
  QString keep, forge;
  const QStringList arguments = QApplication::arguments();
  for (int i = 1; i + 1 < argc; i += 2) {
    const QString& value = arguments[i + 1];
    if (arguments[i] == QLatin1String("--kernels")) kernels = value.toLongLong();
    else if (arguments[i] == QLatin1String("--steps")) steps = value.toLongLong();
    else if (arguments[i] == QLatin1String("--keep")) keep = value;
    else if (arguments[i] == QLatin1String("--forge")) forge = value;
  }
  if (argc % 2 == 0 || kernels < 1 || steps < 1) {
    std::fprintf(stderr, "usage: %s [--kernels N] [--steps N] [--keep FILE]\n", argv[0]);
    return 2;
  }
  const std::int64_t traced = std::min<std::int64_t>(steps, 200);
  if (!forge.isEmpty()) {
    reports::writeManyKernels(forge.toStdString(), {.kernels = kernels, .steps = traced, .otherModes = 3, .otherSteps = steps - traced});
    return 0;
  }
  const QTemporaryDir folder;
  const QString file = keep.isEmpty() ? folder.filePath(QStringLiteral("viewer.ulp")) : keep;
  // In a process of its own: its memory is not the viewer's.
  if (!QFileInfo::exists(file) &&
      QProcess::execute(QCoreApplication::applicationFilePath(), {QStringLiteral("--kernels"), QString::number(kernels), QStringLiteral("--steps"), QString::number(steps), QStringLiteral("--forge"), file}) != 0)
    return 2;
  return measure(file);
}

}  // namespace
}  // namespace ulpscope::gui

int main(int argc, char** argv) {
  qputenv("QT_QPA_PLATFORM", "offscreen");
  QStandardPaths::setTestModeEnabled(true);
  QCoreApplication::setOrganizationName(QStringLiteral("ulpscope-bench-%1").arg(QCoreApplication::applicationPid()));
  QCoreApplication::setApplicationName(QStringLiteral("bench"));
  const QApplication application(argc, argv);
  const int code = ulpscope::gui::run(argc, argv);
  QSettings settings;
  settings.clear();
  const QString file = settings.fileName();
  settings.sync();
  QFile::remove(file);
  QDir().rmdir(QFileInfo(file).absolutePath());
  return code;
}
