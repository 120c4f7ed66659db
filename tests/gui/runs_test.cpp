// Runs that the viewer starts: the form, the command line, and the real program followed to its end.
#include <QAction>
#include <QDialog>
#include <QLineEdit>
#include <QPushButton>
#include <QSignalSpy>
#include <QTimer>
#include <csignal>
#include <functional>
#include <unistd.h>
#include <utility>

#include "gui/main_window.h"
#include "gui/models/session.h"
#include "gui/runs/run_dialog.h"
#include "gui/runs/run_log.h"
#include "gui/runs/run_process.h"
#include "gui/widgets/message_bar.h"
#include "tests/gui/gui_test.h"

namespace ulpscope::gui {
namespace {

class RunsTest : public GuiTest {
 protected:
  RunRequest tiny(int steps) {
    write(in("text.txt"), std::string(4000, 'a') + std::string(4000, 'b'));
    write(in("tiny.toml"), "[model]\nkind = \"gpt\"\ncontext = 16\nwidth = 16\nlayers = 1\nheads = 1\n[data]\npath = [\"text.txt\"]\n[train]\nbatch = 2\n[run]\ntiming_steps = 0\n");
    RunRequest request;
    request.experiment = path("tiny.toml");
    request.modes = {"fp32", "fp16"};
    request.steps = steps;
    request.seeds = 1;
    request.output = path("tiny.ulp");
    return request;
  }
};

TEST_F(RunsTest, TheCommandLineSaysTheSameAsTheForm) {
  RunRequest request;
  request.experiment = "it's mine.toml";
  request.data = {"a.txt", "b c.txt"};
  request.modes = {"fp32", "fp16+tf32"};
  request.steps = 20;
  request.seeds = 3;
  request.output = "out.ulp";
  request.replace = true;
  EXPECT_EQ(commandLine("ulpscope", request.arguments()),
            "ulpscope run 'it'\\''s mine.toml' --data a.txt --data 'b c.txt' --modes fp32,fp16+tf32 --steps 20 --seeds 3 -o out.ulp --force");
  request.resume = true;
  EXPECT_EQ(commandLine("ulpscope", request.arguments()), "ulpscope run out.ulp --resume");
}

TEST_F(RunsTest, TheFormStartsNothingThatCannotRun) {
  RunDialog dialog;
  EXPECT_TRUE(dialog.problem().contains("experiment file, or a model"));
  RunRequest request = tiny(5);
  dialog.setRequest(request);
  EXPECT_EQ(dialog.problem(), "");
  EXPECT_EQ(dialog.request().arguments(), request.arguments());
  write(in("tiny.ulp"), "something");
  dialog.setRequest(request);
  EXPECT_TRUE(dialog.problem().isEmpty() || dialog.problem().contains("is there already"));
  request.experiment = path("missing.toml");
  dialog.setRequest(request);
  EXPECT_TRUE(dialog.problem().contains("missing.toml"));
  request.experiment.clear();
  request.model = "gpt";
  request.data = {path("nowhere")};
  dialog.setRequest(request);
  EXPECT_TRUE(dialog.problem().contains("nowhere"));
  keepPicture(dialog, "new-run");
}

TEST_F(RunsTest, ARunIsFollowedToItsEnd) {
  Session session;
  RunProcess process;
  RunLog log(process, session);
  QSignalSpy ended(&process, &RunProcess::ended);
  QObject::connect(&process, &RunProcess::fileAppeared, &session, &Session::open);
  QString reason;
  ASSERT_TRUE(process.start(QStringLiteral(ULPSCOPE_PROGRAM), tiny(30), &reason)) << reason.toStdString();
  EXPECT_FALSE(process.start(QStringLiteral(ULPSCOPE_PROGRAM), tiny(30), &reason));
  EXPECT_TRUE(reason.contains("going on already"));
  ASSERT_TRUE(until([&] { return ended.count() == 1; }, 120'000));
  EXPECT_EQ(ended[0][0].toInt(), 0) << log.text().toStdString();
  EXPECT_TRUE(log.text().contains("$ ulpscope run")) << log.text().toStdString();
  ASSERT_NE(session.current(), nullptr);
  ASSERT_TRUE(until([&] { return session.current()->state() == DocumentState::Finished; }));
  ASSERT_EQ(session.current()->snapshot()->runs.size(), 2u);
  for (const RunView& run : session.current()->snapshot()->runs) EXPECT_EQ(run.steps, 30);
}

TEST_F(RunsTest, ARunIsStoppedAndGoneOnWith) {
  Session session;
  RunProcess process;
  RunLog log(process, session);
  QSignalSpy ended(&process, &RunProcess::ended);
  RunRequest request = tiny(10'000'000);  // more than anybody waits for
  request.modes = {"fp32"};
  QString reason;
  ASSERT_TRUE(process.start(QStringLiteral(ULPSCOPE_PROGRAM), request, &reason)) << reason.toStdString();
  QSignalSpy appeared(&process, &RunProcess::fileAppeared);
  ASSERT_TRUE(until([&] { return appeared.count() == 1; }, 60'000));
  const RunDocument* document = session.open(request.output);
  ASSERT_TRUE(until([&] { return document->snapshot() && !document->snapshot()->runs.empty() && document->snapshot()->runs[0].steps > 2; }, 60'000));
  process.stop();
  ASSERT_TRUE(until([&] { return ended.count() == 1; }, 60'000));
  EXPECT_EQ(ended[0][0].toInt(), 130) << log.text().toStdString();
  ASSERT_TRUE(until([&] { return document->state() == DocumentState::Finished && document->snapshot()->runs[0].record.status == reports::RunStatus::interrupted; }));
  const std::int64_t before = document->snapshot()->runs[0].steps;
  request.resume = true;
  ASSERT_TRUE(process.start(QStringLiteral(ULPSCOPE_PROGRAM), request, &reason)) << reason.toStdString();
  ASSERT_TRUE(until([&] { return document->state() == DocumentState::Live && document->snapshot()->runs[0].steps > before; }, 60'000)) << log.text().toStdString();
  process.stop();
  ASSERT_TRUE(until([&] { return ended.count() == 2; }, 60'000));
  EXPECT_EQ(ended[1][0].toInt(), 130) << log.text().toStdString();
}

TEST_F(RunsTest, WhatCannotBeStartedSaysWhy) {
  RunProcess process;
  QString reason;
  EXPECT_FALSE(process.start({}, tiny(5), &reason));
  EXPECT_TRUE(reason.contains("neither beside the viewer nor in PATH"));
  QSignalSpy ended(&process, &RunProcess::ended);
  RunRequest request = tiny(5);
  request.modes = {"fp17"};
  ASSERT_TRUE(process.start(QStringLiteral(ULPSCOPE_PROGRAM), request, &reason));
  ASSERT_TRUE(until([&] { return ended.count() == 1; }, 60'000));
  EXPECT_EQ(ended[0][0].toInt(), 2);
  EXPECT_TRUE(ended[0][1].toString().contains("fp17")) << ended[0][1].toString().toStdString();
}

TEST_F(RunsTest, StoppedBeforeItBeganItWasStopped) {
  Session session;
  RunProcess process;
  RunLog log(process, session);
  QSignalSpy ended(&process, &RunProcess::ended);
  QString reason;
  ASSERT_TRUE(process.start(QStringLiteral(ULPSCOPE_PROGRAM), tiny(10'000'000), &reason)) << reason.toStdString();
  process.stop();  // it cannot listen yet
  ASSERT_TRUE(until([&] { return ended.count() == 1; }, 60'000));
  EXPECT_EQ(ended[0][0].toInt(), 130) << log.text().toStdString();
}

/// As a shell leaves it to a program in the background.
class CtrlCIgnored {
 public:
  CtrlCIgnored() : m_before(std::signal(SIGINT, SIG_IGN)) {}
  ~CtrlCIgnored() { std::signal(SIGINT, m_before); }
  CtrlCIgnored(const CtrlCIgnored&) = delete;
  CtrlCIgnored& operator=(const CtrlCIgnored&) = delete;

 private:
  void (*m_before)(int);
};

TEST_F(RunsTest, StoppedAtOnceByAViewerThatIgnoresCtrlCItWasStopped) {
  const CtrlCIgnored ignored;
  for (int i = 0; i < 5; ++i) {
    Session session;
    RunProcess process;
    RunLog log(process, session);
    QSignalSpy ended(&process, &RunProcess::ended);
    RunRequest request = tiny(10'000'000);
    request.replace = true;
    QString reason;
    ASSERT_TRUE(process.start(QStringLiteral(ULPSCOPE_PROGRAM), request, &reason)) << reason.toStdString();
    process.stop();
    EXPECT_TRUE(process.stopping());
    ASSERT_TRUE(until([&] { return ended.count() == 1; }, 60'000));
    EXPECT_EQ(ended[0][0].toInt(), 130) << log.text().toStdString();
  }
}

TEST_F(RunsTest, AViewerThatIgnoresCtrlCStopsItsRuns) {
  const CtrlCIgnored ignored;
  RunProcess process;
  QSignalSpy ended(&process, &RunProcess::ended), appeared(&process, &RunProcess::fileAppeared);
  RunRequest request = tiny(10'000'000);
  request.modes = {"fp32"};
  QString reason;
  ASSERT_TRUE(process.start(QStringLiteral(ULPSCOPE_PROGRAM), request, &reason)) << reason.toStdString();
  ASSERT_TRUE(until([&] { return appeared.count() == 1; }, 60'000));
  process.stop();
  EXPECT_TRUE(until([&] { return ended.count() == 1; }, 60'000));
  EXPECT_EQ(ended.value(0).value(0).toInt(), 130);
}

class SaidTest : public RunsTest {
 protected:
  /// What the log shows of a program that says these things.
  QString logOf(const char* script) {
    write(in("program"), std::string("#!/bin/sh\n") + script);
    QFile(path("program")).setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
    RunProcess process;
    RunLog log(process, m_session);
    QSignalSpy ended(&process, &RunProcess::ended);
    QString reason;
    EXPECT_TRUE(process.start(path("program"), {}, &reason)) << reason.toStdString();
    EXPECT_TRUE(until([&] { return ended.count() == 1; }));
    m_code = ended.value(0).value(0).toInt();
    m_last = ended.value(0).value(1).toString();
    return log.text();
  }
  Session m_session;
  int m_code = 0;
  QString m_last;
};

TEST_F(SaidTest, WhatIsCutAnywhereIsWholeInTheLog) {
  const QString said = logOf("printf 'caf\\303'; sleep 0.5; printf '\\251 is open\\nthe la'; sleep 0.5; printf 'st line\\n'; exit 3");
  EXPECT_TRUE(said.contains(QString::fromUtf8("café is open\nthe last line"))) << said.toStdString();
  EXPECT_EQ(m_code, 3);
  EXPECT_EQ(m_last, "the last line");
  logOf("printf 'one\\nhalf'; exit 1");
  EXPECT_EQ(m_last, "half") << "a line without an end is a line";
}

TEST_F(SaidTest, ACarriageReturnBeginsTheLineAnew) {
  const QString said = logOf("printf 'windows\\r\\n10 %%\\r'; sleep 0.5; printf '20 %%\\r'; sleep 0.3; printf '30 %%\\ndone\\n'; exit 0");
  EXPECT_TRUE(said.contains("windows\n30 %\ndone")) << said.toStdString();
  EXPECT_FALSE(said.contains("20 %"));
}

/// The run of a file goes on; ends it.
void endRun(qint64 pid, const RunDocument& document) {
  const auto steps = [&] { return document.snapshot()->runs[0].steps; };
  const std::int64_t before = steps();
  EXPECT_TRUE(until([&] { return steps() > before; }, 60'000)) << "it goes on";
  ::kill(static_cast<pid_t>(pid), SIGINT);
  EXPECT_TRUE(until([&] { return document.snapshot()->runs[0].record.status == reports::RunStatus::interrupted; }, 60'000));
}

class ClosingTest : public RunsTest {
 protected:
  /// A run that was started from the form, with two steps done.
  void startFromTheForm() {
    m_path = qgetenv("PATH");
    qputenv("PATH", QFileInfo(QStringLiteral(ULPSCOPE_PROGRAM)).absolutePath().toLocal8Bit() + ":" + m_path);
    RunRequest request = tiny(10'000'000);
    request.modes = {"fp32"};
    m_window.show();
    answering([request](QWidget& asks) {
      auto* const form = qobject_cast<RunDialog*>(&asks);
      if (form == nullptr) return false;
      form->setRequest(request);
      form->accept();
      return !form->isVisible();
    }, [this] {
      for (QAction* action : m_window.findChildren<QAction*>())
        if (action->shortcut() == QKeySequence(QKeySequence::New)) action->trigger();
    });
    ASSERT_TRUE(until([&] { return m_window.session().current() != nullptr; }, 60'000));
    ASSERT_TRUE(until([&] { return current() && !current()->runs.empty() && current()->runs[0].steps > 2; }, 60'000));
  }
  SnapshotPointer current() { return m_window.session().current()->snapshot(); }
  /// Answers what is asked by what is done, however late that comes; a question that is not answered goes away all the same.
  static void answering(const std::function<bool(QWidget&)>& answer, const std::function<void()>& act) {
    QTimer timer;
    bool asked = false;
    QObject::connect(&timer, &QTimer::timeout, [&] {
      auto* const asks = qobject_cast<QDialog*>(QApplication::activeModalWidget());
      if (asks == nullptr) return;
      EXPECT_FALSE(std::exchange(asked, true)) << "it asks once";
      if (answer(*asks)) return;
      ADD_FAILURE() << "not answered";
      asks->reject();
    });
    timer.start(50);
    act();
    EXPECT_TRUE(asked);
  }
  /// Closes the window and answers what it asks.
  void closeAnswering(const char* button) {
    answering([button](QWidget& box) {
      keepPicture(box, "closing");
      auto* const found = box.findChild<QPushButton*>(button);
      if (found != nullptr) found->click();
      return found != nullptr;
    }, [this] { m_window.close(); });
  }
  void TearDown() override {
    if (!m_path.isNull()) qputenv("PATH", m_path);
  }
  MainWindow m_window;
  QByteArray m_path;
};

TEST_F(ClosingTest, ItAsksAndStopsTheRunBeforeItCloses) {
  startFromTheForm();
  const QString file = m_window.session().current()->path();
  closeAnswering("cancel");
  EXPECT_TRUE(m_window.isVisible());
  EXPECT_TRUE(m_window.process().running());
  EXPECT_FALSE(m_window.process().stopping());
  closeAnswering("stop");
  ASSERT_TRUE(until([&] { return !m_window.isVisible(); }, 60'000));
  EXPECT_FALSE(m_window.process().running());
  EXPECT_TRUE(until([&] { return current()->runs[0].record.status == reports::RunStatus::interrupted; })) << "it was not cut off";
}

TEST_F(ClosingTest, ARunCanBeLeftToGoOn) {
  startFromTheForm();
  const qint64 pid = m_window.process().processId();
  const QString log = m_window.process().logFile();
  EXPECT_EQ(::getsid(static_cast<pid_t>(pid)), pid) << "the terminal's Ctrl-C and its end are not the run's";
  closeAnswering("leave");
  EXPECT_FALSE(m_window.isVisible());
  EXPECT_FALSE(m_window.process().running());
  EXPECT_TRUE(QFile::exists(log)) << "what it says has a place";
  endRun(pid, *m_window.session().current());
  QFile::remove(log);
}

TEST_F(ClosingTest, AskedAgainWhileTheRunEndsTheWindowMayStay) {
  startFromTheForm();
  const auto pid = static_cast<pid_t>(m_window.process().processId());
  ::kill(pid, SIGSTOP);  // its step takes long
  closeAnswering("stop");
  EXPECT_EQ(m_window.messages().texts().size(), 1);
  closeAnswering("cancel");
  EXPECT_EQ(m_window.messages().texts(), QStringList()) << "nothing says that it closes";
  ::kill(pid, SIGCONT);
  EXPECT_TRUE(until([&] { return !m_window.process().running(); }, 60'000));
  QTest::qWait(0);
  EXPECT_TRUE(m_window.isVisible());
}

TEST_F(ClosingTest, WithoutARunItClosesAndAsksNothing) {
  m_window.show();
  m_window.close();
  EXPECT_FALSE(m_window.isVisible());
}

}  // namespace
}  // namespace ulpscope::gui
