// Curves as points, and the chart that draws them.
#include <QComboBox>
#include <QFile>
#include <QFileInfo>
#include <QToolTip>
#include <cmath>
#include <memory>

#include "gui/charts/heat_map.h"
#include "gui/charts/save_picture.h"
#include "gui/models/curve_points.h"
#include "gui/panels/panels.h"
#include "reports/run_file/counter_rows.h"
#include "reports/run_file/writer.h"
#include "tests/gui/gui_test.h"

namespace ulpscope::gui {
namespace {

using reports::SeriesBuilder;
using reports::StepRecord;

reports::RunSeries series(const std::vector<reports::Number>& losses) {
  SeriesBuilder builder(reports::RunRecord{.time_provenance = reports::Provenance::measured});
  for (std::size_t i = 0; i < losses.size(); ++i) builder.add(StepRecord{.step = static_cast<std::int64_t>(i), .loss = losses[i], .wall_seconds = 0.5});
  return builder.series({});
}

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

TEST(CurvePoints, ALineBreaksWhereAValueIsNotFiniteAndSaysWhy) {
  const auto of = series({3.0, 2.0, nan, nan, 1.5, inf, 1.0});
  const CurvePoints points = curvePoints(of, of.loss, CurveAxis::Step);
  ASSERT_EQ(points.gaps.size(), 2u);
  EXPECT_EQ(points.gaps[0].kind, reports::GapKind::nan);
  EXPECT_EQ(points.gaps[0].steps, 2);
  EXPECT_DOUBLE_EQ(points.gaps[0].first, 2.5);  // steps 3 and 4 as people count
  EXPECT_DOUBLE_EQ(points.gaps[0].last, 4.5);
  EXPECT_EQ(points.gaps[1].kind, reports::GapKind::positive_infinite);
  std::vector<double> finite;
  int breaks = 0;
  for (const double y : points.y) {
    if (std::isfinite(y)) finite.push_back(y);
    else ++breaks;
  }
  EXPECT_EQ(finite, (std::vector<double>{3.0, 2.0, 1.5, 1.0}));
  EXPECT_EQ(breaks, 2);
  EXPECT_TRUE(std::is_sorted(points.x.begin(), points.x.end()));
}

TEST(CurvePoints, WhatIsUnknownOnlyBreaksTheLine) {
  const auto of = series({3.0, std::nullopt, 1.0});
  const CurvePoints points = curvePoints(of, of.loss, CurveAxis::Step);
  EXPECT_TRUE(points.gaps.empty());
  ASSERT_EQ(points.y.size(), 3u);
  EXPECT_TRUE(std::isnan(points.y[1]));
}

TEST(CurvePoints, AgainstTimeAStepLiesAtItsEnd) {
  const auto of = series({3.0, 2.0, 1.0});
  const CurvePoints points = curvePoints(of, of.loss, CurveAxis::Seconds);
  EXPECT_EQ(points.x, (std::vector<double>{0.5, 1.0, 1.5}));
  EXPECT_EQ(axisPosition(of, 1, CurveAxis::Seconds), 1.0);
  EXPECT_EQ(axisPosition(of, 7, CurveAxis::Seconds), std::nullopt);
}

TEST(CurvePoints, SmoothingNeverReachesAcrossABreak) {
  const std::vector<double> y{1.0, 3.0, nan, 10.0, 20.0};
  EXPECT_EQ(smoothed(y, 1)[1], 3.0);
  const std::vector<double> smooth = smoothed(y, 5);
  EXPECT_DOUBLE_EQ(smooth[0], 2.0);
  EXPECT_DOUBLE_EQ(smooth[1], 2.0);
  EXPECT_TRUE(std::isnan(smooth[2]));
  EXPECT_DOUBLE_EQ(smooth[3], 15.0);
}

TEST(CurvePoints, TheBandIsMeanAndStandardDeviationOfTheSeeds) {
  std::vector<CurvePoints> seeds;
  for (const double shift : {-1.0, 0.0, 1.0}) seeds.push_back({.x = {1, 2, 3}, .y = {5 + shift, 4 + 2 * shift, nan}, .gaps = {}});
  const Band band = bandBetween(seeds);
  EXPECT_EQ(band.x, (std::vector<double>{1, 2}));  // none where a seed has no value
  EXPECT_NEAR(band.low[0], 4.0, 1e-12);            // the spread of -1, 0, 1 is 1
  EXPECT_NEAR(band.high[1], 6.0, 1e-12);
  EXPECT_TRUE(bandBetween({seeds[0]}).x.empty());
}

class ChartTest : public GuiTest {
 protected:
  ChartTest() {
    m_chart.resize(500, 300);
    m_chart.setAxes({.label = "step", .style = reports::FigureStyle::count}, {.label = "loss"});
    m_chart.setContent({.lines = {{.name = "fp16, \"a\"", .colour = Qt::red, .x = {1, 2, 3}, .y = {0.1, nan, 0.3}, .provenance = "computed"}}, .bands = {}, .marks = {}, .gaps = {}});
    m_chart.show();
  }
  Chart m_chart;
};

TEST_F(ChartTest, DataReadBackAsTheSameNumbers) {
  EXPECT_EQ(m_chart.csv(), "line,step,loss,provenance\n"
                           "\"fp16, \"\"a\"\"\",1,0.1,computed\n"
                           "\"fp16, \"\"a\"\"\",2,NaN,computed\n"
                           "\"fp16, \"\"a\"\"\",3,0.3,computed\n");
}

TEST_F(ChartTest, APointBetweenGapsIsSeen) {
  const QImage image = m_chart.toPixmap(m_chart.width(), m_chart.height()).toImage();
  for (const auto& [x, y] : {std::pair{1.0, 0.1}, {3.0, 0.3}}) {
    const QPoint at(static_cast<int>(m_chart.xAxis->coordToPixel(x)), static_cast<int>(m_chart.yAxis->coordToPixel(y)));
    bool red = false;
    for (int i = -2; i <= 2; ++i) red = red || image.pixelColor(at + QPoint(i, 0)) == QColor(Qt::red);
    EXPECT_TRUE(red) << x;
  }
}

TEST_F(ChartTest, IsSavedInEveryFormAndSaysWhyNot) {
  QStringList forms{"png", "pdf", "csv"};
  if (canWriteSvg()) forms << "svg";
  QString reason;
  for (const QString& form : forms) {
    EXPECT_TRUE(m_chart.save(path("chart.") + form, &reason)) << reason.toStdString();
    EXPECT_GT(QFileInfo(path("chart.") + form).size(), 60) << form.toStdString();
  }
  EXPECT_FALSE(m_chart.save(path("chart.gif"), &reason));
  EXPECT_TRUE(reason.contains(".png"));
  EXPECT_FALSE(m_chart.save(path("no/such/folder/chart.csv"), &reason));
  EXPECT_TRUE(reason.contains("could not be written"));
}

TEST_F(ChartTest, EveryZoomIsUndone) {
  const QCPRange whole = m_chart.xAxis->range();
  QTest::keyClick(&m_chart, Qt::Key_Plus);
  const QCPRange once = m_chart.xAxis->range();
  EXPECT_LT(once.size(), whole.size());
  QTest::keyClick(&m_chart, Qt::Key_Right);
  EXPECT_GT(m_chart.xAxis->range().lower, once.lower);
  EXPECT_TRUE(m_chart.zoomed());
  QTest::keySequence(&m_chart, QKeySequence::Undo);
  EXPECT_EQ(m_chart.xAxis->range(), once);
  QTest::keySequence(&m_chart, QKeySequence::Undo);
  EXPECT_EQ(m_chart.xAxis->range(), whole);
  EXPECT_FALSE(m_chart.zoomed());
}

TEST_F(ChartTest, NewContentKeepsAViewThatWasZoomed) {
  QTest::keyClick(&m_chart, Qt::Key_Plus);
  const QCPRange view = m_chart.xAxis->range();
  ChartContent more = m_chart.content();
  more.lines[0].x.push_back(4);
  more.lines[0].y.push_back(0.2);
  m_chart.setContent(more);
  EXPECT_EQ(m_chart.xAxis->range(), view);
  QTest::keyClick(&m_chart, Qt::Key_Home);
  EXPECT_GT(m_chart.xAxis->range().upper, 4.0);
}

TEST_F(ChartTest, WhatChangesNothingIsNotUndone) {
  const QPoint middle = m_chart.axisRect()->rect().center();
  QTest::mouseClick(&m_chart, Qt::LeftButton, Qt::ShiftModifier, middle);
  EXPECT_FALSE(m_chart.zoomed()) << "a rectangle that was never drawn";
  QTest::mouseClick(&m_chart, Qt::LeftButton, {}, middle);
  EXPECT_FALSE(m_chart.zoomed());
}

TEST_F(ChartTest, EveryDragIsUndoneAlsoUpAndDownAndIntoARectangle) {
  const QCPRange x = m_chart.xAxis->range(), y = m_chart.yAxis->range();
  const QPoint middle = m_chart.axisRect()->rect().center();
  const auto drag = [&](const QPoint& to, Qt::KeyboardModifiers with) {
    QTest::mousePress(&m_chart, Qt::LeftButton, with, middle);
    for (const QPoint& at : {middle + (to - middle) / 2, to}) {
      QMouseEvent move(QEvent::MouseMove, at, m_chart.mapToGlobal(at), Qt::NoButton, Qt::LeftButton, with);
      QApplication::sendEvent(&m_chart, &move);
    }
    QTest::mouseRelease(&m_chart, Qt::LeftButton, with, to);
  };
  drag(middle + QPoint(0, 60), {});
  EXPECT_EQ(m_chart.xAxis->range(), x);
  EXPECT_NE(m_chart.yAxis->range(), y);
  ASSERT_TRUE(m_chart.zoomed());
  QTest::keySequence(&m_chart, QKeySequence::Undo);
  EXPECT_EQ(m_chart.yAxis->range(), y);
  EXPECT_FALSE(m_chart.zoomed());
  drag(middle + QPoint(80, 60), Qt::ShiftModifier);
  EXPECT_LT(m_chart.xAxis->range().size(), x.size());
  QTest::keySequence(&m_chart, QKeySequence::Undo);
  EXPECT_EQ(m_chart.xAxis->range(), x);
  EXPECT_FALSE(m_chart.zoomed()) << "one undo for one zoom";
}

TEST_F(ChartTest, NewContentDoesNotPullTheViewFromTheHand) {
  const QPoint middle = m_chart.axisRect()->rect().center();
  QTest::mousePress(&m_chart, Qt::LeftButton, {}, middle);
  QMouseEvent move(QEvent::MouseMove, middle + QPoint(70, 0), m_chart.mapToGlobal(middle + QPoint(70, 0)), Qt::NoButton, Qt::LeftButton, Qt::NoModifier);
  QApplication::sendEvent(&m_chart, &move);
  const QCPRange dragged = m_chart.xAxis->range();
  m_chart.setContent(m_chart.content());  // of a live run
  EXPECT_EQ(m_chart.xAxis->range(), dragged);
  QTest::mouseRelease(&m_chart, Qt::LeftButton, {}, middle + QPoint(70, 0));
  EXPECT_TRUE(m_chart.zoomed());
}

TEST_F(ChartTest, AScaleThatHasNoZeroDropsViewsThatHold) {
  m_chart.setAxes({.label = "step", .style = reports::FigureStyle::count}, {.label = "loss"});
  QTest::keyClick(&m_chart, Qt::Key_Down);
  ASSERT_TRUE(m_chart.zoomed());
  m_chart.setAxes({.label = "step", .style = reports::FigureStyle::count}, {.label = "loss", .style = reports::FigureStyle::loss, .scale = ChartAxis::Scale::Log10});
  m_chart.setContent(m_chart.content());
  EXPECT_FALSE(m_chart.zoomed());
  EXPECT_GT(m_chart.yAxis->range().lower, 0.0);
}

TEST_F(ChartTest, AHundredThousandGapsAreOneItemAndEachSaysWhatItIs) {
  constexpr int many = 100'000;
  ChartContent content = m_chart.content();
  ChartGaps gaps{.colour = Qt::red, .toolTip = [](std::size_t i) { return QStringLiteral("gap %1").arg(i); }};
  ChartMarks marks{.name = "skipped", .colour = Qt::red, .toolTip = [](std::size_t i) { return QStringLiteral("mark %1").arg(i); }};
  for (int i = 0; i < many; ++i) {
    gaps.at.emplace_back(2.0 * i, 2.0 * i + 1.0);
    marks.x.push_back(2.0 * i);
  }
  content.gaps.push_back(gaps);
  content.marks.push_back(marks);
  m_chart.setContent(content);
  EXPECT_EQ(m_chart.itemCount(), 1);
  m_chart.showX(1000.0, 1010.0);
  m_chart.replot(QCustomPlot::rpImmediateRefresh);
  const auto said = [&](double x) {
    const QPoint at(static_cast<int>(m_chart.xAxis->coordToPixel(x)), m_chart.axisRect()->rect().top() + 20);
    QMouseEvent move(QEvent::MouseMove, at, m_chart.mapToGlobal(at), Qt::NoButton, Qt::NoButton, Qt::NoModifier);
    QApplication::sendEvent(&m_chart, &move);
    return QToolTip::text();
  };
  EXPECT_EQ(said(1004.5), "gap 502");
  EXPECT_TRUE(until([&] { return said(1005.5).isEmpty(); })) << "between two of them";
  const QImage picture = m_chart.grab().toImage();
  const auto colour = [&](double x) { return picture.pixelColor(static_cast<int>(m_chart.xAxis->coordToPixel(x)), m_chart.axisRect()->rect().center().y() + 7); };
  EXPECT_NE(colour(1004.5), colour(1005.5));
}

/// A step of 4 s among steps of 10 ms would make a line of all others; and its time is no step's.
TEST_F(GuiTest, AStepWhoseNodesWereCountedIsMarkedBesideTheCurveOfStepTimes) {
  {
    reports::RunFileWriter writer(in("a.ulp"), {.overwrite = true});
    reports::RunRecord run = reports::made_up("bf16", 0, 2.0).run;
    run.id = reports::RunId{1};
    writer.push(reports::ExperimentRecord{.name = "counted"});
    writer.push(run);
    for (std::int64_t i = 0; i < 30; ++i)
      writer.push(reports::StepRecord{.run = reports::RunId{1}, .step = i, .loss = 2.0 - 0.01 * static_cast<double>(i), .wall_seconds = i == 13 ? 4.0 : 0.010 + 0.0001 * static_cast<double>(i % 7)});
    writer.push(reports::CompletenessRecord{.run = reports::RunId{1}, .kind = "note", .subject = std::string(reports::counted_step_subject) + "13", .count = 13});
    writer.close();
  }
  Session session;
  Selection selection;
  RunDocument* const document = session.open(path("a.ulp"));
  ASSERT_TRUE(until([&] { return document->state() != DocumentState::Loading; }));
  const std::unique_ptr<Panel> panel(makeCurvesPanel({session, selection}, nullptr));
  panel->resize(1060, 700);
  panel->setAutoFillBackground(true);
  panel->show();
  const QList<Chart*> charts = panel->findChildren<Chart*>();
  ASSERT_EQ(charts.size(), 5);
  ASSERT_TRUE(until([&] { return !charts[4]->content().lines.empty(); }));
  const ChartContent& times = charts[4]->content();
  ASSERT_EQ(times.lines.size(), 1u);
  EXPECT_EQ(times.lines[0].y.size(), 29u);
  for (const double y : times.lines[0].y) EXPECT_LT(y, 0.011) << "no point of 4 s, and no break";
  ASSERT_EQ(times.marks.size(), 1u);
  EXPECT_EQ(times.marks[0].name, QString("bf16 · seed 0: nodes counted, time left out"));
  EXPECT_EQ(times.marks[0].x, (std::vector<double>{14.0})) << "as people count";
  const QString tip = times.marks[0].toolTip(0);
  EXPECT_TRUE(tip.contains("step 14 is left out (4 s)")) << tip.toStdString();
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(charts[i]->content().marks.empty()) << "the others have all steps";
  EXPECT_EQ(charts[0]->content().lines[0].y.size(), 30u);
  panel->findChildren<QComboBox*>()[1]->setCurrentIndex(1);   // against time
  ASSERT_TRUE(until([&] { return charts[4]->content().marks.size() == 1 && charts[4]->content().marks[0].x[0] < 5.0; }));
  EXPECT_NEAR(charts[4]->content().marks[0].x[0], 4.13, 0.01) << "it has elapsed all the same";
  panel->findChildren<QComboBox*>()[1]->setCurrentIndex(0);
  QTest::qWait(150);
  keepPicture(*panel, "curves-counted");
}

class HeatMapTest : public GuiTest {
 protected:
  HeatMapTest() {
    m_map.resize(500, 300);
    m_map.setCells("step", {.rows = {"a", "b", "c"}, .columns = {"1", "2"}, .gravity = {{0, 1}, {0.5, 0}, {1, 0}}, .values = {{"0", "1"}, {"0.5", "0"}, {"1", "0"}},
                            .marks = {}, .toolTip = [](int row, int column) { return QStringLiteral("cell %1 %2").arg(row).arg(column); }});
    m_map.show();
    m_map.setFocus();
  }
  HeatMap m_map;
};

TEST_F(HeatMapTest, TheKeyboardReachesEveryCell) {
  std::pair<int, int> clicked{-1, -1};
  QObject::connect(&m_map, &HeatMap::cellClicked, &m_map, [&](int row, int column) { clicked = {row, column}; });
  const QCPRange view = m_map.xAxis->range();
  QTest::keyClick(&m_map, Qt::Key_Down);
  EXPECT_EQ(m_map.accessibleDescription(), "cell 0 0") << "the first key leads in";
  QTest::keyClick(&m_map, Qt::Key_Down);
  QTest::keyClick(&m_map, Qt::Key_Right);
  EXPECT_EQ(m_map.accessibleDescription(), "cell 1 1");
  QTest::keyClick(&m_map, Qt::Key_Return);
  EXPECT_EQ(clicked, (std::pair{1, 1}));
  QTest::keyClick(&m_map, Qt::Key_Right);
  QTest::keyClick(&m_map, Qt::Key_Down);
  QTest::keyClick(&m_map, Qt::Key_Down);
  EXPECT_EQ(m_map.accessibleDescription(), "cell 2 1") << "and no farther";
  QTest::keyClick(&m_map, Qt::Key_Home);
  QTest::keyClick(&m_map, Qt::Key_Space);
  EXPECT_EQ(clicked, (std::pair{2, 0}));
  EXPECT_EQ(m_map.xAxis->range(), view) << "the view stays where it is";
  QTest::keyClick(&m_map, Qt::Key_Right, Qt::ControlModifier);
  EXPECT_NE(m_map.xAxis->range(), view) << "with Ctrl it moves";
}

TEST_F(HeatMapTest, ACellThatIsReachedIsSeen) {
  QTest::keyClick(&m_map, Qt::Key_Down);
  for (int i = 0; i < 8; ++i) QTest::keyClick(&m_map, Qt::Key_Plus);
  QTest::keyClick(&m_map, Qt::Key_End);
  EXPECT_LE(m_map.xAxis->range().lower, 1.5);
  EXPECT_GE(m_map.xAxis->range().upper, 1.0);
}

}  // namespace
}  // namespace ulpscope::gui
