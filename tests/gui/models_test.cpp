// Documents, session, selection and the models, without widgets of the viewer.
#include <QSignalSpy>
#include <memory>

#include "gui/models/modes_model.h"
#include "gui/models/nodes_model.h"
#include "gui/models/runs_model.h"
#include "gui/models/session.h"
#include "gui/models/text.h"
#include "gui/models/timeline.h"
#include "reports/run_file/writer.h"
#include "tests/gui/gui_test.h"
#include "tests/reports/made_up_runs.h"

namespace ulpscope::gui {
namespace {

using Tester = QAbstractItemModelTester;

class ModelsTest : public GuiTest {
 protected:
  RunDocument* opened(const std::string& name) {
    RunDocument* const document = m_session.open(path(name));
    EXPECT_TRUE(until([&] { return document->state() != DocumentState::Loading; }));
    return document;
  }
  Session m_session;
  Selection m_selection;
};

TEST_F(ModelsTest, AFinishedFileIsReadOnce) {
  writeHealthy("a.ulp");
  const RunDocument* document = opened("a.ulp");
  EXPECT_EQ(document->state(), DocumentState::Finished);
  ASSERT_TRUE(document->snapshot());
  EXPECT_EQ(document->snapshot()->runs.size(), 12u);
  ASSERT_TRUE(document->snapshot()->comparison);
  EXPECT_EQ(document->snapshot()->comparison->modes.size(), 4u);
  EXPECT_EQ(document->snapshot()->runs[0].series->loss.finite, 60);
  EXPECT_EQ(document->revision(), 1);
  EXPECT_EQ(m_session.recentFiles(), QStringList{document->path()});
}

TEST_F(ModelsTest, EmulatedTimesAreNoticed) {
  writeHealthy("a.ulp");
  const auto& notices = opened("a.ulp")->snapshot()->notices;
  EXPECT_TRUE(std::any_of(notices.begin(), notices.end(), [](const Notice& n) { return n.text.contains("emulated") && n.text.contains("bf16") && n.severity == Severity::Warning; }));
  EXPECT_TRUE(std::none_of(notices.begin(), notices.end(), [](const Notice& n) { return n.text.contains("of fp32"); }));
}

TEST_F(ModelsTest, DroppedRecordsAreFaultsAndComeFirst) {
  writeOverflowing("a.ulp");
  const auto& notices = opened("a.ulp")->snapshot()->notices;
  ASSERT_FALSE(notices.empty());
  EXPECT_EQ(notices.front().severity, Severity::Fault);
  EXPECT_TRUE(notices.front().text.contains("dropped: tensor_stats, 12 [counted]")) << notices.front().text.toStdString();
}

/// Most drivers keep counters to the administrator: no reader has to know that first.
TEST_F(ModelsTest, CountersThatAreNotThereAreANote) {
  reports::RunFileWriter writer(in("a.ulp"));
  reports::RunRecord run = reports::made_up("fp32", 0, 2.0).run;
  run.id = reports::RunId{1};
  writer.push(reports::ExperimentRecord{.name = "a"});
  writer.push(run);
  writer.push(reports::StepRecord{.run = run.id, .step = 0, .applied = 1, .loss = 2.0});
  writer.push(reports::CompletenessRecord{.run = run.id, .kind = "refused", .subject = "kernel counters", .detail = "hardware counters refused by CUPTI (error 35)"});
  writer.push(reports::CompletenessRecord{.run = run.id, .kind = "lost", .subject = "kernel counters: no room", .count = 7, .detail = "more nodes than there was room for"});
  writer.push(reports::CompletenessRecord{.run = run.id, .kind = "refused", .subject = "kernel trace", .detail = "no CUPTI"});
  writer.close();
  int notes = 0, warnings = 0;
  for (const Notice& n : opened("a.ulp")->snapshot()->notices) {
    notes += n.text.contains("kernel counters") && n.severity == Severity::Note ? 1 : 0;
    warnings += n.text.contains("kernel trace") && n.severity == Severity::Warning ? 1 : 0;
  }
  EXPECT_EQ(notes, 2);
  EXPECT_EQ(warnings, 1);
  EXPECT_TRUE(readTimeline(reports::RunFileReader(in("a.ulp")), reports::RunId{1}, TimelineView::Run).traceNotes.join(' ').contains("error 35"));
}

TEST_F(ModelsTest, WhatCannotBeReadSaysWhyAndTheOthersStay) {
  writeHealthy("good.ulp");
  write(in("text.ulp"), "not a run file at all, only some text that is long enough to be looked at as if it were one.\n");
  write(in("empty.ulp"), "");
  std::filesystem::create_directory(in("folder.ulp"));
  const RunDocument* good = opened("good.ulp");
  for (const char* name : {"text.ulp", "empty.ulp", "folder.ulp", "missing.ulp"}) {
    const RunDocument* document = opened(name);
    EXPECT_EQ(document->state(), DocumentState::Failed) << name;
    EXPECT_FALSE(document->snapshot()) << name;
    EXPECT_TRUE(document->message().contains(QString::fromStdString(name))) << document->message().toStdString();
  }
  EXPECT_EQ(good->state(), DocumentState::Finished);
  EXPECT_EQ(m_session.documents().size(), 5u);
  EXPECT_EQ(m_session.recentFiles().size(), 1);  // what could not be read is not remembered
}

TEST_F(ModelsTest, AFileThatVanishesStaysOnShowAndComesBack) {
  writeOneMode("a.ulp", 5);
  const RunDocument* document = opened("a.ulp");
  std::filesystem::rename(in("a.ulp"), in("b.ulp"));
  ASSERT_TRUE(until([&] { return document->state() == DocumentState::Vanished; }));
  EXPECT_TRUE(document->snapshot());
  EXPECT_TRUE(document->message().contains("not there any more"));
  std::filesystem::rename(in("b.ulp"), in("a.ulp"));
  ASSERT_TRUE(until([&] { return document->state() == DocumentState::Finished; }));
  EXPECT_TRUE(document->message().isEmpty());
}

TEST_F(ModelsTest, AnotherFileInItsPlaceIsReadAnew) {
  writeOneMode("a.ulp", 5);
  const RunDocument* document = opened("a.ulp");
  writeOneMode("b.ulp", 9);
  std::filesystem::rename(in("b.ulp"), in("a.ulp"));
  ASSERT_TRUE(until([&] { return document->snapshot()->runs[0].steps == 9; }));
}

TEST_F(ModelsTest, ALiveRunIsFollowedToItsEnd) {
  reports::RunFileWriter writer(in("live.ulp"), {.commit_seconds = 0.05});
  reports::RunRecord run = reports::made_up("fp32", 0, 2.0).run;
  run.id = reports::RunId{1};
  run.status = reports::RunStatus::running;
  writer.push(reports::ExperimentRecord{.name = "live"});
  writer.push(run);
  const auto step = [&](std::int64_t i) { writer.push(reports::StepRecord{.run = run.id, .step = i, .applied = i + 1, .loss = 3.0 - 0.1 * static_cast<double>(i)}); };
  for (std::int64_t i = 0; i < 5; ++i) step(i);
  writer.flush();
  const RunDocument* document = opened("live.ulp");
  EXPECT_EQ(document->state(), DocumentState::Live);
  EXPECT_EQ(document->snapshot()->runs[0].steps, 5);
  for (std::int64_t i = 5; i < 8; ++i) step(i);
  writer.flush();
  EXPECT_TRUE(until([&] { return document->snapshot()->runs[0].steps == 8; }));
  EXPECT_EQ(document->snapshot()->runs[0].series->loss.points.back().step, 7);
  run.status = reports::RunStatus::finished;
  writer.push(run);
  writer.close();
  EXPECT_TRUE(until([&] { return document->state() == DocumentState::Finished; }));
  EXPECT_EQ(document->snapshot()->comparison->modes[0].runs[0].run.status, reports::RunStatus::finished);
}

TEST_F(ModelsTest, ARunThatIsNotEndedAndNotWrittenWasCutOff) {
  {
    reports::RunFileWriter writer(in("cut.ulp"));
    reports::RunRecord run = reports::made_up("fp32", 0, 2.0).run;
    run.id = reports::RunId{1};
    run.status = reports::RunStatus::running;
    writer.push(reports::ExperimentRecord{.name = "cut"});
    writer.push(run);
    writer.close();
  }
  const RunDocument* document = opened("cut.ulp");
  EXPECT_EQ(document->state(), DocumentState::CutOff);
  EXPECT_TRUE(document->snapshot()->runs[0].cutOff);
}

TEST_F(ModelsTest, TheSameFileIsOpenOnce) {
  writeOneMode("a.ulp", 5);
  RunDocument* const first = opened("a.ulp");
  writeOneMode("b.ulp", 5);
  opened("b.ulp");
  EXPECT_EQ(m_session.open(path("../") + QFileInfo(path("")).dir().dirName() + "/a.ulp"), first);
  EXPECT_EQ(m_session.current(), first);
  EXPECT_EQ(m_session.documents().size(), 2u);
}

TEST_F(ModelsTest, RunsAreATreeWithTicks) {
  RunsModel model(m_session, m_selection);
  Tester tester(&model, Tester::FailureReportingMode::Fatal);
  writeOverflowing("a.ulp");
  RunDocument* const document = opened("a.ulp");
  const QModelIndex file = model.indexOf(document);
  ASSERT_EQ(model.rowCount(file), 2);
  const QModelIndex run = model.index(1, 0, file);
  EXPECT_EQ(run.data().toString(), "fp16 · seed 0");
  EXPECT_EQ(model.index(1, RunsModel::StepsColumn, file).data().toString(), "60 of 60");
  EXPECT_DOUBLE_EQ(model.index(1, 1, file).data(RunsModel::ProgressRole).toDouble(), 1.0);
  EXPECT_EQ(run.data(Qt::CheckStateRole).toInt(), Qt::Checked);
  EXPECT_TRUE(model.setData(run, Qt::Unchecked, Qt::CheckStateRole));
  EXPECT_FALSE(m_selection.isShown({document->path(), reports::RunId{2}}));
  EXPECT_TRUE(m_selection.isShown({document->path(), reports::RunId{1}}));
  m_session.close(document);
  EXPECT_EQ(model.rowCount(), 0);
}

// A view keeps indexes of the files that stay open: they have to mean the same runs when a file above is closed.
TEST_F(ModelsTest, ARunIsTheSameWhenAnotherFileIsClosed) {
  RunsModel model(m_session, m_selection);
  Tester tester(&model, Tester::FailureReportingMode::Fatal);
  writeOneMode("a.ulp", 5);
  writeOverflowing("b.ulp");
  RunDocument* const first = opened("a.ulp");
  RunDocument* const second = opened("b.ulp");
  const QPersistentModelIndex run = model.index(1, 0, model.indexOf(second));
  const QPersistentModelIndex gone = model.index(0, 0, model.indexOf(first));
  m_session.close(first);
  EXPECT_FALSE(gone.isValid());
  ASSERT_TRUE(run.isValid());
  EXPECT_EQ(run.data().toString(), "fp16 · seed 0");
  EXPECT_EQ(model.key(run)->path, second->path());
  EXPECT_EQ(QModelIndex(run.parent()), model.indexOf(second));
}

TEST_F(ModelsTest, ModesStandSideBySideAndUnknownIsNeverZero) {
  ModesModel model;
  Tester tester(&model, Tester::FailureReportingMode::Fatal);
  writeHealthy("a.ulp");
  const auto comparison = opened("a.ulp")->snapshot()->comparison;
  model.setComparison(comparison);
  ASSERT_EQ(model.columnCount(), 4);
  EXPECT_EQ(model.headerData(2, Qt::Horizontal).toString(), "fp16");
  const auto cell = [&](const QString& label, int column) {
    for (int row = 0; row < model.rowCount(); ++row)
      if (model.headerData(row, Qt::Vertical).toString() == label) return model.index(row, column).data().toString();
    return QStringLiteral("no row ") + label;
  };
  EXPECT_EQ(cell("seeds", 0), "3");
  EXPECT_EQ(cell("time", 0), "measured");
  EXPECT_EQ(cell("time", 2), "emulated");
  EXPECT_EQ(cell("loss scale, range", 0), "none");
  EXPECT_EQ(cell("loss scale, range", 2), "65536");
  EXPECT_EQ(cell("verdict", 0), "reference");
  writeOneMode("one.ulp", 5);
  model.setComparison(opened("one.ulp")->snapshot()->comparison);
  EXPECT_EQ(model.columnCount(), 1);
  model.setComparison(nullptr);
  EXPECT_EQ(model.rowCount(), 0);
}

TEST_F(ModelsTest, NodesSortByValueWithTheUnknownLast) {
  writeHealthy("a.ulp");
  NodesModel model;
  NodesProxy proxy;
  Tester tester(&model, Tester::FailureReportingMode::Fatal);
  proxy.setSourceModel(&model);
  Tester proxy_tester(&proxy, Tester::FailureReportingMode::Fatal);
  const reports::RunFileReader reader(in("a.ulp"));
  model.setTable(readNodes(reader, "fp16"));
  ASSERT_EQ(model.rowCount(), 3);
  EXPECT_EQ(model.columnCount(), NodesModel::FirstTimeColumn + 4);
  const auto names = [&] {
    QStringList list;
    for (int row = 0; row < proxy.rowCount(); ++row) list << proxy.index(row, NodesModel::NameColumn).data().toString();
    return list;
  };
  EXPECT_EQ(model.index(2, NodesModel::FlopsColumn).data().toString(), "unknown");
  proxy.sort(NodesModel::FlopsColumn, Qt::AscendingOrder);
  EXPECT_EQ(names(), (QStringList{"block0.scores", "block0.query", "block0.query.backward"}));
  proxy.sort(NodesModel::FlopsColumn, Qt::DescendingOrder);
  EXPECT_EQ(names(), (QStringList{"block0.query", "block0.scores", "block0.query.backward"}));
  proxy.sort(NodesModel::FirstTimeColumn, Qt::DescendingOrder);
  EXPECT_EQ(names().front(), "block0.query.backward");
  proxy.setFilter("query backward");
  EXPECT_EQ(names(), QStringList{"block0.query.backward"});
  proxy.setFilter("SOFTMAX");
  EXPECT_EQ(names(), QStringList{"block0.scores"});
}

TEST(Text, NumbersSayWhatTheyAreAndControlCharactersDoNothing) {
  EXPECT_EQ(valueText(std::nullopt, reports::FigureStyle::loss), "unknown");
  EXPECT_EQ(valueText(std::numeric_limits<double>::quiet_NaN(), reports::FigureStyle::loss), "NaN");
  EXPECT_EQ(valueText(0.0125, reports::FigureStyle::seconds), "12.5 ms");
  EXPECT_EQ(plain("a\x1b[31mb"), "a?[31mb");
}

}  // namespace
}  // namespace ulpscope::gui
