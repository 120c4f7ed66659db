// The panel of the timeline: mouse, keys, what it shares with other panels, pictures; a million kernels; every kind of file.
#include <QClipboard>
#include <QDockWidget>
#include <QLineEdit>
#include <QPlainTextEdit>

#include "gui/charts/timeline_chart.h"
#include "gui/language.h"
#include "gui/main_window.h"
#include "gui/models/text.h"
#include "gui/widgets/table_view.h"
#include "gui/widgets/theme.h"
#include "tests/gui/timeline_test.h"

namespace ulpscope::gui {
namespace {

TEST_F(TimelineTest, WheelDragKeysAndRangesMoveTheView) {
  reports::writeTraced(in("a.ulp"));
  opened("a.ulp");
  const auto panel = shown();
  auto* const chart = panel->findChild<TimelineChart*>();
  ASSERT_TRUE(until([&] { return chart->timeline() && !chart->timeline()->empty(); }));
  const TimelineChart::View all = chart->view();
  const QPoint middle(chart->viewport()->width() / 2, chart->viewport()->height() / 2);
  QWheelEvent wheel(middle, chart->viewport()->mapToGlobal(middle), {}, {0, 240}, Qt::NoButton, Qt::NoModifier, Qt::NoScrollPhase, false);
  QApplication::sendEvent(chart->viewport(), &wheel);
  const TimelineChart::View zoomed = chart->view();
  EXPECT_NEAR(zoomed.to - zoomed.from, 0.64 * (all.to - all.from), 2.0);
  QTest::mousePress(chart->viewport(), Qt::LeftButton, {}, middle);
  QTest::mouseMove(chart->viewport(), middle + QPoint(60, 0));
  QTest::mouseRelease(chart->viewport(), Qt::LeftButton, {}, middle + QPoint(60, 0));
  EXPECT_LT(chart->view().from, zoomed.from);
  EXPECT_NEAR(chart->view().to - chart->view().from, zoomed.to - zoomed.from, 2.0);
  chart->undoZoom();
  chart->undoZoom();
  EXPECT_EQ(chart->view().from, all.from);
  EXPECT_FALSE(chart->zoomed());
  for (const int key : {Qt::Key_Plus, Qt::Key_Plus, Qt::Key_Plus, Qt::Key_Right, Qt::Key_Left}) QTest::keyClick(chart, static_cast<Qt::Key>(key));
  EXPECT_NEAR(chart->view().to - chart->view().from, 0.512 * (all.to - all.from), 2.0);
  QTest::keyClick(chart, Qt::Key_Home);
  QTest::mousePress(chart->viewport(), Qt::LeftButton, Qt::ShiftModifier, middle);
  QTest::mouseMove(chart->viewport(), middle + QPoint(90, 0));
  QTest::mouseRelease(chart->viewport(), Qt::LeftButton, Qt::ShiftModifier, middle + QPoint(90, 0));
  ASSERT_TRUE(chart->range());
  EXPECT_GT(chart->range()->to, chart->range()->from);
  QTest::keyClick(chart, Qt::Key_Escape);
  EXPECT_FALSE(chart->range());
  for (int i = 0; i < 400; ++i) QTest::keyClick(chart, Qt::Key_Plus);
  EXPECT_GT(chart->view().to, chart->view().from);
  keepPicture(*panel, "timeline-closest");
  // A hundred views are remembered, however they were left; the first is that of everything.
  for (int i = 0; i < 150; ++i) QTest::keyClick(chart, Qt::Key_Right);
  for (int i = 0; i < 3; ++i) {
    QTest::mousePress(chart->viewport(), Qt::LeftButton, {}, middle);
    QTest::mouseMove(chart->viewport(), middle + QPoint(60, 0));
    QTest::mouseRelease(chart->viewport(), Qt::LeftButton, {}, middle + QPoint(60, 0));
  }
  int undone = 0;
  for (; chart->zoomed(); ++undone) chart->undoZoom();
  EXPECT_EQ(undone, 100);
  EXPECT_EQ(chart->view().from, all.from);
}

TEST_F(TimelineTest, ASpanIsChosenForAllPanelsAndTheOtherWayRound) {
  reports::writeTraced(in("a.ulp"));
  opened("a.ulp");
  const auto panel = shown();
  auto* const chart = panel->findChild<TimelineChart*>();
  ASSERT_TRUE(until([&] { return chart->timeline() && !chart->timeline()->empty(); }));
  EXPECT_EQ(chart->row(), 3) << "kernels at first";
  QTest::keyClick(chart, Qt::Key_Down);
  EXPECT_EQ(chart->row(), 4);
  QTest::keyClick(chart, Qt::Key_Down);
  EXPECT_EQ(chart->row(), 4) << "the last";
  QTest::keyClick(chart, Qt::Key_Up);
  EXPECT_EQ(chart->row(), 3);
  for (const Qt::Key key : {Qt::Key_Period, Qt::Key_Period, Qt::Key_Comma}) QTest::keyClick(chart, key);
  ASSERT_EQ(chart->selected(), (TimelineChart::Place{3, 0}));
  EXPECT_EQ(m_selection.node(), "block0.query");
  EXPECT_EQ(m_selection.step(), 1);
  auto* const details = panel->findChild<QPlainTextEdit*>();
  ASSERT_TRUE(until([&] { return details->toPlainText().contains("grid: 128 × 2 × 1"); })) << details->toPlainText().toStdString();
  EXPECT_TRUE(details->toPlainText().contains("registers of a thread: 64"));
  EXPECT_TRUE(details->toPlainText().contains("tensor pipes active: 62.5 %\nthat share is of all kernels of this node together, for a micro-batch, in another step"));
  EXPECT_TRUE(details->toPlainText().contains("shared memory of a block, dynamic: unknown"));
  chart->showView({0.0, 2e6});
  m_selection.setStep(2);
  EXPECT_TRUE(until([&] { return chart->view().from < 35e6 && chart->view().to > 45e6; })) << chart->view().from;
  m_selection.setSteps(std::pair<std::int64_t, std::int64_t>{1, 2});
  chart->showAll();
  EXPECT_TRUE(until([&] { chart->showAll(); return chart->view().from > 24e6 && chart->view().to < 36e6; })) << "the filter of steps";
  m_selection.setSteps(std::nullopt);
  auto* const table = panel->findChild<TableView*>();
  EXPECT_TRUE(until([&] { return table->model()->rowCount() == 2; })) << "gemm and softmax on stream 7";
  auto* const search = panel->findChild<QLineEdit*>();
  QTest::keyClick(chart, Qt::Key_F, Qt::ControlModifier);
  QTest::keyClicks(search, "softmax");
  EXPECT_EQ(chart->search().count(), 2 + 2) << "nodes and kernels";
  QTest::keyClick(search, Qt::Key_Return);
  EXPECT_TRUE(chart->search().finds(chart->selected()->first, chart->selected()->second));
  QTest::qWait(150);
  keepPicture(*panel, "timeline-search");
}

TEST_F(TimelineTest, ALiveRunIsReadAnewWhenItEnds) {
  reports::RunFileWriter writer(in("live.ulp"), {.commit_seconds = 0.05});
  reports::RunRecord run = reports::made_up("fp16", 0, 2.0).run;
  run.id = reports::RunId{1};
  run.status = reports::RunStatus::running;
  writer.push(reports::ExperimentRecord{.name = "live"});
  writer.push(run);
  const auto step = [&](std::int64_t i) {
    writer.push(reports::StepRecord{.run = run.id, .step = i, .applied = i + 1, .loss = 2.0, .wall_seconds = 0.01});
    writer.push(reports::KernelRecord{.run = run.id, .step = i, .stream = 7, .name = "k", .start_ns = i * 10'000'000, .duration_ns = 1'000'000});
  };
  for (std::int64_t i = 0; i < 3; ++i) step(i);
  writer.flush();
  opened("live.ulp");
  const auto panel = shown();
  auto* const chart = panel->findChild<TimelineChart*>();
  ASSERT_TRUE(until([&] { return chart->timeline() && chart->timeline()->kernels == 3; }));
  chart->showView({0.0, 5e6});
  chart->select(TimelineChart::Place{1, 0});
  for (std::int64_t i = 3; i < 5; ++i) step(i);
  writer.push(reports::KernelRecord{.run = run.id, .step = 4, .stream = 3, .name = "k", .start_ns = 45'000'000, .duration_ns = 1'000'000});
  run.status = reports::RunStatus::finished;
  writer.push(run);
  writer.close();
  ASSERT_TRUE(until([&] { return chart->timeline()->kernels == 6; }));
  EXPECT_EQ(chart->view().to, 5e6) << "the view stays";
  EXPECT_EQ(chart->selected(), (TimelineChart::Place{2, 0})) << "there is another stream before it now";
  EXPECT_EQ(chart->row(), 2);
  EXPECT_EQ(chart->timeline()->rows[2].stream, 7);
}

TEST_F(TimelineTest, WhatIsChosenStaysWhenARunGrowsAndTheViewShowsAllOfIt) {
  reports::writeTraced(in("a.ulp"));
  const Timeline before = timelineOf("a.ulp");
  auto grown = std::make_shared<Timeline>(before);
  grown->end += 1'000'000'000;
  TimelineChart chart;
  chart.setTimeline(std::make_shared<const Timeline>(before), false);
  chart.select(TimelineChart::Place{3, 2});
  chart.setRange(TimelineChart::View{1e6, 2e6});
  chart.setTimeline(grown, true);
  EXPECT_EQ(chart.selected(), (TimelineChart::Place{3, 2}));
  ASSERT_TRUE(chart.range());
  EXPECT_EQ(chart.range()->to, 2e6);
  EXPECT_GE(chart.view().to, static_cast<double>(grown->end));
  chart.setTimeline(std::make_shared<const Timeline>(before), false);
  EXPECT_FALSE(chart.selected()) << "another timeline";
  EXPECT_FALSE(chart.range());
}

TEST_F(TimelineTest, PicturesAndDataAreSaved) {
  reports::writeTraced(in("a.ulp"));
  opened("a.ulp");
  const auto panel = shown();
  auto* const chart = panel->findChild<TimelineChart*>();
  ASSERT_TRUE(until([&] { return chart->timeline() && !chart->timeline()->empty(); }));
  QString reason;
  for (const char* form : {"png", "pdf", "csv"}) EXPECT_TRUE(chart->save(path(std::string("t.") + form), &reason)) << reason.toStdString();
  EXPECT_EQ(read(in("t.png")).substr(1, 3), "PNG");
  EXPECT_EQ(read(in("t.pdf")).substr(0, 4), "%PDF");
  const QString csv = chart->csv();
  EXPECT_EQ(csv.count('\n'), 1 + 4 + 4 + static_cast<int>(chart->timeline()->rows[2].spans.size()) + 6 + 2);
  EXPECT_TRUE(csv.contains("\"kernels, stream 7\",gemm,block0.query,2,0.025000000,0.001500000,1,measured,as recorded\n")) << csv.toStdString();
  EXPECT_FALSE(chart->save(path("t.txt"), &reason));
  EXPECT_TRUE(reason.contains("t.txt"));
  EXPECT_FALSE(chart->save(path("no/such/folder/t.png"), &reason));
}

TEST_F(TimelineTest, DataAreTheSameNumbersInArabic) {
  if (!isLanguage(QStringLiteral("ar"))) GTEST_SKIP() << "English alone";
  useLanguage(QStringLiteral("ar"));
  reports::writeTraced(in("a.ulp"));
  opened("a.ulp");
  {
    const auto panel = shown();
    auto* const chart = panel->findChild<TimelineChart*>();
    EXPECT_TRUE(until([&] { return chart->timeline() && !chart->timeline()->empty(); }));
    QString reason;
    EXPECT_TRUE(chart->save(path("t.csv"), &reason)) << reason.toStdString();
    const QString csv = QString::fromUtf8(read(in("t.csv")));
    EXPECT_TRUE(csv.contains(",gemm,block0.query,2,0.025000000,0.001500000,1,")) << csv.toStdString();
    EXPECT_EQ(csv, withoutMarks(csv)) << "no marks that order texts in a window";
    chart->copyData();
    EXPECT_EQ(QApplication::clipboard()->text(), csv);
    // What a spreadsheet would take for a formula, also behind a mark.
    for (const char* text : {"=1+1", "@SUM(A1)", "+cmd"}) {
      EXPECT_EQ(csvField(QString::fromUtf8(text)), QStringLiteral("'") + QString::fromUtf8(text));
      EXPECT_EQ(csvField(isolated(QString::fromUtf8(text))), QStringLiteral("'") + QString::fromUtf8(text));
    }
  }
  useLanguage(QStringLiteral("en"));
}

/// Columns of pixels, from the first span of a row to its last, and how many of them show something.
std::pair<int, int> paintedColumns(TimelineChart& chart, std::size_t row) {
  const QImage picture = chart.viewport()->grab().toImage();
  const auto isThere = [&](int x, int y) {
    const auto place = chart.spanAt(QPointF(x, y));
    return place && place->first == row;
  };
  int top = 0, left = 0, right = picture.width() - 1;
  while (top < picture.height() && !isThere(picture.width() / 2, top)) ++top;
  const int y = top + 6;
  while (left < right && !isThere(left, y)) ++left;
  while (right > left && !isThere(right, y)) --right;
  constexpr int near = 4;  // a span is found from a few pixels away
  const QRgb ground = chart.palette().color(QPalette::Base).rgb();
  int columns = 0, painted = 0;
  for (int x = left + near; x <= right - near; ++x, ++columns) painted += picture.pixel(x, y) != ground ? 1 : 0;
  return {columns, painted};
}

TEST_F(TimelineTest, AMillionKernelsAreDrawnFromEdgeToEdge) {
  constexpr std::int64_t count = 1'000'000;
  reports::writeManyKernels(in("million.ulp"), {.kernels = count, .steps = 200});
  opened("million.ulp");
  const auto panel = shown();
  auto* const chart = panel->findChild<TimelineChart*>();
  ASSERT_TRUE(until([&] { return chart->timeline() && chart->timeline()->kernels == count; }, 120000));
  QTest::qWait(200);
  keepPicture(*panel, "timeline-million");
  const std::size_t stream = chart->timeline()->rows.size() - 2;  // 7: most of them
  const auto [columns, painted] = paintedColumns(*chart, stream);
  EXPECT_GT(columns, chart->viewport()->width() / 2);
  EXPECT_EQ(painted, columns) << "in each column kernels begin";
  const TimelineChart::View all = chart->view();
  chart->showView({all.from + 0.40 * (all.to - all.from), all.from + 0.41 * (all.to - all.from)});
  QTest::qWait(200);
  keepPicture(*panel, "timeline-million-nearer");
  const auto [nearer, seen] = paintedColumns(*chart, stream);
  EXPECT_GT(nearer, chart->viewport()->width() / 2);
  EXPECT_GT(seen, nearer * 9 / 10);
  EXPECT_LT(seen, nearer) << "between two steps the stream has nothing to do";
  // Columns of pixels hold all that begin in view.
  const TimelineSpans& spans = chart->timeline()->rows.back().spans;
  std::int64_t drawn = 0;
  for (const SpanColumn& column : spans.columns(all.from, all.to, 2000)) drawn += column.sum.count;
  EXPECT_EQ(drawn, static_cast<std::int64_t>(spans.size()));
  EXPECT_LT(chart->csv().count('\n'), 200'000);
}

TEST_F(TimelineTest, EveryKindOfFileIsStood) {
  reports::writeTraced(in("traced.ulp"));
  reports::writeTraced(in("cut-off.ulp"), reports::RunStatus::running);
  writeHealthy("healthy.ulp");
  writeAllNaN("nan.ulp");
  writeOneMode("one-step.ulp", 1);
  write(in("empty.ulp"), "");
  {
    reports::RunFileWriter writer(in("no-runs.ulp"));
    writer.push(reports::ExperimentRecord{.name = "nothing yet"});
    writer.close();
  }
  const auto panel = shown();
  for (const bool dark : {false, true}) {
    applyTheme(dark ? Theme::Dark : Theme::Light);
    for (const char* name : {"traced", "cut-off", "healthy", "nan", "one-step", "empty", "no-runs"}) {
      opened(std::string(name) + ".ulp");
      QTest::qWait(250);
      keepPicture(*panel, QStringLiteral("timeline-%1%2").arg(QLatin1String(name), dark ? QStringLiteral("-dark") : QString()));
    }
  }
  applyTheme(Theme::Light);
  panel->resize(3600, 1900);
  opened("traced.ulp");
  QTest::qWait(300);
  keepPicture(*panel, "timeline-traced-wide");
  while (!m_session.documents().empty()) m_session.close(m_session.documents().front());
  const auto* const chart = panel->findChild<TimelineChart*>();
  EXPECT_TRUE(until([&] { return !chart->timeline(); }));
}

// To be looked at: the whole window as a person has it.
TEST_F(TimelineTest, InItsWindowSmallAndLarge) {
  reports::writeTraced(in("traced.ulp"));
  reports::writeManyKernels(in("many.ulp"), {.kernels = 60'000, .steps = 40});
  for (const bool dark : {false, true}) {
    applyTheme(dark ? Theme::Dark : Theme::Light);
    for (const QSize size : {QSize(1280, 800), QSize(3840, 2160)}) {
      MainWindow window;
      window.resize(size);
      window.show();
      window.open({path("traced.ulp"), path("many.ulp")});
      window.showPanel(QStringLiteral("timeline"));
      const auto* const dock = window.findChild<QDockWidget*>(QStringLiteral("timeline"));
      auto* const chart = dock->findChild<TimelineChart*>();
      ASSERT_TRUE(until([&] { return chart->timeline() && chart->timeline()->kernels == 60'000; }));
      chart->showView({chart->view().from, chart->view().from + 2e8});
      QTest::keyClick(chart, Qt::Key_Period);
      QTest::qWait(300);
      EXPECT_TRUE(dock->widget()->isVisible());
      keepPicture(window, QStringLiteral("timeline-window-%1%2").arg(size.width()).arg(dark ? QStringLiteral("-dark") : QString()));
    }
  }
  applyTheme(Theme::Light);
}

}  // namespace
}  // namespace ulpscope::gui
