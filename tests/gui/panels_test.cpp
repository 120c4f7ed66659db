// The panels that show sections of the report: their models without a window, and each of them on every kind of run file, offscreen.
#include <QLabel>
#include <QSignalSpy>
#include <QSortFilterProxyModel>
#include <QTextBrowser>
#include <cmath>

#include "gui/charts/heat_map.h"
#include "gui/models/machines_model.h"
#include "gui/models/memory_model.h"
#include "gui/models/numerics_quantity.h"
#include "gui/models/overflows_model.h"
#include "gui/models/scale_model.h"
#include "gui/models/text.h"
#include "gui/panels/panels.h"
#include "gui/widgets/table_view.h"
#include "gui/widgets/theme.h"
#include "tests/gui/gui_test.h"
#include "tests/gui/observed_run.h"
#include "tests/reports/forged_machines.h"

namespace ulpscope::gui {
namespace {

using Tester = QAbstractItemModelTester;

class PanelsTest : public GuiTest {
 protected:
  void writeObserved(const std::string& name) const { gui::writeObserved(in(name)); }

  RunDocument* opened(const std::string& name) {
    RunDocument* const document = m_session.open(path(name));
    EXPECT_TRUE(until([&] { return document->state() != DocumentState::Loading; }));
    return document;
  }
  static const PanelInfo& info(const char* id) {
    for (const PanelInfo& panel : panels())
      if (QLatin1String(panel.id) == QLatin1String(id)) return panel;
    throw std::runtime_error(id);
  }
  std::unique_ptr<Panel> shown(const char* id) {
    std::unique_ptr<Panel> panel(info(id).make({m_session, m_selection}, nullptr));
    panel->resize(1060, 700);  // what the window leaves for it at 1280 × 800
    panel->setAutoFillBackground(true);
    panel->show();
    return panel;
  }
  /// On every kind of file, in one panel, that stays.
  void standsEverything(const char* id) {
    writeHealthy("healthy.ulp");
    writeOverflowing("overflowing.ulp");
    writeObserved("observed.ulp");
    writeAllNaN("nan.ulp");
    writeOneMode("one-mode.ulp", 40);
    writeOneMode("one-step.ulp", 1);
    write(in("empty.ulp"), "");
    {
      reports::RunFileWriter writer(in("no-runs.ulp"));
      writer.push(reports::ExperimentRecord{.name = "nothing yet"});
      writer.close();
    }
    const std::unique_ptr<Panel> panel = shown(id);
    for (const char* name : {"healthy", "overflowing", "observed", "nan", "one-mode", "one-step", "empty", "no-runs"}) {
      opened(std::string(name) + ".ulp");
      QTest::qWait(250);
      keepPicture(*panel, QStringLiteral("%1-%2").arg(QLatin1String(id), QLatin1String(name)));
    }
    applyTheme(Theme::Dark);
    for (const char* name : {"healthy", "observed"}) {
      opened(std::string(name) + ".ulp");
      QTest::qWait(250);
      keepPicture(*panel, QStringLiteral("%1-%2-dark").arg(QLatin1String(id), QLatin1String(name)));
    }
    applyTheme(Theme::Light);
    while (!m_session.documents().empty()) m_session.close(m_session.documents().front());
    QTest::qWait(50);
    keepPicture(*panel, QStringLiteral("%1-closed").arg(QLatin1String(id)));
  }
  /// What a section is read with, in this thread.
  reports::RunFileReader reader(const std::string& name) const { return reports::RunFileReader(in(name)); }
  static ComparisonPointer compared(const reports::RunFileReader& reader) { return std::make_shared<const reports::Comparison>(reports::compare({&reader})); }

