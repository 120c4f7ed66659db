// The window and its panels, offscreen.
#include <QAction>
#include <QDockWidget>
#include <QDropEvent>
#include <QLabel>
#include <QMimeData>

#include "gui/main_window.h"
#include "gui/panels/panels.h"
#include "gui/widgets/message_bar.h"
#include "gui/widgets/table_view.h"
#include "gui/widgets/theme.h"
#include "reports/export/html/page.h"
#include "tests/gui/gui_test.h"

namespace ulpscope::gui {
namespace {

class WindowTest : public GuiTest {
 protected:
  void SetUp() override {
    m_window = std::make_unique<MainWindow>();
    m_window->show();
  }
  RunDocument* opened(const std::string& name) {
    m_window->open({path(name)});
    RunDocument* const document = m_window->session().current();
    EXPECT_TRUE(until([&] { return document->state() != DocumentState::Loading; }));
    return document;
  }
  /// Every panel in turn, until it has drawn.
  void throughAllPanels(const QString& picture = {}) {
    for (const PanelInfo& info : panels()) {
      m_window->showPanel(info.id);
      auto* const dock = m_window->findChild<QDockWidget*>(info.id);
      ASSERT_NE(dock, nullptr) << info.id;
      EXPECT_TRUE(dock->widget()->isVisible()) << info.id;
      QTest::qWait(150);
      if (!picture.isEmpty()) keepPicture(*m_window, QStringLiteral("%1-%2").arg(picture, QLatin1String(info.id)));
    }
  }
  std::unique_ptr<MainWindow> m_window;
};

TEST_F(WindowTest, BeginsWithAPageThatSaysHow) {
  keepPicture(*m_window, "first-page");
  EXPECT_EQ(m_window->session().current(), nullptr);
  EXPECT_FALSE(m_window->messages().isVisible());
}

TEST_F(WindowTest, EveryPanelShowsAHealthyRun) {
  writeHealthy("healthy.ulp");
  opened("healthy.ulp");
  throughAllPanels("light");
  const auto tables = m_window->findChild<QDockWidget*>("overview")->findChildren<TableView*>();
  ASSERT_EQ(tables.size(), 1);
  EXPECT_EQ(tables.front()->model()->columnCount(), 4);
}

TEST_F(WindowTest, EveryPanelShowsItInTheDark) {
  applyTheme(Theme::Dark);
  writeOverflowing("overflowing.ulp");
  opened("overflowing.ulp");
  throughAllPanels("dark");
  applyTheme(Theme::Light);
}

TEST_F(WindowTest, EveryPanelStandsWhatIsLeftOfARun) {
  writeOneMode("one-mode.ulp", 40);
  writeOneMode("one-step.ulp", 1);
  writeAllNaN("nan.ulp");
  write(in("empty.ulp"), "");
  {
    reports::RunFileWriter writer(in("no-runs.ulp"));
    writer.push(reports::ExperimentRecord{.name = "nothing yet"});
    writer.close();
  }
  for (const char* name : {"one-mode", "one-step", "nan", "empty", "no-runs"}) {
    opened(std::string(name) + ".ulp");
    throughAllPanels(name);
  }
}

TEST_F(WindowTest, TroubleIsALineAndGoesAwayWithTheFile) {
  writeOneMode("good.ulp", 5);
  write(in("bad.ulp"), std::string(2000, 'x'));
  opened("good.ulp");
  RunDocument* const bad = opened("bad.ulp");
  ASSERT_EQ(m_window->messages().texts().size(), 1);
  EXPECT_TRUE(m_window->messages().texts().front().contains("bad.ulp"));
  EXPECT_TRUE(m_window->messages().isVisible());
  keepPicture(*m_window, "trouble");
  m_window->session().close(bad);
  EXPECT_FALSE(m_window->messages().isVisible());
  EXPECT_EQ(m_window->session().current()->name(), "good.ulp");
}

TEST_F(WindowTest, FilesAreOpenedByDroppingThem) {
  writeOneMode("a.ulp", 5);
  QMimeData data;
  data.setUrls({QUrl::fromLocalFile(path("a.ulp"))});
  QDragEnterEvent enter({10, 10}, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
  QApplication::sendEvent(m_window.get(), &enter);
  EXPECT_TRUE(enter.isAccepted());
  QDropEvent drop({10, 10}, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
  QApplication::sendEvent(m_window.get(), &drop);
  ASSERT_NE(m_window->session().current(), nullptr);
  EXPECT_EQ(m_window->session().current()->name(), "a.ulp");
}

TEST_F(WindowTest, AReportIsExportedAndATroubleIsSaid) {
  if (!reports::can_write_html()) GTEST_SKIP() << "this build has no Vega";
  writeOverflowing("a.ulp");
  opened("a.ulp");
  m_window->exportReport(path("a.html"));
  ASSERT_TRUE(until([&] { return m_window->messages().texts().join(' ').contains("The report is in"); }));
  const std::string page = read(in("a.html"));
  EXPECT_NE(page.find("<html"), std::string::npos);
  EXPECT_NE(page.find("fp16"), std::string::npos);
  m_window->exportReport(path("no/such/folder/a.html"));
  ASSERT_TRUE(until([&] { return m_window->messages().texts().join(' ').contains("could not be written"); }));
}

TEST_F(WindowTest, ReadsFromRightToLeft) {
  writeOverflowing("a.ulp");
  QApplication::setLayoutDirection(Qt::RightToLeft);
  opened("a.ulp");
  throughAllPanels("right-to-left");
  QApplication::setLayoutDirection(Qt::LeftToRight);
}

TEST_F(WindowTest, ALargerWindowIsMoreRoomForThePanels) {
  writeOneMode("a.ulp", 5);
  opened("a.ulp");
  QTest::qWait(200);
  auto* const runs = m_window->findChild<QDockWidget*>("runs");
  const int before = runs->width(), panel = m_window->findChild<QDockWidget*>("overview")->width();
  ASSERT_LT(before, 500);
  m_window->resize(1900, 1000);
  const auto asBefore = [&] { return std::abs(runs->width() - before) <= 5; };
  EXPECT_TRUE(until([&] { return asBefore() && m_window->findChild<QDockWidget*>("overview")->width() > panel + 500; })) << runs->width() << ", not " << before;
  m_window->resize(1280, 800);
  EXPECT_TRUE(until([&] { return asBefore() && std::abs(m_window->findChild<QDockWidget*>("overview")->width() - panel) < 10; })) << runs->width() << ", not " << before;
}

TEST_F(WindowTest, TheLayoutIsRemembered) {
  const char* const last = panels().back().id;
  m_window->findChild<QDockWidget*>("runs")->hide();
  m_window->close();
  m_window = std::make_unique<MainWindow>();
  EXPECT_TRUE(m_window->findChild<QDockWidget*>("runs")->isHidden());
  EXPECT_NE(m_window->findChild<QDockWidget*>(last), nullptr);
}

}  // namespace
}  // namespace ulpscope::gui
