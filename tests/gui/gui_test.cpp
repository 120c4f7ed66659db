#include "tests/gui/gui_test.h"

#include <QDir>
#include <QPixmap>
#include <QStandardPaths>
#include <cmath>
#include <utility>

#include "gui/models/reading_thread.h"
#include "gui/widgets/theme.h"

namespace ulpscope::gui {

using namespace reports;

void keepPicture(QWidget& widget, const QString& name) {
  const QString folder = QStringLiteral(ULPSCOPE_PICTURES);
  QDir().mkpath(folder);
  EXPECT_TRUE(widget.grab().save(QStringLiteral("%1/%2.png").arg(folder, name)));
}

namespace {

MadeUpRun learning(const std::string& mode, std::int64_t seed, double shift) {
  MadeUpRun run = made_up(mode, seed, 2.0 + shift);
  run.steps = 60;
  run.run.steps_planned = 60;
  run.loss = [shift, seed](std::int64_t step) { return 2.0 + shift + 2.5 * std::exp(-0.06 * static_cast<double>(step)) + 0.02 * std::sin(static_cast<double>(step * (seed + 2))); };
  run.step_seconds = {0.0191 + shift, 0.0192 + shift, 0.0195 + shift, 0.0193 + shift};
  run.peak_bytes = mode == "fp16" || mode == "bf16" ? 40'000'000 : 56'000'000;
  return run;
}

/// As make_run_file, with plans, norms and rates in the steps.
void makeFile(const std::string& path, std::vector<MadeUpRun> runs, const std::function<void(RunFileWriter&)>& more = {}) {
  RunFileWriter writer(path, {.overwrite = true});
  writer.push(ExperimentRecord{.name = "made up", .command_line = "ulpscope run gpt.toml", .producer_version = "0.1.0", .producer_commit = "abc1234", .created = "2025-01-31T12:00:00Z"});
  std::int64_t id = 1;
  std::vector<std::string> planned;
  for (MadeUpRun& run : runs) {
    run.run.id = RunId{id++};
    auto known = std::find(planned.begin(), planned.end(), run.run.mode);
    if (known == planned.end()) {
      planned.push_back(run.run.mode);
      known = planned.end() - 1;
      pushPlan(writer, PlanId{known - planned.begin() + 1}, run.run.mode == "fp32" || run.run.mode == "tf32" ? "fp32" : run.run.mode);
    }
    run.run.plan = PlanId{known - planned.begin() + 1};
    writer.push(run.run);
    write_run(writer, run);
    std::int64_t applied = 0;
    for (std::int64_t step = 0; step < run.steps; ++step) {  // replaces the rows of write_run
      const bool overflow = run.overflow(step);
      applied += overflow ? 0 : 1;
      writer.push(StepRecord{.run = run.run.id, .step = step, .applied = applied, .loss = run.loss(step), .learning_rate = 1e-3 * std::min(1.0, (step + 1) / 10.0),
                             .loss_scale = run.scale ? Number(run.scale(step)) : std::nullopt, .gradient_norm = overflow ? INFINITY : 1.0 + run.loss(step) / 10,
                             .finite = !overflow, .skipped = overflow, .wall_seconds = 0.02 + 0.0001 * static_cast<double>(step % 7), .tokens = 512});
    }
    for (std::int64_t node = 1; node <= 3; ++node)
      writer.push(NodeTiming{.run = run.run.id, .node = NodeId{node}, .sampled_steps = 10, .calls = 10, .seconds = 0.01 * static_cast<double>(node), .provenance = run.run.time_provenance});
  }
  if (more) more(writer);
  writer.close();
}

}  // namespace

void pushPlan(RunFileWriter& writer, PlanId plan, const std::string& format) {
  const Signature wide{.shape = {64, 64}, .format = "fp32"}, narrow{.shape = {64, 64}, .format = format};
  writer.push(NodeRecord{.plan = plan, .id = NodeId{1}, .position = 0, .operation = "matmul", .name = "block0.query", .inputs = {narrow, narrow}, .outputs = {narrow},
                         .compute_format = format, .format_reason = "products are in the lower list", .flops = 524288, .bytes_read = 16384, .bytes_written = 8192});
  writer.push(NodeRecord{.plan = plan, .id = NodeId{2}, .position = 1, .operation = "softmax", .name = "block0.scores", .inputs = {wide}, .outputs = {wide},
                         .compute_format = "fp32", .format_reason = "softmax is in the fp32 list", .flops = 20480, .bytes_read = 16384, .bytes_written = 16384});
  writer.push(NodeRecord{.plan = plan, .id = NodeId{3}, .position = 2, .operation = "matmul", .name = "block0.query.backward", .phase = Phase::backward, .inputs = {narrow, narrow},
                         .outputs = {narrow}, .compute_format = format, .format_reason = "as its forward node", .bytes_read = 16384, .bytes_written = 8192});
}

void GuiTest::writeHealthy(const std::string& name) const {
  std::vector<MadeUpRun> runs;
  const std::pair<const char*, double> modes[] = {{"fp32", 0.0}, {"tf32", 0.001}, {"fp16", 0.002}, {"bf16", 0.004}};
  for (const auto& [mode, shift] : modes) {
    for (std::int64_t seed = 0; seed < 3; ++seed) {
      runs.push_back(learning(mode, seed, shift + 0.003 * static_cast<double>(seed)));
      if (std::string(mode) == "fp16") {
        runs.back().run.loss_scaling = "dynamic:pytorch";
        runs.back().scale = [](std::int64_t) { return 65536.0; };
      }
    }
  }
  makeFile(in(name), runs);
}

void GuiTest::writeAllNaN(const std::string& name) const {
  MadeUpRun run = learning("fp16_pure", 0, 0.0);
  run.loss = [](std::int64_t) { return std::numeric_limits<double>::quiet_NaN(); };
  run.held_out = std::numeric_limits<double>::quiet_NaN();
  makeFile(in(name), {run});
}

void GuiTest::writeOneMode(const std::string& name, std::int64_t steps) const {
  MadeUpRun run = learning("fp32", 0, 0.0);
  run.steps = steps;
  run.run.steps_planned = steps;
  makeFile(in(name), {run});
}

void GuiTest::writeOverflowing(const std::string& name) const {
  MadeUpRun fp16 = learning("fp16", 0, 0.05);
  fp16.run.loss_scaling = "dynamic:pytorch";
  fp16.overflow = [](std::int64_t step) { return step < 3 || step == 30 || step == 31; };
  fp16.scale = [](std::int64_t step) { return step < 3 ? 65536.0 / static_cast<double>(1 << step) : step <= 31 ? 8192.0 : 2048.0; };
  makeFile(in(name), {learning("fp32", 0, 0.0), fp16}, [](RunFileWriter& writer) {
    writer.push(CompletenessRecord{.run = RunId{2}, .kind = "dropped", .subject = "tensor_stats", .count = 12, .detail = "the queue was full"});
  });
}

}  // namespace ulpscope::gui

int main(int argc, char** argv) {
  qputenv("QT_QPA_PLATFORM", "offscreen");
  testing::InitGoogleTest(&argc, argv);
  QStandardPaths::setTestModeEnabled(true);
  QCoreApplication::setOrganizationName(QStringLiteral("ulpscope-test-%1").arg(QCoreApplication::applicationPid()));
  QCoreApplication::setApplicationName(QStringLiteral("tests"));
  QApplication application(argc, argv);
  ulpscope::gui::applyTheme(ulpscope::gui::Theme::Light);
  const int result = RUN_ALL_TESTS();
  const bool ended = ulpscope::gui::ReadingThread::waitForAll(60'000);  // before the statics go
  QSettings settings;
  settings.clear();
  const QString file = settings.fileName();
  settings.sync();
  QFile::remove(file);
  QDir().rmdir(QFileInfo(file).absolutePath());
  return ended ? result : 1;
}