  Session m_session;
  Selection m_selection;
};

TEST_F(PanelsTest, ScalesAndTheirWindowAreRows) {
  writeObserved("a.ulp");
  const reports::RunFileReader file = reader("a.ulp");
  const auto data = std::make_shared<const ScaleData>(readScale(file, compared(file)));
  ScaleModel model;
  const Tester tester(&model);
  EXPECT_EQ(model.rowCount(), 0);
  ASSERT_EQ(data->section.runs.size(), 1u) << "fp32 does not scale its loss";
  model.setData(data, {0});
  ASSERT_EQ(model.rowCount(), 1);
  const auto text = [&](int column) { return model.index(0, column).data().toString(); };
  EXPECT_EQ(text(ScaleModel::RunColumn), "fp16, seed 0");
  EXPECT_EQ(text(ScaleModel::FirstColumn), "65536");
  EXPECT_EQ(text(ScaleModel::LastColumn), "16384");
  EXPECT_EQ(text(ScaleModel::ChangesColumn), "2");
  EXPECT_EQ(text(ScaleModel::OverflowsColumn), "2");
  EXPECT_EQ(text(ScaleModel::WindowColumn), windowText(data->section.runs[0].window));
  EXPECT_EQ(windowText(std::nullopt), unknownText());
  EXPECT_EQ(windowText(reports::LossScaleWindow{.model = {.lowest = 32.0, .highest = 8192.0}}), "32 … 8192");
  EXPECT_EQ(windowText(reports::LossScaleWindow{.model = {.highest = 8192.0}}), "up to 8192");
  EXPECT_EQ(windowText(reports::LossScaleWindow{.model = {.lowest = 32.0, .highest = 16.0}}), "no scale suits");
  EXPECT_EQ(data->runs[0].reader, nullptr) << "readers stay in their thread";
}

TEST_F(PanelsTest, OverflowsAreRowsThatCanBeFiltered) {
  writeObserved("a.ulp");
  const reports::RunFileReader file = reader("a.ulp");
  const auto data = std::make_shared<const OverflowsData>(readOverflows(file, compared(file)));
  OverflowsModel model;
  OverflowsProxy proxy;
  proxy.setSourceModel(&model);
  const Tester tester(&model), proxyTester(&proxy);
  model.setData(data);
  ASSERT_EQ(model.rowCount(), 2);
  const auto text = [&](int row, int column) { return model.index(row, column).data().toString(); };
  EXPECT_EQ(text(0, OverflowsModel::StepColumn), "4");
  EXPECT_EQ(text(0, OverflowsModel::NodeColumn), "y");
  EXPECT_EQ(text(0, OverflowsModel::OperationColumn), "linear");
  EXPECT_EQ(text(0, OverflowsModel::NotFiniteColumn), "2");
  EXPECT_EQ(text(0, OverflowsModel::FateColumn), "skipped");
  EXPECT_EQ(text(1, OverflowsModel::NodeColumn), unknownText()) << "step 7 was not observed";
  EXPECT_EQ(text(1, OverflowsModel::NotFiniteColumn), unknownText());
  EXPECT_EQ(model.rowOf(reports::RunId{2}, 6), 1);
  EXPECT_EQ(model.rowOf(reports::RunId{1}, 6), -1);
  proxy.setFilter({.kind = text(0, OverflowsModel::KindColumn)});
  EXPECT_EQ(proxy.rowCount(), 1);
  proxy.setFilter({.steps = {{5, 10}}});
  ASSERT_EQ(proxy.rowCount(), 1);
  EXPECT_EQ(proxy.index(0, 0).data().toString(), "7");
  proxy.setFilter({.hidden = {2}});
  EXPECT_EQ(proxy.rowCount(), 0);
  proxy.setFilter({});
  for (const Qt::SortOrder order : {Qt::AscendingOrder, Qt::DescendingOrder}) {
    proxy.sort(OverflowsModel::NotFiniteColumn, order);
    EXPECT_EQ(proxy.index(1, OverflowsModel::NotFiniteColumn).data().toString(), unknownText()) << "unknown is last";
  }
  const QString known = overflowText(*data, 0), unknown = overflowText(*data, 1);
  EXPECT_TRUE(known.contains("It began in y (linear, forward): 2 elements")) << known.toStdString();
  EXPECT_TRUE(known.contains("66240")) << known.toStdString();
  EXPECT_TRUE(unknown.contains("unknown where it began")) << unknown.toStdString();
}

TEST_F(PanelsTest, WhatAnOperationReadsAndMakesIsReadOfOneStep) {
  writeObserved("a.ulp");
  const reports::RunFileReader file = reader("a.ulp");
  Neighbourhood around = readNeighbourhood(file, reports::RunId{2}, "y", 3);
  ASSERT_EQ(around.operands.size(), 3u);
  EXPECT_EQ(around.operands[0].tensor, "x");
  EXPECT_TRUE(around.operands[0].others.empty());
  EXPECT_EQ(around.operands[1].others, std::vector<std::string>{"w.fp16"});
  EXPECT_FALSE(around.operands[2].input);
  EXPECT_EQ(around.operands[2].notFinite, 2);
  EXPECT_EQ(around.operands[2].format, "fp16");
  EXPECT_EQ(around.operands[2].others, std::vector<std::string>{"loss"});
  EXPECT_FALSE(readNeighbourhood(file, reports::RunId{2}, "y", 6).operands[2].observed);
  EXPECT_TRUE(readNeighbourhood(file, reports::RunId{2}, "no such node", 3).operands.empty());
  OperandsModel model;
  const Tester tester(&model);
  model.setNeighbourhood(std::move(around));
  EXPECT_EQ(model.rowCount(), 3);
  EXPECT_EQ(model.index(2, OperandsModel::NotFiniteColumn).data().toString(), "2");
}

TEST_F(PanelsTest, AMarkOfTheLossScaleLeadsToItsOverflow) {
  writeObserved("a.ulp");
  const RunDocument* document = opened("a.ulp");
  const auto scale = shown("loss-scale"), overflows = shown("overflows");
  auto* const chart = scale->findChild<Chart*>();
  ASSERT_TRUE(until([&] { return !chart->content().marks.empty(); }));
  ASSERT_EQ(chart->content().lines.size(), 1u) << "fp32 does not scale its loss";
  EXPECT_EQ(chart->content().marks[0].x, (std::vector<double>{4.0, 7.0}));
  QSignalSpy wanted(scale.get(), &Panel::panelWanted);
  emit chart->markClicked(chart->content().marks[0].name, 7.0);
  EXPECT_EQ(wanted.count(), 1);
  EXPECT_EQ(m_selection.step(), 6);
  EXPECT_EQ(m_selection.run(), (RunKey{document->path(), reports::RunId{2}}));
  auto* const text = overflows->findChild<QTextBrowser*>();
  EXPECT_TRUE(until([&] { return text->toPlainText().contains("overflow in step 7"); }));
  m_selection.setStep(3);
  EXPECT_TRUE(until([&] { return text->toPlainText().contains("overflow in step 4"); }));
}

TEST_F(PanelsTest, MemoryIsARowForEachCategoryThatHoldsSomething) {
  writeHealthy("a.ulp");
  const reports::RunFileReader file = reader("a.ulp");
  const auto data = std::make_shared<const MemoryData>(readMemory(file, compared(file)));
  ASSERT_EQ(data->section.modes.size(), 4u);
  MemoryModel model;
  const Tester tester(&model);
  model.setData(data, {0, 2});
  ASSERT_EQ(model.columnCount(), 3);
  ASSERT_EQ(model.rowCount(), 4) << "weights, activations, the peak, its ratio";
  EXPECT_EQ(model.headerData(2, Qt::Horizontal).toString(), "fp16");
  EXPECT_EQ(model.index(0, 0).data().toString(), "weights");
  EXPECT_EQ(model.index(2, 1).data().toString(), "53.41 MiB");  // 56e6 ÷ 2^20
  EXPECT_EQ(model.index(3, 1).data().toString(), "reference");
  EXPECT_EQ(model.index(3, 2).data().toString().left(4), "0.71");  // 40 ÷ 56
  EXPECT_EQ(model.index(0, 2).data(Qt::ToolTipRole).toString(), "10000000 bytes [counted]");
  model.setData(data, {});
  EXPECT_EQ(model.rowCount(), 0);
}

TEST_F(PanelsTest, AStackIsAsHighAsThePeakAndHiddenModesGo) {
  writeHealthy("a.ulp");
  const RunDocument* document = opened("a.ulp");
  const auto panel = shown("memory");
  Chart* stacks = nullptr;
  for (Chart* chart : panel->findChildren<Chart*>())
    if (chart->accessibleName().contains("peak")) stacks = chart;
  ASSERT_NE(stacks, nullptr);
  ASSERT_TRUE(until([&] { return stacks->content().bars.size() == 8; }));
  EXPECT_EQ(stacks->content().bars[1].high, 56e6);
  EXPECT_EQ(stacks->content().bars[1].low, stacks->content().bars[0].high);
  for (const RunView& run : document->snapshot()->runs)
    if (run.record.mode == "fp16") m_selection.setShown({document->path(), run.record.id}, false);
  EXPECT_TRUE(until([&] { return stacks->content().bars.size() == 6; }));
}

TEST(NumericsQuantities, AreAsGraveAsTheyAreNearToTheEdge) {
  const NumericsQuantity& room = numericsQuantities()[0];
  const NumericsQuantity& flushed = numericsQuantities()[1];
  EXPECT_EQ(gravity(room, {}), std::nullopt);
  EXPECT_EQ(gravity(room, {.head_room = 16.0}), 0.0);
  EXPECT_EQ(gravity(room, {.head_room = 4.0}), 0.75);
  EXPECT_EQ(gravity(room, {.head_room = -2.0}), 1.0);
  EXPECT_EQ(gravity(flushed, {.flushed = 0.0}), 0.0) << "none is not unknown";
  EXPECT_DOUBLE_EQ(*gravity(flushed, {.flushed = 0.1}), 0.8);
  EXPECT_EQ(numericsText(room, {}), unknownText());
  EXPECT_EQ(numericsText(room, {.head_room = 3.25}), "3.25 bits");
  EXPECT_EQ(numericsText(flushed, {.flushed = 0.37}), "37 %");
}

TEST_F(PanelsTest, ACellOfTheMapOpensTheHistogramOfItsTensor) {
  writeObserved("a.ulp");
  opened("a.ulp");
  const auto panel = shown("numerics");
  auto* const heat = panel->findChild<HeatMap*>();
  ASSERT_TRUE(until([&] { return !heat->cells().rows.isEmpty(); }));
  EXPECT_EQ(heat->cells().columns.size(), 9) << "step 7 was not observed";
  const auto row = static_cast<int>(heat->cells().rows.indexOf("y"));
  ASSERT_GE(row, 0) << heat->cells().rows.join(" ").toStdString();
  EXPECT_EQ(heat->cells().marks.size(), 1u);
  EXPECT_NE(std::find(heat->cells().marks.begin(), heat->cells().marks.end(), std::pair(row, 3)), heat->cells().marks.end());
  EXPECT_TRUE(heat->cells().toolTip(row, 3).contains("not finite"));
  Chart* histogram = nullptr;
  for (Chart* chart : panel->findChildren<Chart*>())
    if (chart != heat) histogram = chart;
  emit heat->cellClicked(row, 5);
  EXPECT_EQ(m_selection.step(), 5);
  const auto text = [&] {
    QString all;
    for (const QLabel* label : panel->findChildren<QLabel*>()) all += label->text() + "\n";
    return all;
  };
  ASSERT_TRUE(until([&] { return text().contains("y.cast (gradient, fp16, made by cast, backward), step 6"); })) << text().toStdString();
  EXPECT_TRUE(text().contains("flushed to zero 50 %")) << text().toStdString();
  double elements = 0.0;
  for (const ChartBar& bar : histogram->content().bars) elements += bar.high;
  EXPECT_EQ(elements, 990.0) << "1000, of which 10 are zero";
  EXPECT_TRUE(heat->csv().startsWith("step,1,2")) << heat->csv().toStdString();
  m_selection.setNodeFilter("no such layer");
  EXPECT_TRUE(until([&] { return heat->cells().rows.isEmpty(); }));
}

TEST_F(PanelsTest, MachinesAreColumnsAndWhatIsEmulatedSaysSo) {
  reports::forged_h100().write(in("h100.ulp"));
  reports::ForgedMachine other = reports::forged_a100();
  other.device = "NVIDIA L4";
  other.batch = 16;
  other.write(in("batch.ulp"));
  write(in("empty.ulp"), "");
  const reports::RunFileReader a100 = reports::forged_a100().write(in("a100.ulp"));
  const auto data = std::make_shared<const MachinesData>(readMachines(a100, {in("h100.ulp"), in("batch.ulp"), in("empty.ulp")}));
  ASSERT_TRUE(data->machines);
  MachinesModel model;
  const Tester tester(&model);
  model.setData(data);
  ASSERT_EQ(model.columnCount(), 3) << "of another batch: refused";
  EXPECT_TRUE(model.headerData(2, Qt::Horizontal).toString().contains("H100"));
  ASSERT_GE(model.rowCount(), 3);
  EXPECT_EQ(model.index(0, 0).data().toString(), "fp32");
  EXPECT_TRUE(model.index(0, 0).data(MachinesModel::SectionRole).toBool());
  EXPECT_EQ(model.index(1, 1).data().toString(), "20 ms");
  EXPECT_EQ(model.index(1, 2).data().toString(), "8 ms");
  EXPECT_EQ(model.index(2, 2).data().toString(), "0.4 ×");
  const QString notes = machineNotes(*data).join("\n");
  EXPECT_TRUE(notes.contains("batch")) << notes.toStdString();
  EXPECT_TRUE(notes.contains("empty.ulp")) << notes.toStdString();
  EXPECT_FALSE(readMachines(a100, {in("a100.ulp")}).machines) << "one device";
  EXPECT_EQ(machineFigureText({}, reports::MachineStyle::seconds), unknownText());

  reports::forged_cpu().write(in("cpu.ulp"));
  const auto emulated = std::make_shared<const MachinesData>(readMachines(a100, {in("cpu.ulp")}));
  model.setData(emulated);
  QString all;
  for (int row = 0; row < model.rowCount(); ++row) all += model.index(row, 2).data().toString() + "\n";
  EXPECT_TRUE(all.contains("(emulated)")) << all.toStdString();
}

TEST_F(PanelsTest, GenerationsComparesTheOpenFiles) {
  reports::forged_h100().write(in("h100.ulp"));
  reports::forged_cpu().write(in("cpu.ulp"));
  reports::forged_a100().write(in("a100.ulp"));
  opened("a100.ulp");
  const auto panel = shown("generations");
  QTest::qWait(200);
  keepPicture(*panel, "generations-one");
  auto* const chart = panel->findChild<Chart*>();
  EXPECT_TRUE(chart->content().bars.empty());
  opened("h100.ulp");
  ASSERT_TRUE(until([&] { return chart->content().bars.size() == 4; }));
  EXPECT_FALSE(chart->content().bars[0].hollow);
  QTest::qWait(200);
  keepPicture(*panel, "generations-two");
  opened("cpu.ulp");
  ASSERT_TRUE(until([&] { return chart->content().bars.size() == 6; }));
  EXPECT_EQ(std::count_if(chart->content().bars.begin(), chart->content().bars.end(), [](const ChartBar& bar) { return bar.hollow; }), 1) << "fp16 of the CPU";
  applyTheme(Theme::Dark);
  QTest::qWait(200);
  keepPicture(*panel, "generations-three-dark");
  applyTheme(Theme::Light);
  while (m_session.documents().size() > 1) m_session.close(m_session.documents().back());
  EXPECT_TRUE(until([&] { return chart->content().bars.empty(); }));
}

TEST_F(PanelsTest, GenerationsStandsEveryFile) { standsEverything("generations"); }
TEST_F(PanelsTest, NumericsStandsEveryFile) { standsEverything("numerics"); }
TEST_F(PanelsTest, MemoryStandsEveryFile) { standsEverything("memory"); }
TEST_F(PanelsTest, LossScaleStandsEveryFile) { standsEverything("loss-scale"); }
TEST_F(PanelsTest, OverflowsStandsEveryFile) { standsEverything("overflows"); }

}  // namespace
}  // namespace ulpscope::gui
