// Runs that the viewer starts: the form, the command line, and the real program followed to its end.
#include <QDialog>
#include <QLineEdit>
#include <QPushButton>
#include <QSignalSpy>

#include "gui/models/session.h"
#include "gui/runs/run_dialog.h"
#include "gui/runs/run_log.h"
#include "gui/runs/run_process.h"
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

}  // namespace
}  // namespace ulpscope::gui
