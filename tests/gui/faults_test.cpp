// What must not happen: a window that waits, a line that comes back, the wrong file blamed.
#include <QAction>
#include <QMenuBar>
#include <QPushButton>
#include <QSignalSpy>
#include <pthread.h>
#include <condition_variable>
#include <filesystem>
#include <mutex>

#include "gui/main_window.h"
#include "gui/models/file_identity.h"
#include "gui/models/machines_model.h"
#include "gui/models/reading_thread.h"
#include "gui/models/session.h"
#include "gui/widgets/message_bar.h"
#include "tests/gui/gui_test.h"
#include "tests/reports/forged_machines.h"

namespace ulpscope::gui {
namespace {

class FaultsTest : public GuiTest {
 protected:
  RunDocument* opened(const std::string& name) {
    RunDocument* const document = m_session.open(path(name));
    EXPECT_TRUE(until([&] { return document->state() != DocumentState::Loading; }));
    return document;
  }
  Session m_session;
};

/// A read that takes as long as the test wants.
struct Gate {
  std::mutex mutex;
  std::condition_variable changed;
  bool entered = false, open = false, left = false;
  void pass() {
    std::unique_lock lock(mutex);
    entered = true;
    changed.notify_all();
    changed.wait_for(lock, std::chrono::minutes(2), [&] { return open; });
    left = true;
  }
  void set(bool Gate::*what) {
    const std::lock_guard lock(mutex);
    this->*what = true;
    changed.notify_all();
  }
  bool is(bool Gate::*what) {
    const std::lock_guard lock(mutex);
    return this->*what;
  }
};

TEST_F(FaultsTest, AFileThatIsBeingReadIsClosedAtOnce) {
  writeOneMode("a.ulp", 5);
  writeOneMode("b.ulp", 5);
  const QPointer<RunDocument> document = opened("a.ulp");
  const auto gate = std::make_shared<Gate>();
  bool done = false;
  document->read(&m_session, [gate](const reports::RunFileReader&) { gate->pass(); return 1; }, [&](int) { done = true; });
  ASSERT_TRUE(until([&] { return gate->is(&Gate::entered); }));
  m_session.close(document);
  ASSERT_TRUE(until([&] { return document.isNull(); }));
  EXPECT_FALSE(gate->is(&Gate::left)) << "nobody waited for the read";
  EXPECT_EQ(opened("b.ulp")->state(), DocumentState::Finished) << "another file is read meanwhile";
  gate->set(&Gate::open);
  ASSERT_TRUE(until([&] { return gate->is(&Gate::left); }));
  while (!m_session.documents().empty()) m_session.close(m_session.documents().front());
  QTest::qWait(50);
  EXPECT_TRUE(ReadingThread::waitForAll(60'000));
  EXPECT_FALSE(done) << "what a closed file brings is dropped";
}

TEST_F(FaultsTest, AskedForManyTimesAFileIsReadAgainTwiceAtMost) {
  writeOneMode("a.ulp", 5);
  RunDocument* const document = opened("a.ulp");
  ASSERT_EQ(document->revision(), 1);
  for (int i = 0; i < 20; ++i) document->reload();
  ASSERT_TRUE(until([&] { return document->revision() == 3; }));
  QTest::qWait(300);
  EXPECT_EQ(document->revision(), 3);
}

TEST_F(FaultsTest, AReadThatFailsNamesItsFileAndTheOthersStay) {
  writeOneMode("a.ulp", 5);
  writeOneMode("b.ulp", 5);
  RunDocument* const good = opened("a.ulp");
  RunDocument* const bad = opened("b.ulp");
  bad->read(&m_session, [](const reports::RunFileReader&) -> int { throw std::runtime_error("no such column"); }, [](int) { FAIL(); });
  ASSERT_TRUE(until([&] { return bad->state() == DocumentState::Failed; }));
  EXPECT_TRUE(bad->message().contains("b.ulp")) << bad->message().toStdString();
  EXPECT_TRUE(bad->message().contains("no such column"));
  EXPECT_TRUE(bad->snapshot()) << "what was read stays on show";
  EXPECT_EQ(good->state(), DocumentState::Finished);
  bad->reload();
  EXPECT_TRUE(until([&] { return bad->state() == DocumentState::Finished; }));
}

TEST_F(FaultsTest, TheFileThatCannotBeReadThroughIsBlamedAndNoOther) {
  const reports::RunFileReader a100 = reports::forged_a100().write(in("a100.ulp"));
  reports::forged_h100().write(in("h100.ulp"));
  reports::ForgedMachine other = reports::forged_h100();
  other.device = "NVIDIA L4";
  other.write(in("broken.ulp"));
  const auto size = std::filesystem::file_size(in("broken.ulp"));
  {
    std::fstream file(in("broken.ulp"), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(size / 4));
    file << std::string(size - size / 4, '\xff');
  }
  const MachinesData data = readMachines(a100, {in("broken.ulp"), in("h100.ulp")});
  ASSERT_EQ(data.unread.size(), 1) << data.unread.join("\n").toStdString();
  EXPECT_TRUE(data.unread[0].contains("broken.ulp")) << data.unread[0].toStdString();
  ASSERT_TRUE(data.machines) << "the other two are compared";
  EXPECT_EQ(data.machines->machines.size(), 2u);
}

TEST_F(FaultsTest, RecentFilesAreWrittenWhenAFileIsOpenedAndNotWheneverItChanges) {
  writeOneMode("a.ulp", 5);
  writeOneMode("b.ulp", 5);
  QSignalSpy spy(&m_session, &Session::recentFilesChanged);
  RunDocument* const a = opened("a.ulp");
  RunDocument* const b = opened("b.ulp");
  EXPECT_EQ(spy.count(), 2);
  for (int i = 0; i < 3; ++i) {
    for (RunDocument* document : {a, b}) {
      const int before = document->revision();
      document->reload();
      ASSERT_TRUE(until([&] { return document->revision() > before; }));
    }
  }
  EXPECT_EQ(spy.count(), 2) << "two live files took turns";
  EXPECT_EQ(m_session.recentFiles(), (QStringList{b->path(), a->path()}));
  m_session.open(a->path());
  EXPECT_EQ(m_session.recentFiles().front(), a->path()) << "opened again";
}

TEST_F(FaultsTest, AFileIsAnotherOneOnceItWasMadeAnew) {
  EXPECT_EQ(identityOf(path("a")), std::nullopt);
  write(in("a"), "one");
  const auto first = identityOf(path("a"));
  ASSERT_TRUE(first);
  {
    std::ofstream more(in("a"), std::ios::app);
    more << "two";
  }
  EXPECT_EQ(identityOf(path("a")), first) << "written on";
  write(in("b"), "three");
  std::filesystem::rename(in("b"), in("a"));
  const auto second = identityOf(path("a"));
  EXPECT_NE(second, first) << "another in its place";
  if (second->born == 0) GTEST_SKIP() << "this file system does not record when a file was made";
  for (int i = 0; i < 5; ++i) {  // its number is often used again at once
    const auto before = identityOf(path("a"));
    const auto later = [&] {  // a file system's clock has steps, of a few milliseconds or more
      std::filesystem::remove(in("clock"));
      write(in("clock"), "");
      return identityOf(path("clock"))->born > before->born;
    };
    ASSERT_TRUE(until(later));
    std::filesystem::remove(in("a"));
    write(in("a"), "four");
    EXPECT_NE(identityOf(path("a")), before);
  }
}

TEST_F(FaultsTest, WithoutAThreadForItAFileSaysSoAndMayBeTriedAgain) {
  writeOneMode("a.ulp", 5);
  writeOneMode("b.ulp", 5);
  opened("b.ulp");
  pthread_attr_t before, huge;
  ASSERT_EQ(pthread_getattr_default_np(&before), 0);
  ASSERT_EQ(pthread_attr_init(&huge), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&huge, std::size_t{1} << 50), 0);  // more than there are addresses
  ASSERT_EQ(pthread_setattr_default_np(&huge), 0);
  RunDocument* const document = m_session.open(path("a.ulp"));
  pthread_setattr_default_np(&before);
  ASSERT_TRUE(until([&] { return document->state() != DocumentState::Loading; }));
  EXPECT_EQ(document->state(), DocumentState::Failed);
  EXPECT_TRUE(document->message().contains("thread") && document->message().contains("a.ulp")) << document->message().toStdString();
  document->reload();
  EXPECT_TRUE(until([&] { return document->state() == DocumentState::Finished; }));
  EXPECT_EQ(document->message(), "");
}

class MessagesTest : public FaultsTest {
 protected:
  void dismiss(MainWindow& window) {
    for (QPushButton* button : window.messages().findChildren<QPushButton*>())
      if (button->text() == "Dismiss") button->click();
  }
};

TEST_F(MessagesTest, WhatWasDismissedStaysAwayUntilSomebodyAsksAnew) {
  write(in("bad.ulp"), std::string(2000, 'x'));
  MainWindow window;
  window.show();
  for (const char* name : {"bad.ulp", "missing.ulp"}) {
    window.open({path(name)});
    ASSERT_TRUE(until([&] { return window.messages().texts().size() == 1; }));
    dismiss(window);
    EXPECT_TRUE(window.messages().texts().isEmpty());
    QTest::qWait(2500);  // it is looked at again every second
    EXPECT_TRUE(window.messages().texts().isEmpty()) << window.messages().texts().join("\n").toStdString();
    std::ofstream(in("bad.ulp"), std::ios::app) << "y";  // changed, and as bad as before
    QTest::qWait(1500);
    EXPECT_TRUE(window.messages().texts().isEmpty());
    QTest::keyClick(&window, Qt::Key_F5);
    ASSERT_TRUE(until([&] { return window.messages().texts().size() == 1; })) << name;
    window.session().close(window.session().current());
    EXPECT_TRUE(window.messages().texts().isEmpty());
  }
}

TEST_F(MessagesTest, AKeyThatIsHeldDownAsksOnce) {
  MainWindow window;
  int actions = 0;
  for (const QAction* action : window.findChildren<QAction*>()) {
    if (action->shortcut().isEmpty()) continue;
    EXPECT_FALSE(action->autoRepeat()) << action->text().toStdString();
    ++actions;
  }
  EXPECT_GT(actions, 10);
}

}  // namespace
}  // namespace ulpscope::gui
